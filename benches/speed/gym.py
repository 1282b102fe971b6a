"""Environment steps per second, with environments from `gymnasium.make` and filled observations."""

import time
from dataclasses import asdict, dataclass
from typing import Any

import gymnasium
import numpy as np

from ackclock._core import Scenario
from ackclock.base.system import cores
from ackclock.gym import register_environments

from .cases import FOLDER

GROUP = "gym"
"""Name on the command line."""

_ENVIRONMENT = "ackclock/DqnNewReno-v0"
_HOLD = 3
_STEPS_AT_ONCE = 1_000
_COPIES = 64


@dataclass(frozen=True, slots=True)
class Pace:
    """Speed of stepping environments.

    Attributes:
        name: Name of the loop.
        title: Short description.
        steps: Steps taken, resets excluded.
        cpu_s: CPU time of all threads.
        wall_s: Wall time.
        threads: Number of simulating threads.
    """

    name: str
    title: str
    steps: int
    cpu_s: float
    wall_s: float
    threads: int = 1

    @property
    def steps_per_cpu_s(self) -> float:
        """Steps per second of CPU."""
        return self.steps / self.cpu_s

    @property
    def steps_per_s(self) -> float:
        """Steps per second of wall time."""
        return self.steps / self.wall_s

    def as_dict(self) -> dict[str, Any]:
        """Return the entry of the JSON."""
        rates = {"steps_per_cpu_s": self.steps_per_cpu_s, "steps_per_s": self.steps_per_s}
        return asdict(self) | rates


def paces(*, min_cpu_s: float) -> list[Pace]:
    """Measure each loop with an agent that holds the window.

    Args:
        min_cpu_s: Minimum CPU time per loop.
    """
    register_environments()
    threads = cores()
    return [
        _single("ack", "2 Mbit/s, a decision on every ACK", "2 Mbit/s", "ack", min_cpu_s),
        _single("interval", "100 Mbit/s, a decision every 0.1 s", "100 Mbit/s", "100 ms", min_cpu_s),
        _vector("vector-1", f"{_COPIES} copies of the first, one thread", 1, min_cpu_s),
        _vector("vector", f"{_COPIES} copies of the first, a thread a core", threads, min_cpu_s),
    ]


def _scenario(rate: str) -> Scenario:
    return Scenario.load(str(FOLDER / "gym.toml"), [f'topology.bottleneck.rate="{rate}"'])


def _single(name: str, title: str, rate: str, decide: str, min_cpu_s: float) -> Pace:
    env = gymnasium.make(_ENVIRONMENT, scenario=_scenario(rate), decide=decide)
    env.reset(seed=1)
    steps, cpu, wall = 0, time.process_time(), time.perf_counter()
    while not steps or time.process_time() - cpu < min_cpu_s:
        for _ in range(_STEPS_AT_ONCE):
            _observation, _reward, terminated, truncated, _info = env.step(_HOLD)
            if terminated or truncated:
                env.reset()
        steps += _STEPS_AT_ONCE
    return Pace(name, title, steps, time.process_time() - cpu, time.perf_counter() - wall)


def _vector(name: str, title: str, threads: int, min_cpu_s: float) -> Pace:
    envs = gymnasium.make_vec(
        _ENVIRONMENT, num_envs=_COPIES, scenario=_scenario("2 Mbit/s"), decide="ack", threads=threads
    )
    envs.reset(seed=1)
    actions = np.full(_COPIES, _HOLD)
    steps, cpu, wall = 0, time.process_time(), time.perf_counter()
    while not steps or time.process_time() - cpu < min_cpu_s:
        for _ in range(_STEPS_AT_ONCE):
            envs.step(actions)
        steps += _STEPS_AT_ONCE * _COPIES
    return Pace(name, title, steps, time.process_time() - cpu, time.perf_counter() - wall, threads)
