"""Types and functions for a folder's `measure.py`."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from ackclock.claims.intervals import Interval, of_mean
from ackclock.results import Results
from ackclock.stats.estimates import deviation, mean_of

Runs = Mapping[str, Results]
"""Results of a study's cases, by case name, all under the same choices."""


@dataclass(frozen=True, slots=True)
class Measured:
    """Measured number, to be compared with the published one.

    Attributes:
        value: Value in the claim's unit; None if the question does not arise under the choices.
        also: Other helpful quantities, by a name that includes the unit.
        weight: Weight in the mean of repetitions; a ratio weighted by its denominator becomes the ratio of the sums.
        interval: 95 % confidence interval of a mean of repetitions; None for a single run. `measure.py` leaves it out.
        values: Values of a mean's repetitions that have one. `measure.py` leaves it out.
    """

    value: float | None
    also: Mapping[str, float] = field(default_factory=dict)
    weight: float = field(default=1.0, repr=False)
    interval: Interval | None = field(default=None, repr=False)
    values: tuple[float, ...] = field(default=(), repr=False)


def number(value: float | None) -> str:
    """Format a measured value with significant digits; a dash if there is none.

    Args:
        value: Value in the claim's unit.

    Examples:
        >>> number(10.3941), number(0.97442), number(381.625), number(1.0), number(9.9999)
        ('10.39', '0.974', '381.6', '1.000', '10.00')
        >>> number(0.00042), number(-0.0054), number(4.2e-7), number(0.0)
        ('0.00042', '-0.0054', '4.2e-07', '0.000')
    """
    if value is None:
        return "-"
    if 0 < abs(value) < _SMALL:
        return f"{value:#.2g}"
    return f"{value:.3f}" if abs(value) < 9.9995 else f"{value:.2f}" if abs(value) < 99.995 else f"{value:,.1f}"


_SMALL = 0.00995
"""Size below which three decimals leave less than two digits."""


def mean(repetitions: Sequence[Measured]) -> Measured:
    """Return the weighted mean of repetitions, with their spread among the other quantities; a single one unchanged.

    Args:
        repetitions: At least one; those without a value are left out, for each quantity. If none has a weight, or
            values
            are infinite on both sides, there is no mean.

    Examples:
        >>> mean([Measured(1.0, {"x": 4.0}), Measured(2.0, {"x": 6.0})])
        Measured(value=1.5, also={'x': 5.0, 'least': 1.0, 'greatest': 2.0, 'deviation': 0.707..., 'seeds': 2.0})
        >>> mean([Measured(1.0, weight=3.0), Measured(2.0)]).value
        1.25
        >>> mean([Measured(1.0, {"x": 4.0})])
        Measured(value=1.0, also={'x': 4.0})
    """
    if len(repetitions) == 1:
        return repetitions[0]
    names = dict.fromkeys(name for measured in repetitions for name in measured.also)
    also = {name: mean_of([each.also[name] for each in repetitions if name in each.also]) for name in names}
    pairs = [(measured.value, measured.weight) for measured in repetitions if measured.value is not None]
    if not any(weight for _, weight in pairs):
        return Measured(None, also)
    values, weights = (tuple(column) for column in zip(*pairs, strict=True))
    interval = of_mean(values, weights)
    if math.isnan(interval.middle):
        return Measured(None, also)
    spread = {"least": min(values), "greatest": max(values), "deviation": deviation(values) or 0.0}
    found = also | spread | {"seeds": float(len(values))}
    return Measured(interval.middle, found, interval=interval, values=values)
