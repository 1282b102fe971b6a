"""Base class of the registered environments, with a scenario and settings that arguments replace."""

from collections.abc import Mapping
from importlib.resources import as_file, files
from typing import Any, ClassVar, Unpack

from ackclock._core import Scenario
from ackclock.gym.agent import Settings
from ackclock.gym.flow import FlowEnv, ScenarioLike
from ackclock.gym.names import RenderMode
from ackclock.gym.vector import VectorFlowEnv, VectorSettings

GENERAL: Mapping[str, Any] = {
    "observations": ("latency_gradient", "latency_ratio", "send_ratio", "loss_fraction", "delivery_ratio"),
    "history": 10,
    "scaled": True,
    "decide": "round",
    "action": "aurora",
    "reward": "power",
    "on_loss": "agent",
}
"""Default settings, after Aurora and Orca, which generalise over rates and round-trip times."""


def packaged(name: str) -> Scenario:
    """Return a scenario of the package."""
    with as_file(files("ackclock.gym") / "scenarios" / f"{name}.toml") as path:
        return Scenario.load(path)


class Registered(FlowEnv):
    """Environment with its own scenario and settings."""

    scenario_name: ClassVar[str]
    defaults: ClassVar[Mapping[str, Any]] = GENERAL

    def __init__(
        self,
        scenario: ScenarioLike | None = None,
        *,
        flow: str | None = None,
        render_mode: RenderMode | None = None,
        **settings: Unpack[Settings],
    ) -> None:
        """Put an agent on the first flow of the environment's own scenario, or of another.

        Defaults are those of the class, then those of `FlowEnv`.

        Args:
            scenario: Another scenario, or the path of its file.
            flow: Name of the flow.
            render_mode: None, `"rgb_array"` or `"human"`.
            settings: Settings of the agent, by keyword; see `Settings`.

        Raises:
            ScenarioError: If the scenario's file is wrong.
            ValueError: If a setting is wrong, or the flow is unknown.
        """
        chosen = self._chosen({"flow": flow, "render_mode": render_mode, **settings})
        super().__init__(packaged(self.scenario_name) if scenario is None else scenario, **chosen)

    @classmethod
    def vector(cls, scenario: ScenarioLike | None = None, **settings: Unpack[VectorSettings]) -> VectorFlowEnv:
        """Make many copies, stepped on threads; `gymnasium.make_vec` calls this.

        Raises:
            ScenarioError: If the scenario's file is wrong.
            ValueError: If a setting is wrong, or the flow is unknown.
        """
        return VectorFlowEnv(packaged(cls.scenario_name) if scenario is None else scenario, **cls._chosen(settings))

    @classmethod
    def _chosen(cls, given: Mapping[str, Any]) -> dict[str, Any]:
        """Return the environment's own settings, updated with the given ones."""
        return {**cls.defaults, **{name: value for name, value in given.items() if value is not None}}
