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
from ackclock.plotting.report.sender_capture import Marks, segments
from ackclock.results import Results
from ackclock.stats.metrics import Floats

if TYPE_CHECKING:
    import polars as pl

    from ackclock.plotting.report.page_content import Window

_MOST: Final = 150_000
"""Largest number of bars of data and steps of ACKs in a page; beyond it, adjacent ones are merged."""


@dataclass(frozen=True, slots=True)
class TimeSequence:
    """Packets of one flow: times in seconds, positions in octets since the SYN.

    Attributes:
        source: `capture` or `events`.
        data: Transmission time, begin and end of each data segment.
        is_again: Whether each was a retransmission.
        acks: Arrival time and acknowledged position of each ACK, and the end of the receive window, if known.
        sacks: Arrival time, begin and end of each SACK block.
        drops: Time and begin of each dropped segment.
        merged_s: Time span within which data was merged; 0 if none was.
    """

    source: str
    data: Marks
    is_again: NDArray[np.int64]
    acks: Marks
    sacks: Marks = field(default_factory=Marks)
    drops: Marks = field(default_factory=Marks)
    merged_s: float = 0.0

    @property
    def size(self) -> int:
        """Number of items to draw."""
        return self.data.time_s.size + self.acks.time_s.size


def packets(
    results: list[Results], places: Mapping[tuple[int, str], int], columns: Columns, window: "Window"
) -> list[dict[str, Any]]:
    """Return the time sequences of a page, for every flow with recorded packets."""
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
    return replace(found, drops=Marks(at, _near_what_was_sent(sequence, at, found.data)))


def _of_capture(path: Path) -> TimeSequence:
    data, acks, blocks = segments(path)
    return TimeSequence("capture", data, _is_again(data), acks, blocks)


def _is_again(data: Marks) -> NDArray[np.int64]:
    """Return whether each segment begins below the highest position sent before it."""
    before = np.concatenate(([0], np.maximum.accumulate(data.end)[:-1])) if data.end.size else data.end
    return (data.begin < before).astype(np.int64)


def _of_events(events: "pl.DataFrame") -> TimeSequence | None:
    sent = events.filter(events["kind"] == "segment_sent")
    acks = events.filter(events["kind"] == "ack_arrived")
    if sent.is_empty():
        return None
    begin = sent["offset_bytes"].cast(int).to_numpy()
    return TimeSequence(
        "events",
        Marks(sent["time_s"].to_numpy(), begin, begin + sent["size_bytes"].cast(int).to_numpy()),
        sent["is_retransmission"].fill_null(False).cast(int).to_numpy(),
        Marks(acks["time_s"].to_numpy(), acks["offset_bytes"].cast(int).to_numpy()),
    )


def _near_what_was_sent(sequence: NDArray[np.int64], at: Floats, data: Marks) -> NDArray[np.int64]:
    """Convert 32-bit sequence numbers to the positions nearest to the highest one sent by then."""
    if not data.time_s.size:
        return sequence
    near = np.maximum.accumulate(data.end)[np.maximum(np.searchsorted(data.time_s, at, "right") - 1, 0)]
    return sequence + ((near - sequence + 2**31) >> 32 << 32)


def _within(one: TimeSequence, window: "Window") -> TimeSequence:
    data, acks, sacks, drops = (of[window.of(of.time_s)] for of in (one.data, one.acks, one.sacks, one.drops))
    return TimeSequence(one.source, data, one.is_again[window.of(one.data.time_s)], acks, sacks, drops)


def merged(one: TimeSequence, most: int) -> TimeSequence:
    """Merge adjacent packets, until there are few enough.

    Retransmissions, SACKs and drops are not merged.
    """
    span_s = float(np.ptp(one.data.time_s)) if one.data.time_s.size else 0.0
    gap_s = span_s / max(1, most) / 4
    found = one
    while found.size > most and gap_s < span_s:
        found = _merged(one, gap_s)
        gap_s *= 1.5
    return found


def _merged(one: TimeSequence, gap_s: float) -> TimeSequence:
    """Merge new in-order data within a time span into one bar, and keep the last of its ACKs."""
    data, is_new, while_of = one.data, one.is_again == 0, np.floor(one.data.time_s / gap_s)
    follows = (data.begin[1:] == data.end[:-1]) & is_new[1:] & is_new[:-1] & (while_of[1:] == while_of[:-1])
    first = np.flatnonzero(np.concatenate(([True], ~follows)))
    last = np.append(first[1:] - 1, while_of.size - 1)
    is_last = np.append(np.diff(np.floor(one.acks.time_s / gap_s)) > 0, True)[: one.acks.time_s.size]
    bars = Marks(data.time_s[first], data.begin[first], data.end[last])
    return replace(one, data=bars, is_again=one.is_again[first], acks=one.acks[np.flatnonzero(is_last)], merged_s=gap_s)


def _entry(place: int, one: TimeSequence, columns: Columns) -> dict[str, Any]:
    times, counts = columns.times, columns.counts
    return {
        "flow": place, "source": one.source, "merged": one.merged_s,
        "sent": times(one.data.time_s), "begin": counts(one.data.begin), "size": counts(one.data.end - one.data.begin),
        "again": columns.values(one.is_again.astype(np.float64)), "acked": times(one.acks.time_s),
        "ack": counts(one.acks.begin), "edge": counts(one.acks.end) if one.acks.end.size else None,
        "sacked": times(one.sacks.time_s), "left": counts(one.sacks.begin), "right": counts(one.sacks.end),
        "dropped": times(one.drops.time_s), "drop": counts(one.drops.begin),
    }  # fmt: skip
