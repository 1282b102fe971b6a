"""Export of a trained model as a policy of the engine: an ONNX file that runs without Python and PyTorch."""

import json

import numpy as np
import torch
from numpy.typing import NDArray
from stable_baselines3 import DQN
from stable_baselines3.common.base_class import BaseAlgorithm
from stable_baselines3.common.torch_layers import FlattenExtractor

from ackclock import _core
from ackclock.gym import AgentSettings
from ackclock.gym.learn.setting import Setting, SettingError

_ACTIVATIONS = {torch.nn.ReLU: "relu", torch.nn.Tanh: "tanh"}

Layer = tuple[NDArray[np.float32], NDArray[np.float32]]
"""Weights with a row per output, and biases."""


def policy_file(model: BaseAlgorithm, setting: Setting) -> bytes:
    """Return a model's network with its agent's settings, for `controller = { kind = "policy", file = ... }`.

    There it computes the same as `model.predict(observation, deterministic=True)` here: the choice of the greatest
    value (DQN), or the mean of the actions, clipped to their range (PPO).

    Raises:
        SettingError: If the network is of another kind.
    """
    activation, layers = _read(_modules(model))
    agent = AgentSettings(**setting.agent)
    try:
        return _runnable(agent).policy_file(activation, layers, setting.scenario)
    except ValueError as error:
        raise SettingError(str(error)) from error


def _runnable(agent: AgentSettings) -> AgentSettings:
    """Return the settings without a user-written reward, which a policy does not need and other scenarios lack."""
    kind = agent.reward if isinstance(agent.reward, str) else agent.reward.get("kind")
    known = [row["name"] for row in json.loads(_core.agents())["rewards"]]
    return agent if kind in known else agent.changed({"reward": "none"})


def _modules(model: BaseAlgorithm) -> list[torch.nn.Module]:
    """Return the modules between observation and action, in order."""
    policy = model.policy
    if isinstance(model, DQN):
        extractor, parts = policy.q_net.features_extractor, [policy.q_net.q_net]
    else:
        extractor, parts = policy.pi_features_extractor, [policy.mlp_extractor.policy_net, policy.action_net]
    if not isinstance(extractor, FlattenExtractor) or getattr(policy, "squash_output", False):
        raise SettingError(
            f"the policy is a {type(policy).__name__} on a {type(extractor).__name__}; "
            "an MlpPolicy can be exported, with actions that are not squashed"
        )
    return [module for part in parts for module in (part if isinstance(part, torch.nn.Sequential) else [part])]


def _read(modules: list[torch.nn.Module]) -> tuple[str, list[Layer]]:
    """Return the layers, and the single kind of activation between them."""
    layers: list[Layer] = []
    between = set()
    for index, module in enumerate(modules):
        if index % 2 == 0 and isinstance(module, torch.nn.Linear) and module.bias is not None:
            layers.append((_numbers(module.weight), _numbers(module.bias)))
        elif index % 2 == 1 and type(module) in _ACTIVATIONS:
            between.add(_ACTIVATIONS[type(module)])
        else:
            between.add("unknown")
    if len(modules) % 2 == 0 or len(between) > 1 or "unknown" in between:
        found = ", ".join(type(module).__name__ for module in modules)
        raise SettingError(
            f"the network is {found}; layers with ReLU or with Tanh between them can be exported here, and others with "
            "torch.onnx.export"
        )
    return between.pop() if between else "relu", layers


def _numbers(parameter: torch.Tensor) -> NDArray[np.float32]:
    return np.ascontiguousarray(parameter.detach().cpu().numpy(), np.float32)
