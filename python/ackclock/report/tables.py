"""What a run came to, as tables of a page: flows, their traffic, and the links worth showing."""

from collections.abc import Sequence
from html import escape

from ackclock.report.figures_of_merit import FLOW_CELLS, LINK_CELLS, Cell, Entry, busy_links
from ackclock.summaries import RunSummary
from ackclock.traffic_figures import (
    APPLIANCE_CELLS,
    DATAGRAM_CELLS,
    EXCHANGE_CELLS,
    GROUP_CELLS,
    VIDEO_CELLS,
    appliance_rows,
    size_rows,
)


def tables(summary: RunSummary, most: int = 50) -> str:
    """Return tables in HTML of all that there is in a summary.

    Args:
        summary: As in `summary.json`.
        most: Rows of a table; how many more there are is said below it.
    """
    flows = _table("flow", summary["flows"], FLOW_CELLS, most) if summary["flows"] else ""
    return f"{flows}{_traffic(summary, most)}{_table('link', busy_links(summary), LINK_CELLS, most)}"


def _traffic(summary: RunSummary, most: int) -> str:
    """Tables of short flows by size, requests, videos, datagrams and appliances, as far as there are any."""
    flows = summary["flows"]
    parts = [_table(group["name"], size_rows(group), GROUP_CELLS, most) for group in summary.get("groups", [])]
    for kind, entries, cells in (
        ("requests of", [flow for flow in flows if flow.get("exchanges")], EXCHANGE_CELLS),
        ("video of", [flow for flow in flows if flow.get("video")], VIDEO_CELLS),
        ("datagrams of", summary.get("datagrams", []), DATAGRAM_CELLS),
        ("through an appliance", appliance_rows(summary), APPLIANCE_CELLS),
    ):
        if entries:
            parts.append(_table(kind, entries, cells, most))
    return "".join(parts)


def _table(kind: str, entries: Sequence[Entry], cells: tuple[Cell, ...], most: int) -> str:
    head = "".join(f"<th>{escape(label)}</th>" for label in (kind, *(label for label, _ in cells)))
    rows = "".join(_row(entry, cells) for entry in entries[:most])
    more = len(entries) - most
    rest = f'<p class="note">{more} more in summary.json.</p>' if more > 0 else ""
    return f'<div class="scroll"><table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div>{rest}'


def _row(entry: Entry, cells: tuple[Cell, ...]) -> str:
    values = "".join(f"<td>{escape(text(entry))}</td>" for _, text in cells)
    return f"<tr><th>{escape(str(entry['name']))}</th>{values}</tr>"
