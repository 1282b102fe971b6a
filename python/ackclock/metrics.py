"""Numbers from columns: pure functions, usable on any arrays."""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


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
    """Thin a series out for display so that no peak or dip is lost.

    The samples are cut into equal runs; of each run the least and the greatest value stay, in their order.

    Args:
        time_s: Times, ascending.
        values: A value for each time; NaN where there is none.
        buckets: How many runs; at most twice as many points are left.

    Returns:
        Times and values of what stays; both unchanged if there is nothing to thin out.

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
        values: The rate in each bin; NaN where there is none.
        buckets: How many bins to leave, about.

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
