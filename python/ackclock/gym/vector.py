"""Many copies of an environment, stepped on threads of the core into arrays that are used again."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from gymnasium import spaces
from gymnasium.error import ClosedEnvironmentError, ResetNeeded
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space
from numpy.typing import NDArray

from ackclock import _core
from ackclock._core import Scenario
from ackclock.gym.agent import AgentSettings, spaces_of
from ackclock.gym.flow import ScenarioLike, first_flow, loaded
from ackclock.gym.names import ActionName, DecisionName, ObservationName, RewardName, Side
from ackclock.gym.own import Own
from ackclock.system import cores

_SEEDS = 2**63


class VectorFlowEnv(VectorEnv[NDArray[np.float32], NDArray[Any], NDArray[Any]]):
    """The same as so many `FlowEnv`, side by side.

    The arrays that `step` and `reset` return are the same ones at every call; `copy=True` returns new ones. An
    environment whose episode is over begins another with the next step, which ignores its action
    (`AutoresetMode.NEXT_STEP`), or within the step that ended it (`AutoresetMode.SAME_STEP`): then the observation is
    the next episode's, and `infos["final_obs"]` has the last one of each episode that ended. Episode i + 1 of an
    environment follows from the seed of its first.
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
        observations: Sequence[ObservationName | str | Mapping[str, Any]] = (
            "threshold_segments",
            "cwnd_segments",
            "rtt_ms",
        ),
        history: int = 1,
        scaled: bool = False,
        decide: DecisionName | str | Mapping[str, float] = "window",
        action: ActionName | str | Mapping[str, Any] = "deltas",
        reward: RewardName | str | Mapping[str, Any] = "dqn",
        slow_start: Side = "stack",
        on_loss: Side = "stack",
        threads: int | None = None,
        copy: bool = False,
        autoreset: AutoresetMode | str = AutoresetMode.NEXT_STEP,
        render_mode: None = None,
    ) -> None:
        """Make the copies.

        Args:
            scenario: The scenario, or the path of its file.
            num_envs: How many.
            flow: Name of the agent's flow; the first one if not given.
            observations: Names of observations, in the order in which they are to come.
            history: Observations of so many decisions, the latest last.
            scaled: Bring observations into [-1, 1].
            decide: When the agent is asked: `"ack"`, `{"acks": n}`, `"window"`, `"round"`, `{"rounds": x}`,
                `"cubic_pace"`, or a time such as `"20 ms"`.
            action: Name of an action, or a table `{"kind": name, ...}` with its parameters.
            reward: Likewise of a reward.
            slow_start: Who opens the window at the start and after a timeout: `"stack"` or `"agent"`.
            on_loss: Who answers losses and marks; timeouts are the stack's.
            threads: How many threads simulate; one for each core if not given. Results do not depend on it.
            copy: Return arrays of their own with every step.
            autoreset: When an environment whose episode is over begins another: `NEXT_STEP` or `SAME_STEP`, or
                Gymnasium's text of it, such as "SameStep".
            render_mode: Only None.

        Raises:
            ScenarioError: If the scenario's file is wrong.
            ValueError: If a setting is wrong.
        """
        if any(isinstance(one, Own) for one in observations):
            raise ValueError(
                "observations made of functions need vectorization_mode='sync'; name some of the catalogue, or a class "
                "of yours (ackclock.parts.Observation)"
            )
        if callable(reward):
            raise ValueError(
                "a reward that is a function needs vectorization_mode='sync'; name one, or a class of yours "
                "(ackclock.parts.Reward)"
            )
        if render_mode is not None:
            raise ValueError("many environments at once are not drawn; give no render_mode")
        mode = _autoreset_mode(autoreset)
        if num_envs < 1:
            raise ValueError(f"num_envs = {num_envs}; give at least 1")
        self.scenario: Scenario = loaded(scenario)
        self.flow: str = first_flow(self.scenario) if flow is None else flow
        self.settings: AgentSettings = AgentSettings(
            observations=observations,
            history=history,
            scaled=scaled,
            decide=decide,
            action=action,
            reward=reward,
            slow_start=slow_start,
            on_loss=on_loss,
        )
        one = _core.Environment(self.scenario, [(self.flow, self.settings.to_json())])
        self._resets_at_once = mode is AutoresetMode.SAME_STEP
        self._core = _core.VectorEnvironment(one, num_envs, threads or cores(), self._resets_at_once)
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
        """Begin an episode in each.

        Args:
            seed: A seed for each, or one from which `seed + i` follows; drawn if not given.
            options: Not used.

        Returns:
            Observations, a float32 array with a row for each environment, and an empty dictionary.

        Raises:
            ClosedEnvironmentError: If the environments were closed.
            ValueError: If there are too few seeds or too many.
        """
        if self.closed:
            raise ClosedEnvironmentError("reset() after close(); make new environments")
        super().reset(seed=seed if isinstance(seed, int) else None)
        if isinstance(seed, int) or seed is None:
            seeds: list[int | None] = [None if seed is None else seed + index for index in range(self.num_envs)]
        else:
            seeds = list(seed)
        drawn = [int(self.np_random.integers(_SEEDS)) if one is None else one for one in seeds]
        self._core.reset(drawn, self._observations)
        self._is_begun = True
        return self._own(self._observations), {}

    def step(
        self, actions: NDArray[Any]
    ) -> tuple[NDArray[np.float32], NDArray[np.float64], NDArray[np.bool_], NDArray[np.bool_], dict[str, Any]]:
        """Act in each, and run each to its next decision.

        Args:
            actions: An action for each: numbers of choices, or an array of shape (num_envs, 1).

        Returns:
            Observations, a float32 array with a row for each; arrays of shape (num_envs,) of rewards (float64), of
            whether the flow is over and of whether the scenario's time is (bool); and with `SAME_STEP` `final_obs`.

        Raises:
            ResetNeeded: If no episode has begun.
            ClosedEnvironmentError: If the environments were closed.
            ValueError: If there are too few or too many, or one is no member of the action space.
        """
        if self.closed:
            raise ClosedEnvironmentError("step() after close(); make new environments")
        if not self._is_begun:
            raise ResetNeeded("step() without an episode under way; call reset() first")
        actions = np.asarray(actions)
        if actions.size != self.num_envs:
            raise ValueError(f"{actions.size} actions for {self.num_envs} environments; give one for each")
        self._actions[:] = actions.reshape(-1)
        ends = self._terminated, self._truncated
        self._core.step(self._actions, self._observations, self._rewards, *ends, self._finals)
        infos = self._infos(self._terminated | self._truncated) if self._resets_at_once else {}
        return (
            self._own(self._observations),
            self._own(self._rewards),
            self._own(self._terminated),
            self._own(self._truncated),
            infos,
        )

    def _infos(self, is_over: NDArray[np.bool_]) -> dict[str, Any]:
        """What Gymnasium tells of episodes that ended, if any did; of their own they have nothing to tell."""
        if not is_over.any():
            return {}
        last = np.full(self.num_envs, None, object)
        for index in np.flatnonzero(is_over):
            last[index] = self._finals[index].copy()
        return {"final_obs": last, "_final_obs": is_over, "final_info": {}, "_final_info": is_over.copy()}

    def _own(self, array: NDArray[Any]) -> NDArray[Any]:
        return array.copy() if self._copy else array


def _autoreset_mode(given: AutoresetMode | str) -> AutoresetMode:
    known = (AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP)
    for mode in known:
        if given in (mode, mode.value):
            return mode
    texts = " or ".join(repr(mode.value) for mode in known)
    raise ValueError(f"autoreset = {given!r} is unknown; give {texts}")
