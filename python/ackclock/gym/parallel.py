"""PettingZoo parallel environment with agents on several flows of a scenario."""

import copy
import json
from collections.abc import Mapping, Sequence
from typing import Any, Unpack

import gymnasium
import numpy as np
from gymnasium.error import ClosedEnvironmentError, ResetNeeded
from gymnasium.spaces import Space
from numpy.typing import NDArray
from pettingzoo import ParallelEnv

from ackclock import _core
from ackclock._core import Scenario
from ackclock.gym.agent import AgentSettings, Settings, number_of, spaces_of, split
from ackclock.gym.copies import Remade, check_seed, twin_of
from ackclock.gym.flow import Observation, ScenarioLike, drawn_of, loaded
from ackclock.gym.names import RenderMode
from ackclock.gym.own import OwnAction, OwnObservations, number
from ackclock.gym.screen import Screen
from ackclock.gym.values import Reward, Values
from ackclock.results.summaries import RunSummary

_SEEDS = 2**63

Steps = tuple[dict[str, Observation], dict[str, float], dict[str, bool], dict[str, bool], dict[str, dict[str, Any]]]
"""Observations, rewards, terminations, truncations and infos, by agent."""


class ParallelFlows(Remade, ParallelEnv[str, Observation, Any]):  # type: ignore[misc]
    """Environment with agents on several flows of a scenario.

    ## Description
    Like `FlowEnv`, with an agent on each of several flows that share a network. An agent has the name of its flow. The
    simulation advances to the first moment at which every agent in charge of its window waits for an action. An agent
    that waits keeps its window meanwhile. Agents whose flow has not begun, or is in the stack's slow start, are not
    asked: `infos[agent]["is_waiting"]` is False, and their actions are ignored.

    ## Action Space
    For each agent set by its `action`, as in `FlowEnv`.

    ## Observation Space
    For each agent a `Box` of float32, as in `FlowEnv`.

    ## Rewards
    For each agent set by its `reward`, for the time since its last action; or computed by a function from the `Values`.
    Each interval is rewarded once: when the agent is asked again, when its flow ends, or when the episode does. At
    other steps, and before its first action, the reward is 0.

    ## Starting State
    The first decision of all agents in charge. The seed given to `reset` is the scenario's.

    ## Episode End
    For each agent: terminated when its flow ends, as in `FlowEnv`; it is then no longer among `agents`. The others
    are truncated at the end of the scenario's duration.

    ## Arguments
    `scenario` (a `Scenario` or the path of one), `agents` (names of flows, all by default; or for each name the
    settings in which its agent differs), `render_mode`, and the fields of `AgentSettings` for all of them.

    ## Version History
    * v0: first version
    """

    metadata: dict[str, Any] = {  # noqa: RUF012 (the base class's)
        "name": "ackclock_parallel_flows_v0",
        "render_modes": ["human", "rgb_array"],
        "render_fps": 10,
        "is_parallelizable": True,
    }

    def __init__(
        self,
        scenario: ScenarioLike,
        *,
        agents: Sequence[str] | Mapping[str, Mapping[str, Any]] | None = None,
        render_mode: RenderMode | None = None,
        **settings: Unpack[Settings],
    ) -> None:
        """Put an agent on each of several flows.

        Args:
            scenario: The scenario, or the path of its file.
            agents: Names of flows, all if not given; or for each name the `Settings` in which its agent differs.
            render_mode: None, `"rgb_array"` or `"human"`; it shows the first agent's flow.
            settings: Settings of all agents, by keyword; see `Settings`.

        Raises:
            ScenarioError: If the scenario's file is wrong.
            TypeError: If a setting is unknown.
            ValueError: If a setting is wrong, or a flow is unknown.
        """
        if render_mode not in (None, *self.metadata["render_modes"]):
            raise ValueError(f"render_mode {render_mode!r} is unknown; known: {self.metadata['render_modes']}")
        self.scenario: Scenario = loaded(scenario)
        self.render_mode = render_mode
        differing = _by_agent(self.scenario.flow_names if agents is None else agents)
        chosen = {name: split({**settings, **own}) for name, own in differing.items()}  # type: ignore[typeddict-item]
        self.settings: dict[str, AgentSettings] = {name: one.settings for name, one in chosen.items()}
        self._own: dict[str, OwnObservations] = {name: one.observations for name, one in chosen.items()}
        self._own_rewards: dict[str, Reward] = {
            name: one.reward for name, one in chosen.items() if one.reward is not None
        }
        self._own_actions: dict[str, OwnAction] = {
            name: one.action for name, one in chosen.items() if one.action is not None
        }
        self._core = _core.Environment(self.scenario, [(name, one.to_json()) for name, one in self.settings.items()])
        spaces = {name: spaces_of(self._core.spaces(place)) for place, name in enumerate(self.settings)}
        self.observation_spaces: dict[str, Space[Observation]] = {
            name: self._own[name].space(pair[0]) for name, pair in spaces.items()
        }
        self.action_spaces: dict[str, Space[Any]] = {name: pair[1] for name, pair in spaces.items()}
        self.action_spaces |= {name: copy.deepcopy(own.space) for name, own in self._own_actions.items()}
        self.possible_agents: list[str] = list(self.settings)
        self.agents: list[str] = []
        self._places = {name: place for place, name in enumerate(self.possible_agents)}
        self._random = np.random.default_rng()
        self._is_closed = False
        shown = self.possible_agents[0]
        self._screen = Screen(self.scenario, shown, show=render_mode == "human") if render_mode else None

    def observation_space(self, agent: str) -> Space[Observation]:
        """Return an agent's observation space."""
        return self.observation_spaces[agent]

    def action_space(self, agent: str) -> Space[Any]:
        """Return an agent's action space."""
        return self.action_spaces[agent]

    def reset(
        self, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, Observation], dict[str, dict[str, Any]]]:
        """Begin an episode and run to its first decision.

        Args:
            seed: Seed of the scenario; drawn from the environment's generator if not given.
            options: Ignored, as PettingZoo's own test passes meaningless ones.

        Raises:
            ClosedEnvironmentError: If the environment was closed.
            ValueError: If the seed is not valid.
        """
        if self._is_closed:
            raise ClosedEnvironmentError("reset() after close(); make a new environment")
        given = None if seed is None else check_seed(seed)
        if given is not None:
            self._random = np.random.default_rng(given)
        scenario_seed = int(self._random.integers(_SEEDS)) if given is None else given
        named = self._core.reset_all(scenario_seed)
        self.agents = list(self.possible_agents)
        for own in self._own.values():
            own.begin()
        observations = self._all_of(named)
        if self._screen is not None:
            self._screen.begin(self._core)
        infos = self._infos()
        for info in infos.values():
            info |= {"seed": scenario_seed} | drawn_of(self._core.drawn)
        return observations, infos

    def step(self, actions: Mapping[str, Any]) -> Steps:
        """Act, and run to the next decision.

        Args:
            actions: An action for each agent that waits; those of others may be left out.

        Raises:
            ResetNeeded: If no episode has begun, or the last one is over.
            ClosedEnvironmentError: If the environment was closed.
            RuntimeError: If Ctrl-C, or a failing user-written part, has ended the episode; `reset` begins another.
            ValueError: If a waiting agent has no action, or one outside its action space.
        """
        if self._is_closed:
            raise ClosedEnvironmentError("step() after close(); make a new environment")
        if not self.agents:
            raise ResetNeeded("step() without an episode under way; call reset() first")
        if not isinstance(actions, Mapping):
            raise ValueError(f"actions = {actions!r}: must be a dictionary with an action for each agent")
        decisions = [self._decision(place, name, actions) for name, place in self._places.items()]
        named, paid, over, is_time_over = self._core.step_all(decisions)
        observations, infos = self._all_of(named), self._infos()
        rewards = {name: self._reward(name, paid[self._places[name]]) for name in self.agents}
        terminated = {name: over[self._places[name]] for name in self.agents}
        truncated = {name: is_time_over and not terminated[name] for name in self.agents}
        left = [name for name in self.agents if terminated[name] or truncated[name]]
        if left:
            summary = self.summary()
            for name in left:
                infos[name]["summary"] = summary
        self.agents = [name for name in self.agents if name not in left]
        self._look()
        return observations, rewards, terminated, truncated, infos

    def _reward(self, name: str, paid: float | None) -> float:
        """Return an agent's reward, by its own function if it has one; 0 if no reward is due."""
        if paid is None or name not in self._own_rewards:
            return paid or 0.0
        return number(self._own_rewards[name](Values(self._core, self._places[name])), f"the reward of {name}")

    def _all_of(self, named: Sequence[Observation]) -> dict[str, Observation]:
        """Return all observations by agent, including user-written ones."""
        all_of = {name: named[self._places[name]] for name in self.agents}
        for name in self.agents:
            if own := self._own[name]:
                all_of[name] = own.beside(all_of[name], Values(self._core, self._places[name]))
        return all_of

    def summary(self) -> RunSummary:
        """Return the summary of the episode so far: flows, links and more, as in `summary.json`."""
        summary: RunSummary = json.loads(self._core.outcome().summary_json())
        return summary

    @property
    def time_s(self) -> float:
        """Simulated time since the episode began, in seconds."""
        return self._core.now_s

    def __copy__(self) -> "ParallelFlows":
        """Return an independent environment in the same state, as two cannot share a simulation."""
        twin = twin_of(self)
        twin._core, twin._random = copy.copy(self._core), copy.deepcopy(self._random)
        twin._own = {name: own.copy() for name, own in self._own.items()}
        twin._screen = None if self._screen is None else self._screen.twin()
        twin.agents = list(self.agents)
        return twin

    def render(self) -> NDArray[np.uint8] | None:
        """Draw the first agent's window, rates and queue: an array for `rgb_array`, a window for `human`."""
        if self._screen is None:
            gymnasium.logger.warn("render() without render_mode draws nothing; make the environment with one")
            return None
        return self._screen.draw(self._core)

    def close(self) -> None:
        """Close the window, if there is one; the environment cannot be used afterwards."""
        self.agents, self._is_closed = [], True
        if self._screen is not None:
            self._screen.close()

    def _decision(self, place: int, name: str, actions: Mapping[str, Any]) -> float | _core.WindowAndRate:
        if name in actions and name in self.agents:
            if name in self._own_actions:
                return self._own_actions[name].decision(actions[name], Values(self._core, place))
            return number_of(actions[name], self.action_spaces[name])
        if name in self.agents and self._core.is_waiting(place):
            raise ValueError(f"actions has none for agent {name!r}; it has {list(actions)}")
        return 0.0

    def _infos(self) -> dict[str, dict[str, Any]]:
        time_s = self._core.now_s
        return {
            name: {"is_waiting": self._core.is_waiting(self._places[name]), "time_s": time_s} for name in self.agents
        }

    def _look(self) -> None:
        if self._screen is not None:
            self._screen.note(self._core)
            if self.render_mode == "human":
                self.render()


def _by_agent(agents: Sequence[str] | Mapping[str, Mapping[str, Any]]) -> dict[str, Mapping[str, Any]]:
    if isinstance(agents, str):
        raise ValueError(f"agents = {agents!r} is one name; give a list, [{agents!r}]")
    if not isinstance(agents, Sequence | Mapping) or not all(isinstance(name, str) for name in agents):
        raise ValueError(f"agents = {agents!r}: must be a list of names of flows, or a dictionary of settings by name")
    if isinstance(agents, Mapping):
        for name, changes in agents.items():
            if not isinstance(changes, Mapping):
                raise ValueError(f"agents[{name!r}] = {changes!r}: must be a dictionary of settings")
        return dict(agents)
    if twice := {name for name in agents if list(agents).count(name) > 1}:
        raise ValueError(f"agents names {', '.join(sorted(twice))} twice; a flow can have one agent")
    return {name: {} for name in agents}
