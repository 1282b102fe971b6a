"""Tables of a summary's entries: a row for each entry, a column for each metric."""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ackclock.plotting.tables.table import NONE, Column, Figure, Table, figure
from ackclock.results.run_labels import distinct

Entry = Mapping[str, Any]
Cell = tuple[str, Callable[[Entry], str]]
"""Heading of a metric, with its unit in brackets, and the function that formats it."""


def figure_of(key: str, part: str = "", *, per: float = 1.0, digits: int = 4) -> Callable[[Entry], Figure]:
    """Return a function that formats the number at a key, or at a part of the table there."""

    def text(entry: Entry) -> Figure:
        found = entry.get(key)
        value = (found or {}).get(part) if part else found
        scaled = None if value is None else value / per
        return Figure(figure(scaled, digits), scaled)

    return text


def count_of(key: str) -> Callable[[Entry], Figure]:
    """Return a function that formats the count at a key."""
    return lambda entry: count_text(entry.get(key))


def count_text(value: int | None) -> Figure:
    """Format a count; a dash for none."""
    return Figure(NONE if value is None else f"{value:,}", value)


def columns_of_runs(taken: Sequence[str], runs: Sequence[str]) -> list[Column]:
    """Return a column for each run, whose key is the run's label, numbered where another column has it.

    Args:
        taken: Keys of the table's other columns.
        runs: Labels of the runs.

    Examples:
        >>> [(column.key, column.title) for column in columns_of_runs(["flow", "figure"], ["figure", "b"])]
        [('figure (2)', 'figure'), ('b', 'b')]
    """
    keys = distinct([*taken, *runs])[len(taken) :]
    return [Column(key, run) for key, run in zip(keys, runs, strict=True)]


_WORDS = ("controller", "profile", "limited by", "limited\nby")
"""Headings of columns that hold words."""

_WITH_UNIT = re.compile(r"(.*) \(([^()]*)\)")


def of_cells(
    kind: str, entries: Sequence[Entry], cells: Sequence[Cell], title: str = "", notes: Sequence[str] = ()
) -> Table:
    """Return entries as a table.

    Args:
        kind: Kind of the entries, the heading of their names.
        entries: Entries, each with a `name`.
        cells: Metrics, from left to right.
        title: Title above the table.
        notes: Notes below the table; empty ones are left out.

    Examples:
        >>> drops = ("drops (packets)", lambda link: str(link["drops"]))
        >>> found = of_cells("link", [{"name": "a", "drops": 3}], [drops])
        >>> [column.heading for column in found.columns], found.cells(found.rows[0])
        (['link', 'drops (packets)'], ['a', '3'])
    """
    columns = [Column("name", kind, is_text=True)]
    for place, (label, _) in enumerate(cells):
        found = _WITH_UNIT.fullmatch(label)
        heading, unit = found.groups() if found else (label, "")
        columns.append(Column(f"figure{place}", heading, unit, is_text=label in _WORDS))
    rows = [
        {"name": str(entry["name"])} | {f"figure{place}": text(entry) for place, (_, text) in enumerate(cells)}
        for entry in entries
    ]
    return Table(title, "", columns, rows, tuple(note for note in notes if note))
