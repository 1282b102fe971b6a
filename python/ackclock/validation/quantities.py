"""What is compared, and what counts as agreement."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from ackclock.validation import series
from ackclock.validation.series import FlowSeries

Verdict = Literal["agrees", "differs", "open"]


@dataclass(frozen=True, slots=True)
class Quantity:
    """A number that is read off every run, recorded or simulated.

    Attributes:
        key: In `validation.json` and in `differs-because.toml`.
        title: For people.
        unit: Of the number; empty for a count.
        rule: `mean`: the simulated mean is within the tolerance of the recorded mean. `spread`: the simulated and the
            recorded range overlap, the recorded one widened by the tolerance at either end.
        tolerance: As a fraction.
        measure: From a run to its values: none where it has no such thing, several where a run has many.
        controllers: Those that it is meant for; empty for all.
    """

    key: str
    title: str
    unit: str
    rule: Literal["mean", "spread"]
    tolerance: float
    measure: Callable[[FlowSeries], Sequence[float]]
    controllers: tuple[str, ...] = ()

    def words(self) -> str:
        """Say what counts as agreement."""
        percent = f"{100 * self.tolerance:g} %"
        return f"mean within {percent}" if self.rule == "mean" else f"within the recorded range and {percent}"

    def limits(self, recorded: Sequence[float]) -> tuple[float, float]:
        """Return the least and the greatest value that agree.

        Args:
            recorded: At least one value.

        Examples:
            >>> [quantity.limits([200.0, 300.0]) for quantity in QUANTITIES if quantity.key in ("goodput", "losses")]
            [(245.0, 255.0), (180.0, 330.0)]
        """
        low, high = (float(np.mean(recorded)),) * 2 if self.rule == "mean" else (min(recorded), max(recorded))
        return low - self.tolerance * abs(low), high + self.tolerance * abs(high)

    def verdict(self, recorded: Sequence[float], simulated: Sequence[float]) -> Verdict:
        """Judge; without a value on either side there is nothing to say.

        Args:
            recorded: Values of all recorded runs.
            simulated: Values of all simulated runs.
        """
        if not recorded and not simulated:
            return "open"
        if not recorded or not simulated:
            return "differs"
        low, high = self.limits(recorded)
        ours = (float(np.mean(simulated)),) * 2 if self.rule == "mean" else (min(simulated), max(simulated))
        return "agrees" if ours[1] >= low and ours[0] <= high else "differs"


def _goodput(flow: FlowSeries) -> list[float]:
    return [float(flow.acked_bytes[-1]) * 8 / flow.secs / 1e6]


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


QUANTITIES = (
    Quantity("goodput", "goodput", "Mbit/s", "mean", 0.02, _goodput),
    Quantity("retransmitted", "retransmitted", "segments", "spread", 0.10, lambda flow: [float(flow.retransmitted)]),
    Quantity("cwnd_mean", "cwnd, mean", "segments", "mean", 0.10, _cwnd),
    Quantity("cwnd_p95", "cwnd, 95th percentile", "segments", "mean", 0.10, _cwnd_p95),
    Quantity("cwnd_max", "cwnd, largest", "segments", "spread", 0.10, lambda flow: [float(flow.cwnd_segments.max())]),
    Quantity("srtt_mean", "SRTT, mean", "ms", "mean", 0.05, _srtt),
    Quantity("losses", "loss events", "", "spread", 0.10, _losses),
    Quantity("first_loss", "first loss", "s", "spread", 0.10, _first_loss),
    Quantity("after_slow_start", "slow start's end to next loss", "s", "spread", 0.10, _after_slow_start),
    Quantity("interval", "between losses, mean", "s", "mean", 0.10, _intervals),
    Quantity("growth", "cwnd growth in a round trip", "segments", "spread", 0.10, _growth, ("reno",)),
)
