"""Compared quantities, and their criteria of agreement."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from . import series
from .series import FlowSeries

Verdict = Literal["agrees", "differs", "open"]

SINGLE_RUN_MARGIN = 0.10
"""Margin for a single recorded run, whose spread is unknown."""
RANGE_MARGIN = 0.02
"""Margin for two or three runs, which do not show the whole spread: Reno's growth in two runs differed by 0.1 %."""

SAMPLE_S = 0.01
"""Interval of samples around losses."""


@dataclass(frozen=True, slots=True)
class Quantity:
    """Quantity that is measured in every run, recorded or simulated.

    Attributes:
        key: Key in `validation.json` and in `differs-because.toml`.
        title: Title for people.
        unit: Unit; empty for a count.
        rule: `mean`: the simulated mean is within the tolerance of the recorded mean. `spread`: the simulated range
            overlaps the recorded one.
        tolerance: Relative tolerance of the rule `mean`.
        measure: Function from a run to its values: none if the quantity is undefined, several if it has many.
        controllers: Controllers that it applies to; empty for all.
        counts_packets: Whether single packets matter, so that small counts vary by chance.
        slack: Resolution of the measurement, added to either end of a range.
        one_sided: Verdict if only one side has values.
    """

    key: str
    title: str
    unit: str
    rule: Literal["mean", "spread"]
    tolerance: float
    measure: Callable[[FlowSeries], Sequence[float]]
    controllers: tuple[str, ...] = ()
    counts_packets: bool = False
    slack: float = 0.0
    one_sided: Verdict = "differs"

    def words(self) -> str:
        """Describe the criterion of agreement."""
        return f"means within {100 * self.tolerance:g} %" if self.rule == "mean" else "ranges meet"

    def limits(self, recorded: Sequence[float], runs: int) -> tuple[float, float]:
        """Return the least and the greatest value that agree.

        Args:
            recorded: At least one value.
            runs: Number of recorded runs; a range needs two.

        Examples:
            >>> [q.limits([200.0, 300.0], 2) for q in QUANTITIES if q.key in ("goodput", "cwnd_max")]
            [(245.0, 255.0), (196.0, 306.0)]

            A single run that lost 25 might have lost 20 or 30:

            >>> [q.limits([25.0], 1) for q in QUANTITIES if q.counts_packets]
            [(20.0, 30.0)]

            A margin widens a range of negative values as well:

            >>> [q.limits([-200.0, -100.0], 2) for q in QUANTITIES if q.key == "growth"]
            [(-204.0, -98.0)]
        """
        if self.rule == "mean":
            mean = float(np.mean(recorded))
            return _widened([mean], self.tolerance)
        margin = RANGE_MARGIN if runs > 1 else SINGLE_RUN_MARGIN
        if runs == 1 and self.counts_packets:
            margin = max(margin, 1 / math.sqrt(max(recorded[0], 1.0)))
        return _widened(recorded, margin, self.slack)

    def is_by_widening(self, recorded: Sequence[float], simulated: Sequence[float], runs: int) -> bool:
        """Return whether the ranges overlap only because the recorded one was widened.

        The original range extends from the least to the greatest value of several runs, or 10 % either side of one.

        Args:
            recorded: Values of all recorded runs.
            simulated: Values of all simulated runs.
            runs: Number of recorded runs.

        Examples:
            >>> (q,) = (q for q in QUANTITIES if q.counts_packets)
            >>> [q.is_by_widening([200.0, 300.0], [value], 2) for value in (299.0, 301.0, 400.0)]
            [False, True, False]
        """
        if self.rule == "mean" or not recorded or self.verdict(recorded, simulated, runs) != "agrees":
            return False
        margin = 0 if runs > 1 else SINGLE_RUN_MARGIN
        low, high = _widened(recorded, margin)
        return bool(min(simulated) > high or max(simulated) < low)

    def verdict(self, recorded: Sequence[float], simulated: Sequence[float], runs: int) -> Verdict:
        """Judge the values; without any on either side, nothing can be judged.

        Args:
            recorded: Values of all recorded runs.
            simulated: Values of all simulated runs.
            runs: Number of recorded runs.
        """
        if not recorded and not simulated:
            return "open"
        if not recorded or not simulated:
            return self.one_sided
        low, high = self.limits(recorded, runs)
        ours = (float(np.mean(simulated)),) * 2 if self.rule == "mean" else (min(simulated), max(simulated))
        return "agrees" if ours[1] >= low and ours[0] <= high else "differs"


def _widened(values: Sequence[float], margin: float, slack: float = 0.0) -> tuple[float, float]:
    low, high = min(values), max(values)
    down, up = 1 - math.copysign(margin, low), 1 + math.copysign(margin, high)
    return low * down - slack, high * up + slack


def _goodput(flow: FlowSeries) -> list[float]:
    return [float(flow.acked_bytes[-1]) * 8 / flow.secs / 1e6]


def _retransmitted(flow: FlowSeries) -> list[float]:
    return [float(flow.retransmitted)]


def _losses(flow: FlowSeries) -> list[float]:
    return [float(len(series.loss_events(flow)))]


def _first_loss(flow: FlowSeries) -> list[float]:
    return list(series.loss_times_s(flow)[:1])


def _after_slow_start(flow: FlowSeries) -> list[float]:
    end_s = series.slow_start_end_s(flow)
    times_s = series.loss_times_s(flow)
    return [] if end_s is None else [float(time_s - end_s) for time_s in times_s[times_s > end_s][:1]]


def _intervals(flow: FlowSeries) -> list[float]:
    return [float(interval_s) for interval_s in np.diff(series.loss_times_s(flow))]


def _growth(flow: FlowSeries) -> list[float]:
    growth = series.growth_segments_per_rtt(flow)
    return [] if growth is None else [growth]


def _cwnd(flow: FlowSeries) -> list[float]:
    return [series.mean_over_time(flow.time_s, flow.cwnd_segments, flow.secs)]


def _cwnd_p95(flow: FlowSeries) -> list[float]:
    return [series.percentile_over_time(flow.time_s, flow.cwnd_segments, flow.secs, 95)]


def _srtt(flow: FlowSeries) -> list[float]:
    return [series.mean_over_time(flow.time_s, flow.srtt_ms, flow.secs)]


# The end of a run may cut off its last loss: hence one loss event more or less, and no verdict on an interval that only
# one side has. Times are told to a sample.
QUANTITIES = (
    Quantity("goodput", "goodput", "Mbit/s", "mean", 0.02, _goodput),
    Quantity("retransmitted", "retransmitted", "segments", "spread", 0, _retransmitted, counts_packets=True),
    Quantity("cwnd_mean", "cwnd, mean", "segments", "mean", 0.10, _cwnd),
    Quantity("cwnd_p95", "cwnd, 95th percentile", "segments", "mean", 0.10, _cwnd_p95),
    Quantity("cwnd_max", "cwnd, largest", "segments", "spread", 0, lambda flow: [float(flow.cwnd_segments.max())]),
    Quantity("srtt_mean", "SRTT, mean", "ms", "mean", 0.05, _srtt),
    Quantity("losses", "loss events", "", "spread", 0, _losses, slack=1),
    Quantity("first_loss", "first loss", "s", "spread", 0, _first_loss, slack=SAMPLE_S),
    Quantity(
        "after_slow_start",
        "slow start's end to next loss",
        "s",
        "spread",
        0,
        _after_slow_start,
        slack=SAMPLE_S,
        one_sided="open",
    ),
    Quantity("interval", "between losses, mean", "s", "mean", 0.10, _intervals, one_sided="open"),
    Quantity("growth", "cwnd growth in a round trip", "segments", "spread", 0, _growth, ("reno",)),
)


def per_flow(flows: int) -> tuple[Quantity, ...]:
    """Return the quantities of each flow; if several share the path, chance divides it, so only ranges are judged.

    Args:
        flows: Number of flows that share the path.
    """
    if flows == 1:
        return QUANTITIES
    return tuple(replace(quantity, rule="spread") for quantity in QUANTITIES)
