"""The one time over which the numbers of a row are taken.

A summary has each flow's rate over the time of that flow, and a link's use over the measurement window. Side by side,
flows that begin at different moments would have more together than their link carries. In a row of a table all are over
the run's window. It begins with the first flow, or with the scenario's measurement if that is later. It ends with the
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
"""Traffic beside the flows: with any, a link works on when the flows are over."""


_MOST_USED = 1.01
"""A packet that is under way at an end of the window is a part of it."""


@dataclass(frozen=True, slots=True)
class Window:
    """The window of a run.

    Attributes:
        begin_s: Where it begins.
        end_s: Where it ends.
        measured_s: Where the measurement begins and ends, over which the summary has what it says of links.
    """

    begin_s: float
    end_s: float
    measured_s: tuple[float, float]

    def rate_bps(self, flow: Entry, key: str = "goodput_bps") -> float:
        """Return a flow's rate over the window.

        Args:
            flow: As in `summary.json`.
            key: `goodput_bps` or `throughput_bps`.
        """
        begin, end = self.measured_s
        over = end if flow.get("completion_s") is None else min(end, flow["completion_s"])
        rate: float = flow[key]
        return rate * self._share(over - max(begin, flow.get("start_s", 0.0)))

    def utilization(self, link: Entry) -> float | None:
        """Return a link's use over the window; exact where its rate is constant and flows alone use it.

        Args:
            link: As in `summary.json`.

        Returns:
            None where it would be more than all: its rate was another after the window, and is not known within it.
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
    """Return the flows of a run with rates and counts over its window; of a recording, which has none, as they are."""
    if summary.get("seed") is None:
        return list(summary["flows"])
    window, rates = window_of(summary), ("goodput_bps", "throughput_bps")
    return [
        {**flow, **flow.get("window", {}), **{key: window.rate_bps(flow, key) for key in rates}}
        for flow in summary["flows"]
    ]


def until_completed(results: "Results", flow: str) -> "pl.DataFrame":
    """Return the series of a flow as long as it had anything to send.

    A run goes on to its end with the flow's last values and a rate of 0, which say nothing of the path.
    """
    return under_way(results, results.flows.filter(results.flows["flow"] == flow))


def under_way(results: "Results", series: "pl.DataFrame") -> "pl.DataFrame":
    """Return series of flows, each as long as its flow had anything to send."""
    import polars as pl

    flows = results.summary["flows"]
    ends_s = {flow["name"]: flow["completion_s"] for flow in flows if flow["completion_s"] is not None}
    if not ends_s or series.is_empty():
        return series
    end = pl.col("flow").cast(pl.String).replace_strict(ends_s, default=None, return_dtype=pl.Float64)
    return series.filter(end.is_null() | (pl.col("time_s") <= end))


def count(flow: Entry, key: str) -> int | None:
    """Return a count of a flow within the measurement window; of the whole run where there is none.

    Args:
        flow: As in `summary.json`; of a recording it may not be known.
        key: `sent_segments`, `retransmitted_segments`, `lost_segments`, `timeouts` or `fast_recoveries`.
    """
    found: int | None = flow.get("window", flow)[key]
    return found
