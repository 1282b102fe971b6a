"""A table of results in a terminal, in blocks where it is too wide for one, and what was run below it."""

import json
import re
import sys
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace

from rich.console import JustifyMethod
from rich.table import Table as Shown
from rich.text import Text

from ackclock.cli.answers import put
from ackclock.plotting.tables import Column, Table, as_json
from ackclock.plotting.terminal import name, output

MOST_ROWS = 40
_MOST_LINES = 2 * MOST_ROWS
_GAP = 2
_PIPED = 10_000


def print_table(table: Table) -> None:
    """Print a table; one that is too wide for the terminal in blocks, each of which begins with what a row is.

    Of many rows the first block alone is printed, of very many the first rows: a line below says what is left out.
    """
    console = output()
    width = console.width if sys.stdout.isatty() else _PIPED
    table, notes = _narrower(table) if _width(table, table.columns) > width else (table, [])
    blocks = _blocks(table, width)
    shown = blocks if len(blocks) * len(table.rows) <= _MOST_LINES else blocks[:1]
    if table.title:
        console.print(name(table.title), style="bold")
    for columns in shown:
        console.print(_block(table, columns, width))
    left_out = [f"{len(table.rows) - MOST_ROWS} more rows"] if len(table.rows) > MOST_ROWS else []
    if shown != blocks:
        there = {column.key for column in shown[0]}
        hidden = [_in_a_line(column.title) for column in table.columns if column.key not in there]
        left_out.append(f"columns {', '.join(hidden)}; `| less -S` shows them")
    if left_out:
        console.print(name(f"left out here: {'; '.join(left_out)}"), style="dim")
    for line in (*notes, table.about, *table.notes):
        if line:
            console.print(name(line), style="dim")
    console.print()


def print_list(headings: Iterable[str], rows: Iterable[Iterable[str | Text]], dim: Collection[str] = ()) -> None:
    """Print rows of texts below headings; without a heading none has a line.

    Args:
        headings: From left to right.
        rows: From above.
        dim: The headings of columns that matter less.
    """
    heads = list(headings)
    shown = Shown(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0), show_header=any(heads))
    for place, heading in enumerate(heads):
        shown.add_column(heading, style="dim" if heading in dim else "" if place else "cyan", no_wrap=not place)
    for row in rows:
        shown.add_row(*(cell if isinstance(cell, Text) else Text(cell) for cell in row))  # a "[" begins no markup
    output().print(shown)


def put_tables(tables: Sequence[Table]) -> None:
    """Print tables as one piece of JSON."""
    put(json.dumps({"tables": [as_json(table) for table in tables]}, indent=1, ensure_ascii=False) + "\n")


def _block(table: Table, columns: Sequence[Column], width: int) -> Shown:
    shown = Shown(header_style="bold", box=None)
    shown.pad_edge = False
    shown.padding = (0, _GAP, 0, 0)
    keys = _keys(columns)
    # What a row is may take several lines, where figures would have no room beside it.
    room = width - sum(_wide(table, column) + _GAP for column in columns[keys:])
    most = max(room // max(keys, 1) - _GAP, 1) if _width(table, columns) > width else None
    for place, column in enumerate(columns):
        unit = f"\n{column.unit}" if column.unit else ""
        justify: JustifyMethod = "left" if column.is_text else "right"
        shown.add_column(
            f"{column.title.strip()}{unit}",
            justify=justify,
            no_wrap=most is None or place >= keys,
            overflow="fold",
            max_width=most if place < keys else None,
            style="" if place else "cyan",
        )
    narrow = replace(table, columns=columns)
    for row in table.rows[:MOST_ROWS]:
        shown.add_row(*(name(cell) for cell in narrow.cells(row)))
    return shown


def _narrower(table: Table) -> tuple[Table, list[str]]:
    """Return a table with its headings of several lines, and without what says the same in every row, which is told."""
    keys = table.columns[: _keys(table.columns)]
    shortened = [column for column in table.columns if column in keys or not column.is_text]
    texts = {column.key: _texts(table, column, None) for column in shortened}
    same = {key: each.pop() for key, each in texts.items() if len(each) == 1 < len(table.rows)}
    columns = [
        replace(column, title=re.sub(r"\.(?=.)", ".\n", column.title)) if column.is_text else column
        for column in table.columns
        if column.key not in same
    ]
    said = [
        " ".join(part for part in (_in_a_line(column.title), same[column.key], column.unit) if part)
        for column in table.columns
        if column.key in same
    ]
    return replace(table, columns=columns), [f"the same in all rows: {', '.join(said)}"] if said else []


def _blocks(table: Table, width: int) -> list[list[Column]]:
    """Return the columns of each block: those that say what a row is, and as many of the others as fit."""
    columns = list(table.columns)
    keys, others = columns[: _keys(columns)], columns[_keys(columns) :]
    blocks = [keys]
    for column in others:
        if len(blocks[-1]) > len(keys) and _width(table, [*blocks[-1], column]) > width:
            blocks.append(keys)
        blocks[-1] = [*blocks[-1], column]
    return blocks


def _keys(columns: Sequence[Column]) -> int:
    """How many columns, from the left on, say what a row is."""
    return next((place for place, column in enumerate(columns) if not column.is_text), len(columns))


def _width(table: Table, columns: Sequence[Column]) -> int:
    return sum(_wide(table, column) + _GAP for column in columns) - _GAP


def _wide(table: Table, column: Column) -> int:
    return max(map(len, (*column.title.strip().split("\n"), column.unit, *_texts(table, column))))


def _texts(table: Table, column: Column, most: int | None = MOST_ROWS) -> set[str]:
    narrow = replace(table, columns=[column])
    return {narrow.cells(row)[0] for row in table.rows[:most]}


def _in_a_line(title: str) -> str:
    return title.strip().replace("-\n", "").replace(".\n", ".").replace("\n", " ")
