"""Play of a case against a host, recording every ACK with the resulting state, and every segment sent.

Departures: on a kernel, in real time, an ACK leaves a fraction of a millisecond late.
"""

import heapq
import socket
import time
from collections import deque
from collections.abc import Container, Mapping
from dataclasses import dataclass, field
from itertools import count
from typing import NamedTuple

from ackclock.script import syntax
from ackclock.script.backend import Backend, Outcome, Request, Sent
from ackclock.script.packets import ACK, CWR, ECE, PSH, SYN, Packet
from ackclock.script.shell_lines import Sysctl
from ackclock.script.simulated_host import SimulatedHost
from ackclock.script.syntax import Option

from .cases import MSS, Case, Transmission
from .peer import Answer, Path, Peer

SETTINGS = {
    "net.ipv4.tcp_rmem": "4096 540000 15728640",
    "net.ipv4.tcp_wmem": "4096 4194304 16777216",
    "net.ipv4.tcp_ecn": "2",
}
WINDOW, SHIFT = 60_000, 7
COMPARED = ("snd_cwnd", "snd_ssthresh", "ca_state", "unacked", "sacked", "lost", "retrans", "reordering")
"""Fields of TCP_INFO recorded after each ACK."""

_FIRST_SYN_US, _SETTLED_US = 10_000, 20_000
HORIZON_US = 6_000_000
"""Longest duration of a play, from the time when the data was written."""
_PATIENCE_US = 200_000
_TAKEN_IN_S = 0.0002
"""Time within which a kernel has processed a packet, seconds."""
_CALL_US, _SEEN_US = 2_000, 100
"""Longest duration of a call, and delay from a segment's transmission to its observation."""
_TIMER_LATE_US = 300
"""Lateness allowed for a pacing timer: 0.04 to 0.3 ms on Linux 6.18, and an ACK may come in between."""
_STAMPS_LEN = 12
_COPY_LATER_US = 1_000
"""Delay of a duplicate after its segment."""
_READ_US = 1_000
"""Time within which the state has been read; paced segments may or may not have left meanwhile."""


@dataclass(frozen=True, slots=True)
class Moment:
    """ACK with its effect.

    Attributes:
        at_us: Time of delivery to the host, since the data was written.
        answer: The ACK.
        state: State after it: fields of `COMPARED`.
        soon: State after the time that a kernel may take to report it, for an endpoint without real time.
    """

    at_us: int
    answer: Answer
    state: Mapping[str, int]
    soon: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Departure:
    """Segment sent by the host.

    Attributes:
        at_us: Time, since the data was written.
        start: Its first offset.
        end: The offset after it.
        time: Number of the transmission, from 1.
        is_pushed: Whether its packet carries PSH.
        has_cwr: Whether its packet reports a window reduction.
    """

    at_us: int
    start: int
    end: int
    time: int
    is_pushed: bool
    has_cwr: bool = False


@dataclass(slots=True)
class Play:
    """Record of a play.

    Attributes:
        writes_us: Time of each write, since the first was due.
        moments: Every ACK.
        departures: Every segment.
    """

    writes_us: list[int] = field(default_factory=list)
    moments: list[Moment] = field(default_factory=list)
    departures: list[Departure] = field(default_factory=list)


def play(case: Case, host: Backend) -> Play:
    """Play a case, and close the host."""
    try:
        return _Game(case, host).to_end()
    finally:
        host.close()


def replay(
    case: Case, recorded: Play, host: SimulatedHost, later_us: int = 0, late_at: Container[int] = frozenset()
) -> Play:
    """Replay the ACKs of another play to a host, each at its time, and close the host.

    Args:
        case: The case.
        recorded: The other play.
        host: Host that plays it now.
        later_us: Offset of its clock.
        late_at: Indices of ACKs that overtake a timer due just before them.
    """
    try:
        return _Game(case, host, later_us).again(recorded, host, late_at)
    finally:
        host.close()


def in_order(played: Play) -> list[tuple[int, Moment | None]]:
    """Return the events at a host in order of time: ACKs, and None for its application's writes."""
    writes: list[tuple[int, Moment | None]] = [(_reached_us(at_us, played), None) for at_us in played.writes_us]
    return sorted([*writes, *((moment.at_us, moment) for moment in played.moments)], key=lambda event: event[0])


def _reached_us(at_us: int, played: Play) -> int:
    """Return when a write reached the host: with what left at once, or just before what left; a call takes time."""
    ends = [moment.at_us for moment in played.moments if moment.at_us > at_us] + [at_us + _CALL_US]
    sent = [each.at_us for each in played.departures if at_us <= each.at_us < min(ends)]
    return max(at_us, min(sent, default=0) - _SEEN_US)


def _stamp_of(packet: Packet) -> int:
    option = packet.option(syntax.TIMESTAMPS)
    return option.numbers[0] if option else 0


class _Arrival(NamedTuple):
    start: int
    end: int
    time: int
    is_marked: bool
    has_cwr: bool


class _Game:
    def __init__(self, case: Case, host: Backend, later_us: int = 0) -> None:
        self._case, self._host, self._later_us = case, host, later_us
        self._path, self._peer, self._play = Path(case), Peer(case), Play()
        self._arrivals: list[tuple[int, int, _Arrival]] = []
        self._order = count()
        self._writes = deque(case.writes)
        self._base = self._start_us = 0
        self._stamps: dict[Transmission | None, int] = {}

    def to_end(self) -> Play:
        self._connect()
        self._write()
        end_us = self._start_us + HORIZON_US
        while True:
            write_us = self._start_us + self._writes[0].at_us if self._writes else end_us
            answer_us = self._arrivals[0][0] if self._arrivals else end_us
            sent = self._host.next_sent(min(write_us, answer_us, end_us))
            if sent is not None:
                self._take(sent)
            elif min(write_us, answer_us) >= end_us:
                return self._play
            elif write_us <= answer_us:
                self._host.advance_to(write_us)
                self._write()
            elif self._answer_next():
                return self._play

    def again(self, recorded: Play, host: SimulatedHost, late_at: Container[int]) -> Play:
        self._connect()
        events = in_order(recorded)
        ends = [at_us for at_us, _ in events[1:]] + [HORIZON_US]
        for (at_us, moment), next_us in zip(events, ends, strict=True):
            is_overtaken = moment is not None and len(self._play.moments) in late_at
            self._reach(at_us - _TIMER_LATE_US if is_overtaken else at_us)
            host.stand_still_to(self._start_us + at_us)
            if moment is None:
                self._write()
                continue
            self._inject(moment.answer)
            state = self._state()
            self._reach(min(at_us + _READ_US, next_us))
            self._play.moments.append(Moment(at_us, moment.answer, state, self._state()))
        if not recorded.moments or recorded.moments[-1].answer.ack < self._case.segments * MSS:
            self._reach(HORIZON_US)  # what the other sent after the last ACK that it saw
        return self._play

    def _reach(self, at_us: int) -> None:
        self._host.advance_to(self._start_us + at_us)
        while (sent := self._host.next_sent(self._host.now_us)) is not None:
            self._take(sent)

    def _write(self) -> None:
        write = self._writes.popleft()
        self._play.writes_us.append(self._host.now_us - self._start_us)
        self._host.begin(Request("write", 4, ((write.end - write.first) * MSS, 0))).settle(self._host.now_us)

    def _connect(self) -> None:
        own = {
            "net.ipv4.tcp_congestion_control": self._case.controller,
            "net.ipv4.tcp_timestamps": str(int(self._case.has_timestamps)),
        }
        for name, value in (SETTINGS | own).items():
            self._host.apply(Sysctl(name, value))
        self._call("socket", 3, (socket.SOCK_STREAM,))
        self._call("bind", 3)
        self._call("listen", 3, (5,))
        self._host.advance_to(_FIRST_SYN_US + self._later_us)
        sack = (Option(syntax.SACK_OK),) if self._case.has_sack else (Option(syntax.NOP),) * 2
        stamps = self._stamp(None)
        offered = MSS + _STAMPS_LEN if stamps else MSS  # the option counts no others (RFC 6691)
        options = (
            Option(syntax.MSS, (offered,)),
            *sack,
            *[Option(syntax.NOP)] * 3,
            Option(syntax.WSCALE, (SHIFT,)),
            *stamps,
        )
        flags = SYN | ECE | CWR if self._case.marks else SYN
        self._host.inject(Packet(flags, 0, 0, 65_535, 0, options))
        answer = self._host.next_sent(self._host.now_us + 500_000)
        if answer is None:
            raise ValueError("the SYN is not answered")
        self._base = answer.packet.seq + 1
        self._stamps[None] = _stamp_of(answer.packet)
        self._host.advance_to(_FIRST_SYN_US + self._later_us + self._case.rtt_us - 1_500)
        self._inject(Answer(0, ()))
        self._call("accept", 3, (4, 0))
        self._start_us = _SETTLED_US + self._later_us + self._case.rtt_us
        self._host.advance_to(self._start_us)

    def _call(self, name: str, fd: int, numbers: tuple[int, ...] = ()) -> Outcome | None:
        ticket = self._host.begin(Request(name, fd, numbers))
        ticket.settle(self._host.now_us + _PATIENCE_US)
        return ticket.outcome

    def _take(self, sent: Sent) -> None:
        first = (sent.packet.seq - self._base) % (1 << 32)
        for start in range(first, first + sent.packet.payload, MSS):
            end = min(start + MSS, first + sent.packet.payload)
            transmission, back_us = self._path.send(start, sent.at_us)
            self._stamps[transmission] = _stamp_of(sent.packet)
            pushed, has_cwr = bool(sent.packet.flags & PSH), start == first and bool(sent.packet.flags & CWR)
            at_us = sent.at_us - self._start_us
            self._play.departures.append(Departure(at_us, start, end, transmission[1], pushed, has_cwr))
            if back_us is None:
                continue
            is_marked = transmission[1] == 1 and transmission in self._case.marks
            for _ in range(2 if transmission in self._case.copies else 1):
                arrival = _Arrival(start, end, transmission[1], is_marked, has_cwr)
                heapq.heappush(self._arrivals, (back_us, next(self._order), arrival))
                back_us += _COPY_LATER_US

    def _answer_next(self) -> bool:
        """Deliver the next segment and its ACK, and return whether the case is over."""
        at_us, _, arrival = heapq.heappop(self._arrivals)
        self._host.advance_to(at_us)
        answer = self._peer.arrive(
            arrival.start, arrival.end, arrival.time, is_marked=arrival.is_marked, has_cwr=arrival.has_cwr
        )
        if answer is None:
            return False
        given_us = self._host.now_us - self._start_us
        self._inject(answer)
        if self._host.patience_us < HORIZON_US:
            time.sleep(_TAKEN_IN_S)
        self._note(given_us, answer)
        return self._peer.is_done and not self._arrivals

    def _note(self, at_us: int, answer: Answer) -> None:
        state = self._state()
        self._play.moments.append(Moment(at_us, answer, state, state))

    def _state(self) -> Mapping[str, int]:
        info = self._host.tcp_info()
        return {name: info[name] for name in COMPARED}

    def _inject(self, answer: Answer) -> None:
        edges = tuple((self._base + edge) % (1 << 32) for block in answer.blocks for edge in block)
        sack = (Option(syntax.NOP), Option(syntax.NOP), Option(syntax.SACK, edges)) if edges else ()
        stamps = self._stamp(answer.answers)
        flags = ACK | ECE if answer.echoes else ACK
        self._host.inject(Packet(flags, 1, (self._base + answer.ack) % (1 << 32), WINDOW, 0, (*stamps, *sack)))

    def _stamp(self, answers: Transmission | None) -> tuple[Option, ...]:
        if not self._case.has_timestamps:
            return ()
        echo = self._stamps.get(answers, 0)
        value = (self._host.now_us // 1000 + 1) % (1 << 32)
        return (Option(syntax.NOP), Option(syntax.NOP), Option(syntax.TIMESTAMPS, (value, echo)))
