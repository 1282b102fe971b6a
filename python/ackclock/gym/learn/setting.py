"""What is trained on: a registered environment or a scenario, with the agent's settings."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from importlib import import_module
from importlib.resources import as_file, files
from pathlib import Path
from typing import Any

import gymnasium

from ackclock._core import Scenario, ScenarioError
from ackclock.base import input_files
from ackclock.gym import IDS, AgentSettings, FlowEnv, VectorFlowEnv
from ackclock.gym.environments import DQN_NEWRENO
from ackclock.gym.flow import first_flow
from ackclock.gym.learn.manifest import SettingEntry
from ackclock.gym.registered import GENERAL
from ackclock.scenario.module_closure import own_code

_NAMES = tuple(field.name for field in fields(AgentSettings))


class SettingError(input_files.InputError):
    """What was asked for cannot be trained; the message says what, and what to do."""


@dataclass(frozen=True, slots=True)
class Source:
    """What a scenario was read from: it may leave values to be drawn, which a checked scenario has drawn already.

    Attributes:
        text: Of the file.
        file: Its place, beside which other files are looked for.
        overrides: Changes, each `path=value`.
    """

    text: str
    file: str
    overrides: tuple[str, ...] = ()

    @classmethod
    def read(cls, file: Path, overrides: Sequence[str]) -> "Source":
        """Read a file."""
        return cls(input_files.text(file, remedy="give a scenario file (.toml)"), str(file.resolve()), tuple(overrides))

    def scenario(self) -> Scenario:
        """Return the scenario.

        Raises:
            ScenarioError: If it is wrong.
        """
        return Scenario.parse(self.text, self.file, list(self.overrides))


@dataclass(frozen=True, slots=True)
class Setting:
    """A scenario and the agent in it.

    Attributes:
        name: The environment's ID, or the scenario file.
        scenario: What is simulated.
        flow: Name of the agent's flow.
        agent: Fields of `AgentSettings`.
        source: What the scenario was read from; None for one that a model is only evaluated on.
    """

    name: str
    scenario: Scenario
    flow: str
    agent: Mapping[str, Any]
    source: Source | None = None

    def lane(self) -> VectorFlowEnv:
        """Return one environment of the core's vector form, which simulates without Python's lock."""
        return VectorFlowEnv(self.scenario, num_envs=1, threads=1, flow=self.flow, **self.agent)

    def single(self) -> FlowEnv:
        """Return the environment for one agent, whose episodes end with a summary."""
        return FlowEnv(self.scenario, flow=self.flow, **self.agent)

    def on(self, scenario: Scenario) -> "Setting":
        """Return the same agent in another scenario: on the flow of the same name, or else on the first."""
        flow = self.flow if self.flow in scenario.flow_names else first_flow(scenario)
        return Setting(scenario.name, scenario, flow, self.agent)

    @property
    def own_controller(self) -> str | dict[str, Any]:
        """The flow's own controller, which has slow start and losses: as its scenario says it, or its profile's."""
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
    """Tell the flows that have names of their own from short flows and datagrams."""
    protocol = table.get("protocol", "tcp")
    kind = protocol["kind"] if isinstance(protocol, dict) else protocol
    return "arrivals" not in table and kind == "tcp"


def is_environment(name: str) -> bool:
    """Tell an environment's ID from the name of a file."""
    return name.startswith("ackclock/")


def registered(name: str, overrides: Sequence[str], agent: Mapping[str, Any]) -> Setting:
    """Return the setting of a registered environment.

    Args:
        name: Such as `ackclock/SingleFlow-v0`.
        overrides: Changes of its scenario, each `path=value`.
        agent: Changes of its agent.

    Raises:
        SettingError: If there is no such environment, or a change is wrong.
        ScenarioError: If a change of the scenario is wrong.
    """
    if name not in IDS:
        raise SettingError(f"there is no environment {name}; there are {', '.join(IDS)}")
    module, _, kind = str(gymnasium.spec(name).entry_point).partition(":")
    environment = getattr(import_module(module), kind)
    with as_file(files("ackclock.gym") / "scenarios" / f"{environment.scenario_name}.toml") as path:
        source = Source.read(path, overrides)
    return _checked(name, source, {**environment.defaults, **agent})


def of_scenario(file: Path, overrides: Sequence[str], agent: Mapping[str, Any], *, discrete: bool) -> Setting:
    """Return the setting of a scenario.

    Args:
        file: Of the scenario.
        overrides: Changes of it, each `path=value`.
        agent: Changes of the agent, which is otherwise that of `ackclock/SingleFlow-v0`.
        discrete: Let it choose among segments to add, as an algorithm for choices needs it.
    """
    choices = {"action": DQN_NEWRENO["action"], "on_loss": "stack"} if discrete else {}
    return _checked(str(file), Source.read(file, overrides), {**GENERAL, **choices, **agent})


def _checked(name: str, source: Source, agent: Mapping[str, Any]) -> Setting:
    unknown = sorted(set(agent) - {*_NAMES, "flow"})
    if unknown:
        raise SettingError(f"--agent {unknown[0]}: there is no such setting; there are flow, {', '.join(_NAMES)}")
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
