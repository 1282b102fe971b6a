"""A flow's capture at its sender's host, as columns: data, acknowledgments and blocks of SACKs (RFC 9293, 2018, 7323).

The flow is the first that opens; what goes the way of its SYN is data, what comes back acknowledges it. Numbers are
turned into positions since the SYN, whole however often they wrap.

Departures: data that the other end sends is left out, and so are duplicates that a SACK reports (RFC 2883), which lie
below what is acknowledged.
"""

import struct
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import dpkt
import numpy as np
from numpy.typing import NDArray

from ackclock.base.checked_files import DamagedError
from ackclock.results import pcapng
from ackclock.stats.metrics import Floats

_SYN, _ACK = dpkt.tcp.TH_SYN, dpkt.tcp.TH_ACK
_WRAP: Final = 1 << 32
_LEAST: Final = 40
"""Octets of the headers of IPv4 and TCP without options."""


@dataclass(slots=True)
class _Rows:
    """Times with two positions each."""

    time_s: list[float] = field(default_factory=list)
    begin: list[int] = field(default_factory=list)
    end: list[int] = field(default_factory=list)

    def add(self, time_s: float, begin: int, end: int) -> None:
        self.time_s.append(time_s)
        self.begin.append(begin)
        self.end.append(end)

    def as_columns(self) -> "Marks":
        return Marks(
            np.array(self.time_s, dtype=np.float64),
            np.array(self.begin, dtype=np.int64),
            np.array(self.end, dtype=np.int64),
        )


@dataclass(frozen=True, slots=True)
class Marks:
    """Times with two positions each.

    Attributes:
        time_s: Ascending.
        begin: Of data or of a block; of an ACK what it acknowledges.
        end: Of these; of an ACK up to where the window reaches.
    """

    time_s: Floats
    begin: NDArray[np.int64]
    end: NDArray[np.int64]


class _Positions:
    """Positions since the SYN of numbers that wrap: those nearest to the last."""

    def __init__(self, first: int) -> None:
        self._first = first
        self._near = 0

    def of(self, number: int) -> int:
        found = (number - self._first - self._near) % _WRAP
        position = self._near + (found - _WRAP if found >= _WRAP // 2 else found)
        self._near = max(self._near, position)
        return position


@dataclass(slots=True)
class _Reader:
    """State of reading a capture."""

    data: _Rows = field(default_factory=_Rows)
    acks: _Rows = field(default_factory=_Rows)
    blocks: _Rows = field(default_factory=_Rows)
    positions: _Positions | None = None
    opener: bytes = b""
    scale: int = 0

    def read(self, time_s: float, frame: bytes) -> None:
        """Take in a packet of IPv4 and TCP."""
        head = (frame[0] & 15) * 4
        _, _, sequence, acknowledgment, flags, window = struct.unpack_from("!HHIIHH", frame, head)
        header = (flags >> 12) * 4
        options = frame[head + 20 : head + header]
        if flags & _SYN:
            self._open(sequence, frame[12:16], options, answers=bool(flags & _ACK))
        elif self.positions is not None and frame[12:16] == self.opener:
            size = int.from_bytes(frame[2:4], "big") - head - header
            if size > 0:
                begin = self.positions.of(sequence)
                self.data.add(time_s, begin, begin + size)
        elif self.positions is not None and flags & _ACK:
            acked = self.positions.of(acknowledgment)
            self.acks.add(time_s, acked, acked + (window << self.scale))
            _add_blocks(self.blocks, time_s, options, self.positions, acked)

    def _open(self, sequence: int, source: bytes, options: bytes, *, answers: bool) -> None:
        if answers:
            self.scale = _window_scale(options)
        elif self.positions is None:
            self.opener, self.positions = source, _Positions(sequence)


def segments(path: Path) -> tuple[Marks, Marks, Marks]:
    """Read a flow's capture.

    Args:
        path: As `flow.NAME.capture` leaves it: raw IPv4 in pcapng.

    Returns:
        Segments of data, ACKs, and blocks of SACKs.

    Raises:
        OSError: If it cannot be read.
        ackclock.base.checked_files.DamagedError: If it is no capture, or cut.
    """
    reader = _Reader()
    try:
        with path.open("rb") as file:
            for time_s, _, _, frame in pcapng.packets(file):
                if len(frame) >= _LEAST and frame[9] == dpkt.ip.IP_PROTO_TCP:
                    reader.read(float(time_s), frame)
    except (ValueError, LookupError, struct.error) as error:
        raise DamagedError(path, f"it is not a complete capture ({error})", "run the scenario again") from error
    return reader.data.as_columns(), reader.acks.as_columns(), reader.blocks.as_columns()


def _options(options: bytes) -> list[tuple[int, bytes]]:
    found, at = [], 0
    while at < len(options) and options[at] != dpkt.tcp.TCP_OPT_EOL:
        if options[at] == dpkt.tcp.TCP_OPT_NOP:
            at += 1
            continue
        length = options[at + 1] if at + 1 < len(options) else 0
        if length < 2:
            break
        found.append((options[at], options[at + 2 : at + length]))
        at += length
    return found


def _window_scale(options: bytes) -> int:
    return next((body[0] for kind, body in _options(options) if kind == dpkt.tcp.TCP_OPT_WSCALE and body), 0)


def _add_blocks(blocks: _Rows, time_s: float, options: bytes, positions: _Positions, acked: int) -> None:
    for kind, body in _options(options):
        if kind != dpkt.tcp.TCP_OPT_SACK:
            continue
        for at in range(0, len(body) - 7, 8):
            left, right = struct.unpack_from("!II", body, at)
            begin = positions.of(left)
            if begin >= acked:
                blocks.add(time_s, begin, begin + (right - left) % _WRAP)
