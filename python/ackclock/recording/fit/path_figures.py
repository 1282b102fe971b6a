"""What results show of the path that they were made over: the same figures of a recording and of a simulation.

Each is a plain estimate that anybody would make by eye: the least round trip; what arrives in all while packets wait;
how much longer round trips become at most; how many segments are lost while few packets wait; for how long, and by
how much, less arrives than at other times. Their bias is not corrected here: `search` does it with simulations.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from ackclock.stats.metrics import Flags, Floats
from ackclock.stats.run_window import until_completed

if TYPE_CHECKING:
    import polars as pl

    from ackclock.results import Results

PACKET: Final = 1500
"""Octets of a full packet, in which queues are counted."""

SEGMENT: Final = 1448
"""Octets of payload in one, with timestamps."""

FULL_QUANTILE: Final = 0.98
"""The queue is full when the round trip is as long as this share of the time it is shorter."""

_BUSY: Final = 0.2
"""Packets wait while a round trip is longer than the least by this share of the greatest wait."""

_EARLY: Final = 0.5
"""A loss is not the queue's while the wait is shorter than this share of the greatest."""

_WAITING: Final = 0.1
_PACKETS: Final = 2 * 8 * PACKET
"""Packets wait at a time, if a round trip is longer by a tenth of the greatest wait and by two packets, in bits."""

_AT_WINDOW: Final = 0.9
"""As much of the receiver's window is under way where that, and not the path, is what holds a flow back."""

_FEWEST_WINDOWS: Final = 4
_LEAST_CROSS: Final = 0.1
"""Cross traffic of less than this share of the rate is not looked for."""


@dataclass(frozen=True, slots=True)
class How:
    """How results are looked at, the same for a recording and for what is held beside it.

    Attributes:
        flows: Names of the flows that count.
        rtt: The column of round trips.
        rate: The column of rates.
        step_s: Between two looks at a round trip.
        window_s: Over which rates are taken.
        duration_s: Until when.
    """

    flows: tuple[str, ...]
    rtt: str
    rate: str
    step_s: float
    window_s: float
    duration_s: float


@dataclass(frozen=True, slots=True)
class Burst:
    """Cross traffic of a constant rate for some time."""

    rate_bps: float
    from_s: float
    until_s: float


@dataclass(frozen=True, slots=True)
class Figures:
    """What is seen; NaN where nothing is.

    Attributes:
        base_s: The least round trip of each flow.
        rate_bps: Payload of all flows together while packets wait.
        depth_s: How much longer than the least a round trip becomes.
        early_loss: Segments lost while few packets waited, as a share of those sent.
        early_losses: How many that are.
        burst: When less arrived, if at any time; beside it `rate_bps` is that of the rest.
        waiting: The share of the time in which packets waited.
        quiet: The share of the time in which a loss would have been told from one of the queue.
        sent: Segments sent.
        goodput_bps: Of each flow, over its time.
        rtt_mean_s: Of all flows, over time.
        rtt_p95_s: Likewise.
        cwnd_bytes: Mean over time, of all flows.
        retransmitted: Segments sent again, as a share of those sent.
        full_losses: How many episodes of loss began while packets waited: only these show where a queue ends.
        limited: The share of the time in which a flow stood at its receiver's window; NaN where that is not recorded.
    """

    base_s: Floats
    rate_bps: float
    depth_s: float
    early_loss: float
    early_losses: int
    burst: Burst | None
    waiting: float
    quiet: float
    sent: int
    goodput_bps: Floats
    rtt_mean_s: float
    rtt_p95_s: float
    cwnd_bytes: float
    retransmitted: float
    full_losses: int
    limited: float


@dataclass(frozen=True, slots=True)
class _Flow:
    grid_s: Floats
    rtt_s: Floats
    edges_s: Floats
    octets: Floats
    """Payload that has arrived by each edge of the windows."""
    cwnd: Floats


def figures(results: "Results", how: How, burst: Burst | None = None, *, searches: bool = False) -> Figures:
    """Look at results.

    Args:
        results: A recording, or a run.
        how: How to look.
        burst: When less arrived, as it was found in the recording; None if that was never.
        searches: Look for it.
    """
    rows = {name: until_completed(results, name) for name in how.flows}
    flows = {name: _flow(rows[name], how) for name in how.flows}
    entries = [results.flow(name) for name in how.flows]
    base_s = np.array([_least(flows[name], results, name, how) for name in how.flows])
    waits = {name: flows[name].rtt_s - base for name, base in zip(how.flows, base_s, strict=True)}
    every = np.concatenate([wait[~np.isnan(wait)] for wait in waits.values()])
    depth_s = float(np.quantile(every, FULL_QUANTILE)) if every.size else math.nan
    totals, is_busy, middle_s = _windows(flows, waits, depth_s)
    if searches:
        burst = burst_in(totals, is_busy, middle_s, how.window_s)
    rate_bps, found = rate_outside(totals, is_busy, middle_s, burst)
    early, full, lost = _early(results, flows, waits, depth_s, how)
    sent = _sent(entries)
    again = [entry["retransmitted_segments"] for entry in entries]
    rtts = np.concatenate([flow.rtt_s[~np.isnan(flow.rtt_s)] for flow in flows.values()])
    cwnds = np.concatenate([flow.cwnd[~np.isnan(flow.cwnd)] for flow in flows.values()])
    return Figures(
        base_s,
        rate_bps,
        depth_s,
        lost / sent if sent else math.nan,
        early,
        found,
        float((every > max(_WAITING * depth_s, _PACKETS / max(rate_bps, 1.0))).mean()) if every.size else 0.0,
        float((every < _EARLY * depth_s).mean()) if every.size else 0.0,
        sent,
        np.array([math.nan if entry["goodput_bps"] is None else entry["goodput_bps"] for entry in entries]),
        float(rtts.mean()) if rtts.size else math.nan,
        float(np.quantile(rtts, 0.95)) if rtts.size else math.nan,
        float(cwnds.mean()) if cwnds.size else math.nan,
        sum(again) / sent if sent and None not in again else math.nan,
        full,
        _limited(list(rows.values())),
    )


def _flow(rows: "pl.DataFrame", how: How) -> _Flow:
    time_s = rows["time_s"].to_numpy()
    rtt_times, rtts = _known(rows, how.rtt)
    cwnd_times, cwnds = _known(rows, "cwnd_bytes")
    begin, end = (float(time_s[0]), min(float(time_s[-1]), how.duration_s)) if time_s.size else (0.0, 0.0)
    grid = np.arange(begin, end, how.step_s)
    first, last = math.ceil(begin / how.window_s), math.floor(end / how.window_s)
    edges = np.arange(first, last + 1, dtype=np.float64) * how.window_s
    return _Flow(
        grid, _held(grid, rtt_times, rtts), edges, _arrived(rows, how.rate, edges), _held(grid, cwnd_times, cwnds)
    )


def _known(rows: "pl.DataFrame", column: str) -> tuple[Floats, Floats]:
    if column not in rows.columns:
        return np.array([]), np.array([])
    kept = rows.filter(rows[column].is_not_null() & rows[column].cast(float).is_not_nan())
    return kept["time_s"].to_numpy(), kept[column].cast(float).to_numpy()


def _held(grid: Floats, times: Floats, values: Floats) -> Floats:
    """The latest value at each time of a grid; NaN before the first."""
    if not times.size:
        return np.full(grid.size, math.nan)
    places = np.searchsorted(times, grid, side="right") - 1
    return np.where(places >= 0, values[np.maximum(places, 0)], math.nan)


def _arrived(rows: "pl.DataFrame", column: str, edges: Floats) -> Floats:
    """What a series of rates, each since the value before it, comes to by some times."""
    times, rates = _known(rows, column)
    if times.size < 2 or not edges.size:
        return np.zeros(edges.size)
    octets = np.concatenate([[0.0], np.cumsum(rates[1:] * np.diff(times)) / 8.0])
    found: Floats = np.interp(edges, times, octets)
    return found


def _least(flow: _Flow, results: "Results", name: str, how: How) -> float:
    """Of the samples; where only smoothed ones were recorded, what the kernel remembers as the least, if that was."""
    rows = results.flows.filter(results.flows["flow"] == name)
    if how.rtt == "srtt_s" and "min_rtt_s" in rows.columns and rows["min_rtt_s"].count():
        return float(rows["min_rtt_s"].drop_nulls().min())  # type: ignore[arg-type]
    summary = results.flow(name)["rtt_ms"]
    if summary is not None:
        return summary["min"] / 1e3
    return float(np.nanmin(flow.rtt_s)) if not np.isnan(flow.rtt_s).all() else math.nan


def _windows(flows: dict[str, _Flow], waits: dict[str, Floats], depth_s: float) -> tuple[Floats, Flags, Floats]:
    """Of each window with all flows together: bits per second, whether packets waited, and its middle."""
    last = max((flow.edges_s[-1] for flow in flows.values() if flow.edges_s.size), default=0.0)
    first = min((flow.edges_s[0] for flow in flows.values() if flow.edges_s.size), default=0.0)
    width = next((flow.edges_s[1] - flow.edges_s[0] for flow in flows.values() if flow.edges_s.size > 1), 1.0)
    edges = np.arange(round(first / width), round(last / width) + 1) * width
    totals, wait = np.zeros(edges.size - 1), np.zeros(edges.size - 1)
    for name, flow in flows.items():
        if flow.edges_s.size < 2:
            continue
        arrived = np.interp(edges, flow.edges_s, flow.octets)
        totals += 8.0 * np.diff(arrived) / width
        for place in range(edges.size - 1):
            inside = (flow.grid_s >= edges[place]) & (flow.grid_s < edges[place + 1]) & ~np.isnan(waits[name])
            if inside.any():
                wait[place] = max(wait[place], float(np.min(waits[name][inside])))
    return totals, wait > _BUSY * depth_s, (edges[:-1] + edges[1:]) / 2


def _limited(flows: "Sequence[pl.DataFrame]") -> float:
    """The share of samples in which as much was under way as the receiver has room for, of the flow with the most."""
    columns = flows[0].columns
    sent = next((name for name in ("flight_size_bytes", "cwnd_bytes") if name in columns), "")
    if not sent or "rwnd_bytes" not in columns:
        return math.nan
    shares = []
    for flow in flows:
        rows = flow.select(sent, "rwnd_bytes").drop_nulls()
        if rows.height:
            at_window = rows[sent] >= _AT_WINDOW * rows["rwnd_bytes"]
            shares.append(at_window.sum() / rows.height)
    return max(map(float, shares), default=math.nan)


def burst_in(totals: Floats, is_busy: Flags, middle_s: Floats, width_s: float) -> Burst | None:
    """Return when less arrived than at other times, if ever.

    Args:
        totals: What arrived in each window, bits per second.
        is_busy: Whether packets waited in it.
        middle_s: Its middle.
        width_s: Of a window.
    """
    busy = totals[is_busy]
    return _burst(busy, middle_s[is_busy], width_s) if busy.size >= _FEWEST_WINDOWS else None


def rate_outside(totals: Floats, is_busy: Flags, middle_s: Floats, burst: Burst | None) -> tuple[float, Burst | None]:
    """Return the rate while packets wait, and the time in which it is lower, if any.

    Args:
        totals: What arrived in each window, bits per second.
        is_busy: Whether packets waited in it.
        middle_s: Its middle.
        burst: When less arrived, if ever.
    """
    busy, times = totals[is_busy], middle_s[is_busy]
    if busy.size < _FEWEST_WINDOWS:
        return (float(np.quantile(totals, 0.9)) if totals.size else math.nan), None
    if burst is None:
        return float(np.median(busy)), None
    inside = (times > burst.from_s) & (times < burst.until_s)
    if not inside.any() or inside.all():
        return float(np.median(busy)), None
    outside = float(np.median(busy[~inside]))
    return outside, Burst(max(outside - float(np.median(busy[inside])), 0.0), burst.from_s, burst.until_s)


def _burst(rates: Floats, times: Floats, width_s: float) -> Burst | None:
    """The one interval whose mean differs most from the rest, by least squares; None if it is not worth it."""
    count = rates.size
    sums = np.concatenate([[0.0], np.cumsum(rates)])
    best, place = 0.0, (0, 0)
    for begin in range(count):
        ends = np.arange(begin + 2, count + 1)
        inner = ends - begin
        outer = count - inner
        usable = outer >= 2
        if not usable.any():
            continue
        within = (sums[ends] - sums[begin]) / inner
        rest = (sums[-1] - sums[ends] + sums[begin]) / np.maximum(outer, 1)
        gain = np.where(usable & (within < rest), (rest - within) ** 2 * inner * outer / count, 0.0)
        if gain.max() > best:
            best, place = float(gain.max()), (begin, int(ends[gain.argmax()]))
    begin, end = place
    inside = np.zeros(count, dtype=bool)
    inside[begin:end] = True
    if best == 0.0 or not _is_worth_it(rates, inside):
        return None
    missing = float(np.median(rates[~inside]) - np.median(rates[inside]))
    return Burst(missing, float(times[begin] - width_s / 2), float(times[end - 1] + width_s / 2))


def _is_worth_it(rates: Floats, inside: Flags) -> bool:
    """Less by a tenth at least, by six standard errors, and in every window below nearly every one outside."""
    rest, within = rates[~inside], rates[inside]
    missing = float(np.median(rest) - np.median(within))
    error = math.sqrt(float(rest.var()) / rest.size + float(within.var()) / within.size)
    apart = float(np.quantile(within, 0.9)) < float(np.quantile(rest, 0.1))
    return apart and missing > _LEAST_CROSS * float(np.median(rest)) and missing > 6 * error


def _early(
    results: "Results", flows: dict[str, _Flow], waits: dict[str, Floats], depth_s: float, how: How
) -> tuple[int, int, int]:
    """Episodes that began while few packets waited, those that did not, and the segments lost in the former."""
    episodes, count, full, lost = results.episodes, 0, 0, 0
    for row in episodes.filter(episodes["flow"].is_in(how.flows)).iter_rows(named=True):
        flow, wait = flows[row["flow"]], waits[row["flow"]]
        # What was dropped is noticed a round trip later: the longest wait since then is the queue's at the drop.
        until = int(np.searchsorted(flow.grid_s, row["time_s"], side="right"))
        span = max(1, round(2 * float(np.nanmin(flow.rtt_s)) / how.step_s)) if not np.isnan(flow.rtt_s).all() else 1
        seen = wait[max(0, until - span) : until]
        if seen.size and not np.isnan(seen).all() and float(np.nanmax(seen)) < _EARLY * depth_s:
            count += 1
            lost += int(row["lost_segments"] or 1)
        else:
            full += 1
    return count, full, lost


def _sent(entries: Sequence[Any]) -> int:
    """Segments; of a source that does not count them, as many as the payload has of the usual size."""
    counts = [entry["sent_segments"] for entry in entries]
    octets = [entry["delivered_bytes"] or 0 for entry in entries]
    return sum(size // SEGMENT if count is None else count for count, size in zip(counts, octets, strict=True))
