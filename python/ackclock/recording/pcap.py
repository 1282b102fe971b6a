"""Reader of pcap files: each packet with its time.

Source: draft-ietf-opsawg-pcap, sections 4 (file header) and 5 (packet record).

Departures: a packet of more than `MOST` octets counts as damage, as in Wireshark; so does a truncated one.
"""

from collections.abc import Iterator
from decimal import Decimal
from typing import BinaryIO, Final

from ackclock.results.pcapng import MOST, Frame, unpacked, whole

FORMS: Final = {
    b"\xd4\xc3\xb2\xa1": ("<", 10**6),
    b"\xa1\xb2\xc3\xd4": (">", 10**6),
    b"\x4d\x3c\xb2\xa1": ("<", 10**9),
    b"\xa1\xb2\x3c\x4d": (">", 10**9),
}
"""First octets of a file: their byte order, and the ticks per second of timestamps."""

_HEADER, _RECORD = 24, 16
_LINK: Final = 0xFFFF
"""Mask of the link type; the upper bits describe a frame check sequence."""


def packets(file: BinaryIO) -> Iterator[Frame]:
    """Read the packets of a file, as `pcapng.packets` does.

    Raises:
        ValueError: If it is not such a file, or a packet is truncated or too long.
    """
    header = whole(file, _HEADER)
    if header[:4] not in FORMS:
        raise ValueError("it begins as neither form does")
    order, ticks = FORMS[header[:4]]
    (link,) = unpacked(order + "20xI", header)
    while record := file.read(_RECORD):
        seconds, parts, size, _ = unpacked(order + "IIII", record)
        if size > MOST:
            raise ValueError(f"a packet must not have {size} octets")
        yield Frame(seconds + Decimal(parts) / ticks, link & _LINK, 0, whole(file, size))
