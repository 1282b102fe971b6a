"""The TCP flows of a packet capture as a list of arrivals that a scenario can replay.

A flow begins with its first SYN, or, if the capture began later, with its first packet; it has as many bytes each way
as the highest sequence number that carried data says, so that retransmissions count once. Source: RFC 9293 section 3.4
for sequence numbers. Departures: what was sent before the capture began is not counted.
"""

import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import dpkt

_ETHERNET, _RAW, _LINUX_COOKED, _NULL = 1, (12, 14, 101), 113, 0
"""Link types of captures that are understood (LINKTYPE_ETHERNET, RAW, LINUX_SLL, NULL)."""

_WRAP = 1 << 32

_DAMAGE = (ValueError, ArithmeticError, LookupError, struct.error, dpkt.Error)
"""What dpkt raises at bytes that are no capture."""

End = tuple[bytes, int]


class CaptureError(ValueError):
    """A file is no capture that can be read."""


@dataclass(frozen=True, slots=True)
class ListedFlow:
    """One TCP flow.

    Attributes:
        start_s: Since the first flow of the capture.
        size_bytes: Payload from the end that opened the flow.
        reply_bytes: Payload from the other end.
    """

    start_s: float
    size_bytes: int
    reply_bytes: int


@dataclass(slots=True)
class _Direction:
    """How far one direction of a flow has come."""

    first: int | None = None
    """Sequence number of the first octet of payload."""
    octets: int = 0

    def on_segment(self, seq: int, payload: int, *, syn: bool) -> None:
        start = (seq + 1) % _WRAP if syn else seq
        if self.first is None:
            self.first = start
        if payload == 0:
            return
        offset = (start - self.first) % _WRAP
        # Numbers repeat after 4 GiB: of those that differ by that, the one nearest to where the flow is, is meant.
        offset += round((self.octets - offset) / _WRAP) * _WRAP
        self.octets = max(self.octets, offset + payload)


@dataclass(slots=True)
class _Flow:
    start_s: float
    opener: End
    sides: tuple[_Direction, _Direction] = field(default_factory=lambda: (_Direction(), _Direction()))
    is_closed: bool = False


def flows_of_capture(path: Path) -> list[ListedFlow]:
    """Find the TCP flows of a capture.

    Args:
        path: A pcap or pcapng file of Ethernet, Linux cooked, loopback or raw IP packets.

    Returns:
        The flows that carried data, in order of their start.

    Raises:
        CaptureError: If the file is no such capture.
        OSError: If it cannot be read.
    """
    known: dict[frozenset[End], _Flow] = {}
    flows: list[_Flow] = []
    for time_s, source, destination, segment, payload in _segments(path):
        key = frozenset((source, destination))
        is_opening = bool(segment.flags & dpkt.tcp.TH_SYN) and not segment.flags & dpkt.tcp.TH_ACK
        flow = known.get(key)
        if flow is None or (is_opening and flow.is_closed):
            flow = known[key] = _Flow(time_s, _opener(source, destination, segment))
            flows.append(flow)
        side = flow.sides[0 if source == flow.opener else 1]
        side.on_segment(segment.seq, payload, syn=bool(segment.flags & dpkt.tcp.TH_SYN))
        flow.is_closed |= bool(segment.flags & (dpkt.tcp.TH_FIN | dpkt.tcp.TH_RST))
    return _listed(flows)


def _opener(source: End, destination: End, segment: dpkt.tcp.TCP) -> End:
    """A SYN-ACK comes from the end that did not open; so does, mostly, the first packet seen from a lower port."""
    if segment.flags & dpkt.tcp.TH_SYN:
        return destination if segment.flags & dpkt.tcp.TH_ACK else source
    return destination if source[1] < destination[1] else source


def _listed(flows: list[_Flow]) -> list[ListedFlow]:
    kept = [flow for flow in flows if any(side.octets for side in flow.sides)]
    kept.sort(key=lambda flow: flow.start_s)
    first_s = kept[0].start_s if kept else 0.0
    return [ListedFlow(flow.start_s - first_s, flow.sides[0].octets, flow.sides[1].octets) for flow in kept]


def _segments(path: Path) -> Iterator[tuple[float, End, End, dpkt.tcp.TCP, int]]:
    """Each TCP segment: when, from where, to where, its header, and its payload on the wire."""
    with path.open("rb") as file:
        try:
            reader = dpkt.pcap.UniversalReader(file)
        except _DAMAGE as error:
            raise CaptureError(
                f"{path} is no capture in pcap or pcapng form ({error}); write one with tcpdump -w"
            ) from error
        link = reader.datalink()
        try:
            for time_s, frame in reader:
                packet = _ip_packet(link, frame, path)
                if packet is not None and isinstance(packet.data, dpkt.tcp.TCP):
                    source, destination = (packet.src, packet.data.sport), (packet.dst, packet.data.dport)
                    yield float(time_s), source, destination, packet.data, _payload(packet)
        except _DAMAGE as error:
            raise CaptureError(f"{path} is damaged: {error}; capture anew, or cut it with editcap") from error


def _ip_packet(link: int, frame: bytes, path: Path) -> dpkt.ip.IP | dpkt.ip6.IP6 | None:
    try:
        if link == _ETHERNET:
            inner = dpkt.ethernet.Ethernet(frame).data
        elif link == _LINUX_COOKED:
            inner = dpkt.sll.SLL(frame).data
        elif link == _NULL:
            inner = dpkt.loopback.Loopback(frame).data
        elif link in _RAW:
            inner = (dpkt.ip6.IP6 if frame[0] >> 4 == 6 else dpkt.ip.IP)(frame)
        else:
            raise CaptureError(f"{path} has packets of link type {link}; capture Ethernet, loopback or raw IP")
    except (struct.error, LookupError, dpkt.Error):
        return None  # a cut or foreign frame
    return inner if isinstance(inner, (dpkt.ip.IP, dpkt.ip6.IP6)) else None


def _payload(packet: dpkt.ip.IP | dpkt.ip6.IP6) -> int:
    """What the headers say of the payload: the capture may hold less of it.

    A length of zero is that of a packet that the network card was still to cut into segments: all of it was captured.
    """
    header = int(packet.data.off) * 4
    if isinstance(packet, dpkt.ip.IP):
        return int(packet.len) - int(packet.hl) * 4 - header if packet.len else len(packet.data.data)
    extensions = sum(len(extension) for extension in getattr(packet, "all_extension_headers", ()))
    return int(packet.plen) - extensions - header


def csv_text(flows: list[ListedFlow]) -> str:
    r"""Return the flows as the file that a scenario's `arrivals` names.

    Examples:
        >>> csv_text([ListedFlow(0.5, 100, 0)])
        'start_s,size_bytes,reply_bytes\n0.500000000,100,0\n'
    """
    lines = [f"{flow.start_s:.9f},{flow.size_bytes},{flow.reply_bytes}" for flow in flows]
    return "\n".join(["start_s,size_bytes,reply_bytes", *lines]) + "\n"
