"""C20: controllers for the links of mobile networks."""

from collections.abc import Callable
from pathlib import Path
from typing import Literal

from ackclock.claims.folder import load_module
from ackclock.claims.measured import Measured, Runs
from ackclock.results import Results

_bbr = load_module(Path(__file__).parent / "measure_bbr.py")

Measure = Callable[[Runs], Measured]


def wait_ms(results: Results, statistic: Literal["mean", "p95"] = "mean") -> float:
    """Return how long packets waited at the bottleneck: "mean" or "p95"."""
    entry = next(entry for entry in results.summary["links"] if entry["name"] == "bottleneck")
    return float(entry["queueing_delay_ms"][statistic])


def waits(case: str, *others: str) -> Measure:
    """The mean wait of a case over the least of the others'."""

    def measure(runs: Runs) -> Measured:
        found = {name: wait_ms(runs[name]) for name in (case, *others)}
        return Measured(found[case] / min(found[other] for other in others), found)

    return measure


def goodputs(case: str, other: str) -> Measure:
    """The goodput of a case over that of another."""

    def measure(runs: Runs) -> Measured:
        found = {name: _bbr.goodput(runs[name]) / 1e6 for name in (case, other)}
        return Measured(found[case] / found[other], found)

    return measure


def sprout_waits(runs: Runs) -> Measured:
    """The 95th percentile of Sprout's wait; beside it its use of the link over this round trip and a longer one."""
    used = {f"use, {case}": _bbr.link(runs[case])["utilization"] for case in ("sprout", "sprout, 100 ms")}
    return Measured(wait_ms(runs["sprout"], "p95"), used)


MEASURES: dict[str, Measure] = {
    "C20a": waits("verus", "cubic"),
    "C20b": goodputs("verus", "cubic"),
    "C20c": goodputs("verus", "sprout"),
    "C20d": sprout_waits,
    "C20e": waits("c2tcp", "bbr", "verus", "sprout"),
    "C20f": goodputs("abc", "cubic, codel"),
}
