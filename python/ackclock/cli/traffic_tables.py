"""Tables of short flows, requests, videos, datagrams, media and appliances at the end of a run."""

from collections.abc import Iterator

from ackclock.summaries import RunSummary
from ackclock.tables import Table, of_cells
from ackclock.traffic_figures import (
    APPLIANCE_CELLS,
    DATAGRAM_CELLS,
    EXCHANGE_CELLS,
    GROUP_CELLS,
    MEDIA_CELLS,
    VIDEO_CELLS,
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
        yield of_cells("size", size_rows(group), GROUP_CELLS, f"short flows: {group['name']}")
    flows = summary["flows"]
    for title, entries, cells in (
        ("requests", [flow for flow in flows if flow.get("exchanges")], EXCHANGE_CELLS),
        ("video", [flow for flow in flows if flow.get("video")], VIDEO_CELLS),
        ("datagrams", summary.get("datagrams", []), DATAGRAM_CELLS),
        ("interactive media", media_flows(summary), MEDIA_CELLS),
        ("appliances", appliance_rows(summary), APPLIANCE_CELLS),
    ):
        if entries:
            yield of_cells("flow", entries, cells, title)
