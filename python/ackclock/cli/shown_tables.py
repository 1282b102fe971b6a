"""A table of results in a terminal: as many columns as fit, and what was run above it."""

import sys

from rich.console import JustifyMethod
from rich.table import Table as Shown

from ackclock.cli.display import name, output
from ackclock.tables import Table

MOST_ROWS = 40
_GAP = 2


def print_table(table: Table) -> None:
    """Print a table; of one that is too wide for the terminal the last columns are left out, and it says so.

    Args:
        table: Any.
    """
    console = output()
    cells = [table.cells(row) for row in table.rows]
    kept = _fitting(table, cells, console.width if sys.stdout.isatty() else 10_000)
    shown = Shown(title=name(table.title), title_justify="left", title_style="bold", header_style="bold", box=None)
    shown.pad_edge = False
    shown.padding = (0, _GAP, 0, 0)
    for place, column in enumerate(table.columns[:kept]):
        unit = f"\n{column.unit}" if column.unit else ""
        justify: JustifyMethod = "left" if column.is_text else "right"
        style = "" if place else "cyan"
        shown.add_column(f"{column.title.strip()}{unit}", justify=justify, no_wrap=True, style=style)
    for row in cells[:MOST_ROWS]:
        shown.add_row(*(name(cell) for cell in row[:kept]))
    left_out = []
    if len(cells) > MOST_ROWS:
        left_out.append(f"{len(cells) - MOST_ROWS} more rows")
    if kept < len(table.columns):
        left_out.append("columns " + ", ".join(_in_a_line(column.title) for column in table.columns[kept:]))
    console.print(shown)
    if left_out:
        console.print(name(f"left out here: {'; '.join(left_out)}"), style="dim")
    for line in (table.about, *table.notes):
        if line:
            console.print(name(line), style="dim")
    console.print()


def _in_a_line(title: str) -> str:
    return title.strip().replace("-\n", "").replace("\n", " ")


def _fitting(table: Table, cells: list[list[str]], width: int) -> int:
    """How many columns fit."""
    used = 0
    for place, column in enumerate(table.columns):
        heads = [*column.title.strip().split("\n"), column.unit]
        used += max(map(len, (*heads, *(row[place] for row in cells[:MOST_ROWS])))) + _GAP
        if used - _GAP > width:
            return max(place, 1)
    return len(table.columns)
