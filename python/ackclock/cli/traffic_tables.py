"""Tables of short flows, requests, videos, datagrams, media and appliances at the end of a run."""

from collections.abc import Iterator, Sequence

from rich.table import Table

from ackclock.cli.display import name
from ackclock.summaries import RunSummary
from ackclock.traffic_figures import (
    APPLIANCE_CELLS,
    DATAGRAM_CELLS,
    EXCHANGE_CELLS,
    GROUP_CELLS,
    MEDIA_CELLS,
    VIDEO_CELLS,
    Cell,
    Entry,
    appliance_rows,
    media_flows,
    size_rows,
)


def traffic_tables(summary: RunSummary) -> Iterator[Table]:
    """Make a table of each kind of traffic that a run had.

    Args:
        summary: As in `summary.json`.
    """
    for group in summary.get("groups", []):
        yield _table(f"short flows: {group['name']}", "size", size_rows(group), GROUP_CELLS)
    flows = summary["flows"]
    yield from _some("requests", "flow", [flow for flow in flows if flow.get("exchanges")], EXCHANGE_CELLS)
    yield from _some("video", "flow", [flow for flow in flows if flow.get("video")], VIDEO_CELLS)
    yield from _some("datagrams", "flow", summary.get("datagrams", []), DATAGRAM_CELLS)
    yield from _some("interactive media", "flow", media_flows(summary), MEDIA_CELLS)
    yield from _some("appliances", "flow", appliance_rows(summary), APPLIANCE_CELLS)


def _some(title: str, kind: str, entries: Sequence[Entry], cells: tuple[Cell, ...]) -> Iterator[Table]:
    if entries:
        yield _table(title, kind, entries, cells)


def _table(title: str, kind: str, entries: Sequence[Entry], cells: tuple[Cell, ...]) -> Table:
    table = Table(title=name(title), title_justify="left", title_style="bold", header_style="bold", box=None)
    table.pad_edge = False
    table.padding = (0, 2, 0, 0)
    table.add_column(kind, style="cyan")
    for label, _ in cells:
        table.add_column(label, justify="right")
    for entry in entries:
        table.add_row(name(entry["name"]), *(name(text(entry)) for _, text in cells))
    return table
