"""Vector environment: many copies of an environment, stepped on threads of the core into reused arrays."""

import copy
import json
from collections.abc import Sequence
from typing import Any, Unpack

import numpy as np
from gymnasium import spaces
from gymnasium.error import ClosedEnvironmentError, ResetNeeded
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space
from numpy.typing import NDArray

from ackclock import _core
from ackclock._core import Scenario
from ackclock.base.bounds import whole
from ackclock.base.printable import amount
from ackclock.base.system import cores, physical_bytes
from ackclock.gym.agent import NUMBERS, AgentSettings, Settings, checked, spaces_of
from ackclock.gym.copies import Remade, check_options, check_seed, twin_of
from ackclock.gym.flow import ScenarioLike, drawn_of, loaded, named_flow
from ackclock.gym.own import Own, OwnAction, listed

_SEEDS = 2**63
_MOST_THREADS = 1_000
"""Limit on the number of threads, above the number of cores of any machine; more is taken for a mistake."""


class VectorSettings(Settings, total=False):
    """Keyword arguments of `VectorFlowEnv`, with its defaults, for functions that pass them on."""

    num_envs: int
    flow: str | None
    threads: int | None
    copy: bool
    autoreset: AutoresetMode | str
    render_mode: None


class VectorFlowEnv(Remade, VectorEnv[NDArray[np.float32], NDArray[Any], NDArray[Any]]):
    """Vector of `FlowEnv` environments, side by side.

    `step` and `reset` return the same arrays at every call; `copy=True` returns new ones. When an episode is over,
    `AutoresetMode.NEXT_STEP` begins another with the next step, which ignores its action. `AutoresetMode.SAME_STEP`
    begins it within the step that ended the last: the observation is the new episode's, and `infos["final_obs"]` has
    the last one of each ended episode. Seeds of later episodes follow from the environment's first seed. `infos` has
    the entries of the single environments in the form of Gymnasium's vector environments: `seed`, `time_s` and `drawn`
    at the beginning of an episode, and `summary` at its end (within `final_info` with `SAME_STEP`).
    """

    num_envs: int
    metadata: dict[str, Any]
    single_observation_space: "spaces.Box[np.float32]"
    single_action_space: "spaces.Space[Any]"
    observation_space: "spaces.Space[Any]"
    action_space: "spaces.Space[Any]"

    def __init__(
        self,
        scenario: ScenarioLike,
        *,
        num_envs: int = 1,
        flow: str | None = None,
        threads: int | None = None,
        copy: bool = False,
        autoreset: AutoresetMode | str = AutoresetMode.NEXT_STEP,
        render_mode: None = None,
        **settings: Unpack[Settings],
    ) -> None:
        """Make the environments.

        Args:
            scenario: The scenario, or the path of its file.
            num_envs: Number of environments, limited by memory.
            flow: Name of the agent's flow; the first one if not given.
            threads: Number of simulating threads, from 1 to 1000; one per core if not given. Results do not depend on
                it.
            copy: Return new arrays at every step.
            autoreset: Time of the next episode's beginning: `NEXT_STEP` or `SAME_STEP`, or Gymnasium's text for it,
                such as "SameStep".
            render_mode: Must be None.
            settings: Settings of the agent; see `Settings`. Functions are not supported here.

        Raises:
            ScenarioError: If the scenario's file is wrong.
            ValueError: If a setting is wrong.
        """
        if any(isinstance(one, Own) for one in listed(settings.get("observations", ()))):
            raise ValueError(
                "observations made of functions need gymnasium.vector.SyncVectorEnv; name some of the catalogue, or a "
                "subclass of ackclock.parts.Observation"
            )
        if callable(settings.get("reward")):
            raise ValueError(
                "a reward that is a function needs gymnasium.vector.SyncVectorEnv; name one, or a subclass of "
                "ackclock.parts.Reward"
            )
        if isinstance(settings.get("action"), OwnAction):
            raise ValueError("an action that is a function needs gymnasium.vector.SyncVectorEnv; name one")
        if render_mode is not None:
            raise ValueError("vector environments are not rendered; leave render_mode out")
        mode = _autoreset_mode(autoreset)
        self.scenario: Scenario = loaded(scenario)
        num_envs = whole("num_envs", num_envs, 1, max(physical_bytes() // max(self.scenario.memory_bytes, 1), 1))
        threads = cores() if threads is None else whole("threads", threads, 1, _MOST_THREADS)
        self.flow: str = named_flow(self.scenario, flow)
        self.settings: AgentSettings = checked(settings)
        one = _core.Environment(self.scenario, [(self.flow, self.settings.to_json())])
        self._resets_at_once = mode is AutoresetMode.SAME_STEP
        self._core = _core.VectorEnvironment(one, num_envs, threads, self._resets_at_once)
        self.num_envs = num_envs
        self._copy = copy
        self.metadata = {"autoreset_mode": mode}
        self.single_observation_space, self.single_action_space = spaces_of(one.spaces(0))
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self._is_begun = False
        self._observations = np.zeros((num_envs, *self.single_observation_space.shape), np.float32)
        self._finals = np.zeros_like(self._observations)
        self._actions = np.zeros(num_envs)
        self._rewards = np.zeros(num_envs)
        self._terminated, self._truncated = np.zeros(num_envs, np.bool_), np.zeros(num_envs, np.bool_)

    def reset(
        self, *, seed: int | Sequence[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[NDArray[np.float32], dict[str, Any]]:
        """Begin an episode in each environment.

        Args:
            seed: A seed for each, or one from which `seed + i` follows; drawn if not given.
            options: `{"reset_mask": ...}`, a bool array: only environments with true are reset.

        Returns:
            Observations, a float32 array with a row for each environment, and `infos`.

        Raises:
            ClosedEnvironmentError: If the environments were closed.
            ResetNeeded: If an environment that is not reset has no episode.
            ValueError: If the number of seeds is wrong, or an option is.
        """
        if self.closed:
            raise ClosedEnvironmentError("reset() after close(); make new environments")
        begins = self._mask(options)
        seeds = self._seeds(seed)
        super().reset(seed=seeds[0] if seed is not None and not isinstance(seed, Sequence | np.ndarray) else None)
        drawn = [int(self.np_random.integers(_SEEDS)) if one is None else one for one in seeds]
        chosen = [one if is_wanted else None for one, is_wanted in zip(drawn, begins, strict=True)]
        self._core.reset(chosen, self._observations)
        self._is_begun = True
        self._terminated[begins] = self._truncated[begins] = False
        return self._own(self._observations), self._begun({}, begins)

    def _seeds(self, seed: Any) -> list[int | None]:
        """Return a seed for each environment; None if it is to be drawn."""
        if seed is None:
            return [None] * self.num_envs
        if not isinstance(seed, Sequence | np.ndarray) or isinstance(seed, str):
            first = check_seed(seed, after=self.num_envs - 1)
            return [first + index for index in range(self.num_envs)]
        if len(seed) != self.num_envs:
            raise ValueError(
                f"{amount(len(seed), 'seed')} for {amount(self.num_envs, 'environment')}; give one for each"
            )
        return [None if one is None else check_seed(one) for one in seed]

    def _mask(self, options: dict[str, Any] | None) -> NDArray[np.bool_]:
        """Return the environments to be reset, as a mask."""
        check_options(options, ("reset_mask",))
        if not options or "reset_mask" not in options:
            return np.ones(self.num_envs, np.bool_)
        mask = np.asarray(options["reset_mask"])
        if mask.shape != (self.num_envs,) or mask.dtype != np.bool_ or not mask.any():
            raise ValueError(f"reset_mask must be a bool array of shape ({self.num_envs},) with a True; not {mask!r}")
        if not self._is_begun and not mask.all():
            raise ResetNeeded("reset() with a reset_mask before an episode has begun in each; call reset() without one")
        return mask

    def step(
        self, actions: NDArray[Any]
    ) -> tuple[NDArray[np.float32], NDArray[np.float64], NDArray[np.bool_], NDArray[np.bool_], dict[str, Any]]:
        """Act in each environment, and run each to its next decision.

        Args:
            actions: An action for each: indices of choices, or an array of shape (num_envs, 1).

        Returns:
            Observations, a float32 array with a row for each; arrays of shape (num_envs,) of rewards (float64), of
            whether the flow has ended and whether the scenario's time is over (bool); and `infos`, with `SAME_STEP`
            also `final_obs`.

        Raises:
            ResetNeeded: If no episode has begun.
            ClosedEnvironmentError: If the environments were closed.
            RuntimeError: If Ctrl-C, or a failing user-written part, has ended the episodes; `reset` begins others.
            ValueError: If the shape of the actions is wrong, or one is not in the action space.
        """
        if self.closed:
            raise ClosedEnvironmentError("step() after close(); make new environments")
        if not self._is_begun:
            raise ResetNeeded("step() without an episode under way; call reset() first")
        actions = np.asarray(actions)
        if actions.dtype.kind not in NUMBERS:
            raise ValueError(f"actions must be numbers, not of {actions.dtype}")
        if actions.shape != self.action_space.shape:
            raise ValueError(f"actions must be of shape {self.action_space.shape}, not {actions.shape}")
        self._actions[:] = actions.reshape(-1)
        was_over = self._terminated | self._truncated
        ends = self._terminated, self._truncated
        self._core.step(self._actions, self._observations, self._rewards, *ends, self._finals)
        is_over = self._terminated | self._truncated
        infos = self._ended({}, is_over) if is_over.any() else {}
        infos = self._begun(infos, is_over if self._resets_at_once else was_over)
        return (
            self._own(self._observations),
            self._own(self._rewards),
            self._own(self._terminated),
            self._own(self._truncated),
            infos,
        )

    def _ended(self, infos: dict[str, Any], is_over: NDArray[np.bool_]) -> dict[str, Any]:
        """Return the infos of episodes that ended."""
        for index in np.flatnonzero(is_over).tolist():
            summary = json.loads(self._core.outcome(index).summary_json())
            info: dict[str, Any] = {"summary": summary | {"seed": _seed(summary["seed"])}}
            if self._resets_at_once:
                info = {"final_obs": self._finals[index].copy(), "final_info": info}
            infos = self._add_info(infos, info, index)
        return infos

    def _begun(self, infos: dict[str, Any], begins: NDArray[np.bool_]) -> dict[str, Any]:
        """Return the infos of episodes that began."""
        for index in np.flatnonzero(begins).tolist():
            seed, time_s, values = self._core.episode(index)
            info = {"seed": _seed(seed), "time_s": time_s} | drawn_of(values)
            infos = self._add_info(infos, info, index)
        return infos

    def __copy__(self) -> "VectorFlowEnv":
        """Return an independent environment in the same state, as two cannot share simulations."""
        twin = twin_of(self)
        twin._core = copy.copy(self._core)
        twin._np_random = copy.deepcopy(self._np_random)
        return twin

    def _own(self, array: NDArray[Any]) -> NDArray[Any]:
        return array.copy() if self._copy else array


def _seed(seed: int) -> np.uint64:
    """Return a seed for an array of unsigned 64-bit integers, as later episodes' seeds have all 64 bits."""
    return np.uint64(seed)


def _autoreset_mode(given: AutoresetMode | str) -> AutoresetMode:
    known = (AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP)
    for mode in known:
        if given in (mode, mode.value):
            return mode
    texts = " or ".join(repr(mode.value) for mode in known)
    raise ValueError(f"autoreset = {given!r} is unknown; give {texts}")
