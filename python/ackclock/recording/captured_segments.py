"""The TCP segments of a packet capture, one after the other, with the number of each frame.

Source: the registry of link types at tcpdump.org. PPP (RFC 1661) stands there with and without the two octets of
HDLC-like framing (RFC 1662), as ns-3 writes it without. A pcapng file has a link type for each interface. IPv6 gives a
length of 0 to a packet of more than 65,535 octets (RFC 2675).

Departures: frames of several queues may stand in a file some milliseconds out of order. One that is earlier than the
frame before it by no more than `_DISORDER_S` counts as captured with it; a clock that was set back is refused. A bridge
or a router has every packet at two interfaces. Where a capture names them, as pcapng does and the second form of Linux
cooked captures, each way of a connection is looked at where an interface saw it first, and saw the way back. What takes
another interface later is not seen. Where none is named, as behind a switch's mirror port, the second of two packets
with one identification and the same header of TCP within `_COPY_S` is a copy (RFC 6864 section 4.2: a source repeats no
identification so soon), and passed over. IPv6 has no identification, and neither do sources that leave it at 0.
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
"""A packet of IP, as dpkt has it, which has no types."""


class CaptureError(InputFileError):
    """A file is no capture that can be read."""


@dataclass(frozen=True, slots=True)
class Captured:
    """A TCP segment as it was captured.

    Attributes:
        frame: Its number in the file, from 1.
        time_s: When, seconds since 1970 or since the clock of the capture began; exact, as a float of today is not.
        source: Address and port of the sender.
        destination: Of the receiver.
        header: Its header.
        payload: Octets of payload that the headers say it has.
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
        Each segment, times ascending; frames of anything else are passed over.

    Raises:
        CaptureError: If the file is no such capture, or is damaged; the message has the number of the frame.
        InputFileError: If it cannot be read.
    """
    if path.is_dir():
        raise CaptureError(f"{path} is a folder; give the file of a capture")
    places = _places(path)
    for captured, interface in _every(path):
        if places.get((captured.source, captured.destination), interface) == interface:
            yield captured


def _places(path: Path) -> dict[tuple[End, End], int]:
    """Of each way the interface to look at: the first with the way back, too; nothing where one has all."""
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
    """Each segment with the interface at which it was captured."""
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
    """The packets of late, to know a copy of one."""

    def __init__(self) -> None:
        self._seen: dict[tuple[object, ...], Decimal] = {}

    def has(self, packet: _Packet, time_s: Decimal, interface: int) -> bool:
        """Say whether a packet was at an interface a moment ago, and remember it."""
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
    """The number that the second form of Linux cooked captures has, or else that of the file."""
    return int.from_bytes(frame.content[4:8]) if frame.link == _COOKED else frame.interface


_Numbered = tuple[int, Decimal, pcapng.Frame]
"""A frame with its number and the time that it counts as captured at."""


def _in_order(frames: Iterator[tuple[int, pcapng.Frame]], path: Path) -> Iterator[_Numbered]:
    """Frames with times that ascend."""
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
    """Every frame with its number."""
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
    """The frames of a file of either form."""
    magic = file.read(len(pcapng.MAGIC))
    file.seek(0)
    yield from (pcapng if magic == pcapng.MAGIC else pcap).packets(file)


def options_of(header: dpkt.tcp.TCP) -> dict[int, bytes]:
    """Return the options of a segment up to their end (RFC 9293 section 3.1), or before one that is cut.

    Args:
        header: Of TCP.
    """
    found: dict[int, bytes] = {}
    for option in dpkt.tcp.parse_opts(header.opts) if header.opts else ():
        if option is None or option[0] == dpkt.tcp.TCP_OPT_EOL:
            break
        found[option[0]] = option[1]
    return found


MAGICS: Final = (*pcap.FORMS, pcapng.MAGIC)
"""How captures begin."""


# ---- link types -----------------------------------------------------------------------------------------------------


def _of_ethernet(head: bytes) -> _Packet:
    """What follows the two octets of a type of Ethernet, tags of VLANs and PPPoE (RFC 2516) among it."""
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
"""What is in a frame of a link type: NULL, ETHERNET, PPP, RAW (three numbers), PPP_HDLC, LOOP, LINUX_SLL, IPV4, IPV6,
LINUX_SLL2."""

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
    """What the headers say of the payload: the capture may hold less of it.

    A length of zero is that of a packet that the network card was still to cut into segments: all of it was captured.
    """
    header = int(packet.data.off) * 4
    if isinstance(packet, dpkt.ip.IP):
        return int(packet.len) - int(packet.hl) * 4 - header if packet.len else len(packet.data.data)
    if not packet.plen:
        return len(packet.data.data)
    extensions = sum(len(extension) for extension in getattr(packet, "all_extension_headers", ()))
    return int(packet.plen) - extensions - header
