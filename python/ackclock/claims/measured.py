"""What a folder's `measure.py` is written with."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from ackclock.claims.intervals import Interval, of_mean
from ackclock.results import Results
from ackclock.stats.estimates import deviation, mean_of

Runs = Mapping[str, Results]
"""The results of a study's cases, by the case's name, all under the same choices."""


@dataclass(frozen=True, slots=True)
class Measured:
    """The number that is set beside the published one.

    Attributes:
        value: In the claim's unit; `None` where the choices do not let the question arise.
        also: Other quantities that help to understand it, by a name that includes the unit.
        weight: In the mean of repetitions; a ratio whose weight is its denominator becomes the ratio of the sums.
        interval: Of a mean of repetitions: where it may lie, 95 %; None of a single run. `measure.py` leaves it out.
        values: Of a mean of repetitions: the value of each that has one. `measure.py` leaves it out.
    """

    value: float | None
    also: Mapping[str, float] = field(default_factory=dict)
    weight: float = field(default=1.0, repr=False)
    interval: Interval | None = field(default=None, repr=False)
    values: tuple[float, ...] = field(default=(), repr=False)


def number(value: float | None) -> str:
    """Write a measured value with the digits that can be compared; a dash if there is none.

    Args:
        value: In the claim's unit.

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
"""Nearer to zero three decimals leave less than two digits."""


def mean(repetitions: Sequence[Measured]) -> Measured:
    """Return the weighted mean of repetitions, with their spread among the other quantities; a single one as it is.

    Args:
        repetitions: At least one; those without a value count for nothing, nor those without one of the others. If none
            has a weight, or values are infinite on both sides, there is no mean.

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
