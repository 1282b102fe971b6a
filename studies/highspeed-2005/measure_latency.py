"""H5: the latency that an appliance adds, and what holding it down costs."""

import math
import statistics
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from ackclock.claims.measured import Measured, Runs
from ackclock.results import Results

Measure = Callable[[Runs], Measured]

TARGET_MS = 10.0
"""Bound of the 99th percentile wherever it can be met, ms."""
SLACK = 1.5
"""Bound of the 99th percentile elsewhere, as a multiple of the cell's feasible bound."""
PACKET_BITS = 1500 * 8
"""A packet on the far link: 1448 octets of payload and 52 of headers."""
KEPT = 0.98
"""The part of the unbounded buffers' throughput that a discipline has to pass."""
LATER = "credit, 3 ms"
"""Credit with a margin of 3 ms in place of 1: more is let in early."""
OTHERS = ("drain_rate", "codel_window", "not_sent")
_BITS = {"bit/s": 1.0, "kbit/s": 1e3, "Mbit/s": 1e6, "Gbit/s": 1e9}


def bits_per_second(text: str) -> float:
    """Return a rate of a scenario.

    Examples:
        >>> bits_per_second("10 Mbit/s")
        10000000.0
    """
    value, unit = text.split()
    return float(value) * _BITS[unit]


def share_ms(flows: int, rate_bps: float) -> float:
    """Return how long a packet of each flow takes together: what a flow that has its share waits for its turn.

    Args:
        flows: At least one.
        rate_bps: Rate of the link that they share, bit/s.

    Examples:
        >>> share_ms(100, 10e6), share_ms(1, 10e6)
        (120.0, 1.2)
    """
    return 1e3 * flows * PACKET_BITS / rate_bps


def allowed_ms(flows: int, rate_bps: float) -> float:
    """Return the greatest 99th percentile with which a cell holds.

    Examples:
        >>> allowed_ms(100, 10e6), allowed_ms(10, 10e6), allowed_ms(10, 100e6)
        (180.0, 18.0, 10.0)
    """
    return max(TARGET_MS, SLACK * share_ms(flows, rate_bps))


def cell(results: Results) -> tuple[int, float]:
    """Return a run's number of long flows, and the far link's least rate in bit/s."""
    scenario = results.manifest["scenario"]
    rate = scenario["topology"]["bottleneck"]["rate"]
    rates = [rate] if isinstance(rate, str) else [step["rate"] for step in rate["schedule"]]
    return int(scenario["flow"][0].get("count", 1)), min(bits_per_second(text) for text in rates)


def directions(results: Results, group: str = "long") -> list[Mapping[str, Any]]:
    """Return what the appliance says of the way forward of a group's flows that had something sent on."""
    found: list[Mapping[str, Any]] = [
        flow["forward"] for flow in results.appliance("box")["flows"] if flow["flow"].split(".")[0] == group
    ]
    return [forward for forward in found if forward["added_latency_ms"]]


def weighted(found: Iterable[Mapping[str, Any]], which: str = "p99") -> float:
    """Return the mean of the flows' percentiles, each weighted by the octets that the flow passed.

    Args:
        found: Flows, as `directions` returns them.
        which: "p50", "p95", "p99".
    """
    pairs = [(forward["acknowledged_bytes"], forward["added_latency_ms"][which]) for forward in found]
    octets = math.fsum(weight for weight, _ in pairs)
    return float(math.fsum(weight * value for weight, value in pairs) / octets) if octets else 0.0


def throughput(results: Results) -> float:
    """Return what all flows passed, in Mbit/s: in the measurement window, or with short flows in the whole run."""
    flows, end_s = results.summary["flows"], float(results.summary["duration_s"])
    if any(_is_short(flow) for flow in flows):
        return 8 * math.fsum(flow["delivered_bytes"] for flow in flows) / end_s / 1e6
    begin_s = seconds(results.manifest["scenario"]["measure"]["from"])
    # a goodput is that of the part of the window in which the flow was there
    bits = [flow["goodput_bps"] * (end_s - max(begin_s, flow["start_s"])) for flow in flows]
    return math.fsum(bits) / (end_s - begin_s) / 1e6


def seconds(text: str) -> float:
    """Return a time of a scenario.

    Examples:
        >>> seconds("250 ms"), seconds("10 s")
        (0.25, 10.0)
    """
    value, unit = text.split()
    return float(value) * {"s": 1.0, "ms": 1e-3, "us": 1e-6}[unit]


def _is_short(flow: Mapping[str, Any]) -> bool:
    return str(flow["name"]).startswith("short")


def ratio(runs: Runs, discipline: str) -> float:
    """Return a discipline's throughput beside that of unbounded buffers."""
    return throughput(runs[discipline]) / throughput(runs["socket"])


def latency(discipline: str = "credit") -> Measure:
    """The 99th percentile of what a discipline adds, beside what is allowed."""

    def measure(runs: Runs) -> Measured:
        results = runs[discipline]
        found, limit = directions(results), allowed_ms(*cell(results))
        also = {"allowed ms": limit} | _details(found)
        return Measured(weighted(found) / limit, also | _short(runs, (discipline, "socket")))

    return measure


def pooled(discipline: str = "credit") -> Measure:
    """The 99th percentile over the octets of all long flows together, beside what is allowed."""

    def measure(runs: Runs) -> Measured:
        results = runs[discipline]
        limit = allowed_ms(*cell(results))
        together = results.appliance("box")["added_latency_ms"]
        p99 = float(together["p99"]) if together else 0.0
        return Measured(p99 / limit, {"allowed ms": limit, "99th percentile ms": p99})

    return measure


def worst(discipline: str = "credit") -> Measure:
    """The greatest 99th percentile of a flow, beside what is allowed: whether it holds for every single flow."""

    def measure(runs: Runs) -> Measured:
        results = runs[discipline]
        limit = allowed_ms(*cell(results))
        each = [float(forward["added_latency_ms"]["p99"]) for forward in directions(results)]
        also = {"allowed ms": limit, "99th percentile ms": max(each), "flows beyond": sum(p99 > limit for p99 in each)}
        return Measured(max(each) / limit, also)

    return measure


def _details(found: list[Mapping[str, Any]]) -> dict[str, float]:
    """Return the rest of what a cell says; blocking is at the far receiver, behind lost segments."""
    blocked = [forward["blocking"]["duration_ms"] for forward in found if forward["blocking"]["duration_ms"]]
    return {
        "99th percentile ms": weighted(found),
        "of the flow with the greatest ms": max((forward["added_latency_ms"]["p99"] for forward in found), default=0.0),
        "95th percentile ms": weighted(found, "p95"),
        "median ms": weighted(found, "p50"),
        "far timeouts": math.fsum(forward["timeouts"] for forward in found),
        "far fast recoveries": math.fsum(forward["fast_recoveries"] for forward in found),
        "far blocking episodes": math.fsum(forward["blocking"]["episodes"] for forward in found),
        "far blocking p95 ms": statistics.fmean(each["p95"] for each in blocked) if blocked else 0.0,
    }


def _short(runs: Runs, disciplines: Iterable[str]) -> dict[str, float]:
    found = {}
    for discipline in disciplines:
        flows = [flow for flow in runs[discipline].summary["flows"] if _is_short(flow)]
        times = [1e3 * (flow["completion_s"] - flow["start_s"]) for flow in flows if flow["completion_s"]]
        if times:
            found[f"short flows, median completion, {discipline} ms"] = statistics.median(times)
    return found


def kept(discipline: str = "credit") -> Measure:
    """The part of the unbounded buffers' throughput that a discipline passes; over seeds, the part of their sum."""

    def measure(runs: Runs) -> Measured:
        found = {name: throughput(runs[name]) for name in (discipline, "socket")}
        also = {f"{name} Mbit/s": value for name, value in found.items()}
        return Measured(ratio(runs, discipline), also, weight=found["socket"])

    return measure


def better(ours: tuple[float, float], other: tuple[float, float]) -> bool:
    """Return whether another discipline is to be preferred.

    Args:
        ours: Credit's 99th percentile in ms, and its part of the unbounded buffers' throughput.
        other: The same of the other.

    Examples:
        >>> better((3.0, 0.99), (2.0, 0.99)), better((3.0, 0.99), (2.0, 0.97)), better((3.0, 0.97), (9.0, 0.99))
        (True, False, True)
    """
    return other[1] >= KEPT and (ours[1] < KEPT or other[0] < ours[0])


def rivals(runs: Runs) -> Measured:
    """The number of other disciplines that are preferable to credit; None where none passes 98 %."""
    found = {name: (weighted(directions(runs[name])), ratio(runs, name)) for name in ("credit", *OTHERS)}
    also = {f"{name} ms": p99 for name, (p99, _) in found.items()}
    also |= {f"{name} of throughput": part for name, (_, part) in found.items()}
    if all(part < KEPT for _, part in found.values()):
        return Measured(None, also)
    return Measured(float(sum(better(found["credit"], found[name]) for name in OTHERS)), also)


MEASURES: dict[str, Measure] = {
    **{name: latency() for name in ("H5a1", "H5a2", "H5c1", "H5d1", "H5f1")},
    **{name: kept() for name in ("H5b1", "H5b2", "H5c2", "H5d2", "H5f2")},
    "H5f3": latency(LATER),
    "H5f4": kept(LATER),
    "H5g1": pooled(),
    "H5g2": worst(),
    "H5e": rivals,
}
