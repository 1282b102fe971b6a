"""Parallel environments in the form that Stable-Baselines3 steps."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from numpy.typing import NDArray
from stable_baselines3.common.vec_env import VecEnv

from ackclock.base.system import cores
from ackclock.gym import VectorFlowEnv

Stepped = tuple[NDArray[np.float32], float, bool, dict[str, Any]]


class Lane:
    """One environment with consecutive episodes, each with its own seed.

    An episode is identified by its number and actions, so that it can be replayed.
    """

    def __init__(self, environment: VectorFlowEnv, seed: int, index: int) -> None:
        """Take over an environment."""
        self.environment = environment
        self._seed, self._index = seed, index
        self.episode: int = -1
        self.actions: list[float] = []
        self._paid = 0.0

    def begin(self) -> NDArray[np.float32]:
        """Begin the next episode and return its first observation."""
        self.episode += 1
        self.actions, self._paid = [], 0.0
        observations, _ = self.environment.reset(seed=[episode_seed(self._seed, self._index, self.episode)])
        return _first(observations)

    def step(self, action: Any) -> Stepped:
        """Act, and begin the next episode immediately if this one is over, as Stable-Baselines3 expects.

        Returns:
            The next observation, the reward, whether the episode has ended, and the info for its end: the last
            observation, from which the value of a truncated episode is estimated.
        """
        observation, reward, terminated, truncated = self._advance(float(np.asarray(action).reshape(-1)[0]))
        if not (terminated or truncated):
            return observation, reward, False, {}
        info = {
            "terminal_observation": observation,
            "TimeLimit.truncated": truncated and not terminated,
            "episode": {"r": self._paid, "l": len(self.actions)},
        }
        return self.begin(), reward, True, info

    def return_to(self, episode: int, actions: Sequence[float]) -> None:
        """Replay an episode up to its last known state.

        Args:
            episode: Number of the episode.
            actions: Actions taken in it.
        """
        self.episode = episode - 1
        self.begin()
        for action in actions:
            self._advance(action)

    def _advance(self, action: float) -> tuple[NDArray[np.float32], float, bool, bool]:
        observations, rewards, terminated, truncated, _ = self.environment.step(
            np.full(self.environment.action_space.shape or (), action)
        )
        self.actions.append(action)
        reward = float(rewards[0])
        self._paid += reward
        return _first(observations), reward, bool(terminated[0]), bool(truncated[0])


def _first(observations: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return a copy of the only row, as the environment reuses its array."""
    return np.array(observations[0])


def episode_seed(seed: int, lane: int, episode: int) -> int:
    """Return the scenario's seed for an episode; seeds of different episodes are independent.

    Returns:
        A number below 2^63.
    """
    return int(np.random.SeedSequence([seed, lane, episode]).generate_state(1, np.uint64)[0] >> np.uint64(1))


class FlowVecEnv(VecEnv):
    """Lanes, stepped on threads. Results do not depend on the number of threads.

    Each lane is a vector of one environment that is reset by itself. A resumed training puts each lane into the middle
    of its own episode, which the core's larger vectors cannot do, as all their seeds follow from the first.
    """

    def __init__(self, make: Callable[[], VectorFlowEnv], count: int, *, seed: int, threads: int | None = None) -> None:
        """Make the lanes.

        Args:
            make: Function that makes an environment with one copy.
            count: Number of lanes.
            seed: Seed from which those of all episodes follow.
            threads: Number of threads; one per core if not given.
        """
        self.lanes: list[Lane] = [Lane(make(), seed, index) for index in range(count)]
        first = self.lanes[0].environment
        super().__init__(count, first.single_observation_space, first.single_action_space)
        workers = min(threads or cores(), count)
        self._pool = ThreadPoolExecutor(workers) if workers > 1 else None
        self._shares = [range(first, count, workers) for first in range(workers)]
        self._actions: Any = None

    def reset(self) -> NDArray[np.float32]:
        """Begin an episode in each lane."""
        return np.stack([lane.begin() for lane in self.lanes])

    def step_async(self, actions: Any) -> None:
        """Store the actions for `step_wait`."""
        self._actions = actions

    def step_wait(self) -> tuple[NDArray[np.float32], NDArray[np.float32], NDArray[np.bool_], list[dict[str, Any]]]:
        """Act in each lane; lanes whose episode is over have begun the next one."""
        stepped: list[Stepped | None] = [None] * self.num_envs

        def work(share: range) -> None:
            for index in share:
                stepped[index] = self.lanes[index].step(self._actions[index])

        list(self._pool.map(work, self._shares) if self._pool else map(work, self._shares))
        observations, rewards, dones, infos = zip(*(one for one in stepped if one is not None), strict=True)
        return np.stack(observations), np.array(rewards, np.float32), np.array(dones), list(infos)

    def close(self) -> None:
        """Stop the threads."""
        if self._pool:
            self._pool.shutdown()

    def get_attr(self, attr_name: str, indices: Any = None) -> list[Any]:
        """Return an attribute of the environments."""
        return [getattr(self.lanes[index].environment, attr_name) for index in self._get_indices(indices)]

    def set_attr(self, attr_name: str, value: Any, indices: Any = None) -> None:
        """Refuse, since the environments' settings are fixed.

        Raises:
            AttributeError: Always.
        """
        raise AttributeError(f"{attr_name} cannot be set: the settings of these environments are fixed")

    def env_method(self, method_name: str, *method_args: Any, indices: Any = None, **method_kwargs: Any) -> list[Any]:
        """Call a method of the environments."""
        targets = [self.lanes[index].environment for index in self._get_indices(indices)]
        return [getattr(target, method_name)(*method_args, **method_kwargs) for target in targets]

    def env_is_wrapped(self, wrapper_class: type, indices: Any = None) -> list[bool]:
        """Return False for each lane, as none is wrapped."""
        return [False for _ in self._get_indices(indices)]

    def seed(self, seed: int | None = None) -> Sequence[int | None]:
        """Do nothing, as the seeds of all episodes follow from the initial one."""
        return [None] * self.num_envs
