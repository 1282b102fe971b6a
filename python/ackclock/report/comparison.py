"""Runs side by side, in a terminal."""

from collections.abc import Callable, Sequence

from rich.console import Console
from rich.table import Table

from ackclock.report.figures_of_merit import FLOW_CELLS, LINK_CELLS, Cell, Entry, busy_links
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
        results: The runs.
    """
    console = Console()
    runs = [f"{result.name} (seed {result.summary['seed']})" for result in results]
    console.print(_table("flows", runs, [result.summary["flows"] for result in results], FLOW_CELLS))
    for title, cells, entries_of in _TRAFFIC:
        entries = [entries_of(result.summary) for result in results]
        if any(entries):
            console.print(_table(title, runs, entries, cells))
    console.print(_table("links", runs, [busy_links(result.summary) for result in results], LINK_CELLS))
    fairness = Table(title="Jain's fairness index")
    for run in runs:
        fairness.add_column(run, justify="right")
    fairness.add_row(
        *("–" if (index := result.summary["jain_index"]) is None else f"{index:.4f}" for result in results)
    )
    console.print(fairness)


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


def _table(title: str, runs: list[str], entries: Sequence[Sequence[Entry]], cells: tuple[Cell, ...]) -> Table:
    """One block of rows for each flow or link, a column for each run."""
    table = Table(title=title)
    table.add_column(title[:-1])
    table.add_column("figure")
    for run in runs:
        table.add_column(run, justify="right")
    names = list(dict.fromkeys(str(entry["name"]) for run in entries for entry in run))
    for name in names:
        found = [next((entry for entry in run if entry["name"] == name), None) for run in entries]
        for position, (label, text) in enumerate(cells):
            values = [text(entry) if entry else "–" for entry in found]
            table.add_row(name if position == 0 else "", label, *values, end_section=position == len(cells) - 1)
    return table
