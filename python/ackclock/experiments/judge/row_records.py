"""Rows on record: one line of CSV for each controller and case, below a comment that names suite, draw and place."""

import csv
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields, replace
from io import StringIO
from pathlib import Path
from typing import Any, Final

from ackclock.base import input_files
from ackclock.base.input_files import InputError, InputFileError
from ackclock.experiments.judge.judging import Row
from ackclock.experiments.judge.suite import Suite

COLUMNS: Final = tuple(field.name for field in fields(Row))
"""Columns of the file."""

SIMULATOR: Final = "in the simulator"
"""Place of rows that were made in the simulator."""

_TEXTS: Final = frozenset({"controller", "criterion", "case", "verdict", "made_by", "reason"})


def file_of(suite: Suite) -> Path:
    """Return the file with the rows that come with a suite."""
    return Path(__file__).parent / f"suite-{suite.name}" / "rows.csv"


def head(suite: Suite, year: int, where: str = SIMULATOR) -> str:
    """Return the comment above the rows of a draw, made at a place such as "on Linux 6.12.117"."""
    return f"# suite {suite.name}, year {year}, sha256 {suite.sha256}, {where}\n"


def line(row: Row) -> str:
    """Return a row as a line of CSV, without its end.

    Examples:
        >>> line(Row("reno", "loss", "a", 0.25, None, 0.5, 0.0, -0.25, None, 1, "safe", "0.2.0+0043405f", "", (-0.25,)))
        'reno,loss,a,0.25,,0.5,0.0,-0.25,,1,safe,0.2.0+0043405f,,-0.25'
    """
    content = StringIO()
    csv.writer(content, lineterminator="").writerow(_cell(getattr(row, name)) for name in COLUMNS)
    return content.getvalue()


def _cell(value: Any) -> Any:  # noqa: ANN401  a text, a number or several
    if isinstance(value, tuple):
        return " ".join(map(str, value))
    return "" if value is None else value


def text(suite: Suite, year: int, rows: Iterable[Row], where: str = SIMULATOR) -> str:
    """Return the content of a file of rows."""
    return head(suite, year, where) + ",".join(COLUMNS) + "\n" + "".join(f"{line(row)}\n" for row in rows)


def parsed(row: str) -> Row:
    """Return the row of a line of CSV.

    Raises:
        InputError: If the line is not one.
    """
    cells = next(csv.reader([row]), [])
    if len(cells) != len(COLUMNS):
        raise InputError(f"{row!r}: must have the {len(COLUMNS)} cells {','.join(COLUMNS)}; it has {len(cells)}")
    try:
        values = {name: _value(name, cell) for name, cell in zip(COLUMNS, cells, strict=True)}
    except ValueError as error:
        raise InputError(f"{row!r}: {error}; copy the line from a file of rows") from error
    return Row(**values)


def _value(name: str, cell: str) -> Any:  # noqa: ANN401  a text, a number or several
    if name in _TEXTS:
        return cell
    if name == "seeds":
        return int(cell)
    numbers = tuple(map(float, cell.split()))
    if not all(map(math.isfinite, numbers)):
        raise ValueError(f"{name} must be finite")
    if name == "beyond_each":
        return numbers
    return float(cell) if cell else None


def read(file: Path, suite: Suite, year: int, where: str = SIMULATOR) -> list[Row]:
    """Read the rows of a draw from a file.

    Args:
        file: The file.
        suite: Suite of the rows.
        year: Year of the draw.
        where: Where the runs were made.

    Raises:
        InputFileError: If the file is of another suite, draw or place, or is damaged.
    """
    remedy = "remove it, or choose another folder with -o"
    content = input_files.text(file, remedy=remedy).splitlines()
    if len(content) < 2 or f"{content[0]}\n" != head(suite, year, where):
        raise InputFileError(f"{file}: must begin with {head(suite, year, where).strip()!r}; {remedy}")
    if content[1] != ",".join(COLUMNS):
        raise InputFileError(f"{file}, line 2: must be {','.join(COLUMNS)}; {remedy}")
    try:
        return [parsed(each) for each in content[2:]]
    except InputError as error:
        raise InputFileError(f"{file}: {error}") from error


def is_equal(row: Row, other: Row) -> bool:
    """Return whether two rows are the same to the byte, whatever made them."""
    return line(replace(row, made_by=other.made_by)) == line(other)


def merged(suite: Suite, rows: Iterable[Row], new: Iterable[Row]) -> list[Row]:
    """Return rows together with new ones, which replace those of the same controller and case.

    Args:
        suite: Suite of the rows, whose order they get for each controller.
        rows: Earlier rows.
        new: New rows.
    """
    found = {(row.controller, row.criterion, row.case): row for row in (*rows, *new)}
    controllers = list(dict.fromkeys(controller for controller, _, _ in found))
    cases = [(criterion.id, case.name) for criterion in suite.criteria for case in criterion.cases]
    keys = ((controller, *case) for controller in controllers for case in cases)
    return [found[key] for key in keys if key in found]


def places(rows: Iterable[Row], others: Sequence[Row]) -> Mapping[tuple[str, str], tuple[int, int]]:
    """Return the place of a controller in each case, by criterion and name of the case, and the number of controllers.

    Args:
        rows: Its rows.
        others: Rows of other controllers, and perhaps earlier ones of its own.

    Examples:
        >>> mine = Row("a", "loss", "case", 2.0, 0.0, 0.0, 0.0, 2.0, 0.0, 6, "unsafe", "")
        >>> places([mine], [Row("b", "loss", "case", 1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 6, "unsafe", "")])
        {('loss', 'case'): (2, 2)}
    """
    found: dict[tuple[str, str], tuple[int, int]] = {}
    for row in rows:
        if row.beyond is None:
            continue
        beyond = [other.beyond for other in others if _is_rival(other, row) and other.beyond is not None]
        found[row.criterion, row.case] = 1 + sum(each < row.beyond for each in beyond), 1 + len(beyond)
    return found


def _is_rival(other: Row, row: Row) -> bool:
    return (other.criterion, other.case) == (row.criterion, row.case) and other.controller != row.controller
