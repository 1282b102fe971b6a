"""Time-sequence plot of a flow: data, retransmissions, ACKs, SACKs, the receive window, drops.

From the capture at the sender's host where there is one (`flow.NAME.capture = true`), which alone has SACKs and the
window; else from the events `segment_sent` and `ack_arrived`. Drops are of the event `packet_dropped`. Positions count
from the SYN, as events do.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from ackclock.plotting.report.packed_columns import Columns
from ackclock.plotting.report.sender_capture import segments
from ackclock.results import Results
from ackclock.stats.metrics import Floats

if TYPE_CHECKING:
    import polars as pl

    from ackclock.plotting.report.page_content import Window

_MOST: Final = 150_000
"""Bars of data and steps of ACKs in a page; with more, those close to each other are drawn as one."""

_Whole = NDArray[np.int64]


def _none() -> _Whole:
    return np.empty(0, dtype=np.int64)


def _never() -> Floats:
    return np.empty(0)


@dataclass(frozen=True, slots=True)
class TimeSequence:
    """One flow's packets: times in seconds, positions in octets since the SYN.

    Attributes:
        source: `capture` or `events`.
        sent_s: When each segment of data left.
        begin: Where it begins.
        end: And ends.
        is_again: Whether it was a retransmission.
        acked_s: When each ACK arrived.
        acked: What it acknowledged.
        edge: Up to where the receiver's window reached; empty where that is not known.
        sacked_s: When each block of a SACK arrived.
        left: Where it begins.
        right: And ends.
        dropped_s: When a segment of it was dropped on the way.
        dropped: Where that begins.
        merged_s: What lies within this time is one bar; 0 where nothing was merged.
    """

    source: str
    sent_s: Floats = field(default_factory=_never)
    begin: _Whole = field(default_factory=_none)
    end: _Whole = field(default_factory=_none)
    is_again: _Whole = field(default_factory=_none)
    acked_s: Floats = field(default_factory=_never)
    acked: _Whole = field(default_factory=_none)
    edge: _Whole = field(default_factory=_none)
    sacked_s: Floats = field(default_factory=_never)
    left: _Whole = field(default_factory=_none)
    right: _Whole = field(default_factory=_none)
    dropped_s: Floats = field(default_factory=_never)
    dropped: _Whole = field(default_factory=_none)
    merged_s: float = 0.0

    @property
    def size(self) -> int:
        """Number of items to draw."""
        return self.sent_s.size + self.acked_s.size


def packets(
    results: list[Results], places: Mapping[tuple[int, str], int], columns: Columns, window: "Window"
) -> list[dict[str, Any]]:
    """Return the time-sequences of a page, of every flow whose packets were recorded."""
    found = []
    for run, result in enumerate(results):
        for flow in result.summary["flows"]:
            name = str(flow["name"])
            one = time_sequence(result, name)
            if one is not None and one.size:
                found.append((places[run, name], _within(one, window)))
    most = _MOST // max(1, len(found))
    return [_entry(place, merged(one, most), columns) for place, one in found]


def time_sequence(result: Results, flow: str) -> TimeSequence | None:
    """Return a flow's packets as its sender saw them; None if they were not recorded."""
    capture = result.captures.get(f"flow {flow}")
    events = result.events
    if events.width:
        events = events.filter((events["source"] == flow) | (events["flow"] == flow))
    found = _of_capture(capture) if capture is not None else _of_events(events) if events.width else None
    if found is None or not events.width:
        return found
    drops = events.filter((events["kind"] == "packet_dropped") & events["is_forward"] & (events["payload_bytes"] > 0))
    at, sequence = drops["time_s"].to_numpy(), drops["sequence"].cast(int).to_numpy()
    return replace(found, dropped_s=at, dropped=_near_what_was_sent(sequence, at, found))


def _of_capture(path: Path) -> TimeSequence:
    data, acks, blocks = segments(path)
    again = _is_again(data.begin, data.end)
    return TimeSequence(
        "capture", data.time_s, data.begin, data.end, again, acks.time_s, acks.begin, acks.end,
        blocks.time_s, blocks.begin, blocks.end,
    )  # fmt: skip


def _is_again(begin: _Whole, end: _Whole) -> _Whole:
    """Whether each segment begins below what was sent before it."""
    highest = np.maximum.accumulate(end) if end.size else end
    before = np.concatenate(([0], highest[:-1])) if end.size else end
    return (begin < before).astype(np.int64)


def _of_events(events: "pl.DataFrame") -> TimeSequence | None:
    sent = events.filter(events["kind"] == "segment_sent")
    acks = events.filter(events["kind"] == "ack_arrived")
    if sent.is_empty():
        return None
    begin = sent["offset_bytes"].cast(int).to_numpy()
    return TimeSequence(
        "events",
        sent["time_s"].to_numpy(),
        begin,
        begin + sent["size_bytes"].cast(int).to_numpy(),
        sent["is_retransmission"].fill_null(False).cast(int).to_numpy(),
        acks["time_s"].to_numpy(),
        acks["offset_bytes"].cast(int).to_numpy(),
    )


def _near_what_was_sent(sequence: _Whole, at: Floats, one: TimeSequence) -> _Whole:
    """Numbers of 32 bits as positions: those nearest to what had been sent by then."""
    if not one.sent_s.size:
        return sequence
    highest = np.maximum.accumulate(one.end)
    near = highest[np.maximum(np.searchsorted(one.sent_s, at, "right") - 1, 0)]
    return sequence + ((near - sequence + 2**31) >> 32 << 32)


def _within(one: TimeSequence, window: "Window") -> TimeSequence:
    sent, acked = window.of(one.sent_s), window.of(one.acked_s)
    sacked, dropped = window.of(one.sacked_s), window.of(one.dropped_s)
    return TimeSequence(
        one.source, one.sent_s[sent], one.begin[sent], one.end[sent], one.is_again[sent], one.acked_s[acked],
        one.acked[acked], one.edge[acked] if one.edge.size else one.edge, one.sacked_s[sacked], one.left[sacked],
        one.right[sacked], one.dropped_s[dropped], one.dropped[dropped],
    )  # fmt: skip


def merged(one: TimeSequence, most: int) -> TimeSequence:
    """Return packets with those that follow each other closely as one, until there are few enough.

    Retransmissions, SACKs and drops stay single.
    """
    span_s = float(one.sent_s[-1] - one.sent_s[0]) if one.sent_s.size else 0.0
    gap_s = span_s / max(1, most) / 4
    found = one
    while found.size > most and gap_s < span_s:
        found = _merged(one, gap_s)
        gap_s *= 1.5
    return found


def _merged(one: TimeSequence, gap_s: float) -> TimeSequence:
    """New data in order within the same while, as one bar; of the ACKs in it the last."""
    while_of = np.floor(one.sent_s / gap_s)
    follows = (
        (one.begin[1:] == one.end[:-1])
        & (one.is_again[1:] == 0)
        & (one.is_again[:-1] == 0)
        & (while_of[1:] == while_of[:-1])
    )
    first = np.flatnonzero(np.concatenate(([True], ~follows)))
    last = np.append(first[1:] - 1, one.sent_s.size - 1)
    acks = (
        np.flatnonzero(np.append(np.diff(np.floor(one.acked_s / gap_s)) > 0, True)) if one.acked_s.size else first[:0]
    )
    return replace(
        one, sent_s=one.sent_s[first], begin=one.begin[first], end=one.end[last], is_again=one.is_again[first],
        acked_s=one.acked_s[acks], acked=one.acked[acks], edge=one.edge[acks] if one.edge.size else one.edge,
        merged_s=gap_s,
    )  # fmt: skip


def _entry(place: int, one: TimeSequence, columns: Columns) -> dict[str, Any]:
    return {
        "flow": place,
        "source": one.source,
        "merged": one.merged_s,
        "sent": columns.times(one.sent_s),
        "begin": columns.counts(one.begin),
        "size": columns.counts(one.end - one.begin),
        "again": columns.values(one.is_again.astype(np.float64)),
        "acked": columns.times(one.acked_s),
        "ack": columns.counts(one.acked),
        "edge": columns.counts(one.edge) if one.edge.size else None,
        "sacked": columns.times(one.sacked_s),
        "left": columns.counts(one.left),
        "right": columns.counts(one.right),
        "dropped": columns.times(one.dropped_s),
        "drop": columns.counts(one.dropped),
    }
