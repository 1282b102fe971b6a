"""Congestion episodes and states of flows, marked in every time plot of the page."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from ackclock.base.printable import plain
from ackclock.plotting.report.packed_columns import Columns
from ackclock.results import Results
from ackclock.stats.metrics import Floats

if TYPE_CHECKING:
    import polars as pl

    from ackclock.plotting.report.page_content import Window

CAUSES: Final = ("loss", "ecn", "timeout")
_MOST_STATES: Final = 300_000
"""Largest number of state spans in a page, some 1.5 MB; beyond it, the shortest are merged into their predecessors."""


def moments(
    results: list[Results], places: Mapping[tuple[int, str], int], columns: Columns, window: "Window"
) -> dict[str, Any]:
    """Return the episodes of all flows: flow, cause, begin, end, number of segments, and the window around it.

    Args:
        results: One run or several.
        places: Index of each flow by run and name.
        columns: Columns of the page.
        window: Time shown.
    """
    import polars as pl

    parts = []
    for run, result in enumerate(results):
        rows = own_episodes(result.episodes)
        if rows.is_empty():
            continue
        flows = [places.get((run, str(name)), -1) for name in rows["flow"].to_list()]
        causes = [CAUSES.index(cause) if cause in CAUSES else 0 for cause in rows["cause"].to_list()]
        parts.append(
            pl.DataFrame(
                {"flow": flows, "cause": causes, "at": rows["time_s"], "for": rows["duration_s"].fill_null(0.0),
                 "lost": rows["lost_segments"] + rows["marked_segments"], "before": rows["cwnd_before_bytes"],
                 "after": rows["cwnd_after_bytes"], "spurious": rows["spurious"].cast(pl.UInt8)}
            )
        )  # fmt: skip
    if not parts:
        return {"count": 0}
    every = pl.concat(parts).filter(pl.col("flow") >= 0).sort("at")
    every = every[window.of(every["at"].to_numpy())]
    found: dict[str, Any] = {"count": every.height, "at": columns.times(every["at"].to_numpy())}
    for key in ("flow", "cause", "for", "lost", "before", "after", "spurious"):
        found[key] = columns.values(every[key].cast(pl.Float64).fill_null(float("nan")).to_numpy())
    return found


def own_episodes(episodes: "pl.DataFrame") -> "pl.DataFrame":
    """Return the episodes of the flows themselves, without those of appliances on their path."""
    return episodes.filter(episodes["appliance"].is_null()) if "appliance" in episodes.columns else episodes


@dataclass(frozen=True, slots=True)
class Spans:
    """Spans of controller states, flow after flow; without gaps within a flow.

    Attributes:
        flow: Index of each span's flow.
        state: Index of each span's state.
        begin_s: Beginning, s.
        end_s: End, s.
        joined_s: Length below which spans were merged into their predecessors, s; 0 if none were.
    """

    flow: Floats
    state: Floats
    begin_s: Floats
    end_s: Floats
    joined_s: float = 0.0


def states(
    results: list[Results], places: Mapping[tuple[int, str], int], columns: Columns, window: "Window", end_s: float
) -> dict[str, Any]:
    """Return the controller states of each flow over time; empty without events.

    Returns:
        `names` of the states, `count` of the spans, columns of their `flow`, `state`, `at` and `until`, and `joined`:
        the length below which spans were merged, s.
    """
    names: list[str] = []
    spans: list[tuple[float, float, float, float]] = []
    for run, result in enumerate(results):
        if "kind" not in result.events.columns:
            continue
        rows = result.events.filter(result.events["kind"] == "controller_state")
        for (source,), own in rows.group_by("source", maintain_order=True):
            flow = places.get((run, str(source)), -1)
            if flow >= 0:
                spans += _spans(flow, own, names, window, min(end_s, _end_of(result, str(source))))
    if not spans:
        return {"names": [], "count": 0}
    shown = joined(Spans(*np.array(spans, dtype=np.float64).T), _MOST_STATES)
    return {
        "names": [plain(name.replace("_", " ")) for name in names],
        "count": shown.flow.size,
        "flow": columns.values(shown.flow),
        "state": columns.values(shown.state),
        "at": columns.times(shown.begin_s),
        "until": columns.times(shown.end_s),
        "joined": shown.joined_s,
    }


def _spans(
    flow: int, rows: "pl.DataFrame", names: list[str], window: "Window", end_s: float
) -> list[tuple[float, float, float, float]]:
    at = [0.0, *rows["time_s"].to_list(), end_s]
    of = [str(rows["from_state"][0]), *map(str, rows["to_state"].to_list())]
    names += [name for name in dict.fromkeys(of) if name not in names]
    last = np.inf if window.end_s is None else window.end_s
    return [
        (flow, names.index(name), begin, min(until, last))
        for name, begin, until in zip(of, at, at[1:], strict=False)
        if until > max(begin, window.begin_s) and begin < last
    ]


def joined(spans: Spans, most: int) -> Spans:
    """Merge the shortest spans into their predecessors, until there are few enough.

    Args:
        spans: All spans.
        most: Largest number of spans; each flow keeps at least one.
    """
    found = spans
    whole_s = float(spans.end_s.max() - spans.begin_s.min())
    short_s = whole_s / max(1, most) / 4
    while found.flow.size > most and found.joined_s < whole_s:
        found = _joined(spans, short_s)
        short_s *= 1.5
    return found


def _joined(spans: Spans, short_s: float) -> Spans:
    is_first = np.concatenate(([True], spans.flow[1:] != spans.flow[:-1]))
    kept = is_first | (spans.end_s - spans.begin_s >= short_s)
    flow, state = spans.flow[kept], spans.state[kept]
    # Of two that are beside each other now and are the same, the first goes on.
    begins = np.concatenate(([True], (flow[1:] != flow[:-1]) | (state[1:] != state[:-1])))
    first = np.flatnonzero(kept)[begins]
    last = np.append(first[1:] - 1, spans.flow.size - 1)
    return Spans(spans.flow[first], spans.state[first], spans.begin_s[first], spans.end_s[last], short_s)


def _end_of(result: Results, flow: str) -> float:
    return result.flow(flow)["completion_s"] or float("inf")
