"""Tables of results in a terminal: split into blocks if too wide, with the shared settings below."""

import json
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from typing import Any

from rich.console import JustifyMethod
from rich.table import Table as Shown
from rich.text import Text

from ackclock.base.printable import plain
from ackclock.cli.answers import put
from ackclock.plotting.tables import Column, Table, as_json
from ackclock.plotting.terminal import has_width, name, output

MOST_ROWS = 40
_MOST_LINES = 2 * MOST_ROWS
_GAP = 2
_LEAST_FIGURES = 2
"""Number of figures that a row has beside its labels, however narrow the terminal."""
_PIPED = 10_000
_FOLD = 28
"""Width of a column of words in a table that does not fit otherwise."""
_STYLES = {"agrees": "green", "differs": "bold yellow", "undecided": "blue", "open": "dim"}
"""Styles of the kinds of tags."""


def print_table(table: Table, *, whole: bool = False) -> None:
    """Print a table; if it is too wide for the terminal, print blocks that each begin with the key columns.

    The first block of many rows is printed, or the first rows of very many; a line says what is left out. The first
    labels become heads of groups if figures have no room next to them.

    Args:
        table: The table.
        whole: Print every row, however many there are.
    """
    count = len(table.rows)
    console = output()
    width = console.width if has_width() else _PIPED
    is_wide = _width(table, table.columns, _PIPED) > width
    table, notes = _narrower(table) if is_wide else (table, [])
    fold = _FOLD if is_wide else _PIPED
    table = table if whole else replace(table, rows=table.rows[:MOST_ROWS])
    blocks = _blocks(table, width, fold)
    heads: list[Column] = []
    if len(blocks) * count > _MOST_LINES:
        table, heads = _headed(table, width, fold)
        blocks = _blocks(table, width, fold)
    shown = blocks[:1] if heads or len(blocks) * count > _MOST_LINES else blocks
    if table.title:
        console.print(name(table.title), style="bold")
    for columns in shown:
        for place, (head, rows) in enumerate(_groups(table, heads)):
            block = _block(table, columns, width, fold, rows if heads else None)
            if head:
                block.show_header = not place
                console.print(name(f"{head}:"), style="cyan")
            console.print(block)
    left_out = [f"{count - len(table.rows)} more rows"] if count > len(table.rows) else []
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
    """Print rows of texts below headings; if all headings are empty, their line is left out.

    Args:
        headings: Headings, from left to right.
        rows: Rows, from above.
        dim: Headings of less important columns.
    """
    heads = list(headings)
    shown = Shown(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0), show_header=any(heads))
    for place, heading in enumerate(heads):
        shown.add_column(
            heading, style="dim" if heading in dim else "" if place else "cyan", no_wrap=not place, overflow="fold"
        )
    for row in rows:
        shown.add_row(*(cell if isinstance(cell, Text) else Text(cell) for cell in row))  # a "[" begins no markup
    output().print(shown)


def put_tables(tables: Sequence[Table]) -> None:
    """Print tables as one JSON document."""
    put(json.dumps({"tables": [as_json(table) for table in tables]}, indent=1, ensure_ascii=False) + "\n")


def _headed(table: Table, width: int, fold: int) -> tuple[Table, list[Column]]:
    """Return the table without the first labels that leave no room for two figures, and these labels."""
    columns, heads = list(table.columns), []
    while (keys := _keys(columns)) > 1 and _width(table, columns[: keys + _LEAST_FIGURES], fold) > width:
        heads.append(columns.pop(0))
    return replace(table, columns=columns), heads


def _groups(table: Table, heads: Sequence[Column]) -> Iterator[tuple[str, Sequence[Mapping[str, Any]]]]:
    """Yield the rows below each head, which tells the values that they share."""
    labels = replace(table, columns=heads)

    def told(row: Mapping[str, Any]) -> str:
        titles = (_in_a_line(column.title) for column in heads)
        return ", ".join(f"{title} {text}" for title, text in zip(titles, labels.cells(row), strict=True))

    for head, rows in groupby(table.rows, told):
        yield head, list(rows)


def _block(
    table: Table, columns: Sequence[Column], width: int, fold: int, rows: Sequence[Mapping[str, Any]] | None = None
) -> Shown:
    """Return some columns of a table; of some rows only, its columns are as wide as those of all."""
    shown = Shown(header_style="bold", box=None)
    shown.pad_edge = False
    shown.padding = (0, _GAP, 0, 0)
    keys = _keys(columns)
    # What a row is may take several lines, where figures would have no room beside it.
    room = width - sum(_wide(table, column, fold) + _GAP for column in columns[keys:])
    most = max(room // max(keys, 1) - _GAP, 1) if _width(table, columns, fold) > width else _PIPED
    for place, column in enumerate(columns):
        wide = _wide(table, column, fold)
        heading = [*column.title.strip().split("\n"), *([column.unit] if column.unit else [])]
        justify: JustifyMethod = "left" if column.is_text else "right"
        shown.add_column(
            Text("\n".join(map(plain, heading))),  # a "[" begins no markup
            justify=justify,
            no_wrap=not column.is_text,
            overflow="fold",
            min_width=None if rows is None else min(most, wide) if place < keys else wide,
            max_width=min(most, wide) if place < keys else wide,
            style="" if place else "cyan",
        )
    narrow = replace(table, columns=columns)
    for row in table.rows if rows is None else rows:
        kinds = (getattr(row.get(column.key), "kind", "") for column in columns)
        cells = zip(narrow.cells(row), kinds, strict=True)
        shown.add_row(*(Text(plain(cell), _STYLES.get(kind, "")) for cell, kind in cells))
    return shown


def _narrower(table: Table) -> tuple[Table, list[str]]:
    """Return a table with multi-line headings and without constant columns, and a description of these."""
    keys = table.columns[: _keys(table.columns)]
    shortened = [column for column in table.columns if column in keys or not column.is_text]
    texts = {column.key: _texts(table, column) for column in shortened}
    same = {key: each.pop() for key, each in texts.items() if len(each) == 1 < len(table.rows)}
    columns = [
        replace(column, title=re.sub(r"\.(?=.)" if column.is_text else ",(?= )", r"\g<0>\n", column.title))
        for column in table.columns
        if column.key not in same
    ]
    said = [
        f"{_in_a_line(column.title)} = {same[column.key]}{f' {column.unit}' if column.unit else ''}"
        for column in table.columns
        if column.key in same
    ]
    return replace(table, columns=columns), [f"the same in all rows: {', '.join(said)}"] if said else []


def _blocks(table: Table, width: int, fold: int) -> list[list[Column]]:
    """Return the columns of each block: the key columns, and as many others as fit."""
    columns = list(table.columns)
    keys, others = columns[: _keys(columns)], columns[_keys(columns) :]
    blocks = [keys]
    for column in others:
        if len(blocks[-1]) > len(keys) and _width(table, [*blocks[-1], column], fold) > width:
            blocks.append(keys)
        blocks[-1] = [*blocks[-1], column]
    return blocks


def _keys(columns: Sequence[Column]) -> int:
    """Return the number of key columns, which identify a row; they come first."""
    return next((place for place, column in enumerate(columns) if not column.is_text), len(columns))


def _width(table: Table, columns: Sequence[Column], fold: int) -> int:
    return sum(_wide(table, column, fold) + _GAP for column in columns) - _GAP


def _wide(table: Table, column: Column, fold: int) -> int:
    texts = (*column.title.strip().split("\n"), column.unit, *_texts(table, column))
    longest = max(map(len, texts))
    return (
        min(longest, max(fold, *(len(word) for text in texts for word in text.split()))) if column.is_text else longest
    )


def _texts(table: Table, column: Column) -> set[str]:
    narrow = replace(table, columns=[column])
    return {narrow.cells(row)[0] for row in table.rows}


def _in_a_line(title: str) -> str:
    return title.strip().replace("-\n", "").replace(".\n", ".").replace(",\n ", ", ").replace("\n", " ")
