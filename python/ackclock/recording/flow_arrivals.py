"""TCP flows of a packet capture, as a list of arrivals that a scenario can replay.

A flow begins with its first SYN, or, if the capture began later, with its first packet. A SYN with another number
between the same ports begins another flow (RFC 9293 section 3.10.7.4). Its size each way follows from the highest
sequence number with data, so retransmissions count once. Source: RFC 9293 section 3.4 for sequence numbers.
Departures: data sent before the capture began is not counted.
"""

from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path

import dpkt

from ackclock.recording.captured_segments import CaptureError, End, segments

__all__ = ["CaptureError", "ListedFlow", "csv_text", "flows_of_capture"]

_WRAP = 1 << 32


@dataclass(frozen=True, slots=True)
class ListedFlow:
    """TCP flow.

    Attributes:
        start_s: Start time since the first flow of the capture.
        size_bytes: Payload from the end that opened the flow.
        reply_bytes: Payload from the other end.
    """

    start_s: float
    size_bytes: int
    reply_bytes: int


@dataclass(slots=True)
class _Direction:
    """Progress of one direction of a flow."""

    first: int | None = None
    """Sequence number of the first octet of payload."""
    octets: int = 0

    def on_segment(self, seq: int, payload: int, *, syn: bool) -> None:
        start = (seq + 1) % _WRAP if syn else seq
        if self.first is None:
            self.first = start
        if payload <= 0:
            return
        offset = (start - self.first) % _WRAP
        # Numbers repeat after 4 GiB: of those that differ by that, the one nearest to where the flow is, is meant.
        offset += round((self.octets - offset) / _WRAP) * _WRAP
        self.octets = max(self.octets, offset + payload)


@dataclass(slots=True)
class _Flow:
    start_s: Decimal
    opener: End
    sides: tuple[_Direction, _Direction] = field(default_factory=lambda: (_Direction(), _Direction()))
    is_closed: bool = False

    def side(self, source: End) -> _Direction:
        return self.sides[0 if source == self.opener else 1]


def flows_of_capture(path: Path) -> list[ListedFlow]:
    """Return the TCP flows of a capture.

    Args:
        path: A pcap or pcapng file of Ethernet, Linux cooked, loopback or raw IP packets.

    Returns:
        The flows that carried data, in order of their start.

    Raises:
        CaptureError: If the file is not such a capture.
        InputFileError: If it cannot be read.
    """
    known: dict[frozenset[End], _Flow] = {}
    flows: list[_Flow] = []
    for captured in segments(path):
        time_s, source, destination = captured.time_s, captured.source, captured.destination
        segment, payload = captured.header, captured.payload
        key = frozenset((source, destination))
        first = (segment.seq + 1) % _WRAP
        is_opening = bool(segment.flags & dpkt.tcp.TH_SYN) and not segment.flags & dpkt.tcp.TH_ACK
        flow = known.get(key)
        if flow is None or (is_opening and (flow.is_closed or flow.side(source).first not in (None, first))):
            flow = known[key] = _Flow(time_s, _opener(source, destination, segment))
            flows.append(flow)
        flow.side(source).on_segment(segment.seq, payload, syn=bool(segment.flags & dpkt.tcp.TH_SYN))
        flow.is_closed |= bool(segment.flags & (dpkt.tcp.TH_FIN | dpkt.tcp.TH_RST))
    return _listed(flows)


def _opener(source: End, destination: End, segment: dpkt.tcp.TCP) -> End:
    """Return the end that opened a flow, from its SYN or SYN-ACK, or else by guessing that servers have lower ports."""
    if segment.flags & dpkt.tcp.TH_SYN:
        return destination if segment.flags & dpkt.tcp.TH_ACK else source
    return destination if source[1] < destination[1] else source


def _listed(flows: list[_Flow]) -> list[ListedFlow]:
    kept = [flow for flow in flows if any(side.octets for side in flow.sides)]
    kept.sort(key=lambda flow: flow.start_s)
    first_s = kept[0].start_s if kept else Decimal(0)
    return [ListedFlow(float(flow.start_s - first_s), flow.sides[0].octets, flow.sides[1].octets) for flow in kept]


def csv_text(flows: list[ListedFlow]) -> str:
    r"""Return the flows as a CSV file for a scenario's `arrivals`.

    Examples:
        >>> csv_text([ListedFlow(0.5, 100, 0)])
        'start_s,size_bytes,reply_bytes\n0.500000000,100,0\n'
    """
    lines = [f"{flow.start_s:.9f},{flow.size_bytes},{flow.reply_bytes}" for flow in flows]
    return "\n".join(["start_s,size_bytes,reply_bytes", *lines]) + "\n"
