"""Observables of a path in results, defined alike for recordings and simulations.

Each is a plain estimate: the minimum RTT; the total arrival rate while packets queue; the maximum queueing delay; the
losses while the queue is short; and the time and amount of a drop in the arrival rate. Their bias is not corrected
here: `search` does so with simulations.
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
"""Size of a full packet, the unit of queue lengths, octets."""

SEGMENT: Final = 1448
"""Payload of a full packet with timestamps, octets."""

FULL_QUANTILE: Final = 0.98
"""Quantile of the RTT over time at which the queue counts as full."""

_BUSY: Final = 0.2
"""Fraction of the maximum queueing delay above which packets count as queued."""

_EARLY: Final = 0.5
"""Fraction of the maximum queueing delay below which a loss does not count as the queue's."""

_WAITING: Final = 0.1
_PACKETS: Final = 2 * 8 * PACKET
"""Size of two packets in bits: a delay above it and above a tenth of the maximum counts as queueing."""

_AT_WINDOW: Final = 0.9
"""Share of the receive window in flight above which the window, not the path, limits a flow."""

_FEWEST_WINDOWS: Final = 4
_LEAST_CROSS: Final = 0.1
"""Share of the rate below which cross traffic is ignored."""


@dataclass(frozen=True, slots=True)
class How:
    """Settings of the observation, the same for a recording and its simulations.

    Attributes:
        flows: Names of the flows that count.
        rtt: Column of round-trip times.
        rate: Column of rates.
        step_s: Sampling interval of round-trip times.
        window_s: Averaging window of rates.
        duration_s: End of the observation.
    """

    flows: tuple[str, ...]
    rtt: str
    rate: str
    step_s: float
    window_s: float
    duration_s: float


@dataclass(frozen=True, slots=True)
class Burst:
    """Cross traffic at a constant rate for some time."""

    rate_bps: float
    from_s: float
    until_s: float


@dataclass(frozen=True, slots=True)
class Figures:
    """Observables of a path; NaN where not observed.

    Attributes:
        base_s: Minimum RTT of each flow.
        rate_bps: Payload rate of all flows together while packets queue.
        depth_s: Maximum queueing delay.
        early_loss: Segments lost while the queue was short, as a share of those sent.
        early_losses: Number of these segments.
        burst: Time of a lower arrival rate, if any; `rate_bps` then covers the rest.
        waiting: Share of the time in which packets queued.
        quiet: Share of the time in which a random loss could be distinguished from one at the queue.
        sent: Segments sent.
        goodput_bps: Goodput of each flow, over its time.
        rtt_mean_s: Time-weighted mean RTT of all flows.
        rtt_p95_s: 95th percentile of the RTT of all flows, over time.
        cwnd_bytes: Time-weighted mean window of all flows.
        retransmitted: Segments retransmitted, as a share of those sent.
        full_losses: Number of loss episodes that began while packets queued; only these reveal the queue's limit.
        limited: Share of the time in which a flow filled its receive window; NaN if not recorded.
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
    """Compute the observables of results.

    Args:
        results: A recording, or a run.
        how: Settings of the observation.
        burst: Time of a lower arrival rate in the recording; None if there is none.
        searches: Whether to search for it.
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
    """Return the latest value at each time of a grid; NaN before the first."""
    if not times.size:
        return np.full(grid.size, math.nan)
    places = np.searchsorted(times, grid, side="right") - 1
    return np.where(places >= 0, values[np.maximum(places, 0)], math.nan)


def _arrived(rows: "pl.DataFrame", column: str, edges: Floats) -> Floats:
    """Return the cumulative sum of a rate series at some times."""
    times, rates = _known(rows, column)
    if times.size < 2 or not edges.size:
        return np.zeros(edges.size)
    octets = np.concatenate([[0.0], np.cumsum(rates[1:] * np.diff(times)) / 8.0])
    found: Floats = np.interp(edges, times, octets)
    return found


def _least(flow: _Flow, results: "Results", name: str, how: How) -> float:
    """Return the minimum RTT sample; or the kernel's own minimum, if only smoothed samples were recorded."""
    rows = results.flows.filter(results.flows["flow"] == name)
    if how.rtt == "srtt_s" and "min_rtt_s" in rows.columns and rows["min_rtt_s"].count():
        return float(rows["min_rtt_s"].drop_nulls().min())  # type: ignore[arg-type]
    summary = results.flow(name)["rtt_ms"]
    if summary is not None:
        return summary["min"] / 1e3
    return float(np.nanmin(flow.rtt_s)) if not np.isnan(flow.rtt_s).all() else math.nan


def _windows(flows: dict[str, _Flow], waits: dict[str, Floats], depth_s: float) -> tuple[Floats, Flags, Floats]:
    """Return, for each window over all flows: rate in bits per second, whether packets queued, and middle time."""
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
    """Return the largest share, over flows, of samples that fill the receive window."""
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
    """Return the time of a lower arrival rate, if there is one.

    Args:
        totals: Arrival rate in each window, bits per second.
        is_busy: Whether packets queued in each window.
        middle_s: Middle of each window.
        width_s: Width of a window.
    """
    busy = totals[is_busy]
    return _burst(busy, middle_s[is_busy], width_s) if busy.size >= _FEWEST_WINDOWS else None


def rate_outside(totals: Floats, is_busy: Flags, middle_s: Floats, burst: Burst | None) -> tuple[float, Burst | None]:
    """Return the arrival rate while packets queue, and the time in which it is lower, if any.

    Args:
        totals: Arrival rate in each window, bits per second.
        is_busy: Whether packets queued in each window.
        middle_s: Middle of each window.
        burst: Known time of a lower rate, if any.
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
    """Return the interval whose mean differs most from the rest, by least squares; None if not significant."""
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
    """Return whether a drop is significant: at least a tenth and six standard errors, and consistent across windows."""
    rest, within = rates[~inside], rates[inside]
    missing = float(np.median(rest) - np.median(within))
    error = math.sqrt(float(rest.var()) / rest.size + float(within.var()) / within.size)
    apart = float(np.quantile(within, 0.9)) < float(np.quantile(rest, 0.1))
    return apart and missing > _LEAST_CROSS * float(np.median(rest)) and missing > 6 * error


def _early(
    results: "Results", flows: dict[str, _Flow], waits: dict[str, Floats], depth_s: float, how: How
) -> tuple[int, int, int]:
    """Return the loss episodes that began with a short queue, all others, and the segments lost in the former."""
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
    """Return the number of segments sent, derived from the payload if the source does not count them."""
    counts = [entry["sent_segments"] for entry in entries]
    octets = [entry["delivered_bytes"] or 0 for entry in entries]
    return sum(size // SEGMENT if count is None else count for count, size in zip(counts, octets, strict=True))
