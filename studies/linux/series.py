"""Time series of one flow, recorded or simulated, and the metrics computed from it.

Every metric is a pure function of columns, so both sides are measured alike. A sample holds until the next one, as a
window does.
"""

from dataclasses import dataclass, replace

import numpy as np

from ackclock.stats.metrics import Flags, Floats

STEP_S = 0.05
"""Interval of samples in quiet periods."""
DENSE_S = 2.0
"""Time from the start in which every sample is kept, for slow start."""


@dataclass(frozen=True, slots=True)
class FlowSeries:
    """Samples of one flow.

    Attributes:
        time_s: Time since the connection was established, ascending.
        cwnd_segments: Congestion window.
        ssthresh_segments: Slow-start threshold; NaN while arbitrarily high.
        srtt_ms: Smoothed round-trip time.
        in_recovery: True in fast recovery, after a timeout, and while the window is reduced for another reason.
        acked_bytes: Acknowledged payload so far.
        secs: Duration of the observation.
        retransmitted: Segments retransmitted in that time.
    """

    time_s: Floats
    cwnd_segments: Floats
    ssthresh_segments: Floats
    srtt_ms: Floats
    in_recovery: Flags
    acked_bytes: Floats
    secs: float
    retransmitted: int

    def thinned(self) -> "FlowSeries":
        """Return the samples from which metrics are computed; thinning again changes nothing."""
        kept = kept_samples(self.time_s, self.ssthresh_segments, self.in_recovery)
        return replace(
            self,
            time_s=self.time_s[kept],
            cwnd_segments=self.cwnd_segments[kept],
            ssthresh_segments=self.ssthresh_segments[kept],
            srtt_ms=self.srtt_ms[kept],
            in_recovery=self.in_recovery[kept],
            acked_bytes=self.acked_bytes[kept],
        )


@dataclass(frozen=True, slots=True)
class QueueSeries:
    """Samples of the bottleneck's queue, on the first flow's clock."""

    time_s: Floats
    packets: Floats


def kept_samples(time_s: Floats, ssthresh: Floats, in_recovery: Flags) -> Flags:
    """Return which samples to keep: all at the start and around recoveries, else the first of each `STEP_S`.

    Args:
        time_s: Times, ascending.
        ssthresh: Threshold; its changes are kept.
        in_recovery: Recovery flag; kept where true.

    Examples:
        >>> time_s = np.array([2.00, 2.01, 2.02, 2.03, 2.06, 2.07])
        >>> in_recovery = np.array([False, False, False, True, False, False])
        >>> kept_samples(time_s, np.full(6, 9.0), in_recovery)
        array([ True, False,  True,  True,  True, False])
    """
    if time_s.size == 0:
        return np.zeros(0, dtype=bool)
    bins = np.floor(time_s / STEP_S + 1e-6)
    changed = np.diff(np.nan_to_num(ssthresh, nan=-1.0)) != 0
    event = in_recovery | np.append(changed, False) | np.append(False, changed)
    beside = event | np.append(in_recovery[1:], False) | np.append(False, in_recovery[:-1])
    kept: Flags = beside | (time_s < DENSE_S) | np.append(True, np.diff(bins) > 0)
    return kept


def durations_s(time_s: Floats, end_s: float) -> Floats:
    """Return how long each sample holds: until the next one, the last until the end.

    Args:
        time_s: Times, ascending.
        end_s: End, not before the last sample.

    Examples:
        >>> durations_s(np.array([0.0, 1.0, 4.0]), 6.0)
        array([1., 3., 2.])
    """
    return np.diff(np.append(time_s, max(end_s, time_s[-1])))


def mean_over_time(time_s: Floats, values: Floats, end_s: float) -> float:
    """Return the time-weighted mean of a quantity.

    Args:
        time_s: Times, ascending.
        values: A value for each time.
        end_s: End of the last sample.

    Examples:
        >>> mean_over_time(np.array([0.0, 1.0, 4.0]), np.array([6.0, 2.0, 12.0]), 6.0)
        6.0
    """
    return float(np.average(values, weights=durations_s(time_s, end_s)))


def percentile_over_time(time_s: Floats, values: Floats, end_s: float, percent: float) -> float:
    """Return the time-weighted percentile of a quantity.

    Args:
        time_s: Times, ascending.
        values: A value for each time.
        end_s: End of the last sample.
        percent: Percentile, from 0 to 100.

    Examples:
        Below 6 for 3 of 6 seconds, at most 6 for 4:

        >>> [percentile_over_time(np.array([0.0, 1.0, 4.0]), np.array([6.0, 2.0, 12.0]), 6.0, p) for p in (50, 60, 95)]
        [2.0, 6.0, 12.0]
    """
    order = np.argsort(values, kind="stable")
    shares = np.cumsum(durations_s(time_s, end_s)[order])
    return float(values[order][np.searchsorted(shares, percent / 100 * shares[-1] * (1 - 1e-12))])


def loss_events(flow: FlowSeries) -> list[tuple[int, int]]:
    """Return each loss event as its first sample and the first sample after it.

    An event is an uninterrupted stay in recovery. Stays less than a smoothed round-trip time apart are merged: an
    overshoot of slow start can cause two recoveries, one right after the other.

    Args:
        flow: Samples of the flow.
    """
    edges = np.diff(np.concatenate(([False], flow.in_recovery, [False])).astype(int))
    events: list[tuple[int, int]] = []
    for first, after in zip(np.flatnonzero(edges == 1), np.flatnonzero(edges == -1), strict=True):
        if events and flow.time_s[first] - flow.time_s[events[-1][1]] < flow.srtt_ms[first] / 1000:
            events[-1] = (events[-1][0], int(after))
        else:
            events.append((int(first), int(after)))
    return events


def loss_times_s(flow: FlowSeries) -> Floats:
    """Return the start time of each loss event.

    Args:
        flow: Samples of the flow.
    """
    return np.array([flow.time_s[first] for first, _ in loss_events(flow)])


def slow_start_end_s(flow: FlowSeries) -> float | None:
    """Return when ssthresh was first set, by a loss or by the controller; None if it never was.

    Args:
        flow: Samples of the flow.
    """
    is_set = np.flatnonzero(~np.isnan(flow.ssthresh_segments))
    return float(flow.time_s[is_set[0]]) if is_set.size else None


def growth_segments_per_rtt(flow: FlowSeries) -> float | None:
    """Return the growth of cwnd per round-trip time of congestion avoidance, outside recoveries.

    It is the growth in all stretches after the first loss event, divided by their number of round trips, each SRTT
    long.

    Args:
        flow: Samples of the flow.

    Returns:
        None if no stretch is ten round trips long.
    """
    events = loss_events(flow)
    starts = [after for _, after in events]
    ends = [*(first for first, _ in events[1:]), flow.time_s.size][: len(starts)]
    grown, rounds = 0.0, 0.0
    for start, end in zip(starts, ends, strict=True):
        stretch = slice(start, end)
        steps = np.diff(flow.time_s[stretch]) * 1000 / flow.srtt_ms[stretch][:-1]
        if steps.sum() >= 10:
            grown += float(flow.cwnd_segments[end - 1] - flow.cwnd_segments[start])
            rounds += float(steps.sum())
    return grown / rounds if rounds else None
