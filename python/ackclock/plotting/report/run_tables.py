"""Tables of a run's outcome: flows, other traffic, and the relevant links."""

from collections.abc import Sequence

from ackclock.plotting.report.figures_of_merit import (
    CONTROLLER_CELLS,
    FLOW_CELLS,
    GROUPED_CELLS,
    busy_links,
    link_cells,
)
from ackclock.plotting.tables import Cell, Entry, Table, of_cells
from ackclock.plotting.traffic_figures import GROUP_CELLS, TRAFFIC, size_rows
from ackclock.results.summaries import RunSummary
from ackclock.stats.flow_groups import SHOWN_SINGLY, by_controller, grouped, outermost
from ackclock.stats.run_window import flows_over_window

_SEVERAL = 4
"""Number of flows from which totals by controller are shown, if there are fewer controllers."""


def tables(summary: RunSummary, most: int = SHOWN_SINGLY) -> list[Table]:
    """Return tables of everything in a summary.

    Args:
        summary: Summary, as in `summary.json`.
        most: Largest number of rows in a table; a note gives the number of omitted rows.
    """
    (links,) = busy_links([summary])
    return [
        *_flows(summary, most),
        *_traffic(summary, most),
        *([_table("link", links, link_cells(links), most)] if links else []),
    ]


def _flows(summary: RunSummary, most: int) -> list[Table]:
    """Return totals by controller and every flow; with many flows, groups with percentiles and the outermost flows."""
    flows = summary["flows"]
    if not flows:
        return []
    kinds = {flow["controller"] for flow in flows}
    totals = []
    if len(flows) >= _SEVERAL and len(kinds) < len(flows):
        totals = [_table("controller", by_controller(flows_over_window(summary)), CONTROLLER_CELLS, most)]
    if len(flows) <= SHOWN_SINGLY:
        return [*totals, _table("flow", flows, FLOW_CELLS, most)]
    chosen = outermost(flows)
    note = (
        f"{len(flows):,} flows, in groups by name and controller, with percentiles over the flows. "
        f"Singly the {len(chosen) // 2} fastest and the {len(chosen) // 2} slowest; all are in summary.json."
    )
    groups = _table("group of flows", grouped(flows), GROUPED_CELLS, most, note)
    return [*totals, groups, _table("flow", chosen, FLOW_CELLS, len(chosen))]


def _traffic(summary: RunSummary, most: int) -> list[Table]:
    """Return tables of short flows by size, requests, videos, datagrams, media and appliances, where present."""
    parts = [_table(group["name"], size_rows(group), GROUP_CELLS, most) for group in summary.get("groups", [])]
    for kind, cells, entries_of in TRAFFIC:
        if entries := entries_of(summary):
            parts.append(_table(kind, entries, cells, most))
    return parts


def _table(kind: str, entries: Sequence[Entry], cells: Sequence[Cell], most: int, note: str = "") -> Table:
    more = len(entries) - most
    return of_cells(kind, entries[:most], cells, notes=(note, f"{more:,} more in summary.json." if more > 0 else ""))
