"""Congestion episodes and states of flows, which the page marks in every plot over time."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from ackclock.report.columns import Columns
from ackclock.results import Results
from ackclock.shown import plain

if TYPE_CHECKING:
    import polars as pl

    from ackclock.report.content import Window

CAUSES: Final = ("loss", "ecn", "timeout")
_MOST_STATES: Final = 20_000


def moments(
    results: list[Results], places: Mapping[tuple[int, str], int], columns: Columns, window: "Window"
) -> dict[str, Any]:
    """Return the episodes of all flows: whose, why, from when to when, how many segments, and the window around it.

    Args:
        results: One run or several.
        places: Of each flow by run and name.
        columns: Of the page.
        window: What is shown.
    """
    import polars as pl

    parts = []
    for run, result in enumerate(results):
        rows = _own(result.episodes)
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


def _own(episodes: "pl.DataFrame") -> "pl.DataFrame":
    """Of flows themselves, not of appliances that take them."""
    return episodes.filter(episodes["appliance"].is_null()) if "appliance" in episodes.columns else episodes


def states(
    results: list[Results], places: Mapping[tuple[int, str], int], window: "Window", end_s: float
) -> dict[str, Any]:
    """Return which state each flow's controller was in, from when to when; empty where no events tell.

    Args:
        results: One run or several.
        places: As of `moments`.
        window: What is shown.
        end_s: Where the time axis ends.

    Returns:
        `names` of the states, and `spans`: a list of flow, state, begin and end in seconds.
    """
    names: list[str] = []
    spans: list[list[float]] = []
    for run, result in enumerate(results):
        if "kind" not in result.events.columns:
            continue
        rows = result.events.filter(result.events["kind"] == "controller_state")
        for (source,), own in rows.group_by("source", maintain_order=True):
            flow = places.get((run, str(source)), -1)
            if flow < 0 or len(spans) > _MOST_STATES:
                continue
            spans += _spans(flow, own, names, window, min(end_s, _end_of(result, str(source))))
    return {"names": [plain(name.replace("_", " ")) for name in names], "spans": spans}


def _spans(flow: int, rows: "pl.DataFrame", names: list[str], window: "Window", end_s: float) -> list[list[float]]:
    at = [0.0, *rows["time_s"].to_list(), end_s]
    of = [str(rows["from_state"][0]), *map(str, rows["to_state"].to_list())]
    names += [name for name in dict.fromkeys(of) if name not in names]
    last = np.inf if window.end_s is None else window.end_s
    return [
        [flow, names.index(name), round(begin, 6), round(min(until, last), 6)]
        for name, begin, until in zip(of, at, at[1:], strict=False)
        if until > max(begin, window.begin_s) and begin < last
    ]


def _end_of(result: Results, flow: str) -> float:
    return result.flow(flow)["completion_s"] or float("inf")
