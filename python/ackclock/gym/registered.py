"""What the registered environments share: a scenario and settings of their own, which arguments replace."""

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
"""Settings after Aurora and Orca: what generalises over rates and round trips."""


def packaged(name: str) -> Scenario:
    """Return a scenario of the package."""
    with as_file(files("ackclock.gym") / "scenarios" / f"{name}.toml") as path:
        return Scenario.load(path)


class Registered(FlowEnv):
    """An environment with a scenario and settings of its own."""

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

        What is not given is as the class says, and else as `FlowEnv` says.

        Args:
            scenario: Another scenario, or the path of its file.
            flow: Name of the flow.
            render_mode: None, `"rgb_array"` or `"human"`.
            settings: The agent's settings, each by its name; see `Settings`.

        Raises:
            ScenarioError: If the scenario's file is wrong.
            ValueError: If a setting is wrong, or the scenario has no such flow.
        """
        chosen = self._chosen({"flow": flow, "render_mode": render_mode, **settings})
        super().__init__(packaged(self.scenario_name) if scenario is None else scenario, **chosen)

    @classmethod
    def vector(cls, scenario: ScenarioLike | None = None, **settings: Unpack[VectorSettings]) -> VectorFlowEnv:
        """Make many copies, stepped on threads; `gymnasium.make_vec` calls this.

        Raises:
            ScenarioError: If the scenario's file is wrong.
            ValueError: If a setting is wrong, or the scenario has no such flow.
        """
        return VectorFlowEnv(packaged(cls.scenario_name) if scenario is None else scenario, **cls._chosen(settings))

    @classmethod
    def _chosen(cls, given: Mapping[str, Any]) -> dict[str, Any]:
        """The environment's own settings, with those that are given in their place."""
        return {**cls.defaults, **{name: value for name, value in given.items() if value is not None}}
