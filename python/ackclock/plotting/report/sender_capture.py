"""Capture at a flow's sender, as columns: data, ACKs and SACK blocks (RFC 9293, 2018, 7323).

The flow is the first one opened. Segments in the direction of its SYN are data, the others acknowledge it. Sequence
numbers are converted to positions since the SYN, however often they wrap.

Departures: data sent by the other end is left out, and so are duplicates that a SACK reports (RFC 2883), which lie
below the acknowledged position.
"""

import struct
from collections.abc import Iterator
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
"""Size of the IPv4 and TCP headers without options, octets."""


@dataclass(frozen=True, slots=True)
class Marks:
    """Times with two positions each.

    Attributes:
        time_s: Times, ascending.
        begin: First position of data or of a block; for an ACK the acknowledged position.
        end: End of data or of a block; for an ACK the end of the receive window, or nothing if unknown.
    """

    time_s: Floats = field(default_factory=lambda: np.empty(0))
    begin: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    end: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, dtype=np.int64))

    @classmethod
    def of(cls, rows: list[tuple[float, int, int]]) -> "Marks":
        """Return rows as columns."""
        times, *positions = zip(*rows, strict=True) if rows else ((), (), ())
        return cls(np.array(times, dtype=np.float64), *(np.array(column, dtype=np.int64) for column in positions))

    def __getitem__(self, chosen: slice | NDArray[np.int64]) -> "Marks":
        """Return a selection of the rows."""
        return Marks(self.time_s[chosen], self.begin[chosen], self.end[chosen] if self.end.size else self.end)


class _Positions:
    """Unwrapped positions since the SYN: for each number, the position nearest to the last."""

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

    data: list[tuple[float, int, int]] = field(default_factory=list)
    acks: list[tuple[float, int, int]] = field(default_factory=list)
    blocks: list[tuple[float, int, int]] = field(default_factory=list)
    positions: _Positions | None = None
    opener: bytes = b""
    scale: int = 0

    def read(self, time_s: float, frame: bytes) -> None:
        """Process a packet of IPv4 and TCP."""
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
                self.data.append((time_s, begin, begin + size))
        elif self.positions is not None and flags & _ACK:
            acked = self.positions.of(acknowledgment)
            self.acks.append((time_s, acked, acked + (window << self.scale)))
            blocks = _blocks(options, self.positions)
            self.blocks += [(time_s, left, right) for left, right in blocks if left >= acked]

    def _open(self, sequence: int, source: bytes, options: bytes, *, answers: bool) -> None:
        if answers:
            self.scale = next((body[0] for body in _bodies(options, dpkt.tcp.TCP_OPT_WSCALE) if body), 0)
        elif self.positions is None:
            self.opener, self.positions = source, _Positions(sequence)


def segments(path: Path) -> tuple[Marks, Marks, Marks]:
    """Read a flow's capture.

    Args:
        path: File written for `flow.NAME.capture`: raw IPv4 in pcapng.

    Returns:
        Segments of data, ACKs, and SACK blocks.

    Raises:
        OSError: If it cannot be read.
        ackclock.base.checked_files.DamagedError: If it is not a capture, or truncated.
    """
    reader = _Reader()
    try:
        with path.open("rb") as file:
            for time_s, _, _, frame in pcapng.packets(file):
                if len(frame) >= _LEAST and frame[9] == dpkt.ip.IP_PROTO_TCP:
                    reader.read(float(time_s), frame)
    except (ValueError, LookupError, struct.error) as error:
        raise DamagedError(path, f"it is not a complete capture ({error})", "run the scenario again") from error
    return Marks.of(reader.data), Marks.of(reader.acks), Marks.of(reader.blocks)


def _bodies(options: bytes, kind: int) -> Iterator[bytes]:
    """Yield the content of each option of a kind, up to the end of options or a truncated one."""
    for option in dpkt.tcp.parse_opts(options) if options else ():
        if option is None or option[0] == dpkt.tcp.TCP_OPT_EOL:
            return
        if option[0] == kind:
            yield option[1]


def _blocks(options: bytes, positions: _Positions) -> Iterator[tuple[int, int]]:
    for body in _bodies(options, dpkt.tcp.TCP_OPT_SACK):
        for left, right in struct.iter_unpack("!II", body[: len(body) // 8 * 8]):
            begin = positions.of(left)
            yield begin, begin + (right - left) % _WRAP
