"""Runs side by side, in a terminal."""

from collections.abc import Callable, Sequence

from rich.console import Console
from rich.table import Table

from ackclock.cli.display import filtered, name
from ackclock.crowds import SHOWN_SINGLY, grouped, outermost
from ackclock.report.figures_of_merit import FLOW_CELLS, GROUPED_CELLS, LINK_CELLS, Cell, Entry, busy_links
from ackclock.results import Results
from ackclock.traffic_figures import (
    APPLIANCE_CELLS,
    DATAGRAM_CELLS,
    EXCHANGE_CELLS,
    GROUP_CELLS,
    VIDEO_CELLS,
    appliance_rows,
    size_rows,
)


def compare(results: list[Results]) -> None:
    """Print the flows and links of several runs side by side.

    Args:
        results: The runs. Of one with many flows, groups with percentiles, and the flows that stand out.
    """
    console = filtered(Console(emoji=False))
    runs = [f"{result.name} ({result.origin})" for result in results]
    for table in _of_flows(runs, [result.summary["flows"] for result in results]):
        console.print(table)
    for title, cells, entries_of in _TRAFFIC:
        entries = [entries_of(result.summary) for result in results]
        if any(entries):
            console.print(_table(title, runs, entries, cells))
    console.print(_table("links", runs, [busy_links(result.summary) for result in results], LINK_CELLS))
    fairness = Table(title="Jain's fairness index")
    for run in runs:
        fairness.add_column(name(run), justify="right")
    fairness.add_row(
        *("–" if (index := result.summary["jain_index"]) is None else f"{index:.4f}" for result in results)
    )
    console.print(fairness)


def _of_flows(runs: list[str], flows: list[Sequence[Entry]]) -> list[Table]:
    if max(map(len, flows)) <= SHOWN_SINGLY:
        return [_table("flows", runs, flows, FLOW_CELLS)]
    groups = _table(
        "groups of flows, with percentiles over their flows", runs, list(map(grouped, flows)), GROUPED_CELLS
    )
    return [groups, _table("flows that were fastest or slowest", runs, flows, FLOW_CELLS, _standing_out(flows))]


def _standing_out(flows: list[Sequence[Entry]]) -> list[str]:
    """Of each run."""
    return list(dict.fromkeys(str(flow["name"]) for run in flows for flow in outermost(run)))


def _classes(summary: Entry) -> list[Entry]:
    """Every group of short flows, as a whole and by size."""
    rows = ((group, row) for group in summary.get("groups", []) for row in size_rows(group))
    return [{**row, "name": f"{group['name']}, {row['name']}"} for group, row in rows]


def _flows_with(key: str) -> Callable[[Entry], list[Entry]]:
    return lambda summary: [flow for flow in summary["flows"] if flow.get(key)]


_TRAFFIC: tuple[tuple[str, tuple[Cell, ...], Callable[[Entry], list[Entry]]], ...] = (
    ("short flows", GROUP_CELLS, _classes),
    ("requests", EXCHANGE_CELLS, _flows_with("exchanges")),
    ("videos", VIDEO_CELLS, _flows_with("video")),
    ("datagrams", DATAGRAM_CELLS, lambda summary: list(summary.get("datagrams", []))),
    ("appliances", APPLIANCE_CELLS, appliance_rows),
)


def _table(
    title: str,
    runs: list[str],
    entries: Sequence[Sequence[Entry]],
    cells: tuple[Cell, ...],
    wanted: list[str] | None = None,
) -> Table:
    """One block of rows for each flow or link, or for those that are wanted; a column for each run."""
    table = Table(title=title)
    table.add_column(title.partition(" ")[0].removesuffix("s"))
    table.add_column("figure")
    for run in runs:
        table.add_column(name(run), justify="right")
    by_name = [{str(entry["name"]): entry for entry in reversed(run)} for run in entries]
    names = wanted or list(dict.fromkeys(str(entry["name"]) for run in entries for entry in run))
    shown = names[:SHOWN_SINGLY]
    for chosen in shown:
        found = [run.get(chosen) for run in by_name]
        for position, (label, text) in enumerate(cells):
            values = [name(text(entry)) if entry else "–" for entry in found]
            is_last = position == len(cells) - 1
            table.add_row(name(chosen) if position == 0 else "", label, *values, end_section=is_last)
    if len(names) > len(shown):
        table.caption = f"and {len(names) - len(shown):,} more in summary.json"
    return table
