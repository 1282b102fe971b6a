"""Packets of a script beside segments of an endpoint."""

from dataclasses import dataclass

from ackclock import _core
from ackclock.script.model import Options, Packet

_FLAG_BITS = {
    "F": 0x01,
    "S": 0x02,
    "R": 0x04,
    "P": 0x08,
    ".": 0x10,
    "U": 0x20,
    "E": 0x40,
    "W": 0x80,
    "C": 0x80,
    "A": 0x100,
}
_ECN_CODES = {"noecn": 0, "ect1": 1, "ect0": 2, "ce": 3}
ECN_NAMES = ("noecn", "ect1", "ect0", "ce")


@dataclass(slots=True)
class Timestamps:
    """Values of the script for values of the endpoint's clock, as outbound packets have shown them."""

    live: dict[int, int]

    def to_live(self, script: int) -> int:
        """What the endpoint's clock showed where the script says `script`."""
        return self.live.get(script, script)


def flag_bits(flags: str) -> int:
    """Bits of the TCP header for a script's letters; digits set the ACE field."""
    bits = 0
    for letter in flags:
        if letter.isdigit():
            ace = int(letter)
            bits |= (0x100 if ace & 4 else 0) | (0x80 if ace & 2 else 0) | (0x40 if ace & 1 else 0)
        elif letter != "-":
            bits |= _FLAG_BITS[letter]
    return bits


def flag_letters(bits: int) -> str:
    """A script's letters for bits of the TCP header."""
    return "".join(letter for letter in "FSRPUEWA." if bits & _FLAG_BITS[letter]) or "-"


def inbound(packet: Packet, timestamps: Timestamps) -> _core.Segment:
    """The segment that a `<` line injects."""
    options = packet.options or Options()
    echo = options.timestamps and (options.timestamps[0], timestamps.to_live(options.timestamps[1]))
    return _core.Segment(
        seq=packet.seq,
        ack=packet.ack or 0,
        payload=packet.payload,
        window=min(packet.window if packet.window is not None else 0, 65535),
        flags=flag_bits(packet.flags),
        ecn=_ECN_CODES[packet.ecn or "noecn"],
        mss=options.mss or 0,
        window_scale=options.wscale,
        sack_permitted=options.sack_ok,
        timestamps=echo,
        sack=list(options.sack),
    )


def joined(first: _core.Segment, second: _core.Segment) -> _core.Segment | None:
    """Two segments sent back to back as the burst that they are to a host with segmentation offload."""
    apart = 0x01 | 0x02 | 0x04
    if first.seq + first.payload != second.seq or not second.payload or not first.payload:
        return None
    if first.flags & apart or second.flags & 0x86 or first.ack != second.ack or first.ecn != second.ecn:
        return None
    flags = (first.flags & ~0x08) | second.flags
    return _replace(first, payload=first.payload + second.payload, flags=flags)


def split(segment: _core.Segment, payload: int) -> tuple[_core.Segment, _core.Segment]:
    """A segment cut after `payload` octets; what marks its end stays with the second part."""
    ends = 0x01 | 0x08
    return (
        _replace(segment, payload=payload, flags=segment.flags & ~ends),
        _replace(segment, seq=(segment.seq + payload) & 0xFFFFFFFF, payload=segment.payload - payload),
    )


def _replace(
    segment: _core.Segment, *, seq: int | None = None, payload: int, flags: int | None = None
) -> _core.Segment:
    return _core.Segment(
        seq=segment.seq if seq is None else seq,
        ack=segment.ack,
        payload=payload,
        window=segment.window,
        flags=segment.flags if flags is None else flags,
        ecn=segment.ecn,
        mss=segment.mss,
        window_scale=segment.window_scale,
        sack_permitted=segment.sack_permitted,
        timestamps=segment.timestamps,
        sack=segment.sack,
    )


def differences(packet: Packet, segment: _core.Segment, timestamps: Timestamps, *, ends_data: bool) -> list[str]:
    """Names of the fields in which a sent segment is not what the script expects.

    PSH is looked at where the data written so far ends; before that it tells how a kernel cuts its buffers.
    """
    ignored = 0 if ends_data else _FLAG_BITS["P"]
    checks: list[tuple[str, object, object]] = [
        ("flags", flag_bits(packet.flags) & ~ignored, segment.flags & ~ignored),
        ("seq", packet.seq, segment.seq),
        ("length", packet.payload, segment.payload),
    ]
    if packet.ack is not None:
        checks.append(("ack", packet.ack, segment.ack))
    if packet.window is not None:
        checks.append(("window", packet.window, segment.window))
    if packet.ecn is not None:
        checks.append(("ecn", _ECN_CODES[packet.ecn], segment.ecn))
    if packet.options is not None:
        checks.extend(_option_checks(packet.options, segment, timestamps))
    return [name for name, expected, actual in checks if expected != actual]


def _option_checks(
    options: Options, segment: _core.Segment, timestamps: Timestamps
) -> list[tuple[str, object, object]]:
    checks: list[tuple[str, object, object]] = [
        ("mss", options.mss or 0, segment.mss),
        ("wscale", options.wscale, segment.window_scale),
        ("sackOK", options.sack_ok, segment.sack_permitted),
        ("sack", list(options.sack), segment.sack),
    ]
    if options.timestamps is None or segment.timestamps is None:
        checks.append(("TS", options.timestamps is None, segment.timestamps is None))
    else:
        timestamps.live.setdefault(options.timestamps[0], segment.timestamps[0])
        timestamps.live[options.timestamps[0]] = segment.timestamps[0]
        checks.append(("TS ecr", options.timestamps[1], segment.timestamps[1]))
    return checks


def text_of(segment: _core.Segment, *, with_options: bool = True) -> str:
    """A segment in the script's notation."""
    end = (segment.seq + segment.payload) & 0xFFFFFFFF
    parts = [f"[{ECN_NAMES[segment.ecn]}]"] if segment.ecn else []
    parts += [flag_letters(segment.flags), f"{segment.seq}:{end}({segment.payload})"]
    if segment.flags & 0x10:
        parts.append(f"ack {segment.ack}")
    parts.append(f"win {segment.window}")
    words = []
    if segment.mss:
        words.append(f"mss {segment.mss}")
    if segment.sack_permitted:
        words.append("sackOK")
    if segment.timestamps is not None:
        words.append(f"TS val {segment.timestamps[0]} ecr {segment.timestamps[1]}")
    if segment.window_scale is not None:
        words.append(f"wscale {segment.window_scale}")
    if segment.sack:
        words.append("sack " + " ".join(f"{start}:{end}" for start, end in segment.sack))
    if words and with_options:
        parts.append(f"<{','.join(words)}>")
    return " ".join(parts)
