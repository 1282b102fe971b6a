"""Random cases: the data sent, and the network's effects on it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from itertools import accumulate
from random import Random

MSS = 1000
"""Segment size in octets, so that a segment's number is its offset in thousands."""

_RTTS_US = (31_650, 60_680, 95_410)
"""Round trips, none of whole milliseconds: a kernel's ticks are rounded up."""
_SERVICES_US = (1_430, 2_090, 3_170)
_DELAYS_US = (1_630, 3_110, 8_270, 19_700)
_PAUSES_US = (7_100, 41_300, 133_700, 431_900, 1_217_000)
"""Pauses, chosen so that no sum of them is a threshold of HyStart or RACK.

Those are half of a round trip and of a millisecond (the ACK train), an eighth of it or 4 ms, and a quarter. There a
kernel's tenths of a millisecond would matter, which a simulated endpoint does not have: with 98.7 ms and 1.43 ms an ACK
train ended 0.1 ms beside the threshold.
"""

CONTROLLERS = (
    *("bbr", "bic", "cubic", "highspeed", "htcp", "hybla", "illinois", "nv", "reno"),
    *("scalable", "vegas", "veno", "westwood", "yeah"),
)
"""Controllers that the kernel and the endpoint both have, with Linux's names."""

Transmission = tuple[int, int]
"""Segment number, and how many times it has been sent so far, from 1."""


@dataclass(frozen=True, slots=True)
class Write:
    """Single write of the application.

    Attributes:
        at_us: Time since the first write.
        first: Its first segment.
        end: The segment after its last.
    """

    at_us: int
    first: int
    end: int


@dataclass(frozen=True, slots=True)
class Case:
    """Transfer with its network effects.

    Attributes:
        seed: Seed that it was drawn from.
        kind: Effect of the network, in a word.
        controller: Congestion control.
        rtt_us: Round-trip time without queueing.
        service_us: Service time of a segment at the bottleneck.
        segments: Number of segments written.
        per_ack: In-order segments per ACK.
        drops: Transmissions lost by the network.
        delays_us: Transmissions delayed by the network, with their delays.
        copies: Transmissions delivered twice.
        marks: Segments marked at their first transmission; RFC 3168 section 6.1.5 allows no other marks.
        has_sack: Whether the peer reports out-of-order data.
        has_timestamps: Whether both ends use timestamps.
        pauses_us: Pauses of the application before segments; the data in between is written at once.
    """

    seed: int
    kind: str
    controller: str
    rtt_us: int
    service_us: int
    segments: int
    per_ack: int
    drops: frozenset[Transmission] = frozenset()
    delays_us: Mapping[Transmission, int] = field(default_factory=dict)
    pauses_us: Mapping[int, int] = field(default_factory=dict)
    copies: frozenset[Transmission] = frozenset()
    marks: frozenset[Transmission] = frozenset()
    has_sack: bool = True
    has_timestamps: bool = False

    @property
    def writes(self) -> tuple[Write, ...]:
        """Writes of the application, in order."""
        firsts = [0, *sorted(first for first in self.pauses_us if 0 < first < self.segments)]
        ends = [*firsts[1:], self.segments]
        times = accumulate(self.pauses_us.get(first, 0) if first else 0 for first in firsts)
        return tuple(Write(at_us, first, end) for at_us, first, end in zip(times, firsts, ends, strict=True))

    def __str__(self) -> str:
        """Return a description in one line."""
        return (
            f"{self.kind}, {self.controller}, {self.segments} segments, RTT {self.rtt_us // 1000} ms, one segment in "
            f"{self.service_us / 1000:g} ms, an ACK for {self.per_ack}"
            + ("" if self.has_sack else ", without SACK")
            + (", timestamps" if self.has_timestamps else "")
        )


def draw(seed: int, wanted: str | None = None) -> Case:
    """Return the case of a seed, the same everywhere.

    Args:
        seed: The seed.
        wanted: Congestion control, of `CONTROLLERS`; by default drawn, CUBIC or Reno.
    """
    random = Random(seed)
    segments = random.choice((20, 30, 40, 60, 80, 120))
    rtt_us, service_us = random.choice(_RTTS_US), random.choice(_SERVICES_US)
    per_ack, controller = random.choice((1, 1, 2)), random.choice(("cubic", "cubic", "reno"))
    kind = random.choice(tuple(_DROPS))
    drops = frozenset(_DROPS[kind](random, segments))
    delays = _delays(random, segments) if kind == "reorder" else {}
    pauses = _pauses(random, segments) if kind == "pauses" else {}
    copies = _some(random, segments) if kind == "copies" else frozenset()
    # The endpoint's BBR declines ECN; Linux's notes the state of an answer that it does not give.
    marks = _some(random, segments) if kind == "marks" and wanted != "bbr" else frozenset()
    has_sack, has_timestamps = random.random() < 0.9, random.random() < 0.5
    path = (rtt_us, service_us, segments, per_ack, drops, delays, pauses, copies, marks, has_sack, has_timestamps)
    return Case(seed, kind, wanted or controller, *path)


def _some(random: Random, segments: int) -> frozenset[Transmission]:
    return frozenset((index, 1) for index in range(segments) if random.random() < 0.1)


def _up_to_two(random: Random, segments: int) -> set[Transmission]:
    return {(random.randrange(segments), 1) for _ in range(random.randrange(3))}


def _burst(random: Random, segments: int) -> set[Transmission]:
    first = random.randrange(segments)
    return {(index, 1) for index in range(first, min(segments, first + random.randrange(2, 8)))}


def _lost_again(random: Random, segments: int) -> set[Transmission]:
    first = random.randrange(segments - 5)
    also = {(first + 2, 1)} if random.random() < 0.5 else set()
    return {(first, 1), (first, 2)} | also


def _heavy(random: Random, segments: int) -> set[Transmission]:
    rates = {1: 0.3, 2: 0.15}
    return {(index, time) for index in range(segments) for time in (1, 2) if random.random() < rates[time]}


def _delays(random: Random, segments: int) -> dict[Transmission, int]:
    late = [index for index in range(segments) if random.random() < 0.1]
    return {(index, 1): random.choice(_DELAYS_US) for index in late}


def _pauses(random: Random, segments: int) -> dict[int, int]:
    return {random.randrange(1, segments): random.choice(_PAUSES_US) for _ in range(random.randrange(1, 7))}


_DROPS: dict[str, Callable[[Random, int], set[Transmission]]] = {
    "single": lambda random, segments: {(random.randrange(segments), 1)},
    "two": lambda random, segments: {(random.randrange(segments), 1) for _ in range(2)},
    "burst": _burst,
    "random": lambda random, segments: {(index, 1) for index in range(segments) if random.random() < 0.08},
    "tail": lambda random, segments: {(index, 1) for index in range(segments - random.randrange(1, 5), segments)},
    "lost again": _lost_again,
    "heavy": _heavy,
    "reorder": lambda _random, _segments: set(),
    "pauses": _up_to_two,
    "copies": _up_to_two,
    "marks": _up_to_two,
}
"""Losses of each kind."""
