"""Table of results: columns with units, rows of values with their intervals. It imports nothing heavy."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import floor, isfinite, isnan, log10
from typing import Any, Final

from ackclock.stats.estimates import Estimate

MINUS: Final = "\N{MINUS SIGN}"
NONE: Final = "\N{EN DASH}"

_LEAST: Final = 1e-4
"""Size below which numbers are written with an exponent, since six decimals would not show them."""


@dataclass(frozen=True, slots=True)
class Tag:
    """Text with a special form on a page; plain text elsewhere.

    Attributes:
        text: The text.
        kind: CSS class, such as a verdict.
        target: Target of the link.
    """

    text: str
    kind: str = ""
    target: str = ""

    def __str__(self) -> str:
        """Return the text."""
        return self.text


class Figure(str):
    """Formatted number, in the unit of its heading.

    Attributes:
        value: The number with all digits, as CSV and JSON hold it; None for nothing.
    """

    __slots__ = ("value",)

    def __new__(cls, text: str, value: float | None) -> "Figure":
        """Keep a number beside its text."""
        made = super().__new__(cls, text)
        made.value = value
        return made

    value: float | None


@dataclass(frozen=True, slots=True)
class Column:
    """Column of a table.

    Attributes:
        key: Key of its values in rows, in CSV and in JSON, including the unit.
        title: Title for readers.
        unit: Unit, shown below or behind the title; empty for none.
        is_text: Whether its values are words.
        signed: Whether positive numbers get a plus sign, as for differences.
        factor: Factor from the unit of the values, used in CSV and JSON, to the unit shown.
        low: Least possible value, in the unit of the values; an interval that goes below is shown by its ends.
        high: Largest possible value, in the unit of the values; an interval that goes above is shown by its ends.
    """

    key: str
    title: str
    unit: str = ""
    is_text: bool = False
    signed: bool = False
    factor: float = 1.0
    low: float | None = None
    high: float | None = None

    @property
    def heading(self) -> str:
        """Title and unit in one line."""
        return f"{self.title} ({self.unit})" if self.unit else self.title


@dataclass(frozen=True, slots=True)
class Table:
    """Table of results.

    Attributes:
        title: Title of the table.
        about: Description of the runs.
        columns: Columns, from left to right.
        rows: Rows, from above: a value for each column's key, which is an `Estimate`, a number, a text, a `Tag`, or
            None for nothing.
        notes: Notes below the table.
    """

    title: str
    about: str
    columns: Sequence[Column]
    rows: Sequence[Mapping[str, Any]]
    notes: Sequence[str] = field(default_factory=tuple)

    def cells(self, row: Mapping[str, Any]) -> list[str]:
        """Return a row as formatted texts."""
        return [shown(row.get(column.key), column) for column in self.columns]

    def narrowed(self, names: Sequence[str]) -> "Table":
        """Return the table with fewer columns: the key columns on the left, and the named ones.

        Args:
            names: Titles or keys; unknown ones are ignored.
        """
        values = next((place for place, column in enumerate(self.columns) if not column.is_text), len(self.columns))
        wanted = [column for column in self.columns[values:] if {column.title.strip(), column.key} & set(names)]
        return replace(self, columns=[*self.columns[:values], *wanted])


def shown(value: Any, column: Column) -> str:  # noqa: ANN401  whatever a cell may hold
    """Format a cell.

    Args:
        value: An `Estimate`, a number, a text, a `Tag`, or None.
        column: Column of the cell.

    Examples:
        >>> shown(Estimate(47.831, 2.6543, 5), Column("x", "x")), shown(Estimate(-0.0123, None, 1), Column("x", "x"))
        ('47.8 ± 2.7', '−0.0123')
        >>> shown(Estimate(30.016, 1e-9, 3), Column("x", "x"))
        '30.02 ± 0.00'
        >>> shown(Estimate(4.2e-7, 3e-8, 3), Column("x", "x"))
        '4.20e-07 ± 3.00e-08'
        >>> [shown(Estimate(2.17, half, 5), Column("x", "x", low=0)) for half in (2.6, 1.6)]
        ['2.2 (0–4.8)', '2.2 ± 1.6']
        >>> [shown(Estimate(0.8, half, 2), Column("x", "x", low=0, high=1)) for half in (2.0, 0.3, 0.1)]
        ['0.8 (0–1)', '0.80 (0.50–1)', '0.80 ± 0.10']
    """
    if value is None:
        return NONE
    if isinstance(value, Estimate):
        scaled = value.scaled(column.factor)
        if scaled.half is None:
            return number(scaled.mean, signed=column.signed)
        if 0 < abs(scaled.mean) < _LEAST:
            return f"{number(scaled.mean, signed=column.signed)} ± {number(scaled.half)}"
        finest = _places(scaled.mean, 4) if scaled.mean else 6
        places = min(_places(scaled.half, 2), finest) if scaled.half else finest if scaled.mean else 0
        mean = _fixed(scaled.mean, places, signed=column.signed)
        ends = _ends(scaled, column, places)
        if ends:
            return f"{mean} ({ends})"
        return f"{mean} ± {_fixed(scaled.half, places)}"
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return str(value)
    return number(value * column.factor if column.factor != 1.0 else value, signed=column.signed)


def _ends(scaled: Estimate, column: Column, places: int) -> str:
    """Return the ends of an interval that goes beyond the possible values, cut there; empty for any other."""
    ends = [scaled.mean - (scaled.half or 0.0), scaled.mean + (scaled.half or 0.0)]
    low, high = (None if limit is None else limit * column.factor for limit in (column.low, column.high))
    is_below = low is not None and ends[0] < low <= scaled.mean
    is_above = high is not None and ends[1] > high >= scaled.mean
    if not (is_below or is_above):
        return ""
    begin = _fixed(low, 0) if low is not None and is_below else _fixed(ends[0], places)
    return f"{begin}–{_fixed(high, 0) if high is not None and is_above else _fixed(ends[1], places)}"


def number(value: float, *, signed: bool = False) -> str:
    """Format a number with three significant digits, integers in full.

    Examples:
        >>> number(1234.5), number(0.0314159), number(-2.5, signed=True), number(1.25e-7), number(5)
        ('1,234', '0.0314', '−2.50', '1.25e-07', '5')
    """
    if isinstance(value, int):
        return _with_sign(f"{abs(value):,}", value, signed=signed)
    if value != 0 and not _LEAST <= abs(value) < 1e9:
        return _with_sign(f"{abs(value):.2e}", value, signed=signed)
    return _fixed(value, _places(value, 3), signed=signed)


def figure(value: float | None, digits: int = 4) -> str:
    """Format a metric with this number of significant digits and without an exponent; a dash for None.

    Examples:
        >>> figure(95.7213), figure(0.0012345), figure(12345.6), figure(None), figure(3e-7)
        ('95.72', '0.001234', '12,346', '–', '<0.0001')
        >>> figure(95.8071, 3), figure(1234.5, 3)
        ('95.8', '1,234')
    """
    if value is None or isnan(value):
        return NONE
    if value == 0:
        return "0"
    if abs(value) >= 10 ** (digits - 1):
        return f"{value:,.0f}"
    return f"{value:.{digits}g}" if abs(value) >= _LEAST else f"<{_LEAST:.4f}"


def _places(size: float, digits: int) -> int:
    """Return the number of decimals that gives this number of significant digits."""
    return 0 if size == 0 or not isfinite(size) else max(0, min(6, digits - 1 - floor(log10(abs(size)))))


def _fixed(value: float, places: int, *, signed: bool = False) -> str:
    text = f"{abs(value):,.{places}f}"
    is_zero = not text.strip("0.,")
    return _with_sign(text, 0.0 if is_zero else value, signed=signed)


def _with_sign(text: str, value: float, *, signed: bool) -> str:
    return f"{MINUS}{text}" if value < 0 else f"+{text}" if signed and value > 0 else text
