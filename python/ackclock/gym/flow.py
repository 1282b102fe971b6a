"""Gymnasium environment with an agent on one flow of a scenario."""

import copy
import json
from collections.abc import Mapping
from os import PathLike
from pathlib import Path
from typing import Any, Unpack, final

import gymnasium
import numpy as np
from gymnasium import spaces
from gymnasium.error import ClosedEnvironmentError, ResetNeeded
from numpy.typing import NDArray

from ackclock import _core
from ackclock._core import Environment, Scenario
from ackclock.gym.agent import AgentSettings, Settings, number_of, spaces_of, split
from ackclock.gym.copies import Remade, check_options, check_seed, twin_of
from ackclock.gym.names import RenderMode
from ackclock.gym.on_kernel import KernelFlow
from ackclock.gym.own import OwnObservations, number
from ackclock.gym.screen import Screen
from ackclock.gym.values import Values
from ackclock.results.summaries import RunSummary
from ackclock.running import linux_kernels

Observation = NDArray[np.float32]
ScenarioLike = Scenario | str | PathLike[str]

_SEEDS = 2**63


@final
class State:
    """Saved state of a simulation, made by `FlowEnv.save`."""

    __slots__ = ("_core", "is_running", "own", "settings")

    def __init__(self, core: Environment, own: OwnObservations, settings: AgentSettings, *, is_running: bool) -> None:
        """Store copies of the core's environment and of the user's observations, and whether the episode is running."""
        self._core: Environment = copy.copy(core)
        self.settings: AgentSettings = settings
        self.own: OwnObservations = own.copy()
        self.is_running: bool = is_running

    def core(self) -> Environment:
        """Return a copy that continues from the saved state."""
        return copy.copy(self._core)


class FlowEnv(Remade, gymnasium.Env[Observation, Any]):
    """Environment with an agent on one flow of a scenario.

    ## Description
    The agent controls a TCP flow of a simulated network. The simulation advances from one decision to the next; the
    network, the other flows and the rest of the flow's TCP behave as in the scenario. The flow's own controller opens
    the window in slow start and responds to losses, unless `slow_start` or `on_loss` are `"agent"`.

    ## Action Space
    Set by `action`: `Discrete` for a table of segments, else a `Box` with one number; or the space of an `OwnAction`.
    See `ackclock list agents`.

    ## Observation Space
    A `Box` of float32, one number for each name in `observations`; with `history` above 1, one row for each of the last
    decisions, the latest last. Units are in the names; with `scaled` every number lies in [-1, 1].

    ## Rewards
    Set by `reward`, for the interval between two decisions; or computed by a function from the `Values` at the second.

    ## Starting State
    The first decision of the flow: after its handshake, and after slow start unless the agent controls that. The seed
    given to `reset` is the scenario's, and determines all randomness in it.

    ## Episode End
    Terminated when the receiver has all data of the flow, or the connection was given up; truncated at the end of the
    scenario's duration.

    ## Arguments
    `scenario` (a `Scenario` or the path of one), `flow` (a name; the first flow by default), `on` (`"simulation"`;
    `"kernel"`: the flow is a real connection of this machine's kernel, in real time; `"linux"` or `"linux:NAME"`: of a
    kernel of `ackclock linux build`, in virtual time), `render_mode`, and those of `Settings`.

    ## Version History
    * v0: first version
    """

    observation_space: "spaces.Box[np.float32]"
    action_space: "spaces.Space[Any]"
    metadata: dict[str, Any] = {"render_modes": ["human", "rgb_array"], "render_fps": 10}  # noqa: RUF012 (the base class's)

    def __init__(
        self,
        scenario: ScenarioLike,
        *,
        flow: str | None = None,
        on: str = "simulation",
        render_mode: RenderMode | None = None,
        **settings: Unpack[Settings],
    ) -> None:
        """Put an agent on a flow.

        Args:
            scenario: The scenario, or the path of its file.
            flow: Name of the flow; the first one if not given.
            on: Where the scenario runs: in the simulator (`"simulation"`), or on a kernel with the agent's flow as a
                real connection. On this machine's (`"kernel"`) an episode takes real time, including the agent's
                computation. On one of `ackclock linux build` (`"linux"`, `"linux:NAME"`) time stands still while the
                agent computes, and the same actions and seed give the same episode.
            render_mode: None, `"rgb_array"` for arrays or `"human"` for a window.
            settings: Settings of the agent, by keyword; see `Settings`.

        Raises:
            ScenarioError: If the scenario's file is wrong.
            ValueError: If a setting is wrong, or the flow is unknown.
            KernelError: If it is to run on a kernel, and this machine lacks something; the message says what.
        """
        virtual = linux_kernels.at(on) if isinstance(on, str) else None
        if virtual is None and on not in ("simulation", "kernel"):
            raise ValueError(f'on = {on!r} is unknown; write "simulation", "kernel", "linux" or "linux:NAME"')
        if on != "simulation" and render_mode is not None:
            raise ValueError("a connection on a kernel is not rendered; leave render_mode out, or simulate")
        if render_mode not in (None, *self.metadata["render_modes"]):
            raise ValueError(f"render_mode {render_mode!r} is unknown; known: {self.metadata['render_modes']}")
        self.scenario: Scenario = loaded(scenario)
        self.flow: str = named_flow(self.scenario, flow)
        self.render_mode = render_mode
        self.settings, self._own, self._own_reward, self._own_action = split(settings)
        simulated = _core.Environment(self.scenario, [(self.flow, self.settings.to_json())])
        named_space, self.action_space = spaces_of(simulated.spaces(0))
        self.observation_space = self._own.space(named_space)
        if self._own_action is not None:
            self.action_space = copy.deepcopy(self._own_action.space)
        placed = self.scenario, self.flow, self.settings.to_json()
        self.kernel = None if on == "simulation" else KernelFlow(*placed, virtual)
        self._core: Environment = self.kernel or simulated  # type: ignore[assignment]  # which answers alike
        self._has_own = bool(self._own) or self._own_reward is not None
        self._is_running = self._is_closed = False
        self._takes_number = isinstance(self.action_space, gymnasium.spaces.Discrete)
        self._screen = Screen(self.scenario, self.flow, show=render_mode == "human") if render_mode else None

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        """Begin an episode and run to its first decision.

        Args:
            seed: Seed of the scenario; drawn from the environment's generator if not given.
            options: None, or an empty mapping.

        Returns:
            The first observation, a float32 array of the shape of `observation_space`, and `{"seed": ..., "time_s":
            ...}`: the scenario's seed, and simulated time in seconds. If the scenario has random values, also `drawn`,
            the values by their places.

        Raises:
            ClosedEnvironmentError: If the environment was closed.
            ValueError: If there are options, or the seed is not valid.
        """
        check_options(options)
        if self._is_closed:
            raise ClosedEnvironmentError("reset() after close(); make a new environment")
        given = None if seed is None else check_seed(seed)
        super().reset(seed=given)
        scenario_seed = int(self.np_random.integers(_SEEDS)) if given is None else given
        named = self._core.reset(scenario_seed)
        self._own.begin()
        observation = self._own.beside(named, Values(self._core))
        self._is_running = True
        if self._screen is not None:
            self._screen.begin(self._core)
        return observation, {"seed": scenario_seed, "time_s": self._core.now_s} | drawn_of(self._core.drawn)

    def step(self, action: Any) -> tuple[Observation, float, bool, bool, dict[str, Any]]:
        """Act, and run to the next decision.

        Args:
            action: A member of the action space: the index of a choice, an array of shape (1,), or what an `OwnAction`
                takes.

        Returns:
            Observation, a float32 array of the shape of `observation_space`; reward; whether the flow has ended;
            whether the scenario's time is over; and an info dictionary, with `{"summary": ...}` at the last step.

        Raises:
            ResetNeeded: If no episode has begun, or the last one is over.
            ClosedEnvironmentError: If the environment was closed.
            RuntimeError: If Ctrl-C, or a failing user-written part, has ended the episode; `reset` begins another.
            ValueError: If the action is not a member of the action space.
        """
        if not self._is_running:
            raise self._refusal()
        stepped = self._stepped(action)
        if self._has_own:
            values = Values(self._core)
            paid = stepped[1] if self._own_reward is None else number(self._own_reward(values), "the reward")
            stepped = (self._own.beside(stepped[0], values), paid, *stepped[2:])
        if stepped[2] or stepped[3]:
            self._is_running = False
            stepped[4]["summary"] = self.summary()
        if self._screen is not None:
            self._screen.note(self._core)
            if self.render_mode == "human":
                self.render()
        return stepped

    def _stepped(self, action: Any) -> tuple[Observation, float, bool, bool, dict[str, Any]]:
        if self._own_action is not None:
            return self._core.step(self._own_action.decision(action, Values(self._core)))
        try:
            return self._core.step(action if self._takes_number or len(action) != 1 else action[0])
        except (TypeError, LookupError, OverflowError):
            number_of(action, self.action_space)  # raises if that is why
            raise

    def _refusal(self) -> Exception:
        if self._is_closed:
            return ClosedEnvironmentError("step() after close(); make a new environment")
        return ResetNeeded("step() without an episode under way; call reset() first")

    def summary(self) -> RunSummary:
        """Return the summary of the episode so far: flows, links and more, as in `summary.json`.

        On a kernel it is empty until the episode is over.
        """
        if self.kernel is not None:
            return self.kernel.summary()
        summary: RunSummary = json.loads(self._core.outcome().summary_json())
        return summary

    @property
    def time_s(self) -> float:
        """Time since the episode began, in seconds: simulated, or on a kernel its time since the first ACK."""
        return self._core.now_s

    def save(self) -> State:
        """Save the state of the simulation, which `restore` can continue any number of times.

        Raises:
            ValueError: On a kernel, whose state cannot be stored.
        """
        return State(self._core, self._own, self.settings, is_running=self._is_running)

    def restore(self, state: State) -> None:
        """Continue from a saved state, in this environment or in one like it.

        Raises:
            ClosedEnvironmentError: If the environment was closed.
            ValueError: If the state is of an agent with other settings, or this environment is on a kernel.
        """
        if self._is_closed:
            raise ClosedEnvironmentError("restore() after close(); make a new environment")
        if self.kernel is not None:
            raise ValueError("a connection on a kernel cannot be restored; simulate for that")
        if state.settings != self.settings or not state.own.is_like(self._own):
            raise ValueError(
                f"state: belongs to an agent with other settings, {state.settings}; restore it in such an agent"
            )
        self._core, self._own, self._is_running = state.core(), state.own.copy(), state.is_running

    def clone(self) -> "FlowEnv":
        """Return an independent environment in the same state.

        Raises:
            ValueError: On a kernel, as with `save`.
        """
        twin = twin_of(self)
        twin._core, twin._own = copy.copy(self._core), self._own.copy()
        twin._screen = None if self._screen is None else self._screen.twin()
        twin._np_random = copy.deepcopy(self._np_random)
        return twin

    def __copy__(self) -> "FlowEnv":
        """Return a `clone`, as two environments cannot share a simulation."""
        return self.clone()

    def render(self) -> Any:
        """Draw cwnd, rate and queue over time: an array for `rgb_array`, a window for `human`."""
        if self._screen is None:
            gymnasium.logger.warn("render() without render_mode draws nothing; make the environment with one")
            return None
        return self._screen.draw(self._core)

    def close(self) -> None:
        """Close the window and end the kernel, if there is one; the environment cannot be used afterwards."""
        self._is_running, self._is_closed = False, True
        if self.kernel is not None:
            self.kernel.end()
        if self._screen is not None:
            self._screen.close()


def drawn_of(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the `info` entry with the values drawn for an episode; empty if none were drawn."""
    return {"drawn": dict(values)} if values else {}


def loaded(scenario: ScenarioLike) -> Scenario:
    """Return a scenario, loading it if a path is given."""
    return scenario if isinstance(scenario, Scenario) else Scenario.load(Path(scenario))


def named_flow(scenario: Scenario, flow: str | None) -> str:
    """Return the name of the agent's flow: the given one, or else the first.

    Raises:
        ValueError: If it is not a name, or the scenario has no flow.
    """
    if not isinstance(flow, str | None):
        raise ValueError(f"flow = {flow!r}: must be the name of a flow, such as {first_flow(scenario)!r}")
    return first_flow(scenario) if flow is None else flow


def first_flow(scenario: Scenario) -> str:
    """Return the name of a scenario's first flow.

    Raises:
        ValueError: If it has none.
    """
    if not scenario.flow_names:
        raise ValueError("the scenario has no flow that an agent could control")
    return scenario.flow_names[0]
