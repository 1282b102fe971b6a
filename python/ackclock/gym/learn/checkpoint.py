"""Checkpoint of a training: its complete state, as one file.

It holds tensors and plain values only, so that loading it executes no code. Everything else is rebuilt from the plan.
"""

import json
import random
from collections import deque
from io import BytesIO
from typing import Any

import numpy as np
import torch
from stable_baselines3.common.base_class import BaseAlgorithm

from ackclock.gym.learn.lanes import FlowVecEnv

_COUNTERS = (
    "num_timesteps",
    "_n_updates",
    "_n_calls",
    "_episode_num",
    "_current_progress_remaining",
    "exploration_rate",
)
_BUFFER = ("observations", "next_observations", "actions", "rewards", "dones", "timeouts")

Curve = list[tuple[int, int, int, float]]
"""Rows of the learning curve: steps so far, lane, decisions in the episode, return."""


def capture(model: BaseAlgorithm, environments: FlowVecEnv, curve: Curve) -> bytes:
    """Return the state of a training between two rollouts."""
    state = {
        "parameters": model.get_parameters(),
        "counters": {name: getattr(model, name) for name in _COUNTERS if hasattr(model, name)},
        "last_observations": torch.from_numpy(model._last_obs),
        "episode_starts": torch.from_numpy(model._last_episode_starts),
        "recent": [dict(episode) for episode in model.ep_info_buffer],
        "lanes": [(lane.episode, torch.tensor(lane.actions, dtype=torch.float64)) for lane in environments.lanes],
        "replay": _replay(model),
        "random": _generators(model),
        "curve": curve,
    }
    buffer = BytesIO()
    torch.save(state, buffer)
    return buffer.getvalue()


def restore(content: bytes, model: BaseAlgorithm, environments: FlowVecEnv) -> Curve:
    """Restore the state of a newly built algorithm and its environments.

    Returns:
        The learning curve so far.
    """
    state = torch.load(BytesIO(content), weights_only=True)
    model.set_parameters(state["parameters"], device="cpu")
    for name, value in state["counters"].items():
        setattr(model, name, value)
    model._last_obs = state["last_observations"].numpy()
    model._last_episode_starts = state["episode_starts"].numpy()
    model.ep_info_buffer = deque(state["recent"], maxlen=model._stats_window_size)
    model.ep_success_buffer = deque(maxlen=model._stats_window_size)
    for lane, (episode, actions) in zip(environments.lanes, state["lanes"], strict=True):
        lane.return_to(episode, actions.tolist())
    _fill(model, state["replay"])
    _set_generators(model, state["random"])
    return [tuple(row) for row in state["curve"]]


def _replay(model: BaseAlgorithm) -> dict[str, Any] | None:
    """Return the filled part of the replay buffer."""
    buffer = getattr(model, "replay_buffer", None)
    if buffer is None:
        return None
    filled = buffer.buffer_size if buffer.full else buffer.pos
    arrays = {name: torch.from_numpy(getattr(buffer, name)[:filled]) for name in _BUFFER}
    return {"at": buffer.pos, "is_full": buffer.full, "arrays": arrays}


def _fill(model: BaseAlgorithm, replay: dict[str, Any] | None) -> None:
    if replay is None:
        return
    buffer = model.replay_buffer
    buffer.pos, buffer.full = replay["at"], replay["is_full"]
    for name, array in replay["arrays"].items():
        getattr(buffer, name)[: len(array)] = array.numpy()


def _generators(model: BaseAlgorithm) -> dict[str, Any]:
    """Return the states of all random generators of Stable-Baselines3: Python, NumPy, PyTorch and the action space."""
    kind, key, *place = np.random.get_state(legacy=True)  # noqa: NPY002 (the generator is Stable-Baselines3's choice)
    return {
        "python": json.dumps(random.getstate()),
        "numpy": [kind, np.asarray(key).tolist(), *place],
        "torch": torch.get_rng_state(),
        "actions": json.dumps(model.action_space.np_random.bit_generator.state),
    }


def _set_generators(model: BaseAlgorithm, states: dict[str, Any]) -> None:
    version, internal, gauss = json.loads(states["python"])
    random.setstate((version, tuple(internal), gauss))
    kind, key, *place = states["numpy"]
    np.random.set_state((kind, np.array(key, np.uint32), *place))  # noqa: NPY002
    torch.set_rng_state(states["torch"])
    model.action_space.np_random.bit_generator.state = json.loads(states["actions"])
