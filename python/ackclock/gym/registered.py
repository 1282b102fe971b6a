"""What the registered environments share: a scenario and settings of their own, which arguments replace."""

from collections.abc import Mapping, Sequence
from importlib.resources import as_file, files
from typing import Any, ClassVar

from gymnasium.vector import AutoresetMode

from ackclock._core import Scenario
from ackclock.gym.flow import FlowEnv, Reward, ScenarioLike
from ackclock.gym.names import ActionName, DecisionName, ObservationName, RenderMode, RewardName, Side
from ackclock.gym.own import Own
from ackclock.gym.vector import VectorFlowEnv

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
    """Return a scenario of the package.

    Args:
        name: Of its file, without `.toml`.
    """
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
        observations: Sequence[ObservationName | str | Mapping[str, Any] | Own] | None = None,
        history: int | None = None,
        scaled: bool | None = None,
        decide: DecisionName | str | Mapping[str, float] | None = None,
        action: ActionName | str | Mapping[str, Any] | None = None,
        reward: RewardName | str | Mapping[str, Any] | Reward | None = None,
        slow_start: Side | None = None,
        on_loss: Side | None = None,
        render_mode: RenderMode | None = None,
    ) -> None:
        """Put an agent on the first flow of the environment's own scenario, or of another.

        What is not given is as the class says, and else as of `FlowEnv`.

        Args:
            scenario: Another scenario, or the path of its file.
            flow: Name of the flow.
            observations: Names of observations, in the order in which they are to come.
            history: Observations of so many decisions, the latest last.
            scaled: Bring observations into [-1, 1].
            decide: When the agent is asked.
            action: Name of an action, or a table `{"kind": name, ...}` with its parameters.
            reward: Likewise of a reward; or a function of `Values`.
            slow_start: Who opens the window at the start and after a timeout.
            on_loss: Who answers losses and marks.
            render_mode: None, `"rgb_array"` or `"human"`.

        Raises:
            ScenarioError: If the scenario's file is wrong.
            ValueError: If a setting is wrong, or the scenario has no such flow.
        """
        chosen = self._chosen(
            flow=flow,
            observations=observations,
            history=history,
            scaled=scaled,
            decide=decide,
            action=action,
            reward=reward,
            slow_start=slow_start,
            on_loss=on_loss,
            render_mode=render_mode,
        )
        super().__init__(packaged(self.scenario_name) if scenario is None else scenario, **chosen)

    @classmethod
    def vector(
        cls,
        scenario: ScenarioLike | None = None,
        *,
        num_envs: int = 1,
        flow: str | None = None,
        observations: Sequence[ObservationName | str | Mapping[str, Any] | Own] | None = None,
        history: int | None = None,
        scaled: bool | None = None,
        decide: DecisionName | str | Mapping[str, float] | None = None,
        action: ActionName | str | Mapping[str, Any] | None = None,
        reward: RewardName | str | Mapping[str, Any] | None = None,
        slow_start: Side | None = None,
        on_loss: Side | None = None,
        threads: int | None = None,
        copy: bool = False,
        autoreset: AutoresetMode | str = AutoresetMode.NEXT_STEP,
        render_mode: None = None,
    ) -> VectorFlowEnv:
        """Make many copies, stepped on threads; `gymnasium.make_vec` calls this.

        Arguments are those of one environment, where a reward cannot be a function, and of `VectorFlowEnv`.

        Raises:
            ScenarioError: If the scenario's file is wrong.
            ValueError: If a setting is wrong, or the scenario has no such flow.
        """
        chosen = cls._chosen(
            flow=flow,
            observations=observations,
            history=history,
            scaled=scaled,
            decide=decide,
            action=action,
            reward=reward,
            slow_start=slow_start,
            on_loss=on_loss,
            threads=threads,
            render_mode=render_mode,
        )
        own = packaged(cls.scenario_name) if scenario is None else scenario
        return VectorFlowEnv(own, num_envs=num_envs, copy=copy, autoreset=autoreset, **chosen)

    @classmethod
    def _chosen(cls, **given: Any) -> dict[str, Any]:
        """The environment's own settings, with those that are given in their place."""
        return {**cls.defaults, **{name: value for name, value in given.items() if value is not None}}
