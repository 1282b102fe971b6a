"""IPv4 packets with TCP: conversion of fields, flags and options from and to bytes.

Source: RFC 791, RFC 9293 section 3.1, RFC 7323, RFC 2018, RFC 9768 (the accurate-ECN flag).

Departures: the payload is zeros.
"""

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from ipaddress import IPv4Address

from ackclock.script import syntax
from ackclock.script.syntax import Option

FIN, SYN, RST, PSH, ACK, URG, ECE, CWR, AE = (1 << bit for bit in range(9))

_LETTERS = {"F": FIN, "S": SYN, "R": RST, "P": PSH, ".": ACK, "U": URG, "E": ECE, "W": CWR, "A": AE}
ACE_BITS = (AE, CWR, ECE)
"""Flags of the accurate-ECN counter, most significant first."""

_IPV4, _TCP = struct.Struct("!BBHHHBBH4s4s"), struct.Struct("!HHIIHHHH")
_DONT_FRAGMENT = 0x4000


def flags_of_letters(letters: str) -> int:
    """Return flags as bits.

    Args:
        letters: Flags in tcpdump's notation; a digit is the accurate-ECN counter, `-` stands for none.

    Examples:
        >>> flags_of_letters("S.") == SYN | ACK, flags_of_letters(".5") == ACK | AE | ECE
        (True, True)
    """
    flags = 0
    for letter in letters.replace("-", ""):
        if letter.isdigit():
            flags |= sum(flag for index, flag in enumerate(ACE_BITS) if int(letter) & (4 >> index))
        else:
            flags |= _LETTERS[letter]
    return flags


def letters_of_flags(flags: int) -> str:
    """Return flags in tcpdump's notation.

    Examples:
        >>> letters_of_flags(SYN | ACK | ECE), letters_of_flags(0)
        ('SE.', '-')
    """
    return "".join(letter for letter in "SFRPUEWA." if flags & _LETTERS[letter]) or "-"


@dataclass(frozen=True, slots=True)
class Addresses:
    """Source and destination of a packet."""

    source: tuple[str, int]
    destination: tuple[str, int]


@dataclass(frozen=True, slots=True)
class Packet:
    """TCP packet with the numbers of the wire.

    Attributes:
        flags: Flags, as bits.
        seq: Sequence number.
        ack: Acknowledgement number.
        window: Window field.
        urgent: Urgent pointer.
        payload: Payload size, octets.
        options: Options, in order.
        tos: Octet of the IP header that ends with the ECN field.
        ttl: Time to live.
    """

    flags: int
    seq: int
    ack: int
    window: int
    payload: int
    options: tuple[Option, ...]
    urgent: int = 0
    tos: int = 0
    ttl: int = 64

    def option(self, kind: int) -> Option | None:
        """Return the first option of this kind."""
        return next((option for option in self.options if option.kind == kind), None)


# ---- from bytes -----------------------------------------------------------------------------------------------------


def parse_packet(data: bytes) -> tuple[Addresses, Packet] | None:
    """Parse the headers of a packet; the payload may be missing.

    Args:
        data: Bytes from the IPv4 header on.

    Returns:
        The addresses and the packet; None if it is not TCP over IPv4.

    Raises:
        ValueError: If the headers are inconsistent.
    """
    if len(data) < _IPV4.size + _TCP.size or data[0] >> 4 != 4 or data[9] != 6:
        return None
    first, tos, total, _, _, ttl, _, _, source, destination = _IPV4.unpack_from(data)
    start = 4 * (first & 15)
    ports, numbers, offset_flags, window, urgent = _tcp_fields(data, start)
    end = start + 4 * (offset_flags >> 12)
    if not start + _TCP.size <= end <= min(len(data), total):
        raise ValueError(f"a TCP header that ends at octet {end} of a packet of {total}")
    packet = Packet(
        flags=offset_flags & 0x1FF,
        seq=numbers[0],
        ack=numbers[1],
        window=window,
        payload=total - end,
        options=tuple(_parse_options(data[start + _TCP.size : end])),
        urgent=urgent,
        tos=tos,
        ttl=ttl,
    )
    return Addresses((str(IPv4Address(source)), ports[0]), (str(IPv4Address(destination)), ports[1])), packet


def _tcp_fields(data: bytes, start: int) -> tuple[tuple[int, int], tuple[int, int], int, int, int]:
    source, destination, seq, ack, offset_flags, window, _, urgent = _TCP.unpack_from(data, start)
    return (source, destination), (seq, ack), offset_flags, window, urgent


def _parse_options(data: bytes) -> Iterator[Option]:
    while data:
        kind = data[0]
        if kind in (syntax.EOL, syntax.NOP):
            yield Option(kind)
            data = data[1:]
            continue
        length = data[1] if len(data) > 1 else 0
        if not 2 <= length <= len(data):
            raise ValueError(f"TCP option {kind} of {length} octets where {len(data)} are left")
        yield _option(kind, data[2:length])
        data = data[length:]


_WORDS = {syntax.MSS: "!H", syntax.WSCALE: "!B", syntax.TIMESTAMPS: "!II"}


def _option(kind: int, value: bytes) -> Option:
    if kind in syntax.ACCURATE_ORDERS:
        return Option(kind, tuple(int.from_bytes(value[at : at + 3]) for at in range(0, len(value), 3)))
    layout = f"!{len(value) // 4}I" if kind == syntax.SACK else _WORDS.get(kind)
    if layout is None:
        return Option(kind, blob=value)
    return Option(kind, struct.unpack(layout, value))


# ---- to bytes -------------------------------------------------------------------------------------------------------


def emit_packet(packet: Packet, addresses: Addresses) -> bytes:
    """Return the packet as bytes with correct checksums."""
    options = b"".join(_option_bytes(option) for option in packet.options)
    header = _TCP.size + len(options)
    total = _IPV4.size + header + packet.payload
    source, destination = (IPv4Address(end[0]).packed for end in (addresses.source, addresses.destination))
    fields = (0x45, packet.tos, total, 0, _DONT_FRAGMENT, packet.ttl, 6)
    ip = _IPV4.pack(*fields, 0, source, destination)
    ip = _IPV4.pack(*fields, _checksum(ip), source, destination)
    pseudo = source + destination + struct.pack("!HH", 6, total - _IPV4.size)
    tcp = _tcp_bytes(packet, addresses, header, 0) + options
    tcp = _tcp_bytes(packet, addresses, header, _checksum(pseudo + tcp)) + options
    return ip + tcp + bytes(packet.payload)


def _tcp_bytes(packet: Packet, addresses: Addresses, header: int, checksum: int) -> bytes:
    ports = addresses.source[1], addresses.destination[1]
    offset_flags = (header // 4) << 12 | packet.flags
    return _TCP.pack(*ports, packet.seq, packet.ack, offset_flags, packet.window, checksum, packet.urgent)


def options_length(options: tuple[Option, ...]) -> int:
    """Return the length of options, octets."""
    return sum(len(_option_bytes(option)) for option in options)


def _option_bytes(option: Option) -> bytes:
    if option.kind in (syntax.EOL, syntax.NOP):
        return bytes([option.kind])
    if option.kind in syntax.ACCURATE_ORDERS:
        return bytes([option.kind, 2 + 3 * len(option.numbers)]) + b"".join(n.to_bytes(3) for n in option.numbers)
    layout = f"!{len(option.numbers)}I" if option.kind == syntax.SACK else _WORDS.get(option.kind)
    value = struct.pack(layout, *option.numbers) if layout else option.blob
    return bytes([option.kind, 2 + len(value)]) + value


def _checksum(data: bytes) -> int:
    """Return the Internet checksum (RFC 1071) of an even number of octets; trailing zeros do not change it."""
    total: int = sum(struct.unpack(f"!{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF
