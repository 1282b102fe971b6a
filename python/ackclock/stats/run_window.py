"""Common window of a run, over which all numbers of a table row are taken.

A summary has each flow's rate over the flow's own time, and a link's utilization over the measurement window. Side by
side, flows that begin at different times would seem to exceed their link's rate. In a table row, all numbers cover the
run's window. It begins with the first flow, or with the scenario's measurement if that is later. It ends with the
measurement, or with the last flow.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import polars as pl

    from ackclock.results import Results

Entry = Mapping[str, Any]

_OTHERS = ("groups", "datagrams")
"""Traffic other than flows; if present, a link may be busy after the flows have ended."""


_MOST_USED = 1.01
"""Utilization above 1 that is accepted, because packets in transit at either end count, too."""


@dataclass(frozen=True, slots=True)
class Window:
    """Window of a run.

    Attributes:
        begin_s: Beginning, seconds.
        end_s: End, seconds.
        measured_s: Beginning and end of the measurement, which the summary's numbers of links cover.
    """

    begin_s: float
    end_s: float
    measured_s: tuple[float, float]

    def rate_bps(self, flow: Entry, key: str = "goodput_bps") -> float:
        """Return a flow's rate over the window.

        Args:
            flow: Flow of `summary.json`.
            key: `goodput_bps` or `throughput_bps`.
        """
        begin, end = self.measured_s
        over = end if flow.get("completion_s") is None else min(end, flow["completion_s"])
        rate: float = flow[key]
        return rate * self._share(over - max(begin, flow.get("start_s", 0.0)))

    def utilization(self, link: Entry) -> float | None:
        """Return a link's utilization over the window; exact if its rate is constant and only flows use it.

        Args:
            link: Link of `summary.json`.

        Returns:
            None if it would exceed 1: the link's rate changed after the window, and is unknown within it.
        """
        begin, end = self.measured_s
        used: float = link["utilization"]
        found = used * (end - begin) / (self.end_s - self.begin_s) if self.end_s > self.begin_s else 0.0
        return None if found > _MOST_USED else found

    def _share(self, lasted_s: float) -> float:
        return max(lasted_s, 0.0) / (self.end_s - self.begin_s) if self.end_s > self.begin_s else 0.0


def window_of(summary: Entry) -> Window:
    """Return the window of a run."""
    begin, end = summary.get("measure_s") or (0.0, summary["duration_s"])
    measured = (begin, end)
    flows = summary["flows"]
    if flows and not any(summary.get(other) for other in _OTHERS):
        begin = min(end, max(begin, min(flow.get("start_s", 0.0) for flow in flows)))
        ends = [flow.get("completion_s") for flow in flows]
        if None not in ends:
            end = max(begin, min(end, max(ends)))
    return Window(begin, end, measured)


def flows_over_window(summary: Entry) -> list[Entry]:
    """Return the flows of a run with rates and counts over its window; flows of a recording, without one, unchanged."""
    if summary.get("seed") is None:
        return list(summary["flows"])
    window, rates = window_of(summary), ("goodput_bps", "throughput_bps")
    return [
        {**flow, **flow.get("window", {}), **{key: window.rate_bps(flow, key) for key in rates}}
        for flow in summary["flows"]
    ]


def until_completed(results: "Results", flow: str) -> "pl.DataFrame":
    """Return the series of a flow up to its completion.

    After its completion, a flow keeps its last values and a rate of 0, which say nothing about the path.
    """
    return under_way(results, results.flows.filter(results.flows["flow"] == flow))


def under_way(results: "Results", series: "pl.DataFrame") -> "pl.DataFrame":
    """Return the series of flows, each up to its flow's completion."""
    import polars as pl

    flows = results.summary["flows"]
    ends_s = {flow["name"]: flow["completion_s"] for flow in flows if flow["completion_s"] is not None}
    if not ends_s or series.is_empty():
        return series
    end = pl.col("flow").cast(pl.String).replace_strict(ends_s, default=None, return_dtype=pl.Float64)
    return series.filter(end.is_null() | (pl.col("time_s") <= end))


def count(flow: Entry, key: str) -> int | None:
    """Return a counter of a flow within the measurement window, or over the whole run without one.

    Args:
        flow: Flow of `summary.json`; in a recording the value may be unknown.
        key: `sent_segments`, `retransmitted_segments`, `lost_segments`, `timeouts` or `fast_recoveries`.
    """
    found: int | None = flow.get("window", flow)[key]
    return found
