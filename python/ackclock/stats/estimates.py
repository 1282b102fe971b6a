"""Means with confidence intervals, paired differences, and adjustment for multiple comparisons.

Means and paired differences use Student's t; pairs share a seed, so both sides met the same random draws. The p values
of a table of differences are adjusted by Holm's step-down method (Scandinavian Journal of Statistics 6, 1979).
"""

import math
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from ackclock.stats import student_t

CONFIDENCE: Final = 0.95
OVER_SEEDS: Final = "Means over the seeds with 95 % confidence intervals (Student's t)."
"""Note below a table of means."""

_FEW: Final = 5
"""Number of seeds below which Student's t makes intervals wide: 12.7 standard errors for two, 2.8 for five."""

_ROUNDED: Final = 16 * sys.float_info.epsilon
"""Relative rounding error of a number after a few operations."""


def over_seeds(count: int) -> tuple[str, ...]:
    """Return the notes below a table of means over this number of seeds.

    Examples:
        >>> len(over_seeds(1)), len(over_seeds(5)), over_seeds(2)[1]
        (0, 1, 'Intervals of so few seeds (2) are wide: 5 or more make them much narrower.')
    """
    if count < 2:
        return ()
    few = f"Intervals of so few seeds ({count}) are wide: {_FEW} or more make them much narrower."
    return (OVER_SEEDS, few) if count < _FEW else (OVER_SEEDS,)


@dataclass(frozen=True, slots=True)
class Estimate:
    """Mean with its confidence interval.

    Attributes:
        mean: Mean of the sample.
        half: Half width of the 95 % confidence interval; None if the sample is too small.
        count: Size of the sample.
    """

    mean: float
    half: float | None
    count: int

    def scaled(self, factor: float) -> "Estimate":
        """Convert to another unit.

        Args:
            factor: Factor from this unit to the other.
        """
        return Estimate(self.mean * factor, None if self.half is None else self.half * abs(factor), self.count)


def rounding(values: Iterable[float]) -> float:
    """Return the largest difference that rounding alone may cause between numbers computed from these.

    Args:
        values: Numbers of any size; 0 if there are none.
    """
    return _ROUNDED * max(map(abs, values), default=0.0)


def mean_of(values: Sequence[float]) -> float:
    """Return the mean of a sample; NaN if it has infinities of both signs.

    Args:
        values: At least one value.
    """
    return (math.fsum(values) if all(map(math.isfinite, values)) else sum(values)) / len(values)


def half_width(standard_deviation: float | None, count: int) -> float | None:
    """Return half the width of the 95 % confidence interval of a mean, by Student's t.

    Args:
        standard_deviation: Standard deviation of the sample.
        count: Size of the sample.

    Returns:
        None for fewer than two values, or if the deviation is NaN.
    """
    if standard_deviation is None or math.isnan(standard_deviation) or count < 2:
        return None
    return student_t.quantile(count - 1, CONFIDENCE) * standard_deviation / math.sqrt(count)


def estimate(values: Iterable[float | None]) -> Estimate | None:
    """Return the mean of a sample with its confidence interval.

    Args:
        values: The sample; None values are left out.

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
        values: The sample. NaN values give NaN; a mix of finite and infinite values gives infinity.
        within: Differences up to this count as none; by default the rounding error of numbers of this size.
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
    """Paired difference.

    Attributes:
        estimate: Mean of the differences with its confidence interval.
        p: Probability of a mean at least as far from zero without a true difference. None for fewer than two pairs,
            for infinite differences, and for pairs with identical differences, which are repetitions of one run.
    """

    estimate: Estimate
    p: float | None


def paired(one: Sequence[float | None], other: Sequence[float | None]) -> Difference | None:
    """Compare two samples pairwise by Student's t test.

    Args:
        one: A value for each seed; None if missing.
        other: Values for the same seeds.

    Returns:
        `one` minus `other`; None without complete pairs.
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
    """Adjust p values for multiple comparisons, by Holm's method.

    Args:
        values: P values of all comparisons; None if unknown.

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
