"""The same scenario simulated and on the kernel: how far the means of their runs lie apart.

Runs of the same seed lose the same packets where loss is random, so that they are compared in pairs. What agrees was
set before any of the thirty was run; the floors are for quantities of which all runs of a kernel are alike to a digit.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from ackclock.claims.intervals import Interval, of_mean
from ackclock.claims.measured import Measured, Runs
from ackclock.results import Results

SCENARIOS = 30
LEAST_RUNS = 3
"""Runs of the kernel that must be in time for a verdict."""
PLACES = ("simulator", "kernel")
FROM_S = 2.0
"""Series count from here on, as the scenario's measurement does."""
MSS_BYTES = 1448


@dataclass(frozen=True, slots=True)
class Quantity:
    """A quantity that is compared.

    Attributes:
        unit: The unit, as the record and the table name it.
        relative: The difference that agrees, as a share of the simulator's mean; 0 where the spread of the kernel's
            runs decides.
        floor: The least half-spread, in the unit; the larger of this and `floor_share` counts.
        floor_share: The least half-spread as a share of the kernel's mean.
    """

    unit: str
    relative: float = 0.0
    floor: float = 0.0
    floor_share: float = 0.0


QUANTITIES = {
    "goodput": Quantity("Mbit/s", relative=0.02),
    "window": Quantity("segments", relative=0.10),
    "SRTT": Quantity("ms", relative=0.05),
    "retransmitted": Quantity("segments", floor=2.0, floor_share=0.05),
    "share of the first": Quantity("", floor=0.02),
}


def figures(results: Results) -> dict[str, float]:
    """Return what is compared of a run: rates and means from the second second on, retransmissions of all of it."""
    import polars as pl

    flows = results.summary["flows"]
    goodputs = [float(flow["goodput_bps"]) / 1e6 for flow in flows]
    series = results.flows.filter(pl.col("time_s") >= FROM_S)
    found = {
        "goodput": math.fsum(goodputs),
        "window": _mean(series["cwnd_bytes"]) / MSS_BYTES,
        "SRTT": _mean(series["srtt_s"]) * 1e3,
        "retransmitted": float(sum(flow["retransmitted_segments"] for flow in flows)),
    }
    if len(flows) > 1:
        found["share of the first"] = goodputs[0] / math.fsum(goodputs)
    return found


def _mean(column: object) -> float:
    import polars as pl

    assert isinstance(column, pl.Series)
    return float(column.drop_nulls().drop_nans().mean())  # type: ignore[arg-type]


def compare(simulated: Sequence[Mapping[str, float]], on_kernel: Sequence[Mapping[str, float]]) -> Measured:
    """Return the difference of means that is largest in units of what agrees, and all means beside it.

    Args:
        simulated: The figures of each run, by quantity.
        on_kernel: Results of the kernel's run with the same seed.
    """
    differences: dict[str, Measured] = {}
    also: dict[str, float] = {}
    for name in simulated[0]:
        ours, theirs = [run[name] for run in simulated], [run[name] for run in on_kernel]
        differences[name] = _difference(QUANTITIES[name], ours, theirs)
        for place, values in zip(PLACES, (ours, theirs), strict=True):
            interval = of_mean(values)
            also |= {f"{name}, {place}": interval.middle, f"{name}, {place}, ±": interval.half}
        also[f"{name}, difference"] = differences[name].value or 0.0
    worst = max(differences.values(), key=_certainty)
    return Measured(worst.value, also, interval=worst.interval, values=worst.values)


def _difference(quantity: Quantity, ours: Sequence[float], theirs: Sequence[float]) -> Measured:
    """Return the distance of two means in units of what agrees, with its interval where it is one of pairs."""
    if quantity.relative > 0:
        ratios = [(there / here - 1) / quantity.relative for here, there in zip(ours, theirs, strict=True)]
        sign = -1.0 if math.fsum(ratios) < 0 else 1.0
        values = tuple(sign * ratio for ratio in ratios)
        return Measured(of_mean(values).middle, interval=of_mean(values), values=values)
    least, greatest = min(theirs), max(theirs)
    mean = math.fsum(theirs) / len(theirs)
    agrees = max((greatest - least) / 2, quantity.floor, quantity.floor_share * mean)
    return Measured(abs(math.fsum(ours) / len(ours) - (least + greatest) / 2) / agrees)


def _certainty(difference: Measured) -> tuple[bool, float]:
    """Rank a difference: those that are certain above the others, then by the bound of their interval that decides."""
    value = difference.value or 0.0
    interval = difference.interval or Interval(value, 0.0, 1)
    return (True, interval.low) if interval.low > 1 else (False, interval.high)


def same(runs: Runs) -> Measured:
    """Compare pairs of runs, without those of the kernel that were too late; how late they were stands beside it."""
    seeds = range(1, len(runs) // len(PLACES) + 1)
    pairs = [tuple(runs[f"run, {place}, {seed}"] for place in PLACES) for seed in seeds]
    told = lateness([on_kernel for _, on_kernel in pairs])
    in_time = [pair for pair in pairs if pair[1].manifest["kernel"]["valid"]]
    if len(in_time) < LEAST_RUNS:
        return Measured(None, told)
    found = compare(*[[figures(run) for run in place] for place in zip(*in_time, strict=True)])
    return Measured(found.value, {**found.also, **told}, interval=found.interval, values=found.values)


def lateness(results: Sequence[Results]) -> dict[str, float]:
    """Return how late packets were in runs on the kernel, how many were too late, and the machine's load if known."""
    told = [run.manifest["kernel"] for run in results]
    loads = [one["load"] for one in told if "load" in one]
    return {
        "late p99, us": max(one["late_us"]["p99"] for one in told),
        "late p99.9, us": max(one["late_us"]["p999"] for one in told),
        "runs too late": float(sum(not one["valid"] for one in told)),
    } | ({"load": max(loads)} if loads else {})


MEASURES: dict[str, Callable[[Runs], Measured]] = {f"K1-{number:02}": same for number in range(1, SCENARIOS + 1)}
