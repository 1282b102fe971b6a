"""Comparison of runs: a table for each kind of item, with a column for each run, labelled by the differences."""

from collections.abc import Sequence

from ackclock.plotting.likeness import table as likeness_table
from ackclock.plotting.report.figures_of_merit import (
    CONNECTION_CELLS,
    FLOW_CELLS,
    GROUPED_CELLS,
    busy_links,
    link_cells,
)
from ackclock.plotting.tables import Cell, Column, Entry, Table, columns_of_runs
from ackclock.plotting.tables.table import Figure
from ackclock.plotting.traffic_figures import GROUP_CELLS, TRAFFIC, size_rows
from ackclock.results import Results
from ackclock.results.run_labels import common, labels
from ackclock.stats.flow_groups import SHOWN_SINGLY, grouped, of_groups, outermost


def tables(results: list[Results]) -> list[Table]:
    """Return tables that compare runs: flows, other traffic, links, fairness."""
    runs, about = labels(results), common(results)
    flows = [result.summary["flows"] for result in results]
    found = _of_flows(runs, flows, about) if any(flows) else []
    for title, cells, entries_of in (("short flows", GROUP_CELLS, _classes), *TRAFFIC):
        entries = [entries_of(result.summary) for result in results]
        if any(entries):
            found.append(_table(title, runs, entries, cells, about))
    links = busy_links([result.summary for result in results])
    if any(links):  # a recording has none
        found.append(_table("links", runs, links, link_cells([link for run in links for link in run]), about))
    likeness = likeness_table(results, runs)
    found += [] if likeness is None else [likeness]
    indices = [result.summary["jain_index"] for result in results]
    if any(len(of) > 1 for of in flows):  # that of a single flow is 1, whatever it had
        columns = columns_of_runs((), runs)
        fairness = {
            column.key: None if index is None else Figure(f"{index:.4f}", index)
            for column, index in zip(columns, indices, strict=True)
        }
        found.append(Table("Jain's fairness index", about, columns, [fairness]))
    return found


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
    words = [Column("thing", thing, is_text=True), Column("figure", "figure", is_text=True)]
    of_runs = columns_of_runs([column.key for column in words], runs)
    by_name = [{str(entry["name"]): entry for entry in reversed(run)} for run in entries]
    names = wanted or list(dict.fromkeys(str(entry["name"]) for run in entries for entry in run))
    rows = [
        dict[str, str | None](thing=chosen, figure=metric)
        | {
            column.key: text(run[chosen]) if chosen in run else None
            for column, run in zip(of_runs, by_name, strict=True)
        }
        for chosen in names[:SHOWN_SINGLY]
        for metric, text in cells
    ]
    more = len(names) - SHOWN_SINGLY
    return Table(title, about, [*words, *of_runs], rows, (f"and {more:,} more in summary.json",) if more > 0 else ())
