"""Bounds of a search: the ranges of the path and of each ingredient, read from `bounds.toml` and a user's file."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from ackclock.base import input_files
from ackclock.base.input_files import InputError
from ackclock.base.printable import unknown
from ackclock.scenario.dumbbells import QUANTITY, UNITS

FILE: Final = Path(__file__).with_name("bounds.toml")
"""Default bounds."""

PATH: Final = "path"
"""Ingredient that every case has."""

_TCP: Final = "tcp"

Case = Mapping[str, Mapping[str, Any]]
"""Case: numbers and names by ingredient and parameter, in base units (bit/s, s, BDP)."""


@dataclass(frozen=True, slots=True)
class Range:
    """Range of a number, with the unit of its ends.

    Attributes:
        low: Lowest value.
        high: Highest value.
        unit: Base unit; empty without one.
        is_whole: Whether only whole numbers are meant.
    """

    low: float
    high: float
    unit: str = ""
    is_whole: bool = False

    def at(self, place: float) -> float:
        """Return the value at a place from 0 to 1, with two significant digits.

        Examples:
            >>> Range(1e6, 100e6).at(0.5), Range(0.0, 3.0).at(0.111), Range(1, 4, is_whole=True).at(0.99)
            (10000000.0, 0.33, 4)
        """
        place = min(1.0, max(0.0, place))
        if self.is_whole:
            return min(int(self.high), int(self.low) + int(place * (self.high - self.low + 1)))
        is_log = self.low > 0
        value = self.low * (self.high / self.low) ** place if is_log else self.low + (self.high - self.low) * place
        return self.clipped(rounded(value, 2))

    def place_of(self, value: float) -> float:
        """Return the place of a value, 0 to 1; that of a whole number is the middle of its part."""
        if self.low == self.high:
            return 0.5
        if self.is_whole:
            return (value - self.low + 0.5) / (self.high - self.low + 1)
        if self.low > 0:
            return math.log(value / self.low) / math.log(self.high / self.low)
        return (value - self.low) / (self.high - self.low)

    def clipped(self, value: float) -> float:
        """Return the nearest value within the range."""
        nearest = min(self.high, max(self.low, value))
        return int(nearest) if self.is_whole else nearest


def rounded(value: float, digits: int) -> float:
    """Return a number with so many significant digits."""
    return float(f"{value:.{digits}g}")


@dataclass(frozen=True, slots=True)
class Bounds:
    """Space of a search.

    Attributes:
        duration_s: Simulated time of each run.
        measure_from_s: Time from which on a run is measured.
        tcp: Settings of TCP of every host, as in a scenario.
        ingredients: Parameters of each ingredient: a range, or the names to choose from.
    """

    duration_s: float
    measure_from_s: float
    tcp: Mapping[str, Any]
    ingredients: Mapping[str, Mapping[str, Range | Sequence[str]]]

    @property
    def extras(self) -> list[str]:
        """Names of the ingredients that a case may lack."""
        return [name for name in self.ingredients if name != PATH]

    def only(self, names: Sequence[str]) -> "Bounds":
        """Return the bounds with these ingredients and the path alone.

        Raises:
            InputError: If one is unknown.
        """
        for name in names:
            if name not in self.ingredients:
                raise InputError(f"--only: {unknown('ingredient', name, self.ingredients)}")
        kept = {name: of for name, of in self.ingredients.items() if name == PATH or name in names}
        return replace(self, ingredients=kept)

    def with_flows(self, least: int) -> "Bounds":
        """Return the bounds with at least so many flows of the controller.

        Raises:
            InputError: If they allow fewer only.
        """
        flows = self.ingredients[PATH]["flows"]
        assert isinstance(flows, Range)
        if flows.high < least:
            wrong = f"path.flows is at most {flows.high:g}, and this goal compares at least {least} flows"
            raise InputError(f"--bounds: {wrong}; write flows = [{least}, {least + 2}]")
        narrowed = replace(flows, low=max(flows.low, least))
        return replace(self, ingredients={**self.ingredients, PATH: {**self.ingredients[PATH], "flows": narrowed}})


def read(file: Path | None = None) -> Bounds:
    """Read bounds: the default ones, and what a file has in their place.

    Args:
        file: TOML file with keys of `bounds.toml`; None for the default bounds.

    Raises:
        InputError: If the file cannot be read, or a key or value is wrong.
    """
    default = input_files.toml(FILE, remedy="install ackclock again")
    given = {} if file is None else input_files.toml(file, remedy="give a TOML file with bounds")
    for key, of in given.items():
        if key not in default:
            raise InputError(f"{file}: {unknown('key', key, default)}")
        if isinstance(default[key], dict) != isinstance(of, dict):
            raise InputError(f"{file}: {key} must be {'a table' if isinstance(default[key], dict) else 'a duration'}")
        for name in of if isinstance(of, dict) and key != _TCP else ():
            if name not in default[key]:
                raise InputError(f"{file}: {unknown('key', f'{key}.{name}', [f'{key}.{one}' for one in default[key]])}")
    duration, begin = (_number(given.get(key, default[key]), "s") for key in ("duration", "measure_from"))
    if duration is None or begin is None:
        raise InputError(f'{file}: duration and measure_from must be durations such as "20 s"')
    if begin >= duration:
        raise InputError(f"{file}: measure_from must be below duration, {duration:g} s, and is {begin:g} s")
    names = [name for name, of in default.items() if isinstance(of, dict) and name != _TCP]
    tables = {name: {**default[name], **given.get(name, {})} for name in names}
    found = {
        name: {key: _bound(value, default[name][key], f"{file}: {name}.{key}") for key, value in of.items()}
        for name, of in tables.items()
    }
    if isinstance(rtt := found[PATH]["rtt"], Range) and not rtt.low:
        raise InputError(f'{file}: path.rtt must be above 0 s; write ["1 ms", "200 ms"]')
    return Bounds(duration, begin, given.get(_TCP, {}), found)


def _bound(value: Any, default: Any, where: str) -> Range | Sequence[str]:  # noqa: ANN401  whatever TOML can say
    like = default[0]
    match = QUANTITY.fullmatch(like) if isinstance(like, str) else None
    if isinstance(like, str) and match is None:
        names = [value] if isinstance(value, str) else value
        if not isinstance(names, list) or not names or not all(name in default for name in names):
            raise InputError(f"{where} must be some of {', '.join(default)}, and is {value!r}")
        return tuple(names)
    unit = UNITS[match["unit"]][1] if match else ""
    found = _range(value, unit, where)
    if not isinstance(like, int):
        return found
    if not (found.low.is_integer() and found.high.is_integer() and found.low >= 1):
        raise InputError(f"{where} must be whole numbers from 1 on, and is {value!r}")
    return replace(found, is_whole=True)


def _range(value: Any, unit: str, where: str) -> Range:  # noqa: ANN401
    ends = value if isinstance(value, list) else [value]
    numbers = [_number(end, unit) for end in ends]
    example = {"bit/s": '["1 Mbit/s", "20 Mbit/s"]', "s": '["10 ms", "1 s"]', "BDP": '["0.5 bdp", "2 bdp"]'}
    wanted = f"{where} must be a range such as {example.get(unit, '[1, 4]')} or one value, and is {value!r}"
    if len(ends) not in (1, 2) or None in numbers:
        raise InputError(wanted)
    low, high = (number for number in (numbers[0], numbers[-1]) if number is not None)
    if low > high:
        raise InputError(f"{where}: the lowest value stands first; write [{ends[1]!r}, {ends[0]!r}]")
    return Range(low, high, unit)


def _number(end: Any, unit: str) -> float | None:  # noqa: ANN401
    """Return the end of a range in its base unit; None if it has another unit."""
    if isinstance(end, bool) or not isinstance(end, int | float | str):
        return None
    if not isinstance(end, str):
        return float(end) if not unit and math.isfinite(end) and end >= 0 else None
    match = QUANTITY.fullmatch(end)
    factor, of = UNITS.get(match["unit"], (0.0, "")) if match else (0.0, "")
    return float(match["number"]) * factor if match and unit and of == unit else None
