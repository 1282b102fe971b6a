"""Figures of a run over a path: the share of the path's capacity, the delay added, and the loss."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

FAMILIES = ("alone", "lossy", "cubic", "own", "changing", "cellular")
"""Kinds of paths, by the names of their files."""


@dataclass(frozen=True, slots=True)
class Figures:
    """A controller on a path.

    Attributes:
        family: Kind of the path.
        goodput: The learner's goodput over its fair share: the link's rate, or half of it against CUBIC; for two of
            a kind the sum of both over the rate.
        other: CUBIC's goodput over half of the rate, against CUBIC; else 0.
        delay: Mean queueing delay of the learner's packets (mean RTT less propagation) over the propagation RTT.
        delay_p95: 95th percentile of the same.
        queueing_s: Mean queueing delay, s.
        loss: Segments marked lost over segments sent.
        jain: Jain's index for two of a kind; else 1.
        worst: The lesser of two of a kind over half of the rate; else `goodput`.
    """

    family: str
    goodput: float
    other: float
    delay: float
    delay_p95: float
    queueing_s: float
    loss: float
    jain: float
    worst: float


def figures_of(family: str, summary: Mapping[str, Any], link: "Link") -> Figures:
    """Read them off a run's summary.

    Args:
        family: Kind of the path.
        summary: Summary as in `summary.json`; the learner is the first flow.
        link: Capacity of the path.
    """
    flows = summary["flows"][:2] if family == "own" else summary["flows"][:1]
    half = link.capacity_bps / 2
    goodputs = [flow["goodput_bps"] for flow in flows]
    other = summary["flows"][1]["goodput_bps"] / half if family == "cubic" else 0.0
    goodput = sum(goodputs) / (half if family == "cubic" else link.capacity_bps)
    squares = sum(value * value for value in goodputs)
    jain = sum(goodputs) ** 2 / (len(goodputs) * squares) if squares else 0.0
    mean_s, p95_s = (max(_rtt_s(flows, name) - link.base_rtt_s, 0.0) for name in ("mean", "p95"))
    sent = sum(flow["sent_segments"] for flow in flows)
    loss = sum(flow["lost_segments"] for flow in flows) / sent if sent else 0.0
    worst = min(goodputs) / half if family == "own" else goodput
    return Figures(family, goodput, other, mean_s / link.base_rtt_s, p95_s / link.base_rtt_s, mean_s, loss, jain, worst)


def _rtt_s(flows: Sequence[Mapping[str, Any]], name: str) -> float:
    """Return the mean over flows, of those that had an RTT in the time that is measured."""
    values = [flow["rtt_ms"][name] / 1e3 for flow in flows if flow["rtt_ms"]]
    return math.fsum(values) / len(values) if values else 0.0


@dataclass(frozen=True, slots=True)
class Link:
    """The capacity and the propagation delay of a path.

    Attributes:
        capacity_bps: Mean rate of the bottleneck over the run.
        base_rtt_s: Propagation of the round trip.
    """

    capacity_bps: float
    base_rtt_s: float

    @classmethod
    def of(cls, scenario: Mapping[str, Any], duration_s: float) -> "Link":
        """Read it off a scenario.

        Args:
            scenario: Scenario as JSON, a dumbbell, with values that are drawn in place.
            duration_s: Duration of the run.
        """
        topology = scenario["topology"]
        one_way_s = 2 * _seconds(topology["access"]["delay"]) + _seconds(topology["bottleneck"]["delay"])
        return cls(_capacity(topology["bottleneck"]["rate"], duration_s), 2 * one_way_s)


def _capacity(rate: str | Mapping[str, Any], duration_s: float) -> float:
    if isinstance(rate, str):
        return _bits(rate)
    if "schedule" in rate:
        return _of_schedule(rate, duration_s)
    instants = [int(word) for word in rate["instants"].split()]
    rounds, rest = divmod(round(duration_s * 1e3), instants[-1])
    lines = rounds * len(instants) + sum(instant <= rest for instant in instants)
    return lines * 8 * _bytes(rate.get("opportunity", "1500 bytes")) / duration_s


def _of_schedule(rate: Mapping[str, Any], duration_s: float) -> float:
    period_s = _seconds(rate["repeat"]) if rate.get("repeat") else duration_s
    starts = [(_seconds(entry["at"]), _bits(entry["rate"])) for entry in rate["schedule"]]
    spans = [(begin, end, bps) for (begin, bps), (end, _) in pairwise([*starts, (period_s, 0.0)])]
    bits, from_s = 0.0, 0.0
    while from_s < duration_s:
        left = duration_s - from_s
        bits += sum(bps * (min(end, left) - begin) for begin, end, bps in spans if begin < left)
        from_s += period_s
    return bits / duration_s


_UNITS = {
    "ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0, "bit/s": 1.0, "kbit/s": 1e3, "Mbit/s": 1e6, "Gbit/s": 1e9,
    "byte": 1.0, "bytes": 1.0, "B": 1.0, "kB": 1e3,
}  # fmt: skip


def _quantity(text: str) -> float:
    number, unit = text.split()
    return float(number) * _UNITS[unit]


_seconds = _bits = _bytes = _quantity
