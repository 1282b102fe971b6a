"""H1, H6 and H7: whose share of the link it is, and how long one loss costs a share."""

import math
from collections.abc import Callable, Sequence

import polars as pl

from ackclock.claims.measured import Measured, Runs
from ackclock.results import Results

Measure = Callable[[Runs], Measured]

LEGACY = 11
"""Flows of H6."""


def old(results: Results) -> float:
    """Return the goodput of the flow that was Reno, in Mbit/s."""
    return float(results.flow("old")["goodput_bps"]) / 1e6


def others(results: Results) -> float:
    """Return the mean goodput of the ten others, in Mbit/s."""
    return mean([float(flow["goodput_bps"]) / 1e6 for flow in results.summary["flows"] if flow["name"] != "old"])


def mean(values: Sequence[float]) -> float:
    """Return the mean of at least one value."""
    return math.fsum(values) / len(values)


def _shares(runs: Runs) -> dict[str, float]:
    found = {f"old flow {case} Mbit/s": old(results) for case, results in runs.items()}
    return found | {f"ten others {case} Mbit/s": others(results) for case, results in runs.items()}


def share(case: str) -> Measure:
    """The flow that was Reno, in Mbit/s."""

    def measure(runs: Runs) -> Measured:
        return Measured(old(runs[case]), _shares(runs))

    return measure


def gain(runs: Runs) -> Measured:
    """The appliance's gain for the flow that was Reno, in percent."""
    return Measured(100 * (old(runs["with"]) / old(runs["without"]) - 1), _shares(runs))


def taken(runs: Runs) -> Measured:
    """The loss of the ten flows together divided by the old flow's gain; None where the gain is below 1 Mbit/s."""
    gained = old(runs["with"]) - old(runs["without"])
    lost = 10 * (others(runs["without"]) - others(runs["with"]))
    return Measured(lost / gained if gained >= 1.0 else None, {"gained Mbit/s": gained, "lost Mbit/s": lost})


def as_eleventh(runs: Runs) -> Measured:
    """The old flow through the appliance beside an eleventh HighSpeed flow."""
    return Measured(old(runs["with"]) / old(runs["eleventh"]), _shares(runs))


def stolen(runs: Runs) -> Measured:
    """The Reno flow beside ten HighSpeed flows, beside what it has among ten of its own kind."""
    found = {name: old(runs[f"ten {name}"]) for name in ("highspeed", "reno")}
    return Measured(
        found["highspeed"] / found["reno"], {f"beside ten {name} Mbit/s": rate for name, rate in found.items()}
    )


def bursts(runs: Runs) -> Measured:
    """The old flow's goodput through an appliance that sends segments one by one, divided by that with bursts."""
    return Measured(old(runs["one by one"]) / old(runs["with"]), _shares(runs))


def small_queues(runs: Runs) -> Measured:
    """The old flow's goodput through an appliance with small device queues, divided by that without the limit."""
    found = {case: old(results) for case, results in runs.items()}
    also = {f"{case} Mbit/s": rate for case, rate in found.items()}
    return Measured(found["with"] / found["no small queues"], also, weight=found["no small queues"])


def alone(runs: Runs) -> Measured:
    """A Reno flow that no other hinders, where the queue is shortest, in Mbit/s."""
    goodputs = {case: float(results.flow("old")["goodput_bps"]) / 1e6 for case, results in runs.items()}
    return Measured(goodputs["2 packets"], {f"{case} Mbit/s": value for case, value in goodputs.items()})


# ---- H7 ------------------------------------------------------------------------------------------------------------

LOSS_S, RENO_S = 10.0, 32.0
"""Time of the loss, and the span from then on over which goodput is counted, s."""
CARRIED_MBPS = 1000 * 1448 / 1538
"""Payload of full segments on 1 Gbit/s Ethernet."""


def recovery_s(results: Results) -> float:
    """Return the time from the loss until the window is again within a segment of what it was."""
    rows = results.flows.filter(pl.col("flow") == "old")
    before = rows.filter(pl.col("time_s") <= LOSS_S)["cwnd_bytes"][-1]
    after = rows.filter(pl.col("time_s") > LOSS_S)
    fallen = after.filter((pl.col("cwnd_bytes") < before - 1448).cum_sum() > 0)
    return float(fallen.filter(pl.col("cwnd_bytes") >= before - 1448)["time_s"][0]) - LOSS_S


def recovery(case: str) -> Measure:
    """The time for which one loss holds a flow back, in s, with the goodput of both in that time."""

    def measure(runs: Runs) -> Measured:
        also = {f"{name} %": _carried(results) for name, results in runs.items()}
        return Measured(recovery_s(runs[case]), also)

    return measure


def after_a_loss(runs: Runs) -> Measured:
    """Return HighSpeed's share of the link while Reno would recover."""
    carried = {name: _carried(results) for name, results in runs.items()}
    return Measured(carried["highspeed"], {"reno %": carried["reno"]})


def _carried(results: Results) -> float:
    """Return the goodput from the loss on, of what the link carries, in percent."""
    rows = results.flows.filter(pl.col("time_s").is_between(LOSS_S, LOSS_S + RENO_S, closed="right"))
    return 100 * float(rows.select(pl.col("goodput_bps").mean()).item()) / 1e6 / CARRIED_MBPS


# ---- H6 ------------------------------------------------------------------------------------------------------------


def goodputs(results: Results) -> list[float]:
    """Return the goodput of each flow of H6 in Mbit/s, the converted ones first."""
    return [float(results.flow(f"legacy.{number}")["goodput_bps"]) / 1e6 for number in range(1, LEGACY + 1)]


def jain(values: Sequence[float]) -> float:
    """Return Jain's index of fairness.

    Examples:
        >>> jain([1.0, 1.0, 1.0, 1.0]), jain([1.0, 0.0, 0.0, 0.0])
        (1.0, 0.25)
    """
    squares = math.fsum(value * value for value in values)
    return math.fsum(values) ** 2 / (len(values) * squares) if squares else 0.0


def harm(x: float, y: float) -> float:
    """Return Ware's harm: the part of `x` that is lost where there is only `y` (Ware et al., HotNets 2019).

    Examples:
        >>> harm(80.0, 60.0)
        0.25
    """
    return (x - y) / x


def conversion(runs: Runs, name: str, count: int) -> dict[str, float]:
    """Return what converting so many flows does: to them, to the others, to all.

    Args:
        runs: Runs of H6.
        name: The controller they are converted to.
        count: Number of flows, 1 to 11.
    """
    before, after = goodputs(runs["none"]), goodputs(runs[f"{name} {count}"])
    found = {
        "Jain before": jain(before),
        "Jain after": jain(after),
        "all, before Mbit/s": math.fsum(before),
        "all, after Mbit/s": math.fsum(after),
        "converted, after / before": math.fsum(after[:count]) / math.fsum(before[:count]),
    }
    if count < LEGACY:
        found["harm"] = harm(mean(before[count:]), mean(after[count:]))
        found["worst harm"] = max(harm(mean(before[count:]), value) for value in after[count:])
    return found


def converted(name: str, count: int, quantity: str) -> Measure:
    """One of the quantities of `conversion`, with the others beside it."""

    def measure(runs: Runs) -> Measured:
        found = conversion(runs, name, count)
        return Measured(found[quantity], {key: value for key, value in found.items() if key != quantity})

    return measure


def _conversions() -> dict[str, Measure]:
    found: dict[str, Measure] = {}
    for letter, name in zip("abc", ("highspeed", "cubic", "bbr3"), strict=True):
        found[f"H6{letter}1"] = converted(name, 1, "harm")
        found[f"H6{letter}2"] = converted(name, 5, "harm")
        found[f"H6{letter}3"] = converted(name, LEGACY, "Jain after")
        found[f"H6{letter}4"] = converted(name, 1, "converted, after / before")
    return found


MEASURES: dict[str, Measure] = {
    "H1a": share("without"),
    "H1b": share("with"),
    "H1c": gain,
    "H1d": taken,
    "H1e": as_eleventh,
    "H1q": stolen,
    "H1n": share("without"),
    "H1o": share("with"),
    "H1p": gain,
    "H1r": share("without"),
    "H1s": share("with"),
    "H1t": gain,
    "H1v": share("without"),
    "H1w": share("with"),
    "H1x": gain,
    "H7a": after_a_loss,
    "H7b": recovery("reno"),
    "H7c": recovery("highspeed"),
    "H1f": share("without"),
    "H1g": share("with"),
    "H1h": gain,
    "H1i": alone,
    "H1j": bursts,
    "H1u": small_queues,
    "H1k": share("without"),
    "H1l": share("with"),
    "H1m": gain,
    **_conversions(),
    "H6d": converted("highspeed, own device", 1, "converted, after / before"),
}
