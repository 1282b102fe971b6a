"""Cases of the benchmark."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import resources
from pathlib import Path

from ackclock._core import Scenario

FOLDER = Path(__file__).parent / "scenarios"

_PACKETS_OF_D = 2_000_000
_RTT_OF_D_S = 0.02
_TRACED = ("trace={}",)
_CELL = resources.files("ackclock") / "scenarios" / "traces" / "cell.down"
_ON_A_CELL = (f"topology.bottleneck.rate.trace={json.dumps(str(_CELL))}",)
_IN_PYTHON = ('flow[0].controller="python:ackclock.scenario.reno:Reno"',)
_QUEUE_IN_PYTHON = ('topology.bottleneck.queue="bench_fifo"',)
_WINDOWS_OF_D = (10, 100, 1_000, 10_000, 100_000)


@dataclass(frozen=True, slots=True)
class Case:
    """Scenario to measure.

    Attributes:
        group: Name on the command line.
        name: Unique name: the group and the variant.
        title: Short description.
        overrides: Changes to the group's scenario file.
    """

    group: str
    name: str
    title: str
    overrides: tuple[str, ...] = ()

    def scenario(self) -> Scenario:
        """Read the scenario."""
        return Scenario.load(str(self.file), self.overrides)

    @property
    def file(self) -> Path:
        """The group's scenario."""
        return FOLDER / f"{self.group}.toml"


def _fixed_windows() -> Iterator[Case]:
    for window in _WINDOWS_OF_D:
        duration_ms = _PACKETS_OF_D * _RTT_OF_D_S * 1e3 / window
        overrides = (f'flow[0].controller.window="{window} segments"', f'duration="{duration_ms:.0f} ms"')
        yield Case("d", f"d{window}", f"fixed window of {window:,} segments, 0.01 % loss", overrides)


CASES: tuple[Case, ...] = (
    Case("a", "a", "1 CUBIC flow, 100 Mbit/s, 60 ms, 50 s"),
    Case("a", "a-traced", "the same, default traces on", _TRACED),
    Case("b", "b", "100 CUBIC flows, 10 Gbit/s, 20 ms, 5 s"),
    Case("b", "b-traced", "the same, default traces on", _TRACED),
    Case("c", "c", "1000 CUBIC flows, 1 Gbit/s, 20 ms, 5 s"),
    *_fixed_windows(),
    Case("fq-codel", "fq-codel", "the 1000 flows of c through FQ-CoDel"),
    Case("trace-link", "trace-link", "1 CUBIC flow over a link that follows a trace, 60 s", _ON_A_CELL),
    Case("short-flows", "short-flows", "10,000 short flows a second (Pareto), 40 Gbit/s, 1 s"),
    Case("python-controller", "python-controller-none", "1 Reno flow, 100 Mbit/s, 60 ms, 50 s"),
    Case("python-controller", "python-controller", "the same, Reno written in Python", _IN_PYTHON),
    Case("python-queue", "python-queue-none", "1 CUBIC flow, 100 Mbit/s, 60 ms, 50 s, FIFO"),
    Case("python-queue", "python-queue", "the same, FIFO written in Python", _QUEUE_IN_PYTHON),
)
"""All cases, in the order of the output."""
