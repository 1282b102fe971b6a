"""Comparison of recordings with simulations: the runs, the numbers of both, and the verdicts."""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ackclock.base import input_files
from ackclock.base.system import cores
from ackclock.running import Stop, mapped, run
from ackclock.stats.metrics import jain_fairness

from . import simulated_recordings as simulated
from .compared_quantities import QUANTITIES, Quantity, Verdict, per_flow
from .linux_recordings import FlowSettings, PathSettings, RecordedRun, Recording
from .series import FlowSeries
from .simulated_recordings import SimulatedRun, Variant

CAUSES = Path(__file__).parent / "differs-because.toml"


@dataclass(frozen=True, slots=True)
class Row:
    """Quantity of one flow, or of all flows of a run together.

    Attributes:
        flow: The flow; None for all together.
        quantity: The quantity.
        recorded: Values of all recorded runs.
        simulated: Values of all simulated runs.
        runs: Number of recorded runs.
        because: Known cause of a difference.
    """

    flow: FlowSettings | None
    quantity: Quantity
    recorded: tuple[float, ...]
    simulated: tuple[float, ...]
    runs: int
    because: str

    @property
    def verdict(self) -> Verdict:
        """Judge the values."""
        return self.quantity.verdict(self.recorded, self.simulated, self.runs)

    @property
    def is_by_widening(self) -> bool:
        """True if it agrees only because the recorded range was widened."""
        return self.quantity.is_by_widening(self.recorded, self.simulated, self.runs)

    @property
    def is_unexplained(self) -> bool:
        """True if it differs without a known cause."""
        return self.verdict == "differs" and not self.because

    def as_dict(self) -> dict[str, Any]:
        """Return the entry of `validation.json`."""
        quantity = self.quantity
        return {
            "flow": None if self.flow is None else self.flow.flow,
            "quantity": quantity.key,
            "unit": quantity.unit,
            "agreement": quantity.words(),
            "limits": quantity.limits(self.recorded, self.runs) if self.recorded else None,
            "recorded": self.recorded,
            "simulated": self.simulated,
            "verdict": self.verdict,
            "by_widening": self.is_by_widening,
            "because": self.because,
        }


@dataclass(frozen=True, slots=True)
class Comparison:
    """Comparison of one recording.

    Attributes:
        recording: The recording.
        runs: Simulations of it.
        rows: The quantities.
        obstacle: Reason why nothing was simulated; empty if something was.
    """

    recording: Recording
    runs: tuple[SimulatedRun, ...]
    rows: tuple[Row, ...]
    obstacle: str

    def causes(self) -> list[str]:
        """Return the distinct causes of differences."""
        return list(dict.fromkeys(row.because for row in self.rows if row.verdict == "differs" and row.because))

    def as_dict(self) -> dict[str, Any]:
        """Return the entry of `validation.json`."""
        return {
            "scenario": self.recording.name,
            "recorded_runs": len(self.recording.runs),
            "simulated_runs": len(self.runs),
            "not_simulated_because": self.obstacle,
            "quantities": [row.as_dict() for row in self.rows],
        }


def compare(recordings: Sequence[Recording], *, on_done: Callable[[int, int], None] | None = None) -> list[Comparison]:
    """Simulate the settings of recordings and judge every quantity.

    Args:
        recordings: The recordings.
        on_done: Called after each simulation with the finished and the total number.
    """
    obstacles = {recording.name: _obstacle(recording) for recording in recordings}
    wanted = [(r, variant) for r in recordings if not obstacles[r.name] for variant in simulated.variants(r)]
    runs: dict[str, list[SimulatedRun]] = {recording.name: [] for recording in recordings}
    stop = Stop()
    with ThreadPoolExecutor(max_workers=cores()) as pool:
        try:
            done = mapped(pool, stop.heeded(_simulate), *zip(*wanted, strict=True))
            for count, ((recording, _), result) in enumerate(zip(wanted, done, strict=True), 1):
                runs[recording.name].append(result)
                if on_done:
                    on_done(count, len(wanted))
        finally:
            stop.set()
    causes = load_causes()
    return [_comparison(recording, runs[recording.name], obstacles[recording.name], causes) for recording in recordings]


def _obstacle(recording: Recording) -> str:
    """Return why a recording cannot be compared; empty if it can."""
    if unknown := simulated.unsupported(recording):
        return f"unknown controller {', '.join(unknown)}"
    return "" if recording.runs else "its samples are not in data/"


def _simulate(recording: Recording, variant: Variant) -> SimulatedRun:
    return simulated.simulated_run(recording, variant, run(simulated.scenario(recording, variant)))


def _comparison(
    recording: Recording, runs: Sequence[SimulatedRun], obstacle: str, causes: Sequence["Cause"]
) -> Comparison:
    rows = () if obstacle else tuple(_rows(recording, runs, causes))
    return Comparison(recording, tuple(runs), rows, obstacle)


def _rows(recording: Recording, runs: Sequence[SimulatedRun], causes: Sequence["Cause"]) -> Iterator[Row]:
    for index, flow in enumerate(recording.flows):
        for quantity in per_flow(len(recording.flows)):
            if not quantity.controllers or flow.cc in quantity.controllers:
                theirs, ours = (_values(quantity, side, index) for side in (recording.runs, runs))
                because = explain(causes, quantity.key, flow, recording.path)
                yield Row(flow, quantity, theirs, ours, len(recording.runs), because)
    if len(recording.flows) > 1:
        for quantity in TOGETHER:
            theirs, ours = (
                tuple(_together(quantity.key, one.flows) for one in side) for side in (recording.runs, runs)
            )
            yield Row(None, quantity, theirs, ours, len(recording.runs), "")


def _values(quantity: Quantity, runs: Sequence[RecordedRun | SimulatedRun], index: int) -> tuple[float, ...]:
    return tuple(value for one in runs for value in quantity.measure(one.flows[index]))


_GOODPUT = next(quantity for quantity in QUANTITIES if quantity.key == "goodput")

TOGETHER = (
    Quantity("goodput_sum", "goodput of all flows", "Mbit/s", "mean", 0.02, _GOODPUT.measure),
    Quantity("jain_index", "Jain index of goodput", "", "spread", 0, _GOODPUT.measure),
)
"""Quantities of all flows of a run together, from the goodput of each."""


def _together(key: str, flows: Sequence[FlowSeries]) -> float:
    goodputs = np.array([_GOODPUT.measure(flow)[0] for flow in flows])
    return float(goodputs.sum()) if key == "goodput_sum" else jain_fairness(goodputs)


@dataclass(frozen=True, slots=True)
class Cause:
    """Cause of a difference in some quantities, for matching settings."""

    quantities: tuple[str, ...]
    where: dict[str, Any]
    because: str


def load_causes(path: Path = CAUSES) -> list[Cause]:
    """Read the recorded causes.

    Args:
        path: A TOML file with tables `[[cause]]`.
    """
    tables = input_files.toml(path, remedy="write tables [[cause]] in it").get("cause", [])
    return [Cause(tuple(table["quantities"]), table["where"], table["because"]) for table in tables]


def explain(causes: Sequence[Cause], quantity: str, flow: FlowSettings, path: PathSettings) -> str:
    """Return the cause of a difference in a quantity of a flow; empty if unknown.

    Args:
        causes: All recorded causes; the first match counts.
        quantity: Key of the quantity.
        flow: Settings of the flow.
        path: Settings of the path.
    """
    for cause in causes:
        settings = {name: getattr(flow, name, getattr(path, name, None)) for name in cause.where}
        if quantity in cause.quantities and settings == cause.where:
            return cause.because
    return ""
