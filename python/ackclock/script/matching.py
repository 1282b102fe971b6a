"""Comparison of a sent packet with the one that the script expects.

Source: packetdrill's rules, field by field: fields that a script leaves out are not compared, except options, which
are.

Departures: TSecr is compared where `Options.checks_echoes` asks for it.
"""

from dataclasses import dataclass

from ackclock.script import syntax
from ackclock.script.options import Options
from ackclock.script.packets import ACE_BITS, ACK, AE, CWR, ECE, Packet, letters_of_flags
from ackclock.script.syntax import EcnCheck, Option, TcpPacket

_ECN_FLAGS = ECE | CWR | AE


@dataclass(frozen=True, slots=True)
class Difference:
    """Field that differs from its expectation."""

    field: str
    expected: str
    actual: str


def differences(expected: TcpPacket, actual: Packet, options: Options) -> list[Difference]:
    """Return the fields in which a packet differs."""
    found = _headers(expected, actual) + _ip(expected, actual)
    if expected.options is not None and not _same_options(expected.options, actual.options, options):
        found.append(Difference("options", show_options(expected.options), show_options(actual.options)))
    return found


def _headers(expected: TcpPacket, actual: Packet) -> list[Difference]:
    compared: list[tuple[str, object, object]] = [
        ("flags", show_flags(expected.flags, expected.ace), show_flags(actual.flags, expected.ace)),
        ("seq", expected.seq, actual.seq),
        ("payload", expected.payload, actual.payload),
        ("urg", expected.urgent, actual.urgent),
    ]
    if expected.flags & ACK and actual.flags & ACK:
        compared.append(("ack", expected.ack, actual.ack))
    if expected.window is not None:
        compared.append(("win", expected.window, actual.window))
    return [Difference(name, str(wanted), str(got)) for name, wanted, got in compared if wanted != got]


def _ip(expected: TcpPacket, actual: Packet) -> list[Difference]:
    ecn, wanted, found = EcnCheck(actual.tos & 3), expected.ip, []
    if wanted.ecn is EcnCheck.ANY_ECT:
        if ecn not in (EcnCheck.ECT0, EcnCheck.ECT1):
            found.append(Difference("ecn", "ect01", show_ecn(ecn)))
    elif wanted.ecn is not None and ecn is not wanted.ecn:
        found.append(Difference("ecn", show_ecn(wanted.ecn), show_ecn(ecn)))
    if wanted.tos is not None and wanted.tos != actual.tos:
        found.append(Difference("tos", hex(wanted.tos), hex(actual.tos)))
    if wanted.ttl is not None and wanted.ttl != actual.ttl:
        found.append(Difference("ttl", str(wanted.ttl), str(actual.ttl)))
    return found


def _same_options(expected: tuple[Option, ...], actual: tuple[Option, ...], options: Options) -> bool:
    if [option.kind for option in expected] != [option.kind for option in actual]:
        return False
    return all(_same_option(one, other, options) for one, other in zip(expected, actual, strict=True))


def _same_option(expected: Option, actual: Option, options: Options) -> bool:
    if expected.kind != syntax.TIMESTAMPS:
        return expected == actual
    (wanted, wanted_echo), (got, echo) = expected.numbers, actual.numbers
    apart = abs((got - wanted + (1 << 31)) % (1 << 32) - (1 << 31))
    late = options.tick_us and apart * options.tick_us > options.tolerance_us
    return not late and (not options.checks_echoes or wanted_echo == echo)


# ---- packets as a script writes them --------------------------------------------------------------------------------


def show_flags(flags: int, ace: bool = False) -> str:
    """Return flags as letters; with `ace`, the ECN flags as a number."""
    if not ace:
        return letters_of_flags(flags)
    count = sum(4 >> index for index, flag in enumerate(ACE_BITS) if flags & flag)
    return f"{letters_of_flags(flags & ~_ECN_FLAGS).replace('-', '')}{count}"


def show_ecn(ecn: EcnCheck) -> str:
    """Return an ECN field as a script writes it."""
    return {"NOT_ECT": "noecn", "ECT0": "ect0", "ECT1": "ect1", "CE": "ce", "ANY_ECT": "ect01"}[ecn.name]


_PLAIN = {syntax.EOL: "eol", syntax.NOP: "nop", syntax.SACK_OK: "sackOK"}


def show_options(options: tuple[Option, ...] | None) -> str:
    """Return options as a script writes them.

    Examples:
        >>> show_options((Option(syntax.NOP), Option(syntax.SACK, (1, 1001))))
        '<nop,sack 1:1001>'
    """
    if options is None:
        return "<...>"
    return f"<{','.join(map(_show_option, options))}>" if options else ""


def _show_option(option: Option) -> str:
    numbers = option.numbers
    match option.kind:
        case syntax.MSS:
            return f"mss {numbers[0]}"
        case syntax.WSCALE:
            return f"wscale {numbers[0]}"
        case syntax.TIMESTAMPS:
            return f"TS val {numbers[0]} ecr {numbers[1]}"
        case syntax.SACK:
            edges = zip(numbers[::2], numbers[1::2], strict=True)
            return " ".join(["sack", *(f"{start}:{end}" for start, end in edges)])
        case kind if kind in syntax.ACCURATE_ORDERS:
            counters = zip(syntax.ACCURATE_ORDERS[kind], numbers, strict=False)
            return " ".join(["ECN", *(f"{name} {count}" for name, count in counters)])
    return _PLAIN.get(option.kind, f"option-{option.kind} {option.blob.hex()}".strip())


def fields_of(packet: TcpPacket | Packet) -> list[tuple[str, str]]:
    """Return the fields of a packet in script notation, in order; empty fields are left out."""
    wanted = isinstance(packet, TcpPacket)
    ecn = packet.ip.ecn if isinstance(packet, TcpPacket) else EcnCheck(packet.tos & 3)
    shown_ecn = f"[{show_ecn(ecn)}]" if ecn is not None and (wanted or ecn is not EcnCheck.NOT_ECT) else ""
    pieces = [
        ("ecn", shown_ecn),
        ("flags", show_flags(packet.flags, isinstance(packet, TcpPacket) and packet.ace)),
        ("seq", f"{packet.seq}:{packet.seq + packet.payload}"),
        ("payload", f"({packet.payload})"),
        ("ack", f"ack {packet.ack}" if packet.flags & ACK else ""),
        ("win", "" if packet.window is None else f"win {packet.window}"),
        ("urg", f"urg {packet.urgent}" if packet.urgent else ""),
        ("options", show_options(packet.options)),
    ]
    return [(name, text) for name, text in pieces if text]


def show(packet: TcpPacket | Packet) -> str:
    """Return a packet in script notation, in one line."""
    return " ".join(text for _, text in fields_of(packet)).replace(" (", "(")
