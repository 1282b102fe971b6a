"""The TCP segments of a packet capture, one after the other, with the number of each frame."""

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import dpkt

_ETHERNET, _RAW, _LINUX_COOKED, _NULL = 1, (12, 14, 101), 113, 0
"""Link types of captures that are understood (LINKTYPE_ETHERNET, RAW, LINUX_SLL, NULL)."""

_DAMAGE = (ValueError, ArithmeticError, LookupError, struct.error, dpkt.Error)
"""What dpkt raises at bytes that are no capture."""

End = tuple[bytes, int]


class CaptureError(ValueError):
    """A file is no capture that can be read."""


@dataclass(frozen=True, slots=True)
class Captured:
    """A TCP segment as it was captured.

    Attributes:
        frame: Its number in the file, from 1.
        time_s: When, seconds since 1970 or since the clock of the capture began.
        source: Address and port of the sender.
        destination: Of the receiver.
        header: Its header.
        payload: Octets of payload that the headers say it has.
    """

    frame: int
    time_s: float
    source: End
    destination: End
    header: dpkt.tcp.TCP
    payload: int


def segments(path: Path) -> Iterator[Captured]:
    """Read the TCP segments of a capture.

    Args:
        path: A pcap or pcapng file of Ethernet, Linux cooked, loopback or raw IP packets.

    Yields:
        Each segment; frames of anything else are passed over.

    Raises:
        CaptureError: If the file is no such capture, or is damaged; the message has the number of the frame.
        OSError: If it cannot be read.
    """
    if path.is_dir():
        raise CaptureError(f"{path} is a folder; give the file of a capture")
    with path.open("rb") as file:
        try:
            reader = dpkt.pcap.UniversalReader(file)
        except _DAMAGE as error:
            raise CaptureError(
                f"{path} is no capture in pcap or pcapng form ({error}); write one with tcpdump -w"
            ) from error
        link = reader.datalink()
        number = 0
        try:
            for number, (time_s, frame) in enumerate(reader, start=1):
                packet = _ip_packet(link, frame, path)
                if packet is not None and isinstance(packet.data, dpkt.tcp.TCP):
                    source, destination = (packet.src, packet.data.sport), (packet.dst, packet.data.dport)
                    yield Captured(number, float(time_s), source, destination, packet.data, _payload(packet))
        except CaptureError:
            raise
        except _DAMAGE as error:
            raise CaptureError(
                f"{path} is damaged after frame {number}: {str(error) or 'it ends within a frame'}; capture anew, or "
                "cut it with editcap"
            ) from error


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
