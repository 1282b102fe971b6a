"""Confidence intervals of means of repetitions.

Source: Student (1908): the mean of n values of a normal distribution lies within t(n - 1) standard errors. A claim's
measure compares numbers within one seed, so that each value is a paired difference or ratio, and the interval is that
of a paired comparison. A ratio weighted by its denominator is a ratio of sums; its error is taken from the residuals
weight x (value - ratio) (Cochran, Sampling Techniques, on ratios; from memory).
Departures: values of a few seeds need not be normal, and Jain's index cannot be; nothing else is assumed of them.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from ackclock.stats import estimates, student_t
from ackclock.stats.estimates import CONFIDENCE


@dataclass(frozen=True, slots=True)
class Interval:
    """Confidence interval of a mean, in the unit of its claim.

    Attributes:
        middle: The mean.
        error: Standard error; infinite for a single repetition, or if a value is infinite.
        freedom: Degrees of freedom: the number of repetitions less one.
        confidence: Confidence level.
    """

    middle: float
    error: float
    freedom: int
    confidence: float = CONFIDENCE

    @property
    def half(self) -> float:
        """Half width."""
        return (
            self.error * student_t.quantile(self.freedom, self.confidence) if 0 < self.error < math.inf else self.error
        )

    @property
    def low(self) -> float:
        """The lower end."""
        return self.middle - self.half if self.half < math.inf else -math.inf

    @property
    def high(self) -> float:
        """The upper end."""
        return self.middle + self.half if self.half < math.inf else math.inf

    def of(self, confidence: float) -> "Interval":
        """Return the interval at another confidence level.

        Args:
            confidence: Level between 0 and 1.
        """
        return Interval(self.middle, self.error, self.freedom, confidence)


def of_mean(values: Sequence[float], weights: Sequence[float] | None = None) -> Interval:
    """Return the interval of a mean of repetitions.

    Args:
        values: Values of the repetitions, at least one; a single one gives an infinite interval.
        weights: Weights in the mean; equal by default.

    Examples:
        >>> found = of_mean([3.0, 4.0, 8.0])  # 5 +- 4.303 x 2.6458 / sqrt(3)
        >>> round(found.low, 2), round(found.high, 2)
        (-1.57, 11.57)
        >>> of_mean([1.0]).high
        inf
    """
    given = [1.0] * len(values) if weights is None else weights
    if not all(map(math.isfinite, values)):
        return of_spread(estimates.mean_of(values), estimates.deviation(values) or 0.0, len(values))
    total = math.fsum(given)
    middle = math.fsum(value * weight for value, weight in zip(values, given, strict=True)) / total
    residuals = [len(values) * weight / total * (value - middle) for value, weight in zip(values, given, strict=True)]
    within = estimates.rounding(values) * len(values) * max(given) / total
    return of_spread(middle, estimates.deviation(residuals, within) or 0.0, len(values))


def of_spread(middle: float, spread: float, count: int) -> Interval:
    """Return the interval of a mean from its standard deviation, as in a record.

    Args:
        middle: The mean.
        spread: Sample standard deviation of the repetitions.
        count: Number of repetitions.
    """
    return Interval(middle, spread / math.sqrt(count) if count > 1 else math.inf, count - 1)


def of_ends(low: float, high: float, count: int) -> Interval:
    """Return the interval of a mean from its ends, as in a record.

    Args:
        low: The lower end.
        high: The upper end.
        count: Number of repetitions.

    Examples:
        >>> found = of_ends(-1.572, 11.572, 3)  # 4.303 x 2.6458 / sqrt(3) on either side
        >>> round(found.error, 2), round(found.high, 2)
        (1.53, 11.57)
    """
    half = (high - low) / 2 if high - low > estimates.rounding((low, high)) else 0.0
    return Interval(
        (low + high) / 2, half / student_t.quantile(count - 1, CONFIDENCE) if count > 1 else math.inf, count - 1
    )
