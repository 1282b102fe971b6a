"""Speed-up of one run by threads: wall time on one thread and on all cores, alternating, with identical results."""

import statistics
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

from ackclock.base.system import cores
from ackclock.running import EngineFigures, simulate

from .cases import Case

GROUP = "threads"
"""Name on the command line."""

CASES = (
    Case("b", "b", "100 CUBIC flows, 10 Gbit/s, 20 ms, 2 s", ('duration="2 s"',)),
    Case("c", "c", "1000 CUBIC flows, 1 Gbit/s, 20 ms, 5 s"),
    Case("parking-lot", "parking-lot", "1000 CUBIC flows over four bottlenecks of 1 Gbit/s, 2 s"),
)
"""Cases of the benchmark."""


@dataclass(frozen=True, slots=True)
class SpeedUp:
    """Speed-up of one run on several threads.

    Attributes:
        name: Name of the case.
        title: Short description.
        threads: Number of threads.
        lookahead_s: Lookahead between parts of the network.
        largest_share: Estimated share of the work in the busiest part.
        one_s: Wall time of each run on one thread.
        several_s: Wall time of each run on several threads.
        more_cpu: CPU time on several threads divided by that on one, median.
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
        """Speed-up of each pair: wall time on one thread divided by that on several, ascending."""
        return sorted(one / several for one, several in zip(self.one_s, self.several_s, strict=True))

    @property
    def median(self) -> float:
        """Median speed-up."""
        return statistics.median(self.ratios)

    def as_dict(self) -> dict[str, Any]:
        """Return the entry of the JSON."""
        return asdict(self) | {"ratios": self.ratios, "median": self.median}


def speed_ups(*, pairs: int = 5, threads: int | None = None) -> Iterator[SpeedUp]:
    """Measure each case in pairs of runs, alternating.

    Args:
        pairs: Number of pairs.
        threads: Number of threads; by default the number of cores, at least two.
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
