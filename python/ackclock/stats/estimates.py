"""Means with intervals, differences in pairs, and what remains of them when many are looked at.

Student's t for a mean and for differences in pairs (the seeds are the pairs: both sides met the same draws); Holm's
step-down adjustment (Scandinavian Journal of Statistics 6, 1979) for the p values of a table of differences.
"""

import math
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from ackclock.stats import student_t

CONFIDENCE: Final = 0.95

_ROUNDED: Final = 16 * sys.float_info.epsilon
"""Of a number that took a few operations, by how much of itself rounding may have moved it."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """A mean with its interval.

    Attributes:
        mean: Of the sample.
        half: Half width of the 95 % confidence interval; None if the sample is too small to know it.
        count: Size of the sample.
    """

    mean: float
    half: float | None
    count: int

    def scaled(self, factor: float) -> "Estimate":
        """Return it in another unit.

        Args:
            factor: From its unit to the other.
        """
        return Estimate(self.mean * factor, None if self.half is None else self.half * abs(factor), self.count)


def rounding(values: Iterable[float]) -> float:
    """Return by how much numbers that were reckoned from these may differ by rounding alone.

    Args:
        values: Of any size; none are 0.
    """
    return _ROUNDED * max(map(abs, values), default=0.0)


def mean_of(values: Sequence[float]) -> float:
    """Return the mean of a sample; NaN if it holds infinities of both signs.

    Args:
        values: At least one.
    """
    return (math.fsum(values) if all(map(math.isfinite, values)) else sum(values)) / len(values)


def half_width(standard_deviation: float | None, count: int) -> float | None:
    """Return half the width of the 95 % confidence interval of a mean, after Student.

    Args:
        standard_deviation: Of the sample.
        count: Size of the sample.

    Returns:
        None if fewer than two values, or one that is NaN, leave the interval unknown.
    """
    if standard_deviation is None or math.isnan(standard_deviation) or count < 2:
        return None
    return student_t.quantile(count - 1, CONFIDENCE) * standard_deviation / math.sqrt(count)


def estimate(values: Iterable[float | None]) -> Estimate | None:
    """Return the mean of a sample with its interval.

    Args:
        values: The sample; None does not count.

    Returns:
        None if there are no values.
    """
    known = [float(value) for value in values if value is not None]
    if not known:
        return None
    return _estimate(known, None)


def _estimate(values: Sequence[float], within: float | None) -> Estimate:
    return Estimate(mean_of(values), half_width(deviation(values, within), len(values)), len(values))


def deviation(values: Sequence[float], within: float | None = None) -> float | None:
    """Return the standard deviation of a sample (n - 1); None for fewer than two values.

    Args:
        values: The sample; where one is NaN, so is it; where some are infinite and others are not, it is infinite.
        within: What differs by no more is the same; by default the rounding of numbers of this size.
    """
    if len(values) < 2:
        return None
    if any(map(math.isnan, values)):
        return math.nan
    if min(values) == max(values):
        return 0.0
    if not all(map(math.isfinite, values)):
        return math.inf
    if max(values) - min(values) <= (rounding(values) if within is None else within):
        return 0.0
    mean = math.fsum(values) / len(values)
    return math.sqrt(math.fsum((value - mean) ** 2 for value in values) / (len(values) - 1))


@dataclass(frozen=True, slots=True)
class Difference:
    """A difference in pairs.

    Attributes:
        estimate: Mean of the differences with its interval.
        p: Probability of a mean at least as far from zero if there were no difference; None for fewer than two pairs,
            for pairs that all differ by the same, but for rounding: they are one run, several times; and for
            differences that are infinite.
    """

    estimate: Estimate
    p: float | None


def paired(one: Sequence[float | None], other: Sequence[float | None]) -> Difference | None:
    """Compare two samples of which the values at the same place belong together: Student's t test in pairs.

    Args:
        one: A value for each seed; None where there is none.
        other: Of the same seeds.

    Returns:
        `one` less `other`; None if there is no pair.
    """
    pairs = [(float(a), float(b)) for a, b in zip(one, other, strict=True) if a is not None and b is not None]
    if not pairs:
        return None
    differences, within = [a - b for a, b in pairs], rounding(value for pair in pairs for value in pair)
    found = _estimate(differences, within)
    return Difference(found, _p_value(found.mean, deviation(differences, within), len(differences), within))


def _p_value(mean: float, spread: float | None, count: int, within: float) -> float | None:
    if spread is None or not math.isfinite(mean) or not math.isfinite(spread):
        return None
    if spread == 0:
        return 1.0 if abs(mean) <= within else None
    return student_t.outside(mean / spread * math.sqrt(count), count - 1)


def holm(values: Sequence[float | None]) -> list[float | None]:
    """Adjust p values for their number, after Holm.

    Args:
        values: Of the comparisons that are looked at together; None where there is none.

    Examples:
        >>> holm([0.01, 0.04, None, 0.03])
        [0.03, 0.06, None, 0.06]
    """
    order = sorted((value, place) for place, value in enumerate(values) if value is not None)
    adjusted: list[float | None] = [None] * len(values)
    least = 0.0
    for rank, (value, place) in enumerate(order):
        least = max(least, min(1.0, value * (len(order) - rank)))
        adjusted[place] = least
    return adjusted
