"""Minimum of a function of one variable within bounds, by golden-section search.

Source: Kiefer 1953: each evaluation keeps the golden share of the interval. Departures: none; if the function has
several minima, one of them is found.
"""

from collections.abc import Callable
from typing import Final

_SHARE: Final = (5**0.5 - 1) / 2
"""Golden share: the longer of two parts is to the whole as the shorter is to it."""


def least(function: Callable[[float], float], low: float, high: float, evaluations: int) -> tuple[float, float]:
    """Return the minimum of a function between two bounds: its place and value.

    Args:
        function: Function of one variable.
        low: Lower bound.
        high: Upper bound.
        evaluations: Number of evaluations, at least two.

    Examples:
        >>> place, value = least(lambda x: (x - 0.3) ** 2, -1.0, 1.0, 20)
        >>> round(place, 3), round(value, 6)
        (0.3, 0.0)
    """
    inner, outer = high - _SHARE * (high - low), low + _SHARE * (high - low)
    at_inner, at_outer = function(inner), function(outer)
    for _ in range(evaluations - 2):
        if at_inner <= at_outer:
            high, outer, at_outer = outer, inner, at_inner
            inner = high - _SHARE * (high - low)
            at_inner = function(inner)
        else:
            low, inner, at_inner = inner, outer, at_outer
            outer = low + _SHARE * (high - low)
            at_outer = function(outer)
    return (inner, at_inner) if at_inner <= at_outer else (outer, at_outer)
