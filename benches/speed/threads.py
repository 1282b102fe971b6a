"""What several threads give to one run: wall time on one and on all cores, in turn, with the same results."""

import statistics
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

from ackclock.base.system import cores
from ackclock.running import EngineFigures, simulate

from .cases import Case

GROUP = "threads"
"""What names it on the command line."""

CASES = (
    Case("b", "b", "100 CUBIC flows, 10 Gbit/s, 20 ms, 2 s", ('duration="2 s"',)),
    Case("c", "c", "1000 CUBIC flows, 1 Gbit/s, 20 ms, 5 s"),
    Case("parking-lot", "parking-lot", "1000 CUBIC flows over four bottlenecks of 1 Gbit/s, 2 s"),
)
"""What is measured."""


@dataclass(frozen=True, slots=True)
class SpeedUp:
    """How much faster one run is on several threads.

    Attributes:
        name: Of the case.
        title: What it is, in a few words.
        threads: How many threads.
        lookahead_s: How far a part may go ahead of another.
        largest_share: What the part with most to do has of all, by the estimate that the cut was made by.
        one_s: Wall time of each run on one thread.
        several_s: Wall time of each run on several.
        more_cpu: CPU time on several threads to that on one, median.
    """

    name: str
    title: str
    threads: int
    lookahead_s: float | None
    largest_share: float
    one_s: tuple[float, ...]
    several_s: tuple[float, ...]
    more_cpu: float

    @property
    def ratios(self) -> list[float]:
        """Wall time on one thread to that on several, of each pair, the least first."""
        return sorted(one / several for one, several in zip(self.one_s, self.several_s, strict=True))

    @property
    def median(self) -> float:
        """The median of these."""
        return statistics.median(self.ratios)

    def as_dict(self) -> dict[str, Any]:
        """Return the entry of the JSON."""
        return asdict(self) | {"ratios": self.ratios, "median": self.median}


def speed_ups(*, pairs: int = 5, threads: int | None = None) -> Iterator[SpeedUp]:
    """Measure each case in pairs of runs, in turn.

    Args:
        pairs: How many.
        threads: On how many threads; by default on as many as there are cores, and two at least.
    """
    for case in CASES:
        yield _speed_up(case, pairs, threads or max(2, cores()))


def _speed_up(case: Case, pairs: int, threads: int) -> SpeedUp:
    scenario = case.scenario()
    runs: list[tuple[EngineFigures, EngineFigures]] = []
    for _ in range(pairs):
        (one, first), (several, second) = simulate(scenario), simulate(scenario, threads=threads)
        if one.summary_json() != several.summary_json():
            raise AssertionError(f"bench {case.name}: {threads} threads gave other results than one; please report it")
        runs.append((first, second))
    partition = runs[0][1].partition
    return SpeedUp(
        name=case.name,
        title=case.title,
        threads=partition["parts"],
        lookahead_s=partition["lookahead_s"],
        largest_share=partition["largest_share"],
        one_s=tuple(one.wall_s for one, _ in runs),
        several_s=tuple(several.wall_s for _, several in runs),
        more_cpu=statistics.median(several.cpu_s / one.cpu_s for one, several in runs),
    )
