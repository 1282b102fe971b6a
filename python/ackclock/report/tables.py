"""What a run came to, as tables of a page: flows, their traffic, and the links worth showing."""

from collections.abc import Sequence
from html import escape

from ackclock.crowds import SHOWN_SINGLY, grouped, outermost
from ackclock.report.figures_of_merit import FLOW_CELLS, GROUPED_CELLS, LINK_CELLS, Cell, Entry, busy_links
from ackclock.shown import plain
from ackclock.summaries import FlowSummary, RunSummary
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


def tables(summary: RunSummary, most: int = SHOWN_SINGLY) -> str:
    """Return tables in HTML of all that there is in a summary.

    Args:
        summary: As in `summary.json`.
        most: Rows of a table; how many more there are is said below it.
    """
    links = _table("link", busy_links(summary), LINK_CELLS, most)
    return f"{_flows(summary['flows'], most)}{_traffic(summary, most)}{links}"


def _flows(flows: Sequence[FlowSummary], most: int) -> str:
    """Every flow; of many, groups with percentiles over their flows, and those that stand out."""
    if not flows:
        return ""
    if len(flows) <= SHOWN_SINGLY:
        return _table("flow", flows, FLOW_CELLS, most)
    groups = _table("group of flows", grouped(flows), GROUPED_CELLS, most)
    chosen = outermost(flows)
    note = (
        f'<p class="note">{len(flows):,} flows, in groups by name and controller, with percentiles over the flows. '
        f"Singly the {len(chosen) // 2} fastest and the {len(chosen) // 2} slowest; all are in summary.json.</p>"
    )
    return f"{groups}{note}{_table('flow', chosen, FLOW_CELLS, len(chosen))}"


def _traffic(summary: RunSummary, most: int) -> str:
    """Tables of short flows by size, requests, videos, datagrams, media and appliances, as far as there are any."""
    flows = summary["flows"]
    parts = [_table(group["name"], size_rows(group), GROUP_CELLS, most) for group in summary.get("groups", [])]
    for kind, entries, cells in (
        ("requests of", [flow for flow in flows if flow.get("exchanges")], EXCHANGE_CELLS),
        ("video of", [flow for flow in flows if flow.get("video")], VIDEO_CELLS),
        ("datagrams of", summary.get("datagrams", []), DATAGRAM_CELLS),
        ("media of", media_flows(summary), MEDIA_CELLS),
        ("through an appliance", appliance_rows(summary), APPLIANCE_CELLS),
    ):
        if entries:
            parts.append(_table(kind, entries, cells, most))
    return "".join(parts)


def _table(kind: str, entries: Sequence[Entry], cells: tuple[Cell, ...], most: int) -> str:
    head = "".join(f"<th>{escape(plain(label))}</th>" for label in (kind, *(label for label, _ in cells)))
    rows = "".join(_row(entry, cells) for entry in entries[:most])
    more = len(entries) - most
    rest = f'<p class="note">{more:,} more in summary.json.</p>' if more > 0 else ""
    return f'<div class="scroll"><table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div>{rest}'


def _row(entry: Entry, cells: tuple[Cell, ...]) -> str:
    values = "".join(f"<td>{escape(plain(text(entry)))}</td>" for _, text in cells)
    return f"<tr><th>{escape(plain(entry['name']))}</th>{values}</tr>"
