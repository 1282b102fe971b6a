"""Tables of another simulator's results beside ours: a folder's `twin.json`, and tables of pages from it.

A row of it is one number of one table: what the source prints, and a value of each run of each simulator. Between two
lines of a page, `<!-- twin: dqn-2023 D2 -->` and `<!-- end of twin -->`, stand its rows of that table. A mean that is
farther from ours than chance explains (Welch's interval of the difference, 95 %) is in *italics*. Between `<!-- twin
throughput: dqn-2023 D1-536 D1-340 -->` and the end each simulator has a line for each of these tables, and each row's
throughput a column.
"""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NotRequired, Self, TypedDict, cast

from ackclock.base import input_files
from ackclock.base.checked_files import document
from ackclock.claims.intervals import of_mean
from ackclock.claims.measured import number
from ackclock.claims.subjects import scenario_subjects
from ackclock.stats.estimates import CONFIDENCE, deviation, mean_of, rounding
from ackclock.stats.student_t import quantile

FILE = "twin.json"
OTHER, OURS = "ns-3", "ackclock"

_MARKED = re.compile(
    r"<!-- twin(?P<one> throughput)?: (?P<folder>\S+) (?P<tables>[^>]+?) -->\n.*?<!-- end of twin -->", re.DOTALL
)
_THROUGHPUT = "throughput"


TwinRow = TypedDict(
    "TwinRow",
    {
        "table": str, "row": str, "quantity": str, "unit": str, "source": float | None,
        "ns-3": list[float], "ackclock": list[float],
    },
)  # fmt: skip


class Twin(TypedDict):
    """`twin.json`: one table in two simulators."""

    rows: list[TwinRow]
    scenarios: NotRequired[dict[str, str]]


@dataclass(frozen=True, slots=True)
class Line:
    """One number of a source's table in both simulators.

    Attributes:
        table: Table of the source, as its claims' ids begin.
        row: Row of the table.
        quantity: Measured quantity.
        unit: Unit of all its numbers.
        source: Number that the source prints; `None` where it has none.
        other: A value of each run of the other simulator.
        ours: A value of each run of ackclock.
    """

    table: str
    row: str
    quantity: str
    unit: str
    source: float | None
    other: tuple[float, ...]
    ours: tuple[float, ...]

    @classmethod
    def of(cls, entry: dict[str, Any]) -> Self:
        """Read an entry of the record."""
        table, row, quantity, unit = (entry[name] for name in ("table", "row", "quantity", "unit"))
        return cls(table, row, quantity, unit, entry["source"], tuple(entry[OTHER]), tuple(entry[OURS]))

    @property
    def differs(self) -> bool:
        """Whether the two simulators differ by more than chance explains."""
        if (half := welch(self.other, self.ours)) is None:
            return False
        return abs(mean_of(self.other) - mean_of(self.ours)) > max(half, rounding((*self.other, *self.ours)))


_WHOLE = 1e-9
"""Degrees of freedom that are whole may be reckoned this much too few."""


def read(folder: Path) -> list[Line]:
    """Read a folder's record.

    Raises:
        LookupError: If it has none, or if it is of other scenarios than the folder has.
    """
    file = folder / FILE
    if not file.exists():
        raise LookupError(f"{file} is missing: {folder.name} has no record of another simulator")
    remedy = "restore it: the folder's record of another simulator is made by its own program"
    found = document(input_files.octets(file, remedy=remedy), file, Twin, remedy)
    known = found.get("scenarios", {})
    if known != (there := scenario_subjects(folder, known)):
        others = ", ".join(name for name in known if there.get(name) != known[name])
        raise LookupError(f"{file} is of other scenarios than the folder has: {others}; run both simulators again")
    return [Line.of(cast(dict[str, Any], entry)) for entry in found["rows"]]


def welch(first: Sequence[float], second: Sequence[float]) -> float | None:
    """Return half of the 95 % interval of the difference of two means whose deviations need not be alike.

    Source: Welch, Biometrika 34, 1947, with Satterthwaite's degrees of freedom, rounded down. Departures: none.

    Returns:
        `None` where one of them has a single value, of whose chance nothing is known.

    Examples:
        >>> round(welch([1.0, 2.0, 3.0], [4.0, 6.0, 8.0]), 3)  # error sqrt(1/3 + 4/3), t(2) = 4.303
        5.555
    """
    if min(len(first), len(second)) < 2:
        return None
    parts = [(deviation(values) or 0.0) ** 2 / len(values) for values in (first, second)]
    if not (total := math.fsum(parts)):
        return 0.0
    shares = [part**2 / (len(values) - 1) for part, values in zip(parts, (first, second), strict=True)]
    freedom = max(1, math.floor(total**2 / math.fsum(shares) * (1 + _WHOLE)))
    return quantile(freedom, CONFIDENCE) * math.sqrt(total)


def renewed(text: str, folders: Sequence[Path]) -> str:
    """Return a page with its marked tables written anew.

    Raises:
        LookupError: If a mark names no folder, a folder without a record, or a table that is not in it.
    """

    def written(found: re.Match[str]) -> str:
        mark = found[0].split("\n", 1)[0]
        folder = next((each for each in folders if each.name == found["folder"]), None)
        if folder is None:
            raise LookupError(f"{mark} names no folder of claims")
        tables = found["tables"].split()
        lines = [line for line in read(folder) if line.table in tables]
        if {line.table for line in lines} != set(tables):
            raise LookupError(f"{mark} names a table that {folder / FILE} does not have")
        return f"{mark}\n{_throughputs(tables, lines) if found['one'] else _table(lines)}<!-- end of twin -->"

    return _MARKED.sub(written, text)


def _table(lines: Sequence[Line]) -> str:
    rows = [["", "", "source", OTHER, OURS, "runs"], ["---"] * 6]
    for line in lines:
        said = "" if line.source is None else f"{line.source:g}"
        theirs = _cell(line.other)
        runs = f"{len(line.other)} and {len(line.ours)}"
        rows.append(
            [
                line.row,
                f"{line.quantity}, {line.unit}".rstrip(", "),
                said,
                f"*{theirs}*" if line.differs else theirs,
                _cell(line.ours),
                runs,
            ]
        )
    return _markdown(rows)


def _throughputs(tables: Sequence[str], lines: Sequence[Line]) -> str:
    measured = {(line.table, line.row): line for line in lines if line.quantity == _THROUGHPUT}
    names = dict.fromkeys(name for _, name in measured)
    rows = [[f"{_THROUGHPUT}, Mbit/s", *names], ["---"] * (len(names) + 1)]
    for table in tables:
        found = [measured.get((table, name)) for name in names]
        rows.append([f"{table}, {OTHER}", *(_cell(line.other) if line else "" for line in found)])
        rows.append([f"{table}, {OURS}", *(_cell(line.ours) if line else "" for line in found)])
    return _markdown(rows)


def _markdown(rows: Sequence[Sequence[str]]) -> str:
    return "".join(f"| {' | '.join(row)} |\n" for row in rows)


def _cell(values: Sequence[float]) -> str:
    if not values:
        return ""
    found = of_mean(values)
    return number(found.middle) if len(values) == 1 else f"{number(found.middle)} ± {number(found.half)}"
