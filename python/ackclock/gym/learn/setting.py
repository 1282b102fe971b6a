"""Setting of a training: a registered environment or a scenario, with the agent's settings."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from importlib import import_module
from pathlib import Path
from typing import Any

import gymnasium

from ackclock._core import Scenario, ScenarioError
from ackclock.base import input_files
from ackclock.gym import IDS, AgentSettings, FlowEnv, VectorFlowEnv
from ackclock.gym.environments import DQN_NEWRENO, GENERAL, KERNEL
from ackclock.gym.flow import first_flow
from ackclock.gym.learn.manifest import SettingEntry
from ackclock.scenario import recorded_traces
from ackclock.scenario.module_closure import own_code

_NAMES = tuple(field.name for field in fields(AgentSettings))


class SettingError(input_files.InputError):
    """Error: the requested training is not possible. The message says why, and what to do."""


@dataclass(frozen=True, slots=True)
class Source:
    """Source of a scenario, kept because a loaded scenario has already drawn its random values.

    Attributes:
        text: Text of the file.
        file: Path of the file, to which other file names are relative.
        overrides: Changes, each `path=value`.
    """

    text: str
    file: str
    overrides: tuple[str, ...] = ()

    @classmethod
    def read(cls, file: Path, overrides: Sequence[str]) -> "Source":
        """Read a scenario file."""
        return cls(input_files.text(file, remedy="give a scenario file (.toml)"), str(file.resolve()), tuple(overrides))

    def scenario(self) -> Scenario:
        """Return the scenario.

        Raises:
            ScenarioError: If it is wrong.
        """
        return Scenario.parse(self.text, self.file, list(self.overrides))


@dataclass(frozen=True, slots=True)
class Setting:
    """Scenario with an agent.

    Attributes:
        name: ID of the environment, or name of the scenario file.
        scenario: Scenario to simulate.
        flow: Name of the agent's flow.
        agent: Fields of `AgentSettings`.
        source: Source of the scenario; None for one used only for evaluation.
    """

    name: str
    scenario: Scenario
    flow: str
    agent: Mapping[str, Any]
    source: Source | None = None

    def lane(self) -> VectorFlowEnv:
        """Return a core vector of one environment, which simulates without Python's lock."""
        return VectorFlowEnv(self.scenario, num_envs=1, threads=1, flow=self.flow, **self.agent)

    def single(self, on: str = "simulation") -> FlowEnv:
        """Return the environment for one agent, whose episodes end with a summary.

        Args:
            on: Where the flow is, as `FlowEnv` takes it.
        """
        return FlowEnv(self.scenario, flow=self.flow, on=on, **self.agent)

    def on(self, scenario: Scenario) -> "Setting":
        """Return the same agent in another scenario: on the flow of the same name, or else on the first."""
        flow = self.flow if self.flow in scenario.flow_names else first_flow(scenario)
        return Setting(scenario.name, scenario, flow, self.agent)

    @property
    def own_controller(self) -> str | dict[str, Any]:
        """Return the controller of the flow, which handles slow start and losses: the scenario's, or the profile's."""
        tables = [table for table in json.loads(self.scenario.to_json())["flow"] if _is_connection(table)]
        members = [table for table in tables for _ in range(table.get("count", 1))]
        place = self.scenario.flow_names.index(self.flow)
        controller: str | dict[str, Any]
        controller = members[place].get("controller", self.scenario.controller_names[place])
        return controller

    def as_dict(self) -> dict[str, Any]:
        """Return the manifest's entry."""
        own = own_code(self.scenario)
        return {
            "environment": self.name,
            "scenario": json.loads(self.scenario.to_json()),
            "scenario_hash": self.scenario.hash,
            "source": asdict(self.source) if self.source else None,
            "flow": self.flow,
            "agent": {name: list(value) if isinstance(value, tuple) else value for name, value in self.agent.items()},
            **({"code": list(own)} if own else {}),
        }

    @classmethod
    def from_dict(cls, entry: SettingEntry) -> "Setting":
        """Return the setting that a manifest describes."""
        kept = entry["source"]
        source = Source(kept["text"], kept["file"], tuple(kept["overrides"]))
        return cls(entry["environment"], source.scenario(), entry["flow"], entry["agent"], source)


def _is_connection(table: Mapping[str, Any]) -> bool:
    """Return whether a flow's table is a connection with a name, not short flows or datagrams."""
    protocol = table.get("protocol", "tcp")
    kind = protocol["kind"] if isinstance(protocol, dict) else protocol
    return "arrivals" not in table and kind == "tcp"


def is_environment(name: str) -> bool:
    """Return whether a name is an environment's ID rather than a file."""
    return name.startswith("ackclock/")


def registered(name: str, overrides: Sequence[str], agent: Mapping[str, Any]) -> Setting:
    """Return the setting of a registered environment.

    Args:
        name: ID such as `ackclock/SingleFlow-v0`.
        overrides: Changes of its scenario, each `path=value`.
        agent: Changes of its agent.

    Raises:
        SettingError: If the environment is unknown, or a change is wrong.
        ScenarioError: If a change of the scenario is wrong.
    """
    if name not in IDS:
        raise SettingError(f"unknown environment {name}; known: {', '.join(IDS)}")
    module, _, kind = str(gymnasium.spec(name).entry_point).partition(":")
    environment = getattr(import_module(module), kind)
    places = {key: agent[key] for key in environment.network_arguments if key in agent}
    others = {key: value for key, value in agent.items() if key not in places}
    try:
        found = environment.file(**places)
        source = Source.read(found, [*recorded_traces.overrides(found), *overrides])
    except (LookupError, ValueError) as error:
        raise SettingError(str(error)) from error
    return _checked(name, source, {**environment.defaults, **others})


def of_scenario(file: Path, overrides: Sequence[str], agent: Mapping[str, Any], *, discrete: bool) -> Setting:
    """Return the setting of a scenario.

    Args:
        file: Path of the scenario file.
        overrides: Changes, each `path=value`.
        agent: Changes of the agent, whose defaults are those of `ackclock/SingleFlow-v0`, or with the target
            `"kernel"` those of `ackclock/Deployable-v0`.
        discrete: Use discrete actions, segments to add, for an algorithm that needs choices.
    """
    choices = {"action": DQN_NEWRENO["action"], "on_loss": "stack"} if discrete else {}
    defaults = KERNEL if agent.get("target") == "kernel" else GENERAL
    return _checked(str(file), Source.read(file, overrides), {**defaults, **choices, **agent})


def _checked(name: str, source: Source, agent: Mapping[str, Any]) -> Setting:
    unknown = sorted(set(agent) - {*_NAMES, "flow"})
    if unknown:
        raise SettingError(f"--agent {unknown[0]}: unknown setting; known: flow, {', '.join(_NAMES)}")
    chosen = {key: value for key, value in agent.items() if key != "flow"}
    try:
        scenario = source.scenario()
        setting = Setting(name, scenario, agent.get("flow") or first_flow(scenario), chosen, source)
        setting.lane()
    except ScenarioError:
        raise
    except (TypeError, ValueError) as error:
        raise SettingError(str(error)) from error
    return setting
