"""Learning algorithms, and their hyperparameters."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from gymnasium import spaces
from stable_baselines3 import DQN, PPO
from stable_baselines3.common.base_class import BaseAlgorithm

from ackclock.gym.learn.lanes import FlowVecEnv
from ackclock.gym.learn.setting import SettingError


@dataclass(frozen=True, slots=True)
class Algorithm:
    """Algorithm of Stable-Baselines3, with ackclock's defaults.

    Attributes:
        kind: Class of the algorithm.
        envs: Default number of parallel environments.
        defaults: Hyperparameters that differ from the library's defaults.
        names: Hyperparameters that may be set.
        needs_choices: Whether it needs discrete actions.
        replays: Whether it learns from a replay buffer, every few steps. Its state is too large to be saved before each
            of its short rollouts.
    """

    kind: type[BaseAlgorithm]
    envs: int
    defaults: Mapping[str, Any]
    names: tuple[str, ...]
    needs_choices: bool = False
    replays: bool = False


@dataclass(frozen=True, slots=True)
class Plan:
    """Plan of a training.

    Attributes:
        algorithm: `"dqn"` or `"ppo"`.
        steps: Decisions in all environments together.
        seed: Seed of networks, exploration and episodes.
        envs: Number of parallel environments; None uses the algorithm's default.
        hyperparameters: Overrides of the defaults.
    """

    algorithm: str
    steps: int
    seed: int = 1
    envs: int | None = None
    hyperparameters: Mapping[str, Any] = field(default_factory=dict)

    def as_dict(self) -> dict[str, Any]:
        """Return the manifest's entry, including all defaults."""
        algorithm = ALGORITHMS[self.algorithm]
        return {
            "algorithm": self.algorithm,
            "steps": self.steps,
            "seed": self.seed,
            "envs": self.envs or algorithm.envs,
            "hyperparameters": {**algorithm.defaults, **self.hyperparameters},
        }


_COMMON = ("layers", "learning_rate", "batch_size", "gamma", "max_grad_norm")

ALGORITHMS: Mapping[str, Algorithm] = {
    "ppo": Algorithm(
        PPO,
        envs=8,
        defaults={"layers": [64, 64], "learning_rate": 3e-4, "n_steps": 256, "batch_size": 256},
        names=(*_COMMON, "n_steps", "n_epochs", "gae_lambda", "clip_range", "ent_coef", "vf_coef"),
    ),
    "dqn": Algorithm(
        DQN,
        envs=4,
        defaults={
            "layers": [64, 64],
            "learning_rate": 5e-4,
            "buffer_size": 50_000,
            "learning_starts": 1_000,
            "batch_size": 64,
            "train_freq": 1,
            "target_update_interval": 1_000,
            "exploration_fraction": 0.4,
        },
        names=(
            *_COMMON,
            *("buffer_size", "learning_starts", "tau", "train_freq", "gradient_steps", "target_update_interval"),
            *("exploration_fraction", "exploration_initial_eps", "exploration_final_eps"),
        ),
        needs_choices=True,
        replays=True,
    ),
}
"""Algorithms, by name."""


_COUNTS = ("batch_size", "n_steps", "n_epochs", "buffer_size", "train_freq", "target_update_interval")
_MOST_UNITS = 65_536


def _check(chosen: Mapping[str, Any]) -> None:
    """Refuse values that the library accepts and then fails with, or never finishes with."""
    for name in _COUNTS:
        value = chosen.get(name, 1)
        if isinstance(value, bool) or not isinstance(value, int) or value < 1:
            raise SettingError(f"--hyper {name}={value}: must be a whole number of at least 1")
    layers = chosen["layers"]
    is_list = isinstance(layers, list) and all(type(width) is int and 1 <= width <= _MOST_UNITS for width in layers)
    if not is_list:
        raise SettingError(f"--hyper layers={layers}: must be widths from 1 to {_MOST_UNITS}, such as layers=[64, 64]")


def build(plan: Plan, environments: FlowVecEnv, tensorboard: str) -> BaseAlgorithm:
    """Return the untrained algorithm.

    Raises:
        SettingError: If the action space does not suit it, or a hyperparameter is wrong.
    """
    algorithm = ALGORITHMS[plan.algorithm]
    if algorithm.needs_choices and not isinstance(environments.action_space, spaces.Discrete):
        raise SettingError(
            f"{plan.algorithm} needs discrete actions, and this agent's is continuous; give --agent action=deltas, "
            "or --algorithm ppo"
        )
    chosen = {**algorithm.defaults, **plan.hyperparameters}
    unknown = sorted(set(chosen) - set(algorithm.names))
    if unknown:
        raise SettingError(f"--hyper {unknown[0]}: {plan.algorithm} has {', '.join(algorithm.names)}")
    _check(chosen)
    layers = chosen.pop("layers")
    options = {"policy_kwargs": {"net_arch": layers}, "seed": plan.seed % 2**32, "tensorboard_log": tensorboard}
    try:
        return algorithm.kind("MlpPolicy", environments, device="cpu", **options, **chosen)
    except (AssertionError, TypeError, ValueError) as error:
        given = ", ".join(f"{name}={value}" for name, value in plan.hyperparameters.items())
        raise SettingError(f"--hyper {given}: {plan.algorithm} refuses: {error}") from error
