"""Metrics of columns: pure functions on arrays."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]


def jain_fairness(goodput_bps: Floats) -> float:
    """Return Jain's fairness index of per-flow goodputs: 1 if all are equal, 1/n if one flow takes all.

    Args:
        goodput_bps: Goodput of each flow over the measurement window, in bit/s.

    Raises:
        ValueError: If there are no flows or every goodput is zero.

    Examples:
        >>> jain_fairness(np.array([1e6, 0.0]))
        0.5
    """
    if goodput_bps.size == 0 or not goodput_bps.any():
        raise ValueError("jain_fairness needs at least one flow with non-zero goodput")
    total = float(goodput_bps.sum())
    return total * total / (goodput_bps.size * float(np.square(goodput_bps).sum()))


def extremes_per_bucket(time_s: Floats, values: Floats, buckets: int) -> tuple[Floats, Floats]:
    """Downsample a series for display, preserving every peak and dip.

    Samples are split into equal buckets, and the minimum and maximum of each are kept, in their order.

    Args:
        time_s: Times, ascending.
        values: A value for each time; NaN if missing.
        buckets: Number of buckets; at most two points per bucket are kept.

    Returns:
        Times and values kept; both unchanged if there are few enough.

    Examples:
        >>> extremes_per_bucket(np.arange(6.0), np.array([0.0, 9.0, 1.0, 5.0, -3.0, 4.0]), 2)
        (array([0., 1., 3., 4.]), array([ 0.,  9.,  5., -3.]))
    """
    if time_s.size <= 2 * buckets:
        return time_s, values
    kept: list[int] = []
    for run in np.array_split(np.arange(time_s.size), buckets):
        part = values[run]
        known = run[~np.isnan(part)]
        if known.size:
            kept.extend(sorted({int(known[np.argmin(values[known])]), int(known[np.argmax(values[known])])}))
    return time_s[kept], values[kept]


def mean_per_bucket(time_s: Floats, values: Floats, buckets: int) -> tuple[Floats, Floats]:
    """Average a rate over longer bins for display.

    Args:
        time_s: Ends of the bins, ascending and evenly spaced.
        values: Rate in each bin; NaN if missing.
        buckets: Approximate number of bins afterwards.

    Returns:
        Ends and means of the longer bins; both unchanged if there are no more than `buckets`.

    Examples:
        >>> mean_per_bucket(np.array([1.0, 2.0, 3.0, 4.0]), np.array([1.0, 3.0, 5.0, 7.0]), 2)
        (array([2., 4.]), array([2., 6.]))
    """
    if time_s.size <= buckets:
        return time_s, values
    runs = [run for run in np.array_split(np.arange(time_s.size), buckets) if not np.isnan(values[run]).all()]
    ends = np.array([time_s[run[-1]] for run in runs])
    return ends, np.array([float(np.nanmean(values[run])) for run in runs])


def spread_releases(
    time_s: Floats, rate: Floats, holes: list[tuple[float, float]], limit: float | None = None
) -> Floats:
    """Spread the burst that a filled gap released over the time in which the data waited behind the gap.

    A receiver delivers in order: while a segment is missing nothing is read. Its arrival releases all waiting data in
    one sample, a rate that no link had. Sums do not change.

    Args:
        time_s: Ends of the samples, ascending.
        rate: Rate over each sample.
        holes: Begin and end of each gap; elsewhere nothing changes.
        limit: Largest possible arrival rate, the link's; any excess arrived earlier, too.

    Examples:
        >>> spread_releases(np.arange(1.0, 7.0), np.array([4.0, 0.0, 0.0, 12.0, 4.0, 0.0]), [(1.5, 4.5)])
        array([4., 4., 4., 4., 4., 0.])
        >>> spread_releases(np.arange(1.0, 5.0), np.array([4.0, 2.0, 9.0, 4.0]), [(0.5, 3.5)], limit=5.0)
        array([5., 5., 5., 4.])
    """
    found = np.nan_to_num(rate)
    width = np.diff(time_s, prepend=2 * time_s[0] - time_s[1] if time_s.size > 1 else 0.0)
    for begin, end in holes:
        low, high = np.searchsorted(time_s, begin), np.searchsorted(time_s, end)
        _share_with_silence(found, width, int(low), int(high))
        if limit is not None:
            _carry_back(found, width, int(low), int(high), limit)
    return np.where(np.isnan(rate), rate, found)


def _share_with_silence(rate: Floats, width: Floats, low: int, high: int) -> None:
    begin = low
    for place in range(low, min(high + 1, rate.size)):
        if rate[place] == 0.0:
            continue
        if place > begin:
            span = slice(begin, place + 1)
            rate[span] = rate[place] * width[place] / width[span].sum()
        begin = place + 1


def _carry_back(rate: Floats, width: Floats, low: int, high: int, limit: float) -> None:
    """Move the excess over the limit into earlier samples, as far as they have room."""
    carried = 0.0
    for place in range(min(high, rate.size - 1), low - 1, -1):
        amount = rate[place] * width[place] + carried
        taken = min(amount, max(limit, 0.0) * width[place])
        carried = amount - taken
        rate[place] = taken / width[place]
    if carried and low < rate.size:
        rate[low] += carried / width[low]


_QUANTILES = 400


def distribution(values: Sequence[float] | Floats) -> tuple[Floats, Floats]:
    """Return a cumulative distribution: values, and the share of samples up to each.

    Args:
        values: At least one sample; large samples are reduced to as many quantiles as a figure can show.

    Examples:
        >>> distribution([3.0, 1.0, 2.0, 2.0])
        (array([1., 2., 2., 3.]), array([0.25, 0.5 , 0.75, 1.  ]))
    """
    ordered = np.sort(np.asarray(values, dtype=np.float64))
    share = np.arange(1, ordered.size + 1) / ordered.size
    if ordered.size <= _QUANTILES:
        return ordered, share
    kept = np.unique(np.linspace(0, ordered.size - 1, _QUANTILES).round().astype(int))
    return ordered[kept], share[kept]
