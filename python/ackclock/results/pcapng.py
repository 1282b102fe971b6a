"""Reader of pcapng files: each packet with its time and the link type of its interface.

Source: draft-ietf-opsawg-pcapng, section 3 (blocks and options) and section 4 (section header, interface description,
enhanced packet, and the packet block that it replaced). A file may have several sections, each with its own byte order
and interfaces.

Departures: a simple packet block has no time and is skipped, like all blocks without a packet. A block of more than
`MOST` octets counts as damage, as in Wireshark.
"""

import struct
from collections.abc import Iterator
from decimal import Decimal
from typing import BinaryIO, Final, NamedTuple


class Frame(NamedTuple):
    """Captured packet.

    Attributes:
        time_s: Time of capture, seconds.
        link: Link type.
        interface: Number of the interface in its section, from 0 on.
        content: Captured octets.
    """

    time_s: Decimal
    link: int
    interface: int
    content: bytes


MAGIC: Final = b"\x0a\x0d\x0d\x0a"
"""First octets of a file, the same in either byte order."""

_SECTION, _INTERFACE, _OBSOLETE_PACKET, _PACKET = int.from_bytes(MAGIC), 1, 2, 6
_BYTE_ORDERS: Final = {b"\x4d\x3c\x2b\x1a": "<", b"\x1a\x2b\x3c\x4d": ">"}
_TIME_RESOLUTION, _TIME_OFFSET = 9, 14
MOST: Final = 16 << 20
"""Octets of the longest block."""


class _Interface(NamedTuple):
    """Interface, as its description block declares it."""

    link: int
    ticks: Decimal
    """Resolution of timestamps: ticks per second."""

    offset_s: int


def packets(file: BinaryIO) -> Iterator[Frame]:
    """Read the packets of a file.

    Args:
        file: The file, at its beginning.

    Yields:
        Each packet, in the order of the file.

    Raises:
        ValueError: If a block is truncated or inconsistent.
    """
    order = "<"
    interfaces: list[_Interface] = []
    while head := file.read(8):
        if head[:4] == MAGIC:
            order, interfaces = _byte_order(file), []
        kind, body = _block(file, head, order)
        if kind == _INTERFACE:
            interfaces.append(_interface(body, order))
        elif kind in (_PACKET, _OBSOLETE_PACKET):
            # The older block has the number in 16 bits, and a count of drops behind it.
            number, high, low, size, _ = unpacked(order + ("IIIII" if kind == _PACKET else "HxxIIII"), body)
            if number >= len(interfaces) or size > len(body) - 20:
                raise ValueError(f"a packet of {size} octets of interface {number} is not whole")
            link, ticks, offset_s = interfaces[number]
            time_s = offset_s + Decimal(high << 32 | low) / ticks
            yield Frame(time_s, link, number, body[20 : 20 + size])


def _byte_order(file: BinaryIO) -> str:
    """Return the byte order of a section by peeking at its magic number."""
    magic = file.read(4)
    file.seek(-len(magic), 1)
    if magic not in _BYTE_ORDERS:
        raise ValueError("the byte order of a section is unknown")
    return _BYTE_ORDERS[magic]


def _block(file: BinaryIO, head: bytes, order: str) -> tuple[int, bytes]:
    """Return the type of a block, and its body between the two length fields."""
    kind, length = unpacked(order + "II", head)
    if length < 12 or length % 4 or length > MOST:
        raise ValueError(f"a block must not have {length} octets")
    rest = whole(file, length - 8)
    if unpacked(order + "I", rest[-4:]) != (length,):
        raise ValueError("a block's two length fields differ")
    return kind, rest[:-4]


def _interface(body: bytes, order: str) -> _Interface:
    (link,) = unpacked(order + "H", body)
    ticks, offset_s = Decimal(10**6), 0
    for code, value in _options(body[8:], order):
        if code == _TIME_RESOLUTION and len(value) == 1:
            ticks = Decimal((2 if value[0] & 0x80 else 10) ** (value[0] & 0x7F))
        elif code == _TIME_OFFSET and len(value) == 8:
            (offset_s,) = unpacked(order + "q", value)
    return _Interface(link, ticks, offset_s)


def _options(rest: bytes, order: str) -> Iterator[tuple[int, bytes]]:
    """Yield each option up to the one with code 0; values are padded to a multiple of four octets."""
    at = 0
    while len(rest) - at >= 4:
        code, length = unpacked(order + "HH", rest[at : at + 4])
        if code == 0:
            return
        at += 4
        if length > len(rest) - at:
            raise ValueError(f"an option must not have {length} octets where {len(rest) - at} are left")
        yield code, rest[at : at + length]
        at += (length + 3) // 4 * 4


def whole(file: BinaryIO, size: int) -> bytes:
    """Read exactly `size` octets.

    Raises:
        ValueError: If the file ends before.
    """
    content = file.read(size)
    if len(content) < size:
        raise ValueError("it ends within a packet or block")
    return content


def unpacked(layout: str, content: bytes) -> tuple[int, ...]:
    """Return the numbers at the beginning of `content`.

    Args:
        layout: Format of `struct`.
        content: Body of a header or block.

    Raises:
        ValueError: If the content is too short.
    """
    if len(content) < struct.calcsize(layout):
        raise ValueError("a header or block is too short for what it holds")
    return struct.unpack_from(layout, content)
