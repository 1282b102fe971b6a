"""Peer of a case: a bottleneck with losses and delays, and a receiver that acknowledges arriving segments.

Source: RFC 2018 section 4 (the newest block first) and RFC 2883 (a duplicate before it) for the content of an ACK.
"""

from collections import Counter
from dataclasses import dataclass

from .cases import MSS, Case, Transmission

Block = tuple[int, int]
"""Block of the stream: its offset, and that of the octet after it."""


@dataclass(frozen=True, slots=True)
class Answer:
    """ACK of the peer.

    Attributes:
        ack: Next missing offset.
        blocks: SACK blocks of a duplicate and of later data, at most three.
        echoes: Whether it reports a mark.
        answers: Transmission whose timestamp it echoes; None for that of the handshake.
    """

    ack: int
    blocks: tuple[Block, ...]
    echoes: bool = False
    answers: Transmission | None = None


class Path:
    """Path to the peer."""

    def __init__(self, case: Case) -> None:
        """Begin with nothing sent."""
        self._case = case
        self._sent: Counter[int] = Counter()
        self._free_us = 0

    def send(self, offset: int, at_us: int) -> tuple[Transmission, int | None]:
        """Send a segment and return the transmission and the time of its ACK; None if it is lost."""
        index = offset // MSS
        self._sent[offset] += 1
        transmission = (index, self._sent[offset])
        if transmission in self._case.drops:
            return transmission, None
        half = self._case.rtt_us // 2
        self._free_us = max(at_us + half, self._free_us + self._case.service_us)
        return transmission, self._free_us + half + self._case.delays_us.get(transmission, 0)


class Peer:
    """Receiver's state."""

    def __init__(self, case: Case) -> None:
        """Begin with nothing received."""
        self._case = case
        self.ack = 0
        self._early: list[int] = []
        self._holds_ack = self._echoes = False
        self._answered = 0
        self._recent: Transmission | None = None
        self._ends = {write.end * MSS for write in case.writes}

    @property
    def is_done(self) -> bool:
        """Whether all data has arrived."""
        return self.ack >= self._case.segments * MSS

    def arrive(
        self, start: int, end: int, time: int = 1, *, is_marked: bool = False, has_cwr: bool = False
    ) -> Answer | None:
        """Process a segment and return the ACK, unless it is delayed until the next segment of the same write."""
        if start <= self._answered < end:  # RFC 7323 section 4.3: of the last ACK
            self._recent = (start // MSS, time)
        self._echoes = is_marked or (self._echoes and not has_cwr)
        is_duplicate = start < self.ack or start in self._early
        if start == self.ack:
            self.ack = end
            while self.ack in self._early:
                self._early.remove(self.ack)
                self.ack += MSS
        elif not is_duplicate:
            self._early.append(start)
        self._early = [offset for offset in self._early if offset >= self.ack]
        in_order = not is_duplicate and not self._early and self.ack not in self._ends
        if self._case.per_ack == 2 and in_order and not self._holds_ack:
            self._holds_ack = True
            return None
        self._holds_ack, self._answered = False, self.ack
        duplicate: tuple[Block, ...] = ((start, end),) if is_duplicate else ()
        blocks = (*duplicate, *self._blocks())[:3] if self._case.has_sack else ()
        return Answer(self.ack, blocks, self._echoes, self._recent)

    def _blocks(self) -> list[Block]:
        joined: list[Block] = []
        for offset in sorted(self._early):
            if joined and joined[-1][1] == offset:
                joined[-1] = (joined[-1][0], offset + MSS)
            else:
                joined.append((offset, offset + MSS))
        newest_first: list[Block] = []
        for offset in reversed(self._early):
            block = next(block for block in joined if block[0] <= offset < block[1])
            if block not in newest_first:
                newest_first.append(block)
        return newest_first
