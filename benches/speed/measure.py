"""Measurement of cases: enough repetitions, start-up excluded, memory in a separate process."""

import json
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from ackclock._core import Scenario
from ackclock.running import EngineFigures, simulate

from .cases import Case


@dataclass(frozen=True, slots=True)
class Measurement:
    """Cost of a case, summed over its repetitions.

    Attributes:
        case: The case.
        runs: Repetitions.
        packets: Data packets delivered.
        events: Events handled.
        cpu_s: CPU time inside the engine.
    """

    case: Case
    runs: int
    packets: int
    events: int
    cpu_s: float

    @property
    def packets_per_cpu_s(self) -> float:
        """Data packets delivered per second of CPU."""
        return self.packets / self.cpu_s

    @property
    def events_per_cpu_s(self) -> float:
        """Events handled per second of CPU."""
        return self.events / self.cpu_s

    @property
    def ns_per_packet(self) -> float:
        """CPU time for each data packet, in nanoseconds."""
        return 1e9 * self.cpu_s / self.packets


def measure(case: Case, *, min_cpu_s: float, on_run: Callable[[float], None] | None = None) -> Measurement:
    """Repeat a case until it has taken enough CPU time.

    Args:
        case: The case.
        min_cpu_s: Minimum CPU time; at least one run is made.
        on_run: Called after each run with the CPU time so far.
    """
    scenario = case.scenario()
    runs: list[EngineFigures] = []
    cpu_s = 0.0
    while not runs or cpu_s < min_cpu_s:
        figures = _run(scenario)
        runs.append(figures)
        cpu_s += figures.cpu_s
        if on_run:
            on_run(cpu_s)
    packets, events = sum(run.packets_delivered for run in runs), sum(run.events for run in runs)
    return Measurement(case, len(runs), packets, events, cpu_s)


def _run(scenario: Scenario) -> EngineFigures:
    _outcome, figures = simulate(scenario)
    return figures


def peak_memory_bytes(case: Case) -> dict[str, int]:
    """Run a case in a separate process and return its peak memory.

    Args:
        case: The case.

    Returns:
        `peak`, and `before`: memory of the interpreter and its libraries before the scenario was made.

    Raises:
        RuntimeError: If the process fails; the message is its last line.
    """
    command = [sys.executable, str(Path(__file__).with_name("child.py")), str(case.file), *case.overrides]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"the measurement of memory failed: {done.stderr.strip().splitlines()[-1:]}")
    figures: dict[str, int] = json.loads(done.stdout)
    return figures
