"""Scenarios and rollouts that the tests of environments share."""

from typing import Any

import numpy as np

import ackclock
from networks import dumbbell

_NETWORK = f"""\
{dumbbell('rate = "10 Mbit/s", delay = "10 ms"', rate="100 Mbit/s", limit="60 packets")}
"""
ONE = f"""\
duration = "3 s"
tcp = {{ profile = "rfc" }}
{_NETWORK}
[[flow]]
name = "agent"
controller = "reno"
"""
"""24 ms of propagation, and 1.2 ms for a packet at the bottleneck: some 21 packets fill the path, 60 more the queue."""

TWO = f"""\
{ONE}
[[flow]]
name = "late"
controller = "cubic"
start = "500 ms"
"""
LOSSY = ONE.replace('60 packets" }', '60 packets" }, discard = [{ kind = "probability", p = 0.01 }]')


def scenario(text: str, *changes: str) -> ackclock.Scenario:
    return ackclock.Scenario.parse(text, "<text>", changes)


def rollout(env: Any, seed: int | None, steps: int, action: Any = None) -> list[tuple[Any, ...]]:
    """Return observations and rewards of an episode: the same actions for the same seed, or one action throughout."""
    env.action_space.seed(seed)
    seen: list[tuple[Any, ...]] = [(env.reset(seed=seed)[0].tobytes(),)]
    return seen + go_on(env, steps, action)


def go_on(env: Any, steps: int, action: Any = None) -> list[tuple[Any, ...]]:
    seen = []
    actions = (env.action_space.sample() if action is None else action for _ in range(steps))
    for chosen in actions:
        observation, reward, terminated, truncated, info = env.step(chosen)
        assert observation.dtype == np.float32
        seen.append((observation.tobytes(), reward, terminated, truncated, info.get("summary")))
        if terminated or truncated:
            break
    return seen
