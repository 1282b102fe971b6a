"""Deciding for real connections from Python: the kernel tells of every ACK, and puts into force what it is told.

`ackclock-kernel` registers the controller `ackclock_agent` and hands over its maps: a ring of observations and a slot
of decisions for each connection. Both are mapped into this process, so that looking for the next ACK and deciding are
loads and stores, without a call of the system. The layouts are those of `struct observation` and `struct decision` in
crates/bpf/src/programs/led.h, and of the kernel's ring buffer (Documentation/bpf/ringbuf.rst): positions in a
page each, then records with a header of eight octets.

Departures: the order in which another processor sees the stores is that of x86, where they come in the order of the
program; on others a decision may be seen in parts, which the kernel's check of absurd windows bounds.
"""

import mmap
import os
import socket
import struct
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import TracebackType
from typing import Final, NamedTuple, Self

import numpy as np

from ackclock.running.kernel import KernelError, program

NAME: Final = "ackclock_agent"
"""As sockets take it: `ackclock-kernel exec --controller ackclock_agent -- COMMAND`."""
CORRECTED: Final = "cubic_corrected"
"""The kernel's own CUBIC with a factor from here, as sockets take it."""

_SLOTS: Final = 4096
_RING: Final = 4 << 20
_PAGE: Final = mmap.PAGESIZE
_BUSY, _DISCARDED = 1 << 31, 1 << 30
_OBSERVATION: Final = struct.Struct("=QQ16I")
_DECISION: Final = struct.Struct("=IIIQQ")
"""All of a decision behind its number, which is written last."""
_DECISION_SIZE: Final = 32
_COUNTERS: Final = struct.Struct("=7Q")
_KEPT: Final = 1 << 20
"""So many latencies are kept."""


class Seen(NamedTuple):
    """What an ACK tells of a connection; names of counts are the kernel's."""

    time_ns: int
    """By the machine's monotonic clock."""
    pacing_rate: int
    """Octets a second."""
    flow: int
    """The connection's number, by which it is decided for."""
    local_port: int
    """This end's port."""
    cwnd: int
    """Segments."""
    ssthresh: int
    """Segments; 2^31 - 1 while it is arbitrarily high."""
    srtt_us: int
    """Smoothed round trip."""
    min_rtt_us: int
    """The least that the kernel remembers."""
    rtt_us: int
    """What the ACK shows; 0 if nothing."""
    inflight: int
    """Segments in flight."""
    acked: int
    """Segments that the ACK delivers."""
    lost: int
    """Segments that it lets the kernel take for lost."""
    state: int
    """Congestion state: 0 open, 1 disorder, 2 reduced, 3 recovery, 4 loss."""
    delivered: int
    """Segments delivered in the sample of the delivery rate."""
    interval_us: int
    """The time of that sample."""
    mss: int
    """Octets."""
    decision: int
    """Number of the last decision that the kernel took notice of."""
    is_led: int
    """1 while decisions are in force, 0 while the kernel's CUBIC has the window."""


class Decision(NamedTuple):
    """What is decided for a connection, until the next decision; for three round trips at most."""

    cwnd: int
    """Segments. 0, and more than sixteen times the window and 64, are taken for a mistake: CUBIC takes over."""
    pacing_rate_bps: float = 0.0
    """Bits per second; 0 leaves it to the window and the round trip."""
    owns_losses: bool = False
    """Losses do not reduce the window: a later decision answers them."""


def factor(value: float) -> Decision:
    """Return the decision for `cubic_corrected` that multiplies the window once.

    Args:
        value: From 1/4 to 4; any other is refused, and changes nothing.
    """
    return Decision(cwnd=int(value * 65536))


class Counters(NamedTuple):
    """What has come about since the agent began."""

    acks: int
    """ACKs of connections that have the controller."""
    missed: int
    """Of these, such that the ring had no room for."""
    in_force: int
    """Decisions that came into force."""
    absurd: int
    """Decisions that were refused."""
    fallbacks: int
    """How often CUBIC took over from decisions."""
    waited_ns: int
    """What all decisions waited for an ACK that puts them into force."""
    flows: int
    """Connections."""


class KernelAgent:
    """A controller that is decided for here, registered while this is open; connections go on with CUBIC after that.

    It is `ackclock_agent`, whose window is decided; or, with `corrects`, `cubic_corrected`: the kernel's own CUBIC,
    whose window each decision multiplies by a `factor` once, from where CUBIC goes on.

    Examples:
        with KernelAgent() as agent:
            agent.run(lambda seen: Decision(cwnd=60), seconds=10)
    """

    def __init__(self, *, corrects: bool = False) -> None:
        """Register it.

        Args:
            corrects: Register `cubic_corrected`.

        Raises:
            KernelError: If the program is not there, or the kernel refused; it takes root.
        """
        self._latencies: list[int] = []
        self._consumed = 0
        self._number = 0
        with tempfile.TemporaryDirectory(prefix="ackclock-agent-") as folder:
            place = Path(folder) / "socket"
            with socket.socket(socket.AF_UNIX) as listener:
                listener.bind(str(place))
                listener.listen(1)
                listener.settimeout(0.1)
                self._child = subprocess.Popen(
                    [str(program()), "agent", *(["--corrects"] if corrects else []), str(place)], stderr=subprocess.PIPE
                )
                self._channel = self._accepted(listener)
        _, descriptors, _, _ = socket.recv_fds(self._channel, 64, 3)
        observations, decisions, counters = descriptors
        self._position = mmap.mmap(observations, _PAGE)
        self._ring = mmap.mmap(observations, _PAGE + 2 * _RING, prot=mmap.PROT_READ, offset=_PAGE)
        self._slots = mmap.mmap(decisions, _SLOTS * _DECISION_SIZE)
        self._counts = mmap.mmap(counters, _PAGE, prot=mmap.PROT_READ)
        for descriptor in descriptors:
            os.close(descriptor)

    def _accepted(self, listener: socket.socket) -> socket.socket:
        while True:
            try:
                return listener.accept()[0]
            except TimeoutError:
                if self._child.poll() is None:
                    continue
                said = self._child.stderr.read().decode(errors="replace") if self._child.stderr else ""
                raise KernelError(said.strip().removeprefix("error: ") or "the agent could not be registered") from None

    def __enter__(self) -> Self:
        """Return it."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close it."""
        self.close()

    def close(self) -> None:
        """Take the controller away; its connections go on with CUBIC."""
        self._channel.close()
        self._child.wait()
        if self._child.stderr:
            self._child.stderr.close()

    def seen(self) -> Iterator[Seen]:
        """Yield what has come since the last look, in order, without waiting."""
        (produced,) = struct.unpack_from("=Q", self._ring, 0)
        while self._consumed < produced:
            place = _PAGE + (self._consumed & (_RING - 1))
            (header,) = struct.unpack_from("=I", self._ring, place)
            if header & _BUSY:
                return
            length = header & ~_DISCARDED
            observation = None if header & _DISCARDED else Seen(*_OBSERVATION.unpack_from(self._ring, place + 8))
            self._consumed += (length + 8 + 7) & ~7
            struct.pack_into("=Q", self._position, 0, self._consumed)
            if observation is not None:
                yield observation

    def decide(self, seen: Seen, decision: Decision) -> None:
        """Decide for a connection; it counts from its next ACK on."""
        self._number = (self._number + 1) & 0xFFFF_FFFF or 1
        place = (seen.flow % _SLOTS) * _DECISION_SIZE
        now = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
        octets = int(decision.pacing_rate_bps / 8)
        cwnd = min(max(int(decision.cwnd), 0), 0xFFFF_FFFF)
        _DECISION.pack_into(self._slots, place + 4, seen.flow, cwnd, int(decision.owns_losses), octets, now)
        struct.pack_into("=I", self._slots, place, self._number)
        if len(self._latencies) < _KEPT:
            self._latencies.append(now - seen.time_ns)

    def run(self, decide: Callable[[Seen], Decision | None], seconds: float) -> None:
        """Decide for each ACK as soon as it comes; this looks for the next all the time, and so takes a core.

        Args:
            decide: What is decided upon an ACK; None leaves what is in force.
            seconds: For how long.
        """
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            for seen in self.seen():
                decision = decide(seen)
                if decision is not None:
                    self.decide(seen, decision)

    @property
    def counters(self) -> Counters:
        """What has come about so far."""
        return Counters(*_COUNTERS.unpack_from(self._counts, 0))

    def latency_us(self) -> dict[str, float]:
        """Return how long it took from an ACK to the decision on it, microseconds: p50, p90, p99; empty without any."""
        if not self._latencies:
            return {}
        values = np.percentile(np.array(self._latencies) / 1e3, (50, 90, 99))
        return dict(zip(("p50", "p90", "p99"), map(float, values), strict=True))
