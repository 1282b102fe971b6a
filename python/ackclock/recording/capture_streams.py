"""Packet captures as streams, made at any point between the two ends.

Source: RFC 9293 section 3.4 for sequence numbers, RFC 7323 section 4.1 for echoed timestamps. A round trip has two
halves, as seen from the capture point. The first extends from the oldest segment that an ACK first covers to this ACK,
without retransmitted segments, as in Karn's algorithm. The second extends from an ACK to the data that it releases,
which echo its timestamp. Each sample of the first half is completed by the minimum of the second half over the
preceding round trip, since a sender may delay data after an ACK. Data after a silence of several round trips give no
sample, as they waited for the application and not for an ACK. If the second half is nearly zero, the capture was made
at the sender's host; then its overall minimum is used, since any variation is the sender's.

A SYN with another number than the one before it, between the same ports, begins another connection (RFC 9293 section
3.10.7.4): the end of the first need not have been captured.

One octet below the data sent, when all of that is acknowledged, is a keep-alive (RFC 9293 section 3.8.4), not a
retransmission. A stream is complete when all of its payload is acknowledged, whether or not its FIN is. Segments are at
most as long as the shorter MSS that the two ends announce (section 3.7.1).

Departures: the congestion window, ssthresh, timeouts and losses as detected by the sender are not in packets. A segment
with octets seen before is a retransmission. One that fills a gap is a retransmission if it comes more than 3 ms (as in
Wireshark) after the data beyond the gap, and reordered otherwise. An episode lasts from a retransmission until all data
sent by then is acknowledged.
"""

import math
from collections import deque
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from socket import AF_INET, AF_INET6, inet_ntop
from typing import Final

import dpkt
import numpy as np

from ackclock.recording.captured_segments import Captured, CaptureError, End, options_of, segments
from ackclock.recording.streams import Episode, RecordingError, Stream, distribution_ms, rate, rates, recording_of
from ackclock.results.manifests import Recording
from ackclock.stats.metrics import Floats

_WRAP: Final = 1 << 32
_OVERTAKEN_S: Final = 0.003
_AT_SENDER: Final = 0.05
"""Largest share of the second half in the round-trip time for a capture to count as made at the sender."""

_SILENCE: Final = 4
"""Length of a silence, in minimum round-trip times, after which the next data did not wait for an ACK."""

_TIMESTAMPS: Final = 12
"""Size of the timestamp option with its padding in a segment, octets (RFC 7323 appendix A)."""


@dataclass(slots=True)
class Way:
    """One direction: data of its sender, and the ACKs that came back. Offsets count from its first octet."""

    source: End
    destination: End
    first_s: float
    is_opener: bool
    base: int | None = None
    is_opened: bool = False
    """True if `base` comes from a SYN."""
    sent_to: int = 0
    acked_to: int = 0
    mss: int | None = None
    scales: bool | None = None
    """Whether the sender's SYN offers window scaling; None if it was not captured."""
    shift: int | None = None
    """Shift of the receive window; None if the receiver's SYN was not captured."""
    room: float = 0.0
    """Last announced receive window, octets."""
    missing: int = 0
    """Octets that were acknowledged and are missing from the capture, which lost some frames."""
    has_timestamps: bool = False
    segments: int = 0
    retransmitted: int = 0
    octets: int = 0
    is_finished: bool = False
    last_s: float = 0.0
    """Time of the sender's last segment, or of the last ACK of its data."""
    finished_s: float | None = None
    waiting: deque[tuple[int, float]] = field(default_factory=deque)
    """Ends of unacknowledged segments that were sent once, with their times."""
    holes: list[tuple[int, int, float]] = field(default_factory=list)
    """Gaps in the data, with the time when each was skipped."""
    echoes: dict[int, float] = field(default_factory=dict)
    """First time of the ACK with each timestamp."""
    near: list[tuple[float, float, float]] = field(default_factory=list)
    """Samples of the second half: time, duration, and the time without data before it."""
    data_s: float = math.nan
    """Time of the last data."""
    recovery_to: int | None = None
    rows: list[tuple[float, int, int, int, float, float]] = field(default_factory=list)
    """Rows: time, octets acknowledged, sent, and sent including repetitions; sample of the far half; window."""
    episodes: list[Episode] = field(default_factory=list)

    def offset(self, number: int, near: int) -> int:
        """Return the offset with this sequence number, which wraps at 4 GiB, nearest to another offset."""
        assert self.base is not None
        offset = (number - self.base) % _WRAP
        return offset + round((near - offset) / _WRAP) * _WRAP


def read(path: Path) -> tuple[list[Stream], float, Recording]:
    """Read a capture.

    Raises:
        RecordingError: If it is not a capture, is damaged, or has no data over TCP.
    """
    try:
        ways, count, first_s, last_s = ways_of(path)
    except CaptureError as error:
        raise RecordingError(str(error)) from error
    streams = [_stream(way) for way in ways if way.octets > 0]
    if not streams:
        raise RecordingError(
            f"{path} has no data over TCP; capture both directions of a connection: tcpdump -w FILE tcp"
        )
    if not any(way.octets and way.acked_to > 0 for way in ways):
        raise RecordingError(f"{path} has the data of a connection, but not its ACKs; capture both directions")
    began_s = None if first_s is None else float(first_s)
    return streams, last_s, recording_of("capture", count, _notes(ways), began_unix_s=began_s)


def ways_of(path: Path) -> tuple[list[Way], int, Decimal | None, float]:
    """Return the directions of a capture's connections, the number of segments, the start time and the duration.

    The two directions of a connection are adjacent, in the order in which connections were seen.

    Raises:
        CaptureError: If it is not a capture, or damaged.
    """
    ways: dict[tuple[End, End], Way] = {}
    every: list[Way] = []
    first_s: Decimal | None = None
    time_s, count = 0.0, 0
    for captured in segments(path):
        count += 1
        first_s = captured.time_s if first_s is None else first_s
        time_s = float(captured.time_s - first_s)
        _take(ways, every, captured, time_s)
    for way in every:
        _close_holes(way, math.inf)
    return every, count, first_s, time_s


def _notes(ways: list[Way]) -> list[str]:
    notes = ["a capture does not contain congestion windows, controllers, timeouts or the sender's loss decisions"]
    if any(way.octets and not way.near for way in ways):
        notes.append(
            "without timestamps (RFC 7323) round trips are counted from the place of the capture: right at the sender"
        )
    if missing := sum(way.missing for way in ways):
        notes.append(
            f"frames are missing: {missing:,} octets were acknowledged that the capture does not have, so that what "
            "was sent is not known"
        )
    if any(way.octets and way.shift is None for way in ways):
        notes.append(
            "connections whose SYN was not captured have no receive window, and their frames count as segments"
        )
    return notes


def _take(ways: dict[tuple[End, End], Way], every: list[Way], captured: Captured, time_s: float) -> None:
    there, back = (captured.source, captured.destination), (captured.destination, captured.source)
    header = captured.header
    is_opening = bool(header.flags & dpkt.tcp.TH_SYN)
    if there not in ways or (is_opening and _is_another(ways[there], header)):  # or ports that are used again
        is_opener = _opens(captured)
        ways[there], ways[back] = Way(*there, time_s, is_opener), Way(*back, time_s, not is_opener)
        every += ways[there], ways[back]
    way, other = ways[there], ways[back]
    options = options_of(header)
    if is_opening:
        _open(way, other, header, options, time_s)
    way.last_s = time_s
    if captured.payload > 0 or way.base is None:
        _on_data(way, captured, time_s, options)
    if header.flags & dpkt.tcp.TH_ACK and other.base is not None:
        _on_ack(other, header, time_s, options)
    if header.flags & (dpkt.tcp.TH_FIN | dpkt.tcp.TH_RST):
        way.is_finished = True


def _opens(captured: Captured) -> bool:
    """Return whether a first segment comes from the opener: not if it is a SYN-ACK, or has the lower source port."""
    if captured.header.flags & dpkt.tcp.TH_SYN:
        return not captured.header.flags & dpkt.tcp.TH_ACK
    return captured.source[1] >= captured.destination[1]


def _is_another(way: Way, header: dpkt.tcp.TCP) -> bool:
    """Return whether a SYN begins another connection than the known one."""
    return way.is_finished or (way.base != (header.seq + 1) % _WRAP and (way.is_opened or way.octets > 0))


def _open(way: Way, other: Way, header: dpkt.tcp.TCP, options: dict[int, bytes], time_s: float) -> None:
    if not way.is_opened:
        way.base, way.is_opened = (header.seq + 1) % _WRAP, True
        way.acked_to = -1
        way.waiting.append((0, time_s))
    elif way.sent_to == 0:
        way.waiting.clear()  # a SYN that was sent again gives no sample
    mss = options.get(dpkt.tcp.TCP_OPT_MSS)
    if mss is not None and len(mss) == 2:
        for end in (way, other):
            end.mss = min(int.from_bytes(mss, "big"), end.mss or _WRAP)
    scale = options.get(dpkt.tcp.TCP_OPT_WSCALE)
    way.scales, other.shift = bool(scale), min(scale[0], 14) if scale else 0
    if not way.scales or other.scales is False:  # both ends scale or none does (RFC 7323 section 2.2)
        way.shift = other.shift = 0


def _timestamps(options: dict[int, bytes]) -> tuple[int, int] | None:
    value = options.get(dpkt.tcp.TCP_OPT_TIMESTAMP)
    if value is None or len(value) != 8:
        return None
    return int.from_bytes(value[:4], "big"), int.from_bytes(value[4:], "big")


def _on_data(way: Way, captured: Captured, time_s: float, options: dict[int, bytes]) -> None:
    is_opening = bool(captured.header.flags & dpkt.tcp.TH_SYN)
    number = (captured.header.seq + is_opening) % _WRAP
    if way.base is None:
        way.base = number
    if captured.payload <= 0:
        return
    start = way.offset(number, way.sent_to)
    end = start + captured.payload
    if captured.payload == 1 and end == way.sent_to <= way.acked_to:
        return  # a keep-alive
    stamps = _timestamps(options)
    way.has_timestamps |= stamps is not None
    count = _segments_in(way, captured.payload)
    way.segments += count
    way.octets += captured.payload
    if start >= way.sent_to:
        if start > way.sent_to:
            way.holes.append((way.sent_to, start, time_s))
        way.waiting.append((end, time_s))
    elif _is_retransmission(way, start, end, time_s):
        way.retransmitted += count
        _on_retransmission(way, start, time_s)
    if end > way.sent_to:
        way.sent_to, way.finished_s = end, None
    if stamps is not None and (seen_s := way.echoes.pop(stamps[1], None)) is not None:
        way.near.append((time_s, time_s - seen_s, time_s - way.data_s))
    way.data_s = time_s


def _segments_in(way: Way, payload: int) -> int:
    """Return the number of segments in a frame: above the MSS, the network card will still split it."""
    if way.mss is None or payload <= way.mss:
        return 1
    size = max(way.mss - (_TIMESTAMPS if way.has_timestamps else 0), 1)
    return math.ceil(payload / size)


def _is_retransmission(way: Way, start: int, end: int, time_s: float) -> bool:
    """Return whether a segment below the highest offset is a retransmission, rather than reordered."""
    for place, (begin, until, seen_s) in enumerate(way.holes):
        if begin <= start and end <= until:
            del way.holes[place]
            rest = [(begin, start, seen_s), (end, until, seen_s)]
            way.holes[place:place] = [hole for hole in rest if hole[0] < hole[1]]
            return time_s - seen_s > _OVERTAKEN_S
    return True


def _on_retransmission(way: Way, start: int, time_s: float) -> None:
    # What was sent twice gives no sample, and neither does what is acknowledged with it.
    way.waiting = deque(entry for entry in way.waiting if entry[0] <= start)
    if way.recovery_to is None:
        way.recovery_to = way.sent_to
        way.episodes.append(Episode("loss", time_s, lost_segments=0))
    episode = way.episodes[-1]
    episode.lost_segments = (episode.lost_segments or 0) + 1


def _on_ack(way: Way, header: dpkt.tcp.TCP, time_s: float, options: dict[int, bytes]) -> None:
    acked = way.offset(header.ack, way.acked_to)
    stamps = _timestamps(options)
    if stamps is not None and acked > way.acked_to:
        # Data that this ACK lets out echo its timestamp; older ones are answered no more.
        if len(way.echoes) > 1024:
            way.echoes.clear()
        way.echoes.setdefault(stamps[0], time_s)
    far_s = math.nan
    if acked > way.acked_to:
        way.last_s = time_s  # what is acknowledged counts, so its time does, too
        if way.acked_to < way.sent_to <= acked:
            way.finished_s = time_s
        while way.waiting and way.waiting[0][0] <= acked:
            sent_s = way.waiting.popleft()[1]
            far_s = time_s - sent_s if math.isnan(far_s) else far_s
        _on_unseen(way, acked, time_s)
        # A FIN takes a number and is no payload.
        way.acked_to = min(acked, way.sent_to)
    _close_holes(way, time_s - _OVERTAKEN_S)
    if way.recovery_to is not None and acked >= way.recovery_to:
        way.episodes[-1].duration_s = time_s - way.episodes[-1].time_s
        way.recovery_to = None
    is_opening = bool(header.flags & dpkt.tcp.TH_SYN)
    window = math.nan if way.shift is None else float(header.win << (0 if is_opening else way.shift))
    way.room = 0.0 if math.isnan(window) else window
    if way.octets or not math.isnan(far_s):
        way.rows.append((time_s, way.acked_to, way.sent_to, way.octets, far_s, window))


def _on_unseen(way: Way, acked: int, time_s: float) -> None:
    """Handle an ACK of data that was not captured: the capture lost it, or will have it out of order."""
    if 1 < acked - way.sent_to <= way.room:
        way.holes.append((way.sent_to, acked, time_s))
        way.sent_to = acked


def _close_holes(way: Way, until_s: float) -> None:
    """Remove gaps that were acknowledged some time ago, as their data will not be captured any more."""
    while way.holes and way.holes[0][1] <= way.acked_to and way.holes[0][2] <= until_s:
        begin, end, _ = way.holes.pop(0)
        way.missing += end - begin


def _stream(way: Way) -> Stream:
    rows = np.array(way.rows, dtype=float).reshape(-1, 6)
    time_s, acked, sent, octets, far_s, window = (rows[:, column] for column in range(6))
    stream = Stream(f"{_name(way.source)} > {_name(way.destination)}", way.first_s, way.last_s)
    stream.mss_bytes = None if way.mss is None else way.mss - (_TIMESTAMPS if way.has_timestamps else 0)
    stream.completion_s = way.finished_s if way.is_finished else None
    stream.end_s = stream.completion_s if stream.completion_s is not None else way.last_s
    elapsed_s = stream.end_s - stream.start_s
    stream.delivered_bytes = int(acked[-1]) if acked.size else None
    stream.goodput_bps = rate(stream.delivered_bytes, elapsed_s)
    stream.throughput_bps = None if way.missing else rate(way.octets, elapsed_s)
    if not way.missing:
        stream.sent_segments, stream.retransmitted_segments = way.segments, way.retransmitted
    stream.episodes = way.episodes
    samples = far_s + _near(way, time_s, far_s)
    stream.rtt_ms = distribution_ms(samples)
    stream.series = {
        "time_s": time_s,
        "flight_size_bytes": np.maximum(sent - acked, 0.0),
        "rtt_sample_s": samples,
        "rwnd_bytes": window,
        "throughput_bps": rates(time_s, octets),
        "goodput_bps": rates(time_s, acked),
    }
    return stream


def _near(way: Way, time_s: Floats, far_s: Floats) -> Floats:
    """Return the second half of the round-trip time at times, ascending."""
    if not way.near:
        return np.zeros_like(time_s)
    near = np.array(way.near, dtype=float)
    least_s = float(near[:, 1].min())
    round_s = least_s + (float(np.nanmin(far_s)) if not np.isnan(far_s).all() else 0.0)
    near = near[~(near[:, 2] > _SILENCE * round_s)]
    if least_s <= _AT_SENDER * round_s or not near.size:
        return np.full_like(time_s, least_s)
    return _least_of_late(near[:, 0], near[:, 1], time_s, round_s)


def _least_of_late(when_s: Floats, values: Floats, time_s: Floats, window_s: float) -> Floats:
    """Return the minimum over the preceding window at each time; if the window is empty, the nearest value."""
    found = np.empty_like(time_s)
    lasts = np.searchsorted(when_s, time_s, side="right")
    firsts = np.minimum(np.searchsorted(when_s, time_s - window_s), np.maximum(lasts - 1, 0))
    candidates: deque[int] = deque()  # places in the window, of ascending values: the first is the least
    added = 0
    for place, (first, last) in enumerate(zip(firsts, np.maximum(lasts, 1), strict=True)):
        for new in range(added, last):
            while candidates and values[candidates[-1]] >= values[new]:
                candidates.pop()
            candidates.append(new)
        added = max(added, int(last))
        while candidates[0] < first:
            candidates.popleft()
        found[place] = values[candidates[0]]
    return found


def _name(end: End) -> str:
    address, port = end
    text = inet_ntop(AF_INET if len(address) == 4 else AF_INET6, address)
    return f"[{text}]:{port}" if ":" in text else f"{text}:{port}"
