"""TCP segments of a packet capture, in order of time, with their frame numbers.

Source: the registry of link types at tcpdump.org. PPP (RFC 1661) stands there with and without the two octets of
HDLC-like framing (RFC 1662), as ns-3 writes it without. A pcapng file has a link type for each interface. IPv6 gives a
length of 0 to a packet of more than 65,535 octets (RFC 2675).

Departures: frames of several queues may be some milliseconds out of order in a file. A frame that is earlier than its
predecessor by at most `_DISORDER_S` counts as captured with it; a clock that was set back is refused. A bridge or a
router has every packet at two interfaces. If a capture names interfaces, as pcapng and the second form of Linux cooked
captures do, each direction of a connection is read at the interface that saw it first, and saw the reverse direction.
Frames that appear only at another interface later are not read. If none is named, as behind a mirror port, the second
of two packets with the same identification and TCP header within `_COPY_S` is a copy (RFC 6864 section 4.2: a source
repeats no identification so soon), and skipped. IPv6 has no identification, and some sources leave it at 0.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any, BinaryIO, Final

import dpkt

from ackclock.base.input_files import InputFileError, opened
from ackclock.recording import pcap
from ackclock.results import pcapng

_DISORDER_S: Final = Decimal("0.01")
_COPY_S: Final = Decimal("0.1")

End = tuple[bytes, int]
_Packet = Any
"""IP packet of dpkt, which has no type hints."""


class CaptureError(InputFileError):
    """Error: a file is not a readable capture."""


@dataclass(frozen=True, slots=True)
class Captured:
    """Captured TCP segment.

    Attributes:
        frame: Number of the frame in the file, from 1.
        time_s: Time in seconds, since 1970 or since the start of the capture's clock; exact, unlike a float.
        source: Address and port of the sender.
        destination: Address and port of the receiver.
        header: TCP header.
        payload: Payload size according to the headers, octets.
    """

    frame: int
    time_s: Decimal
    source: End
    destination: End
    header: dpkt.tcp.TCP
    payload: int


def segments(path: Path) -> Iterator[Captured]:
    """Read the TCP segments of a capture.

    Args:
        path: A pcap or pcapng file of Ethernet, PPP, Linux cooked, loopback or raw IP packets.

    Yields:
        Each segment, in order of time; other frames are skipped.

    Raises:
        CaptureError: If the file is not such a capture, or is damaged; the message has the frame number.
        InputFileError: If it cannot be read.
    """
    if path.is_dir():
        raise CaptureError(f"{path} is a folder; give the file of a capture")
    places = _places(path)
    for captured, interface in _every(path):
        if places.get((captured.source, captured.destination), interface) == interface:
            yield captured


def _places(path: Path) -> dict[tuple[End, End], int]:
    """Return the interface to read for each direction: the first that has the reverse direction, too.

    Empty if one interface has all packets.
    """
    with opened(path, remedy="give the file of a capture") as file:
        if len({_interface(frame) for _, frame in _frames(file, path)}) == 1:
            return {}
    seen: dict[tuple[End, End], dict[int, None]] = {}
    for captured, interface in _every(path):
        seen.setdefault((captured.source, captured.destination), {})[interface] = None
    places: dict[tuple[End, End], int] = {}
    for (source, destination), interfaces in seen.items():
        back = seen.get((destination, source), {})
        both = places.get((destination, source), next((one for one in interfaces if one in back), None))
        places[source, destination] = both if both in interfaces else next(iter(interfaces))
    return places


def _every(path: Path) -> Iterator[tuple[Captured, int]]:
    """Yield each segment with the interface at which it was captured."""
    with opened(path, remedy="give the file of a capture") as file:
        others: set[int] = set()
        has_known = False
        copies = _Copies()
        for number, time_s, frame in _in_order(_frames(file, path), path):
            inner = _INNER.get(frame.link)
            if inner is None:
                others.add(frame.link)
                continue
            has_known = True
            packet = _ip_packet(inner, frame.content)
            if packet is not None and isinstance(packet.data, dpkt.tcp.TCP):
                if copies.has(packet, time_s, interface := _interface(frame)):
                    continue
                ends = (packet.src, packet.data.sport), (packet.dst, packet.data.dport)
                yield Captured(number, time_s, *ends, packet.data, _payload(packet)), interface
        if others and not has_known:
            raise CaptureError(
                f"{path} has packets of link type {_said(min(others))}; capture Ethernet, PPP, loopback, raw IP or any "
                "(tcpdump -i any)"
            )


class _Copies:
    """Recent packets, to recognise copies."""

    def __init__(self) -> None:
        self._seen: dict[tuple[object, ...], Decimal] = {}

    def has(self, packet: _Packet, time_s: Decimal, interface: int) -> bool:
        """Return whether a packet was seen at an interface a moment ago, and remember it."""
        if not getattr(packet, "id", 0):
            return False
        while self._seen and time_s - next(iter(self._seen.values())) > _COPY_S:
            del self._seen[next(iter(self._seen))]
        head = packet.data
        ports = head.sport, head.dport
        key = (interface, packet.src, packet.dst, packet.id, *ports, head.seq, head.ack, head.win, head.sum)
        if key in self._seen:
            return True
        self._seen[key] = time_s
        return False


def _interface(frame: pcapng.Frame) -> int:
    """Return the interface number of the second form of Linux cooked captures, or else that of the file."""
    return int.from_bytes(frame.content[4:8]) if frame.link == _COOKED else frame.interface


_Numbered = tuple[int, Decimal, pcapng.Frame]
"""Frame with its number and its effective time."""


def _in_order(frames: Iterator[tuple[int, pcapng.Frame]], path: Path) -> Iterator[_Numbered]:
    """Yield frames with ascending times."""
    last_s: Decimal | None = None
    for number, frame in frames:
        if last_s is not None and last_s - frame.time_s > _DISORDER_S:
            raise CaptureError(
                f"{path}, frame {number}: is {last_s - frame.time_s:.3f} s before the frame above it; the clock was "
                "set back: cut the file there with editcap, or sort it with reordercap if only its order is wrong"
            )
        last_s = frame.time_s if last_s is None else max(last_s, frame.time_s)
        yield number, last_s, frame


def _frames(file: BinaryIO, path: Path) -> Iterator[tuple[int, pcapng.Frame]]:
    """Yield every frame with its number."""
    number = 0
    try:
        for number, frame in enumerate(_packets(file), start=1):
            yield number, frame
    except ValueError as error:
        if number == 0:
            raise CaptureError(
                f"{path} must be a capture in pcap or pcapng form ({error}); write one with tcpdump -w"
            ) from error
        raise CaptureError(
            f"{path} is damaged after frame {number}: {error}; capture anew, or cut it with editcap"
        ) from error


def _packets(file: BinaryIO) -> Iterator[pcapng.Frame]:
    """Yield the frames of a file in either format."""
    magic = file.read(len(pcapng.MAGIC))
    file.seek(0)
    yield from (pcapng if magic == pcapng.MAGIC else pcap).packets(file)


def options_of(header: dpkt.tcp.TCP) -> dict[int, bytes]:
    """Return the options of a segment up to the end of the list (RFC 9293 section 3.1), or up to a truncated one.

    Args:
        header: TCP header.
    """
    found: dict[int, bytes] = {}
    for option in dpkt.tcp.parse_opts(header.opts) if header.opts else ():
        if option is None or option[0] == dpkt.tcp.TCP_OPT_EOL:
            break
        found[option[0]] = option[1]
    return found


MAGICS: Final = (*pcap.FORMS, pcapng.MAGIC)
"""First octets of captures."""


# ---- link types -----------------------------------------------------------------------------------------------------


def _of_ethernet(head: bytes) -> _Packet:
    """Return the packet behind an EtherType, including those in VLAN tags and PPPoE (RFC 2516)."""
    return dpkt.ethernet.Ethernet(bytes(12) + head).data


def _raw(frame: bytes) -> _Packet:
    return (dpkt.ip6.IP6 if frame[0] >> 4 == 6 else dpkt.ip.IP)(frame)


def _ppp(frame: bytes) -> _Packet | None:
    rest = frame.removeprefix(b"\xff\x03")
    kind = {b"\x00\x21": dpkt.ip.IP, b"\x00\x57": dpkt.ip6.IP6}.get(rest[:2])
    return None if kind is None else kind(rest[2:])


_COOKED: Final = 276

_INNER: Final[Mapping[int, Callable[[bytes], Any]]] = {
    0: lambda frame: dpkt.loopback.Loopback(frame).data,
    1: lambda frame: _of_ethernet(frame[12:]),
    9: _ppp,
    12: _raw,
    14: _raw,
    50: _ppp,
    101: _raw,
    108: lambda frame: dpkt.loopback.Loopback(frame).data,
    113: lambda frame: _of_ethernet(frame[14:]),
    228: _raw,
    229: _raw,
    _COOKED: lambda frame: _of_ethernet(frame[:2] + frame[20:]),
}  # fmt: skip
"""Parsers of frames by link type: NULL, ETHERNET, PPP, RAW (three numbers), PPP_HDLC, LOOP, LINUX_SLL, IPV4, IPV6.

The last is LINUX_SLL2.
"""

_OTHERS: Final = {105: " (IEEE 802.11)", 127: " (IEEE 802.11 with radiotap)", 147: " (of a user)", 220: " (USB)"}


def _said(link: int) -> str:
    return f"{link}{_OTHERS.get(link, '')}"


def _ip_packet(inner: Callable[[bytes], Any], frame: bytes) -> _Packet | None:
    try:
        found = inner(frame)
    except Exception:
        return None
    while isinstance(found, dpkt.Packet) and not isinstance(found, (dpkt.ip.IP, dpkt.ip6.IP6)):
        found = found.data  # PPPoE, PPP and LLC stand between
    return found if isinstance(found, dpkt.Packet) else None


def _payload(packet: _Packet) -> int:
    """Return the payload size according to the headers, as the capture may hold less.

    An IP length of zero marks a packet that the network card still had to split: all of it was captured.
    """
    header = int(packet.data.off) * 4
    if isinstance(packet, dpkt.ip.IP):
        return int(packet.len) - int(packet.hl) * 4 - header if packet.len else len(packet.data.data)
    if not packet.plen:
        return len(packet.data.data)
    extensions = sum(len(extension) for extension in getattr(packet, "all_extension_headers", ()))
    return int(packet.plen) - extensions - header
