"""Registered environments: each has its own scenario and suitable settings."""

import json
from collections.abc import Callable, Mapping
from os import PathLike
from pathlib import Path
from typing import Any, ClassVar, Unpack

from ackclock._core import Scenario
from ackclock.gym import benchmark_networks as networks
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


DQN_NEWRENO: Mapping[str, Any] = {
    "observations": ("threshold_segments", "cwnd_segments", "rtt_ms"),
    "decide": "window",
    "action": "deltas",
    "reward": "dqn",
}


KERNEL: Mapping[str, Any] = {
    "observations": (
        "queue_share",
        "queued_segments",
        "delivery_ratio",
        "loss_fraction",
        "cwnd_segments",
        "srtt_ms",
    ),
    "scaled": True,
    "decide": "round",
    "action": "orca",
    "reward": "orca",
    "target": "kernel",
}
"""Default settings of an agent whose policy is to run in the kernel."""


_SCENARIOS = Path(__file__).parent / "scenarios"


class Registered(FlowEnv):
    """Environment with its own scenario and settings."""

    scenario_name: ClassVar[str]
    defaults: ClassVar[Mapping[str, Any]] = GENERAL
    network_arguments: ClassVar[tuple[str, ...]] = ()
    """Names of the arguments that choose a network, which `file` takes."""

    def __init__(
        self,
        scenario: ScenarioLike | None = None,
        *,
        flow: str | None = None,
        on: str = "simulation",
        render_mode: RenderMode | None = None,
        **settings: Unpack[Settings],
    ) -> None:
        """Put an agent on the first flow of the environment's own scenario, or of another.

        Defaults are those of the class, then those of `FlowEnv`.

        Args:
            scenario: Another scenario, or the path of its file.
            flow: Name of the flow.
            on: Where it runs, as `FlowEnv` has it.
            render_mode: None, `"rgb_array"` or `"human"`.
            settings: Settings of the agent, by keyword; see `Settings`.

        Raises:
            ScenarioError: If the scenario's file is wrong.
            ValueError: If a setting is wrong, or the flow is unknown.
        """
        chosen = self._chosen({"flow": flow, "on": on, "render_mode": render_mode, **settings})
        super().__init__(self.file() if scenario is None else scenario, **chosen)

    @classmethod
    def vector(cls, scenario: ScenarioLike | None = None, **settings: Unpack[VectorSettings]) -> VectorFlowEnv:
        """Make many copies, stepped on threads; `gymnasium.make_vec` calls this.

        Raises:
            ScenarioError: If the scenario's file is wrong.
            ValueError: If a setting is wrong, or the flow is unknown.
        """
        return VectorFlowEnv(cls.file() if scenario is None else scenario, **cls._chosen(settings))

    @classmethod
    def file(cls) -> Path:
        """Return the scenario file."""
        return _SCENARIOS / f"{cls.scenario_name}.toml"

    @classmethod
    def _chosen(cls, given: Mapping[str, Any]) -> dict[str, Any]:
        """Return the environment's own settings, updated with the given ones."""
        return {**cls.defaults, **{name: value for name, value in given.items() if value is not None}}


class SingleFlow(Registered):
    """One flow alone on a bottleneck.

    ## Description
    A bulk flow over a bottleneck of 10 Mbit/s and 40 ms with a DropTail queue of 2 BDP, for 30 s. The agent sets the
    pacing rate once per round trip.

    ## Action Space
    `Box(-1, 1, (1,))`: the rate is multiplied by 1 + 0.025 a, or divided by 1 - 0.025 a (Aurora).

    ## Observation Space
    `Box(-1, 1, (10, 5))`: latency gradient, latency ratio, send ratio, loss fraction, and delivery rate relative to its
    maximum, of the last ten decisions.

    ## Rewards
    Kleinrock's power: the delivery rate relative to its maximum, divided by the RTT relative to its minimum; at most 1.

    ## Starting State
    The end of slow start, which the stack controls.

    ## Episode End
    Truncated after 30 s of simulated time; never terminated.

    ## Arguments
    `scenario`, `flow`, `on`, `reward`, `render_mode`, and the fields of `AgentSettings`.

    ## Version History
    * v0: first version
    """

    scenario_name = "single-flow"


class Deployable(Registered):
    """One flow alone on a bottleneck, with an agent whose policy can run in the kernel.

    ## Description
    The network of `ackclock/SingleFlow-v0`. Once per round trip the agent multiplies the window of the flow's own
    controller, which answers losses. `ackclock export --to bpf` converts its policies for `ackclock-kernel load`.

    ## Action Space
    `Box(-2, 2, (1,))`: the window is multiplied by 2^a (Orca).

    ## Observation Space
    `Box(-1, 1, (6,))`: queue share, queued segments, delivery rate relative to its maximum, loss fraction, cwnd
    (segments), and smoothed RTT (ms).

    ## Rewards
    Orca's: throughput less losses, over delay, relative to the best of both.

    ## Starting State
    The end of slow start, which the stack controls.

    ## Episode End
    Truncated after 30 s of simulated time; never terminated.

    ## Arguments
    `scenario`, `flow`, `on`, `reward`, `render_mode`, and the fields of `AgentSettings`. Those that no kernel could run
    are refused.

    ## Version History
    * v0: first version
    """

    scenario_name = "single-flow"
    defaults: ClassVar[Mapping[str, Any]] = KERNEL


class SharedLink(Registered):
    """One flow beside CUBIC.

    ## Description
    The agent's flow and a CUBIC flow share a bottleneck of 20 Mbit/s and 40 ms for 30 s; the CUBIC flow begins at 5 s.

    ## Action Space
    `Box(-1, 1, (1,))`: as in `ackclock/SingleFlow-v0`.

    ## Observation Space
    `Box(-1, 1, (10, 5))`: as in `ackclock/SingleFlow-v0`.

    ## Rewards
    The logarithm of the throughput in Mbit/s, minus a tenth of the logarithm of the RTT in ms, which rewards fair
    shares.

    ## Starting State
    The end of slow start, which the stack controls.

    ## Episode End
    Truncated after 30 s of simulated time; never terminated.

    ## Arguments
    `scenario`, `flow`, `on`, `reward`, `render_mode`, and the fields of `AgentSettings`.

    ## Version History
    * v0: first version
    """

    scenario_name = "shared-link"
    defaults: ClassVar[Mapping[str, Any]] = {**GENERAL, "reward": {"kind": "log_utility", "delay_weight": 0.1}}


class Trace(Registered):
    """Bottleneck whose rate follows a recorded trace.

    ## Description
    A bulk flow over a link that delivers packets at the times of a trace in mahimahi's format, with a deep queue.

    ## Action Space
    `Box(-1, 1, (1,))`: as in `ackclock/SingleFlow-v0`.

    ## Observation Space
    `Box(-1, 1, (10, 5))`: as in `ackclock/SingleFlow-v0`.

    ## Rewards
    Copa's: the logarithm of the throughput, minus half the logarithm of the queueing delay.

    ## Starting State
    The end of slow start, which the stack controls.

    ## Episode End
    Truncated after 20 s of simulated time; never terminated.

    ## Arguments
    `trace` (the path of another trace), `scenario`, `flow`, `on`, `reward`, `render_mode`, and the fields of
    `AgentSettings`.

    ## Version History
    * v0: first version
    """

    scenario_name = "trace"
    defaults: ClassVar[Mapping[str, Any]] = {**GENERAL, "decide": "20 ms", "reward": "copa"}

    def __init__(
        self,
        scenario: ScenarioLike | None = None,
        *,
        trace: str | PathLike[str] | None = None,
        flow: str | None = None,
        on: str = "simulation",
        render_mode: RenderMode | None = None,
        **settings: Unpack[Settings],
    ) -> None:
        """Put an agent on the flow.

        Args:
            scenario: Another scenario, or the path of its file.
            trace: Trace of the bottleneck: the path of a file in mahimahi's format.
            flow: Name of the flow.
            on: Where it runs, as `FlowEnv` has it.
            render_mode: None, `"rgb_array"` or `"human"`.
            settings: Settings of the agent, by keyword; see `Settings`.

        Raises:
            ScenarioError: If the scenario's file or the trace is wrong.
            ValueError: If both `scenario` and `trace` are given, or a setting is wrong.
        """
        super().__init__(_with_trace(scenario, trace), flow=flow, on=on, render_mode=render_mode, **settings)

    @classmethod
    def vector(
        cls,
        scenario: ScenarioLike | None = None,
        *,
        trace: str | PathLike[str] | None = None,
        **settings: Unpack[VectorSettings],
    ) -> VectorFlowEnv:
        """Make many copies, stepped on threads; takes the arguments of one environment and of `VectorFlowEnv`."""
        return super().vector(_with_trace(scenario, trace), **settings)


class Bench(Registered):
    """Benchmark: networks drawn at random, frozen, some to train on and others to test on.

    ## Description
    A seed draws a network of a family: `alone`, `lossy`, `cubic`, `changing` or `cellular`. `split="test"` draws from
    other cells of rate, round trip and queue, other patterns and other traces than `split="train"`. The networks lie in
    `ackclock[studies]`.

    ## Action Space
    `Box(-1, 1, (1,))`: as in `ackclock/SingleFlow-v0`. Agents of the benchmark may have any settings.

    ## Observation Space
    `Box(-1, 1, (10, 5))`: as in `ackclock/SingleFlow-v0`.

    ## Rewards
    Kleinrock's power, as in `ackclock/SingleFlow-v0`. The benchmark compares summaries and not rewards.

    ## Starting State
    The end of slow start, which the stack controls.

    ## Episode End
    Truncated after 8 s of simulated time, or up to 60 s by family and split; never terminated.

    ## Arguments
    `family`, `split`, `flow`, `on`, `reward`, `render_mode`, and the fields of `AgentSettings`.

    ## Version History
    * v1: first version
    """

    network_arguments = ("family", "split")

    def __init__(
        self,
        scenario: ScenarioLike | None = None,
        *,
        family: networks.Family = "alone",
        split: networks.Split = "train",
        flow: str | None = None,
        on: str = "simulation",
        render_mode: RenderMode | None = None,
        **settings: Unpack[Settings],
    ) -> None:
        """Put an agent on the flow `learner` of a family.

        Args:
            scenario: Another scenario, which is then not of the benchmark.
            family: Family of networks.
            split: Networks to train on, or to test on.
            flow: Name of the flow.
            on: Where it runs, as `FlowEnv` has it.
            render_mode: None, `"rgb_array"` or `"human"`.
            settings: Settings of the agent, by keyword; see `Settings`.

        Raises:
            ValueError: If the family is unknown, or a setting is wrong.
            LookupError: If the traces of `cellular` are missing.
            MissingPackageError: If the studies are not installed.
        """
        scenario = networks.network(family, split) if scenario is None else scenario
        super().__init__(scenario, flow=flow or networks.LEARNER, on=on, render_mode=render_mode, **settings)

    @classmethod
    def vector(
        cls,
        scenario: ScenarioLike | None = None,
        *,
        family: networks.Family = "alone",
        split: networks.Split = "train",
        **settings: Unpack[VectorSettings],
    ) -> VectorFlowEnv:
        """Make many copies, stepped on threads; takes the arguments of one environment and of `VectorFlowEnv`."""
        scenario = networks.network(family, split) if scenario is None else scenario
        settings.setdefault("flow", networks.LEARNER)
        return super().vector(scenario, **settings)

    @classmethod
    def file(cls, family: networks.Family = "alone", split: networks.Split = "train") -> Path:
        """Return the scenario file of a family."""
        return networks.file(family, split)


class DqnNewReno(Registered):
    """The state, actions and reward of DQN-based NewReno, for an agent from outside.

    ## Description
    One flow over 100 Mbit/s and 30 ms one way, as in the paper's single-flow experiment (Seo and Cho, J. KICS 2023),
    behind FQ-CoDel, for 50 s. Slow start is the stack's; a loss keeps 0.7 of the window.

    ## Action Space
    `Discrete(7)`: -10, -3, -1, 0, +1, +3 or +10 segments, once for each window's worth of ACKs.

    ## Observation Space
    `Box(0, ..., (3,))`: the window after the last congestion, cwnd (segments), the latest RTT (ms).

    ## Rewards
    cwnd / RTT as a share of the largest so far; -1 after a loss.

    ## Starting State
    The end of slow start.

    ## Episode End
    Truncated after 50 s of simulated time; never terminated.

    ## Arguments
    `scenario`, `flow`, `on`, `reward`, `render_mode`, and the fields of `AgentSettings`.

    ## Version History
    * v0: first version
    """

    scenario_name = "dqn-newreno"
    defaults: ClassVar[Mapping[str, Any]] = DQN_NEWRENO


class DqnCubic(Registered):
    """The state, actions and reward of DQN-based CUBIC, for an agent from outside.

    ## Description
    As `ackclock/DqnNewReno-v0`, with the state and the actions of DQN-based CUBIC (Seo and Cho, J. KICS 2024).

    ## Action Space
    `Discrete(4)`: one segment less; hold; a segment more, on CUBIC's curve; a segment more, on a curve three times as
    steep. The curve says when the next action is due.

    ## Observation Space
    `Box(0, ..., (5,))`: the window after the last congestion, cwnd (segments), the latest RTT (ms), W_max (segments),
    the time since the last reduction (ms).

    ## Rewards
    cwnd / RTT as a share of the largest so far; -1 after a loss.

    ## Starting State
    The end of slow start.

    ## Episode End
    Truncated after 50 s of simulated time; never terminated.

    ## Arguments
    `scenario`, `flow`, `on`, `reward`, `render_mode`, and the fields of `AgentSettings`.

    ## Version History
    * v0: first version
    """

    scenario_name = "dqn-cubic"
    defaults: ClassVar[Mapping[str, Any]] = {
        **DQN_NEWRENO,
        "observations": ("threshold_segments", "cwnd_segments", "rtt_ms", "w_max_segments", "since_congestion_ms"),
        "action": "cubic_pace",
        "decide": "cubic_pace",
    }


def _with_trace(scenario: ScenarioLike | None, trace: str | PathLike[str] | None) -> ScenarioLike | None:
    if trace is None:
        return scenario
    if scenario is not None:
        raise ValueError("trace replaces the rate of the environment's own scenario; give scenario or trace, not both")
    # A scenario looks beside its own file, which is the package's; a text of JSON is one of TOML, too.
    file = json.dumps(str(Path(trace).absolute()), ensure_ascii=False)
    return Scenario.load(Trace.file(), [f"topology.bottleneck.rate={{ trace = {file} }}"])


# Gymnasium looks these up by name.
single_flow_vector: Callable[..., VectorFlowEnv] = SingleFlow.vector
bench_vector: Callable[..., VectorFlowEnv] = Bench.vector
deployable_vector: Callable[..., VectorFlowEnv] = Deployable.vector
shared_link_vector: Callable[..., VectorFlowEnv] = SharedLink.vector
trace_vector: Callable[..., VectorFlowEnv] = Trace.vector
dqn_newreno_vector: Callable[..., VectorFlowEnv] = DqnNewReno.vector
dqn_cubic_vector: Callable[..., VectorFlowEnv] = DqnCubic.vector
