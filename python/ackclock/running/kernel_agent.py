"""User-space congestion control of real connections: the kernel reports every ACK, and applies the decisions.

`ackclock-kernel` registers the controller `ackclock_agent` and passes its maps: a ring of observations, and a slot of
decisions for each connection. Both are mapped into this process, so that reading an ACK and deciding are loads and
stores without system calls. The layouts are those of `struct observation` and `struct decision` in
crates/bpf/src/programs/led.h, and of the kernel's ring buffer (Documentation/bpf/ringbuf.rst): positions in a
page each, then records with a header of eight octets.

Departures: the order of stores as seen by another processor is assumed to be that of the program, as on x86. Elsewhere
a decision may be read half-written, which the kernel's check for absurd windows bounds.
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
"""Controller name for sockets: `ackclock-kernel exec --controller ackclock_agent -- COMMAND`."""
CORRECTED: Final = "cubic_corrected"
"""Controller name of the kernel's own CUBIC with a factor from this process."""

_SLOTS: Final = 4096
_RING: Final = 4 << 20
_PAGE: Final = mmap.PAGESIZE
_BUSY, _DISCARDED = 1 << 31, 1 << 30
OBSERVATION: Final = struct.Struct("=QQ16I")
"""Layout of a report, `struct observation`."""
_DECISION: Final = struct.Struct("=IIIQQ")
"""Fields of a decision after its number, which is written last."""
_DECISION_SIZE: Final = 32
_COUNTERS: Final = struct.Struct("=7Q")
_KEPT: Final = 1 << 20
"""Number of latencies kept."""


class Seen(NamedTuple):
    """Report of one ACK of a connection; counters have the kernel's names."""

    time_ns: int
    """Time on the machine's monotonic clock."""
    pacing_rate: int
    """Pacing rate, octets per second."""
    flow: int
    """Number of the connection, to which decisions refer."""
    local_port: int
    """Local port."""
    cwnd: int
    """Congestion window, segments."""
    ssthresh: int
    """Slow-start threshold, segments; 2^31 - 1 while it is arbitrarily high."""
    srtt_us: int
    """Smoothed round-trip time."""
    min_rtt_us: int
    """Minimum round-trip time in the kernel's window."""
    rtt_us: int
    """RTT sample of the ACK; 0 if it has none."""
    inflight: int
    """Segments in flight."""
    acked: int
    """Segments delivered by the ACK."""
    lost: int
    """Segments that the ACK made the kernel mark lost."""
    state: int
    """Congestion state: 0 open, 1 disorder, 2 reduced, 3 recovery, 4 loss."""
    delivered: int
    """Segments delivered in the delivery-rate sample."""
    interval_us: int
    """Interval of the delivery-rate sample."""
    mss: int
    """Maximum segment size, octets."""
    decision: int
    """Number of the last decision that the kernel applied."""
    is_led: int
    """1 while decisions control the window, 0 while the kernel's CUBIC does."""


class Decision(NamedTuple):
    """Decision for a connection, in force until the next one, or for three round trips at most."""

    cwnd: int
    """Congestion window, segments. 0 and values above 16 times the window plus 64 are refused: CUBIC takes over."""
    pacing_rate_bps: float = 0.0
    """Pacing rate, bits per second; 0 derives it from the window and the round-trip time."""
    owns_losses: bool = False
    """True if losses do not reduce the window, as a later decision responds to them."""

    def packed(self, flow: int, now_ns: int) -> bytes:
        """Return the octets of `struct decision` after its number.

        Args:
            flow: Number of the connection.
            now_ns: Time of the decision.
        """
        cwnd = min(max(int(self.cwnd), 0), 0xFFFF_FFFF)
        return _DECISION.pack(flow, cwnd, int(self.owns_losses), int(self.pacing_rate_bps / 8), now_ns)


def factor(value: float) -> Decision:
    """Return the decision for `cubic_corrected` that multiplies the window once.

    Args:
        value: Factor from 1/4 to 4; any other is refused and changes nothing.
    """
    return Decision(cwnd=int(value * 65536))


class Counters(NamedTuple):
    """Counters since the agent started."""

    acks: int
    """ACKs of connections with this controller."""
    missed: int
    """ACKs dropped because the ring was full."""
    in_force: int
    """Decisions applied."""
    absurd: int
    """Decisions refused."""
    fallbacks: int
    """Number of times that CUBIC took over."""
    waited_ns: int
    """Total time that decisions waited for an ACK to be applied with."""
    flows: int
    """Connections."""


class KernelAgent:
    """Congestion controller with decisions from this process, registered while this object is open.

    Afterwards its connections continue with CUBIC. The controller is `ackclock_agent`, whose window is decided here.
    With `corrects`, it is `cubic_corrected` instead: the kernel's CUBIC, whose window each decision multiplies once.

    Examples:
        with KernelAgent() as agent:
            agent.run(lambda seen: Decision(cwnd=60), seconds=10)
    """

    def __init__(self, *, corrects: bool = False) -> None:
        """Register the controller.

        Args:
            corrects: Register `cubic_corrected`.

        Raises:
            KernelError: If the program is missing, or the kernel refused; root is required.
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
        """Return itself."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Unregister the controller."""
        self.close()

    def close(self) -> None:
        """Unregister the controller; its connections continue with CUBIC."""
        self._channel.close()
        self._child.wait()
        if self._child.stderr:
            self._child.stderr.close()

    def seen(self) -> Iterator[Seen]:
        """Yield the reports since the last call, in order, without waiting."""
        (produced,) = struct.unpack_from("=Q", self._ring, 0)
        while self._consumed < produced:
            place = _PAGE + (self._consumed & (_RING - 1))
            (header,) = struct.unpack_from("=I", self._ring, place)
            if header & _BUSY:
                return
            length = header & ~_DISCARDED
            observation = None if header & _DISCARDED else Seen(*OBSERVATION.unpack_from(self._ring, place + 8))
            self._consumed += (length + 8 + 7) & ~7
            struct.pack_into("=Q", self._position, 0, self._consumed)
            if observation is not None:
                yield observation

    def decide(self, seen: Seen, decision: Decision) -> None:
        """Decide for a connection; applied at its next ACK."""
        self._number = (self._number + 1) & 0xFFFF_FFFF or 1
        place = (seen.flow % _SLOTS) * _DECISION_SIZE
        now = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
        self._slots[place + 4 : place + _DECISION_SIZE] = decision.packed(seen.flow, now)
        struct.pack_into("=I", self._slots, place, self._number)
        if len(self._latencies) < _KEPT:
            self._latencies.append(now - seen.time_ns)

    def run(self, decide: Callable[[Seen], Decision | None], seconds: float) -> None:
        """Decide for each ACK as soon as it arrives, by busy polling, which occupies a core.

        Args:
            decide: Function from a report to a decision; None keeps the current one.
            seconds: Duration.
        """
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            for seen in self.seen():
                decision = decide(seen)
                if decision is not None:
                    self.decide(seen, decision)

    @property
    def counters(self) -> Counters:
        """Counters so far."""
        return Counters(*_COUNTERS.unpack_from(self._counts, 0))

    def latency_us(self) -> dict[str, float]:
        """Return the latency from an ACK to its decision, microseconds: p50, p90 and p99; empty without any."""
        if not self._latencies:
            return {}
        values = np.percentile(np.array(self._latencies) / 1e3, (50, 90, 99))
        return dict(zip(("p50", "p90", "p99"), map(float, values), strict=True))
