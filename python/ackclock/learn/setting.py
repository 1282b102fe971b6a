"""What is trained on: a registered environment or a scenario, with the agent's settings."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from importlib import import_module
from importlib.resources import as_file, files
from pathlib import Path
from typing import Any

import gymnasium

from ackclock._core import Scenario
from ackclock.gym import IDS, AgentSettings, FlowEnv, VectorFlowEnv
from ackclock.gym.environments import DQN_NEWRENO, GENERAL
from ackclock.gym.flow import first_flow

_NAMES = tuple(field.name for field in fields(AgentSettings))


class SettingError(ValueError):
    """What was asked for cannot be trained; the message says what, and what to do."""


@dataclass(frozen=True, slots=True)
class Setting:
    """A scenario and the agent in it.

    Attributes:
        name: The environment's ID, or the scenario file.
        scenario: What is simulated.
        flow: Name of the agent's flow.
        agent: Fields of `AgentSettings`.
    """

    name: str
    scenario: Scenario
    flow: str
    agent: Mapping[str, Any]

    def lane(self) -> VectorFlowEnv:
        """Return one environment of the core's vector form, which simulates without Python's lock."""
        return VectorFlowEnv(self.scenario, num_envs=1, threads=1, flow=self.flow, **self.agent)

    def single(self) -> FlowEnv:
        """Return the environment for one agent, whose episodes end with a summary."""
        return FlowEnv(self.scenario, flow=self.flow, **self.agent)

    def on(self, scenario: Scenario) -> "Setting":
        """Return the same agent in another scenario: on the flow of the same name, or else on the first.

        Args:
            scenario: The other one.
        """
        flow = self.flow if self.flow in scenario.flow_names else first_flow(scenario)
        return Setting(scenario.name, scenario, flow, self.agent)

    def as_dict(self) -> dict[str, Any]:
        """Return the manifest's entry."""
        return {
            "environment": self.name,
            "scenario": json.loads(self.scenario.to_json()),
            "scenario_hash": self.scenario.hash,
            "folder": str(self.scenario.folder),
            "flow": self.flow,
            "agent": {name: list(value) if isinstance(value, tuple) else value for name, value in self.agent.items()},
        }

    @classmethod
    def from_dict(cls, entry: Mapping[str, Any]) -> "Setting":
        """Return the setting that a manifest describes.

        Args:
            entry: As `as_dict` returned it.
        """
        scenario = Scenario.from_json(json.dumps(entry["scenario"]), folder=entry["folder"])
        return cls(entry["environment"], scenario, entry["flow"], entry["agent"])


def is_environment(name: str) -> bool:
    """Tell an environment's ID from the name of a file.

    Args:
        name: Either.
    """
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
        scenario = Scenario.load(str(path), list(overrides))
    return _checked(name, scenario, {**environment.defaults, **agent})


def of_scenario(name: str, scenario: Scenario, agent: Mapping[str, Any], *, discrete: bool) -> Setting:
    """Return the setting of a scenario.

    Args:
        name: Of its file.
        scenario: Read from there.
        agent: Changes of the agent, which is otherwise that of `ackclock/SingleFlow-v0`.
        discrete: Let it choose among segments to add, as an algorithm for choices needs it.
    """
    choices = {"action": DQN_NEWRENO["action"], "on_loss": "stack"} if discrete else {}
    return _checked(name, scenario, {**GENERAL, **choices, **agent})


def _checked(name: str, scenario: Scenario, agent: Mapping[str, Any]) -> Setting:
    unknown = sorted(set(agent) - {*_NAMES, "flow"})
    if unknown:
        raise SettingError(f"--agent {unknown[0]}: there is no such setting; there are flow, {', '.join(_NAMES)}")
    chosen = {key: value for key, value in agent.items() if key != "flow"}
    try:
        setting = Setting(name, scenario, agent.get("flow") or first_flow(scenario), chosen)
        setting.lane()
    except (TypeError, ValueError) as error:
        raise SettingError(str(error)) from error
    return setting


def scenario_file(name: str) -> Path:
    """Return the absolute place of a scenario file, so that its folder is found again from elsewhere.

    Args:
        name: As the user gave it.
    """
    return Path(name).resolve()
