"""Agent on a real connection: the scenario runs on this machine's kernel while the agent decides.

`ackclock-kernel` runs the scenario. The connection of the agent's flow has the controller `ackclock_agent`, which
reports each ACK and applies decisions (`ackclock.kernel_agent`). In between works the same agent as in a simulation:
observations, decision times and actions are the core's.

Departures: time passes while the agent computes. All reports that arrived meanwhile are processed before the next
decision, which thus uses the latest state, and decisions are rarer than in a simulation. If none is made for three
round trips, the kernel's own CUBIC takes over, and returns the window with the next processed ACK.
"""

import json
import subprocess
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from ackclock._core import LiveFlow, Scenario
from ackclock.results.summaries import RunSummary
from ackclock.running.kernel import KernelError, missing, program
from ackclock.running.kernel_agent import NAME, Counters, Decision, KernelAgent, Seen

_PATIENCE_S: Final = 20.0
"""Extra time that a scenario may take to begin and to end, seconds."""


class KernelFlow:
    """Flow of the agent in a scenario on the kernel, run from one decision to the next.

    Attributes:
        live: The core's agent; what it knows is read from it.
        drawn: Nothing: the values that a seed draws are not told.
    """

    drawn: Mapping[str, Any] = {}

    def __init__(self, scenario: Scenario, flow: str, settings: str) -> None:
        """Check that the run is possible.

        Raises:
            KernelError: If the machine lacks something; the message says what.
            ValueError: If a setting is wrong, or the flow is unknown.
        """
        if lacks := missing():
            raise KernelError(f'an environment with on="kernel" needs what this machine lacks: {lacks}')
        self._scenario, self._flow, self._settings = scenario, flow, settings
        self._agent: KernelAgent | None = None
        self._child: subprocess.Popen[bytes] | None = None
        self._folder: tempfile.TemporaryDirectory[str] | None = None
        self._ends_s = 0.0
        self._last: Seen | None = None
        self.live = LiveFlow(scenario, flow, settings)

    def reset(self, seed: int) -> NDArray[np.float32]:
        """Start the scenario, and return the observation at the first decision.

        Args:
            seed: Seed of the scenario: random losses, and random starts of flows.

        Raises:
            KernelError: If the run failed, or came to no decision.
        """
        self._start(seed)
        if not self._run():
            self.end()
            raise KernelError("the connection reached no decision within the scenario's duration; make it longer")
        return self.live.observe()

    def step(self, action: Any) -> tuple[NDArray[np.float32], float, bool, bool, dict[str, Any]]:
        """Act, process ACKs until the next decision is due, and return the result of an environment's `step`."""
        self.live.act(action)
        self._steer()
        goes_on = self._run()
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
        """Refuse, as time cannot be repeated.

        Raises:
            ValueError: Always.
        """
        raise ValueError("a connection on the kernel cannot be saved, and cannot be copied; simulate for that")

    def _start(self, seed: int) -> None:
        self.end()
        self.live = LiveFlow(self._scenario, self._flow, self._settings)
        self._last = None
        self._agent = KernelAgent()
        self._folder = tempfile.TemporaryDirectory(prefix="ackclock-flow-")
        folder = Path(self._folder.name)
        (folder / "scenario.json").write_text(self._scenario.draw(seed).to_json())
        chosen = f"{self._flow}={NAME}"
        command = [str(program()), "run", "-", "--tied", "--into", str(folder / "out"), "--controller", chosen]
        with (folder / "errors").open("wb") as errors, (folder / "scenario.json").open("rb") as text:
            self._child = subprocess.Popen(command, stdin=text, stderr=errors)
        self._ends_s = time.monotonic() + self._scenario.duration_s + _PATIENCE_S

    def _run(self) -> bool:
        """Process ACKs until a decision is due; return False if the scenario's time is over first."""
        assert self._agent is not None
        assert self._child is not None
        while True:
            is_over = self._child.poll() is not None
            if any([self._take(seen) for seen in self._agent.seen()]) and not is_over:
                return True
            if is_over:
                self._check()
                return False
            if time.monotonic() > self._ends_s:
                self.end()
                raise KernelError(f"the run did not end within {_PATIENCE_S:g} s of the scenario's time, and was ended")

    def _take(self, seen: Seen) -> bool:
        assert self._agent is not None
        self._last = seen
        measured = seen.time_ns, seen.cwnd, seen.srtt_us, seen.min_rtt_us, seen.rtt_us
        is_due = self.live.on_ack(*measured, seen.inflight, seen.acked, seen.lost, seen.state, seen.mss)
        if not is_due:
            self._steer()
        return is_due

    def _steer(self) -> None:
        if self._agent is None or self._last is None:
            return
        cwnd, rate_bps = self.live.steering()
        self._agent.decide(self._last, Decision(cwnd, float(rate_bps), owns_losses=True))

    def _check(self) -> None:
        assert self._child is not None
        assert self._folder is not None
        if self._child.returncode:
            said = (Path(self._folder.name) / "errors").read_text(errors="replace").strip()
            raise KernelError(said.removeprefix("error: ") or f"the run ended with {self._child.returncode}")

    @property
    def counters(self) -> Counters | None:
        """Kernel counters of ACKs, decisions and fallbacks in this episode; None before the first."""
        return None if self._agent is None else self._agent.counters

    def told(self) -> dict[str, Any]:
        """Return the statistics of an episode: counts of ACKs, decisions and fallbacks, and latencies of decisions."""
        counters = self.counters
        return {} if counters is None else {**counters._asdict(), "latency_us": self.latency_us()}

    def latency_us(self) -> dict[str, float]:
        """Return the latency from ACKs to their decisions, microseconds: p50, p90 and p99."""
        return {} if self._agent is None else self._agent.latency_us()

    def summary(self) -> RunSummary:
        """Return the summary of the run, as in `summary.json`; empty before its end."""
        if self._folder is None:
            return {}  # type: ignore[typeddict-item]
        file = Path(self._folder.name) / "out" / "summary.json"
        found: RunSummary = json.loads(file.read_text() if file.is_file() else "{}")
        return found

    def end(self) -> None:
        """End the run, if one is active."""
        if self._child is not None and self._child.poll() is None:
            self._child.terminate()
            self._child.wait()
        if self._agent is not None:
            self._agent.close()
        if self._folder is not None:
            self._folder.cleanup()
        self._agent = self._child = self._folder = None
