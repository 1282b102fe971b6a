"""Student's t distribution: two-sided tail probability and quantile.

Only intervals and p values need a distribution, so ackclock does without SciPy's 139 MB.

Sources: both tails together are I_x(n/2, 1/2) with x = n / (n + t^2) (Abramowitz and Stegun 26.7.1, 26.5.27), where I
is the regularised incomplete beta function. Its continued fraction is DLMF 8.17.22, evaluated by Lentz's method
(DLMF 3.10), and converges fast below x = (a + 1) / (a + b + 2); beyond, I_x(a, b) = 1 - I_1-x(b, a) (DLMF 8.17.4).
The numbers of these equations are from memory; results are compared with printed tables and with SciPy.

Departures: the quantile is found by bisection. Relative differences to SciPy are 1e-11 up to ten thousand degrees of
freedom, and 2e-9 at a million, where logarithms of the gamma function lose digits.
"""

import math
from functools import lru_cache
from itertools import count

_TINY = 1e-300
"""Replacement for a zero denominator, after Lentz."""


def outside(t: float, freedom: float) -> float:
    """Return the two-sided tail probability: that of a value at least as far from zero.

    Args:
        t: Value of either sign.
        freedom: Degrees of freedom, above 0.

    Examples:
        >>> round(outside(12.706, 1), 3), round(outside(-2.228, 10), 3)  # of printed tables
        (0.05, 0.05)
    """
    square = t * t
    if math.isnan(square):
        return math.nan
    if math.isinf(square):
        return 0.0
    # Both are computed, and not one from the other, so that far tails and values near zero keep their digits.
    return _incomplete_beta(freedom / (freedom + square), square / (freedom + square), freedom / 2, 0.5)


@lru_cache(maxsize=4096)  # tables ask for the same few again and again
def quantile(freedom: float, confidence: float) -> float:
    """Return the two-sided quantile: the t within which a value lies with this probability.

    Args:
        freedom: Degrees of freedom, above 0.
        confidence: Probability, from 0 to below 1.

    Examples:
        >>> round(quantile(9, 0.95), 3), round(quantile(2, 0.95), 3)  # of printed tables
        (2.262, 4.303)
    """
    if not 0 <= confidence < 1:
        raise ValueError(f"confidence must be from 0 to below 1, not {confidence}")
    low, high = 0.0, 1.0
    while outside(high, freedom) > 1 - confidence:
        low, high = high, 2 * high
    while low < (middle := (low + high) / 2) < high:
        low, high = (middle, high) if outside(middle, freedom) > 1 - confidence else (low, middle)
    return middle


def _incomplete_beta(x: float, rest: float, a: float, b: float) -> float:
    """Return I_x(a, b), with `rest` = 1 - x."""
    if x > (a + 1) / (a + b + 2):
        return 1.0 - _incomplete_beta(rest, x, b, a)
    if x == 0:
        return 0.0
    log_beta = math.lgamma(a) + math.lgamma(b) - math.lgamma(a + b)
    return math.exp(a * math.log(x) + b * math.log(rest) - log_beta) / a * _fraction(x, a, b)


def _fraction(x: float, a: float, b: float) -> float:
    """Return 1 / (1 + d1 / (1 + d2 / (1 + ...))), evaluated forward until it converges."""
    value, c, d = 1.0, 1.0, 0.0
    for place in count():
        m = place // 2
        if place == 0:
            coefficient = 1.0
        elif place % 2:
            coefficient = -(a + m) * (a + b + m) / ((a + 2 * m) * (a + 2 * m + 1)) * x
        else:
            coefficient = m * (b - m) / ((a + 2 * m - 1) * (a + 2 * m)) * x
        d = 1.0 / (1.0 + coefficient * d or _TINY)
        c = 1.0 + coefficient / c or _TINY
        value *= c * d
        if place and abs(c * d - 1.0) < 1e-16:
            break
    return value - 1.0
