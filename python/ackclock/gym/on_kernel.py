"""Agent on a connection of a real kernel, which runs the scenario while the agent decides.

The connection of the agent's flow has the controller `ackclock_agent`, which reports each ACK and applies decisions
(`ackclock.kernel_agent`). In between works the same agent as in a simulation: observations, decision times and actions
are the core's. The kernel is this machine's, in real time, or one of `ackclock linux build`, in virtual time.

Departures in real time: time passes while the agent computes. All reports that arrived meanwhile are processed before
the next decision, which thus uses the latest state, and decisions are rarer than in a simulation. If none is made for
three round trips, the kernel's own CUBIC takes over, and returns the window with the next processed ACK. In virtual
time there are none of these: the kernel waits for the agent.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ackclock._core import LiveFlow, Scenario
from ackclock.gym.agent_runs import AgentRun, RealTimeRun, VirtualTimeRun
from ackclock.results.summaries import RunSummary
from ackclock.running.kernel import KernelError, missing, program
from ackclock.running.kernel_agent import NAME, Counters, Decision, Seen
from ackclock.running.linux_kernels import Kernel


class KernelFlow:
    """Flow of the agent in a scenario on a kernel, run from one decision to the next.

    Attributes:
        live: The core's agent; what it knows is read from it.
        drawn: Values that the episode's seed drew, by their places.
    """

    drawn: Mapping[str, Any] = {}

    def __init__(self, scenario: Scenario, flow: str, settings: str, on: Kernel | None = None) -> None:
        """Check that the run is possible.

        Args:
            scenario: The scenario.
            flow: Name of the agent's flow.
            settings: Settings of the agent, as JSON.
            on: Kernel in virtual time; this machine's by default.

        Raises:
            KernelError: If the machine or the kernel lacks something; the message says what.
            ValueError: If a setting is wrong, or the flow is unknown.
        """
        if on is None and (lacks := missing()):
            raise KernelError(f'an environment with on="kernel" needs what this machine lacks: {lacks}')
        if on is not None and not on.asks:
            raise KernelError(
                f"the kernel {on.name} was built without the present {NAME}; "
                f"build it anew: ackclock linux build {on.name} --force"
            )
        program()
        self._scenario, self._flow, self._settings, self._on = scenario, flow, settings, on
        self._run: AgentRun | None = None
        self._last: Seen | None = None
        self._summary: RunSummary | None = None
        self.live = LiveFlow(scenario, flow, settings)

    def reset(self, seed: int) -> NDArray[np.float32]:
        """Start the scenario, and return the observation at the first decision.

        Args:
            seed: Seed of the scenario: random losses, and random starts of flows.

        Raises:
            KernelError: If the run failed, or came to no decision.
        """
        self._start(seed)
        if not self._advance():
            self.end()
            raise KernelError("the connection reached no decision within the scenario's duration; make it longer")
        return self.live.observe()

    def step(self, action: Any) -> tuple[NDArray[np.float32], float, bool, bool, dict[str, Any]]:
        """Act, process ACKs until the next decision is due, and return the result of an environment's `step`."""
        self.live.act(action)
        self._steer()
        goes_on = self._advance()
        reward = self.live.reward()
        return self.live.observe(), reward, False, not goes_on, {} if goes_on else {"kernel": self.told()}

    def read(self, agent: int, observation: str, /) -> float:
        """Return the value of an observation of the only agent."""
        return self.live.read(observation)

    @property
    def now_s(self) -> float:
        """Time since the first ACK, seconds."""
        return self.live.now_s

    def __copy__(self) -> "KernelFlow":
        """Refuse, as the state of a kernel cannot be stored.

        Raises:
            ValueError: Always.
        """
        raise ValueError("a connection on a kernel cannot be saved, and cannot be copied; simulate for that")

    def _start(self, seed: int) -> None:
        self.end()
        scenario = self._scenario.draw(seed)
        self.drawn = scenario.drawn
        self.live = LiveFlow(scenario, self._flow, self._settings)
        text = scenario.to_json()
        if self._on is None:
            self._run = RealTimeRun(text, self._flow, scenario.duration_s)
        else:
            self._run = VirtualTimeRun(self._on, text, self._flow)

    def _advance(self) -> bool:
        """Process ACKs until a decision is due; return False if the scenario's time is over first."""
        assert self._run is not None
        try:
            while True:
                is_over = self._run.is_over()
                if any([self._take(seen) for seen in self._run.seen()]) and not is_over:
                    return True
                if is_over:
                    self._summary = self._run.summary()
                    return False
        except BaseException:
            self.end()
            raise

    def _take(self, seen: Seen) -> bool:
        self._last = seen
        measured = seen.time_ns, seen.cwnd, seen.srtt_us, seen.min_rtt_us, seen.rtt_us
        is_due = self.live.on_ack(*measured, seen.inflight, seen.acked, seen.lost, seen.state, seen.mss)
        if not is_due:
            self._steer()
        return is_due

    def _steer(self) -> None:
        if self._run is None or self._last is None:
            return
        cwnd, rate_bps = self.live.steering()
        self._run.decide(self._last, Decision(cwnd, float(rate_bps), owns_losses=True))

    @property
    def counters(self) -> Counters | None:
        """Kernel counters of ACKs, decisions and fallbacks in this episode; None before the first."""
        return None if self._run is None else self._run.counters

    def told(self) -> dict[str, Any]:
        """Return the statistics of an episode: counts of ACKs, decisions and fallbacks, and latencies of decisions."""
        counters = self.counters
        return {} if counters is None else {**counters._asdict(), "latency_us": self.latency_us()}

    def latency_us(self) -> dict[str, float]:
        """Return the latency from ACKs to their decisions, microseconds: p50, p90 and p99; empty in virtual time."""
        return {} if self._run is None else self._run.latency_us()

    def summary(self) -> RunSummary:
        """Return the summary of the run, as in `summary.json`; empty before its end."""
        return {} if self._summary is None else self._summary  # type: ignore[typeddict-item]

    def end(self) -> None:
        """End the run, if one is active."""
        if self._run is not None:
            self._run.close()
        self._run = self._last = self._summary = None
