"""Comparison of runs: a table for each kind of item, with a column for each run, labelled by the differences."""

from collections.abc import Sequence

from rich.table import Table as Shown

from ackclock.plotting.likeness import table as likeness_table
from ackclock.plotting.report.figures_of_merit import (
    CONNECTION_CELLS,
    FLOW_CELLS,
    GROUPED_CELLS,
    LINK_CELLS,
    busy_links,
)
from ackclock.plotting.tables import Cell, Column, Entry, Table
from ackclock.plotting.terminal import name, output
from ackclock.plotting.traffic_figures import GROUP_CELLS, TRAFFIC, size_rows
from ackclock.results import Results
from ackclock.results.run_labels import common, labels
from ackclock.stats.flow_groups import SHOWN_SINGLY, grouped, of_groups, outermost


def compare(results: list[Results]) -> None:
    """Print the flows and links of several runs side by side.

    Args:
        results: The runs. With many flows, groups with percentiles and the outermost flows are shown.
    """
    console = output()
    about = common(results)
    if about:
        console.print(name(f"the same in all: {about}"), style="dim")
    for table in tables(results):
        console.print()
        console.print(name(table.title), style="bold")
        console.print(_shown(table))
        for note in table.notes:
            console.print(name(note), style="dim")


def tables(results: list[Results]) -> list[Table]:
    """Return tables that compare runs: flows, other traffic, links, fairness."""
    runs, about = labels(results), common(results)
    flows = [result.summary["flows"] for result in results]
    found = _of_flows(runs, flows, about) if any(flows) else []
    for title, cells, entries_of in (("short flows", GROUP_CELLS, _classes), *TRAFFIC):
        entries = [entries_of(result.summary) for result in results]
        if any(entries):
            found.append(_table(title, runs, entries, cells, about))
    found.append(_table("links", runs, busy_links([result.summary for result in results]), LINK_CELLS, about))
    likeness = likeness_table(results, runs)
    found += [] if likeness is None else [likeness]
    indices = [result.summary["jain_index"] for result in results]
    if any(len(of) > 1 for of in flows):  # that of a single flow is 1, whatever it had
        fairness = {f"run{place}": None if index is None else f"{index:.4f}" for place, index in enumerate(indices)}
        found.append(Table("Jain's fairness index", about, _run_columns(runs), [fairness]))
    return found


_WORD = 16
"""Length of words that no column breaks, characters."""


def _run_columns(runs: Sequence[str]) -> list[Column]:
    return [Column(f"run{place}", run) for place, run in enumerate(runs)]


def _shown(table: Table) -> Shown:
    """Return a table for a terminal."""
    shown = Shown(header_style="bold", box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for column in table.columns:
        if column.is_text:
            words = (word for row in table.rows for word in str(row.get(column.key) or "").split())
            shown.add_column(column.title, overflow="fold", min_width=min(_WORD, max(map(len, (column.title, *words)))))
        else:
            shown.add_column(name(column.title), justify="right", overflow="fold")
    for place, row in enumerate(table.rows):
        cells = table.cells(row)
        is_repeated = place > 0 and "thing" in row and table.rows[place - 1].get("thing") == row["thing"]
        said = [name("" if is_repeated and at == 0 else cell) for at, cell in enumerate(cells)]
        shown.add_row(*said)
    return shown


def _of_flows(runs: list[str], flows: Sequence[Sequence[Entry]], about: str) -> list[Table]:
    if max(map(len, flows)) <= SHOWN_SINGLY:
        named = list(map(of_groups, flows))
        has_any = max(map(_most, named)) > 1
        means = [_table("groups of connections", runs, named, CONNECTION_CELLS, about)] if has_any else []
        return [*means, _table("flows", runs, flows, FLOW_CELLS, about)]
    groups = _table(
        "groups of flows, with percentiles over their flows", runs, list(map(grouped, flows)), GROUPED_CELLS, about
    )
    single = _table("flows that were fastest or slowest", runs, flows, FLOW_CELLS, about, _standing_out(flows))
    return [groups, single]


def _most(groups: Sequence[Entry]) -> int:
    return max((int(group["flows"]) for group in groups), default=0)


def _standing_out(flows: Sequence[Sequence[Entry]]) -> list[str]:
    """Return the names of the outermost flows of each run."""
    return list(dict.fromkeys(str(flow["name"]) for run in flows for flow in outermost(run)))


def _classes(summary: Entry) -> list[Entry]:
    """Return every group of short flows, as a whole and by size class."""
    rows = ((group, row) for group in summary.get("groups", []) for row in size_rows(group))
    return [{**row, "name": f"{group['name']}, {row['name']}"} for group, row in rows]


def _table(
    title: str,
    runs: list[str],
    entries: Sequence[Sequence[Entry]],
    cells: Sequence[Cell],
    about: str,
    wanted: list[str] | None = None,
) -> Table:
    """Return a table with a block of rows for each flow or link, or for selected ones, and a column for each run."""
    thing = title.partition(" ")[0].removesuffix("s")
    columns = [Column("thing", thing, is_text=True), Column("figure", "figure", is_text=True), *_run_columns(runs)]
    by_name = [{str(entry["name"]): entry for entry in reversed(run)} for run in entries]
    names = wanted or list(dict.fromkeys(str(entry["name"]) for run in entries for entry in run))
    rows = [
        dict[str, str | None](thing=chosen, figure=label)
        | {f"run{place}": text(run[chosen]) if chosen in run else None for place, run in enumerate(by_name)}
        for chosen in names[:SHOWN_SINGLY]
        for label, text in cells
    ]
    more = len(names) - SHOWN_SINGLY
    return Table(title, about, columns, rows, (f"and {more:,} more in summary.json",) if more > 0 else ())
