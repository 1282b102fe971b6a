"""Every connection state with every kind of segment: the host's answer, and the remaining state.

Source: the states and segments of RFC 9293 sections 3.3.2 and 3.10.7; positions beside the window as RFC 5961 and
section 3.10.7.4 distinguish them.

Departures: timestamps, window scaling and ECN are off. A connection gets one segment, so that effects of two together
are not covered.
"""

import socket
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from random import Random

from ackclock.script import syntax
from ackclock.script.backend import Backend, Outcome, Request
from ackclock.script.constants import CONSTANTS, STATES, errno_name
from ackclock.script.packets import ACK, FIN, PSH, RST, SYN, Packet, letters_of_flags
from ackclock.script.shell_lines import Sysctl
from ackclock.script.syntax import Option

from .play import SETTINGS

_SETTINGS = SETTINGS | {
    "net.ipv4.tcp_rmem": "4096 60000 60000",
    "net.ipv4.tcp_window_scaling": "0",
    "net.ipv4.tcp_invalid_ratelimit": "0",
}
"""Settings: a window that fits its field, and no rate limit of answers, so that a connection can be probed twice."""

_LISTENER, _FD = 3, 4
_PEER_INITIAL, _WINDOW, _MSS = 200_000, 30_000, 1_000
_RTT_US, _SETTLE_US = 5_000, 4_000
_ANSWERED_US = 80_000
"""Time by which a delayed ACK has left, and no timeout has expired."""
_ASKED_US = 20_000

_LISTENS = ("LISTEN", "SYN-RECEIVED")
_WITHOUT_NUMBERS = ("LISTEN", "SYN-SENT")


@dataclass(frozen=True, slots=True)
class Probe:
    """Segment for a connection.

    Attributes:
        state: State of the connection, of `STATES_REACHED`.
        flags: Flags, as bits.
        seq: Position of its first octet, of `SEQUENCES`.
        ack: Acknowledged position, of `ACKNOWLEDGMENTS`; empty without ACK.
        payload: Payload size, octets.
    """

    state: str
    flags: int
    seq: str
    ack: str
    payload: int

    def __str__(self) -> str:
        """Return its text in tables."""
        ack = f" ack {self.ack}" if self.ack else ""
        return f"{self.state}: {letters_of_flags(self.flags)} {self.seq}({self.payload}){ack}"


@dataclass(slots=True)
class _Numbers:
    """Sequence numbers of both ends so far."""

    snd_nxt: int = 0
    rcv_nxt: int = _PEER_INITIAL
    edge: int = _PEER_INITIAL
    outstanding: int = 0


SEQUENCES: Mapping[str, Callable[[_Numbers], int]] = {
    "left": lambda numbers: numbers.rcv_nxt - 100,
    "before": lambda numbers: numbers.rcv_nxt - 1,
    "next": lambda numbers: numbers.rcv_nxt,
    "inside": lambda numbers: numbers.rcv_nxt + 100,
    "edge": lambda numbers: numbers.edge,
    "right": lambda numbers: numbers.edge + 100_000,
}
"""Positions of a segment: left of the awaited octet, just before, at, above it, at the window's right edge, beyond."""

ACKNOWLEDGMENTS: Mapping[str, Callable[[_Numbers], int]] = {
    "far": lambda numbers: numbers.snd_nxt - numbers.outstanding - 100_000,
    "old": lambda numbers: numbers.snd_nxt - numbers.outstanding - 1,
    "una": lambda numbers: numbers.snd_nxt - numbers.outstanding,
    "all": lambda numbers: numbers.snd_nxt,
    "unsent": lambda numbers: numbers.snd_nxt + 1,
}
"""Acknowledged positions: outside any window, just below the outstanding data, none or all of it, or too much."""

_KINDS: tuple[tuple[int, int], ...] = (
    (0, 10),
    (FIN, 0),
    (SYN, 0),
    (RST, 0),
    (ACK, 0),
    (ACK | PSH, 10),
    (ACK | FIN, 0),
    (ACK | FIN | PSH, 10),
    (ACK | SYN, 0),
    (ACK | RST, 0),
)


class _Connection:
    """Connection on its way to a state."""

    def __init__(self, host: Backend) -> None:
        self.host, self.numbers = host, _Numbers()
        self.has_descriptor = True
        for name, value in _SETTINGS.items():
            host.apply(Sysctl(name, value))
        host.advance_to(_SETTLE_US)

    def call(self, name: str, fd: int, *numbers: int) -> Outcome | None:
        ticket = self.host.begin(Request(name, fd, numbers))
        ticket.settle(self.host.now_us + _ANSWERED_US)
        return ticket.outcome

    def send(self, flags: int, seq: int, ack: int = 0, payload: int = 0) -> None:
        options = (Option(syntax.MSS, (_MSS,)), Option(syntax.SACK_OK), Option(syntax.NOP), Option(syntax.NOP))
        wire = (seq % (1 << 32), ack % (1 << 32) if flags & ACK else 0)
        self.host.inject(Packet(flags, *wire, _WINDOW, payload, options if flags & SYN else ()))

    def say(self, flags: int, payload: int = 0) -> None:
        """Send the peer's next segment, which acknowledges everything."""
        self.host.advance_to(self.host.now_us + _RTT_US)
        self.send(flags, self.numbers.rcv_nxt, self.numbers.snd_nxt, payload)
        self.numbers.rcv_nxt += payload + bool(flags & FIN)
        self.numbers.outstanding = 0

    def heard(self, for_us: int, most: int = 100) -> list[Packet]:
        """Return the packets that the host sends within a time."""
        until_us, packets = self.host.now_us + for_us, list[Packet]()
        while len(packets) < most and (sent := self.host.next_sent(until_us)) is not None:
            packets.append(sent.packet)
        self.host.advance_to(self.host.now_us if len(packets) == most else until_us)
        return packets

    def hear(self, outstanding: int) -> None:
        """Receive one segment of the host, leaving this number of octets outstanding."""
        packet = self.heard(_ANSWERED_US, most=1)[0]
        self._learn(packet)
        self.numbers.outstanding = outstanding

    def _learn(self, packet: Packet) -> None:
        self.numbers.snd_nxt = packet.seq + packet.payload + bool(packet.flags & SYN) + bool(packet.flags & FIN)
        if packet.flags & ACK:
            self.numbers.edge = packet.ack + packet.window


def _listen(to: _Connection) -> None:
    to.has_descriptor = False
    to.call("socket", _LISTENER, socket.SOCK_STREAM)
    to.call("bind", _LISTENER)
    to.call("listen", _LISTENER, 5)


def _syn_received(to: _Connection) -> None:
    _listen(to)
    to.send(SYN, _PEER_INITIAL)
    to.numbers.rcv_nxt += 1
    to.hear(outstanding=1)


def _accepted(to: _Connection) -> None:
    _syn_received(to)
    to.say(ACK)
    to.heard(_SETTLE_US)
    to.call("accept", _LISTENER, _FD, 0)
    to.has_descriptor = True


def _syn_sent(to: _Connection) -> None:
    to.call("socket", _FD, socket.SOCK_STREAM | socket.SOCK_NONBLOCK)
    to.call("connect", _FD)
    to.hear(outstanding=1)


def _both_at_once(to: _Connection) -> None:
    _syn_sent(to)
    to.say(SYN)
    to.numbers.rcv_nxt += 1
    to.hear(outstanding=1)


def _with_data_out(to: _Connection) -> None:
    _accepted(to)
    to.call("write", _FD, 100, 0)
    to.hear(outstanding=100)


def _fin_wait_1(to: _Connection) -> None:
    _accepted(to)
    to.call("shutdown", _FD, CONSTANTS["SHUT_WR"])
    to.hear(outstanding=1)


def _closed_fin_wait_1(to: _Connection) -> None:
    _accepted(to)
    to.call("close", _FD)
    to.has_descriptor = False
    to.hear(outstanding=1)


def _close_wait(to: _Connection) -> None:
    _accepted(to)
    to.say(ACK | FIN)
    to.heard(_ANSWERED_US)


def _then(before: Callable[[_Connection], None], flags: int) -> Callable[[_Connection], None]:
    def reach(to: _Connection) -> None:
        before(to)
        if flags & ACK:
            to.say(flags)
        else:
            to.host.advance_to(to.host.now_us + _RTT_US)
        to.heard(_SETTLE_US)

    return reach


def _closing(to: _Connection) -> None:
    """Send the peer's FIN, which does not acknowledge the host's."""
    _fin_wait_1(to)
    to.host.advance_to(to.host.now_us + _RTT_US)
    to.send(ACK | FIN, to.numbers.rcv_nxt, to.numbers.snd_nxt - 1)
    to.numbers.rcv_nxt += 1
    to.heard(_SETTLE_US)


def _last_ack(to: _Connection) -> None:
    _close_wait(to)
    to.call("shutdown", _FD, CONSTANTS["SHUT_WR"])
    to.hear(outstanding=1)


STATES_REACHED: Mapping[str, Callable[[_Connection], None]] = {
    "LISTEN": _listen,
    "SYN-SENT": _syn_sent,
    "SYN-RECEIVED": _syn_received,
    "SYN-RECEIVED by both": _both_at_once,
    "ESTABLISHED": _accepted,
    "ESTABLISHED with data out": _with_data_out,
    "FIN-WAIT-1": _fin_wait_1,
    "FIN-WAIT-1 closed": _closed_fin_wait_1,
    "FIN-WAIT-2": _then(_fin_wait_1, ACK),
    "FIN-WAIT-2 closed": _then(_closed_fin_wait_1, ACK),
    "CLOSE-WAIT": _close_wait,
    "CLOSING": _closing,
    "LAST-ACK": _last_ack,
    "TIME-WAIT": _then(_fin_wait_1, ACK | FIN),
    "CLOSED": _then(_last_ack, ACK),
}
"""Functions that reach each state; in "closed", the application has closed its descriptor and reads no more."""


@dataclass(frozen=True, slots=True)
class Reaction:
    """Effect of a segment.

    Attributes:
        answers: Packets sent in response, with numbers relative to SND.NXT and RCV.NXT before.
        left: State, error and unread octets of the connection, where an application can ask.
        alive: Response to a further segment, just below its window or completing its handshake.
    """

    answers: tuple[str, ...]
    left: str
    alive: tuple[str, ...]

    def __str__(self) -> str:
        """Return its text in tables."""
        return " | ".join((", ".join(self.answers) or "-", self.left, ", ".join(self.alive) or "-"))


def every() -> Iterator[Probe]:
    """Yield every segment in every state."""
    for state in STATES_REACHED:
        for flags, payload in _KINDS:
            sequences = ("next",) if state in _WITHOUT_NUMBERS else SEQUENCES
            for seq in sequences:
                for ack in _acknowledgments(state) if flags & ACK else ("",):
                    yield Probe(state, flags, seq, ack, payload)


def _acknowledgments(state: str) -> tuple[str, ...]:
    """Return the distinct acknowledged positions, as some states have no outstanding data."""
    if state == "LISTEN":
        return ("all",)
    has_none = state in ("ESTABLISHED", "FIN-WAIT-2", "FIN-WAIT-2 closed", "CLOSE-WAIT", "TIME-WAIT", "CLOSED")
    return tuple(name for name in ACKNOWLEDGMENTS if not (has_none and name == "una"))


def draw_probe(seed: int) -> Probe:
    """Return the segment of a seed, the same everywhere."""
    return Random(seed).choice(_all())


@cache
def _all() -> tuple[Probe, ...]:
    return tuple(every())


def react(probe: Probe, host: Backend) -> Reaction:
    """Bring a host's connection to a state, send it a segment, and close the host."""
    try:
        connection = _Connection(host)
        STATES_REACHED[probe.state](connection)
        return _react(probe, connection)
    finally:
        host.close()


def _react(probe: Probe, to: _Connection) -> Reaction:
    before = _Numbers(to.numbers.snd_nxt, to.numbers.rcv_nxt)
    ack = ACKNOWLEDGMENTS[probe.ack](to.numbers) if probe.ack else 0
    to.send(probe.flags, SEQUENCES[probe.seq](to.numbers), ack, probe.payload)
    answers = to.heard(_ANSWERED_US)
    left = "another connection" if any(packet.flags & (SYN | ACK) == SYN | ACK for packet in answers) else _left(to)
    alive = [packet for packet in _asked(probe.state, to) if not _is_again(packet, before)]
    return Reaction(_shown(answers, before), left, _shown(alive[:2], before))


def _is_again(packet: Packet, before: _Numbers) -> bool:
    """Return whether a packet is a retransmission, as a kernel's timer may have expired meanwhile."""
    return packet.payload + bool(packet.flags & FIN) > 0 and _distance(packet.seq, before.snd_nxt) < 0


def _asked(state: str, to: _Connection) -> list[Packet]:
    """Return the packets that show whether the connection is alive."""
    snd, rcv = to.numbers.snd_nxt, to.numbers.rcv_nxt
    if state == "LISTEN":
        to.send(SYN, rcv + 500)
        return to.heard(_ASKED_US, most=1)
    if state == "SYN-SENT":
        to.send(SYN | ACK, rcv, snd)
        first = to.heard(_ASKED_US, most=1)
        rcv += 1
    elif state in ("SYN-RECEIVED", "SYN-RECEIVED by both"):
        to.send(ACK, rcv, snd)
        first = to.heard(_SETTLE_US)
    else:
        first = []
    to.send(ACK, rcv - 1, snd)
    return first + to.heard(_ASKED_US, most=2)


def _left(to: _Connection) -> str:
    if not to.has_descriptor:
        return "no descriptor"
    names = {number: name for name, number in STATES.items() if name.startswith("TCP_") and name[4:6] != "CA"}
    number = to.host.tcp_info()["state"]
    state = names[number if number != STATES["TCP_TIME_WAIT"] else STATES["TCP_CLOSE"]].removeprefix("TCP_")
    unread = _value(to.call("ioctl", _FD, CONSTANTS["SIOCINQ"]), "count")
    error = _value(to.call("getsockopt", _FD, CONSTANTS["SOL_SOCKET"], CONSTANTS["SO_ERROR"]), "option")
    return f"{state} {errno_name(error) if error else 'no error'} {unread} unread"


def _value(outcome: Outcome | None, place: str) -> int:
    value = outcome.value[place] if outcome is not None and outcome.result >= 0 else 0
    return value if isinstance(value, int) else 0


def _shown(packets: list[Packet], base: _Numbers) -> tuple[str, ...]:
    return tuple(_relative(packet, base) for packet in packets)


def _relative(packet: Packet, base: _Numbers) -> str:
    """Return a packet with numbers relative to both ends' positions; zero without a base."""
    letters = letters_of_flags(packet.flags)
    if packet.flags & SYN:
        return f"{letters} isn"
    is_bare = packet.flags & (RST | ACK) == RST | ACK and packet.seq == 0
    seq = "0" if is_bare else f"{_distance(packet.seq, base.snd_nxt):+d}"
    ack = f" ack {_distance(packet.ack, base.rcv_nxt):+d}" if packet.flags & ACK else ""
    return f"{letters} {seq}({packet.payload}){ack}"


def _distance(number: int, base: int) -> int:
    return (number - base + (1 << 31)) % (1 << 32) - (1 << 31)
