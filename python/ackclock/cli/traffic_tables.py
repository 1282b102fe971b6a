"""Tables of short flows, requests, videos, datagrams, media and appliances at the end of a run."""

from collections.abc import Iterator

from ackclock.summaries import RunSummary
from ackclock.tables import Table, of_cells
from ackclock.traffic_figures import GROUP_CELLS, TRAFFIC, size_rows


def traffic_tables(summary: RunSummary) -> Iterator[Table]:
    """Make a table of each kind of traffic that a run had."""
    for group in summary.get("groups", []):
        yield of_cells("size", size_rows(group), GROUP_CELLS, f"short flows: {group['name']}")
    for title, cells, entries_of in TRAFFIC:
        if entries := entries_of(summary):
            yield of_cells("flow", entries, cells, title)
