"""Kernel of this machine, reached through a TUN interface in a private network namespace, in the kernel's time.

Departures: a packet's time is when this process reads it, in real time some tenths of a millisecond after the kernel
sent it.
"""

import os
import queue
import select
import threading
import time
from collections.abc import Mapping
from pathlib import Path

from ackclock.script.backend import Outcome, Request, Sent
from ackclock.script.kernel_sockets import KernelSockets
from ackclock.script.namespace import HERE, INTERFACE, THERE, THERE_NETWORK, KernelError, Namespace
from ackclock.script.packets import SYN, Addresses, Packet, emit_packet, parse_packet
from ackclock.script.shell_lines import Discipline, InitialWindow, Setting, Sysctl

__all__ = ["KernelError", "KernelHost"]

_PORT, _PEER_PORT = 8080, 54321
_SPIN_S = 300e-6
_ROUND_MS = 4_096
"""Time that a start in virtual time is a multiple of, so that the steps of a kernel's timers lie alike in every run.

Source: the levels of the timer wheel in Linux's kernel/time/timer.c: a wait of some seconds ends at such a step.
"""
_INLINE_US = 2_000
"""Duration within which a call does not count as blocking."""

_AS_SHIPPED = {
    "net.ipv4.tcp_rmem": "4096 131072 33554432",
    "net.ipv4.tcp_wmem": "4096 16384 4194304",
    "net.ipv4.conf.all.rp_filter": "0",
    "net.ipv6.conf.all.disable_ipv6": "1",
}
"""Settings as shipped; a namespace inherits the machine's, which may have been tuned."""

_CONGESTION = "net.ipv4.tcp_congestion_control"
"""Parameter that is set on each socket, since namespaces may set it only to some values."""


class KernelTicket:
    """System call in a thread of its own."""

    def __init__(self, sockets: KernelSockets, request: Request, start_s: float) -> None:
        """Start the call."""
        self.outcome: Outcome | None = None
        self.finished_us: int = 0
        self._error: BaseException | None = None
        self._done = threading.Event()
        self._start_s = start_s
        threading.Thread(target=self._work, args=(sockets, request), daemon=True).start()

    def _work(self, sockets: KernelSockets, request: Request) -> None:
        try:
            outcome = sockets.call(request)
            self.finished_us = int((time.monotonic() - self._start_s) * 1e6)
            self.outcome = outcome
        except BaseException as error:
            self._error = error
        self._done.set()

    def settle(self, until_us: int) -> None:
        """See `Ticket`."""
        self._done.wait(max(0.0, self._start_s + until_us / 1e6 - time.monotonic()))
        if self._error is not None:
            raise self._error


class KernelHost:
    """Endpoint under test on a real kernel."""

    patience_us = 1_500_000

    def __init__(self, least_wait_s: float = 0.001) -> None:
        """Make a namespace.

        Args:
            least_wait_s: Time that an overdue packet is waited for.

        Raises:
            KernelError: If that is not possible.
        """
        self._least_wait_s = least_wait_s
        is_virtual = _is_virtual()
        self._spin_s = 0.0 if is_virtual else _SPIN_S
        self._round_ns = 1_000_000 * (_ROUND_MS if is_virtual else 1)
        self._namespace = Namespace()
        self._namespace.command("tc", "qdisc", "replace", "dev", INTERFACE, "root", "pfifo")
        for name, value in _AS_SHIPPED.items():
            self._namespace.set_sysctl(name, value)
        self._here, self._there = (HERE, _PORT), (THERE, _PEER_PORT)
        self._connects = False
        self._sent: queue.Queue[Sent] = queue.Queue()
        self._sockets = KernelSockets(self._namespace, (HERE, _PORT), (THERE, _PORT))
        self._started_s: float | None = None
        self._stop = threading.Event()
        self._reader = threading.Thread(target=self._listen, daemon=True)
        self._reader.start()

    # ---- settings ---------------------------------------------------------------------------------------------------

    def apply(self, setting: Setting) -> None:
        """See `Backend`."""
        match setting:
            case Sysctl(name, value) if name == _CONGESTION:
                self._sockets.congestion = value
            case Sysctl(name, value) if name.startswith("tcp_cubic."):
                _check_module(name, value)
            case Sysctl(name, value):
                self._namespace.set_sysctl(name, value)
            case InitialWindow(segments):
                route = ("ip", "route", "replace", THERE_NETWORK, "dev", INTERFACE, "initcwnd", str(segments))
                self._namespace.command(*route)
            case Discipline(name):
                self._namespace.command("tc", "qdisc", "replace", "dev", INTERFACE, "root", name)

    # ---- time -------------------------------------------------------------------------------------------------------

    @property
    def _start_s(self) -> float:
        """Start the clock on first use, a quarter of a millisecond into a tick of TCP's, or into a whole round."""
        if self._started_s is None:
            self._started_s = (time.monotonic_ns() // self._round_ns + 2) * self._round_ns / 1e9 + 250e-6
            self._sleep_until(self._started_s)
        return self._started_s

    @property
    def now_us(self) -> int:
        """See `Backend`."""
        start_s = self._start_s
        return int((time.monotonic() - start_s) * 1e6)

    def advance_to(self, time_us: int) -> None:
        """See `Backend`."""
        self._sleep_until(self._start_s + time_us / 1e6)

    def _sleep_until(self, when_s: float) -> None:
        left = when_s - time.monotonic()
        if left > self._spin_s:
            time.sleep(left - self._spin_s)
        while time.monotonic() < when_s:
            pass

    def next_sent(self, until_us: int) -> Sent | None:
        """See `Backend`."""
        try:
            return self._sent.get(timeout=max(self._least_wait_s, (until_us - self.now_us) / 1e6))
        except queue.Empty:
            return None

    # ---- packets and calls ------------------------------------------------------------------------------------------

    def inject(self, packet: Packet) -> None:
        """See `Backend`."""
        os.write(self._namespace.tun, emit_packet(packet, Addresses(self._there, self._here)))

    def _listen(self) -> None:
        ready = select.poll()
        ready.register(self._namespace.tun, select.POLLIN)
        while not self._stop.is_set():
            if ready.poll(50):
                try:
                    self._take(os.read(self._namespace.tun, 65_536), time.monotonic())
                except BlockingIOError:
                    continue

    def _take(self, data: bytes, at_s: float) -> None:
        parsed = parse_packet(data)
        if parsed is None:
            return
        addresses, packet = parsed
        if self._connects and packet.flags & SYN and addresses.destination == self._there:
            self._here = addresses.source
        if (addresses.source, addresses.destination) == (self._here, self._there):
            self._sent.put(Sent(int((at_s - self._start_s) * 1e6), packet))

    def begin(self, request: Request, *, blocks: bool = False) -> KernelTicket:
        """See `Backend`."""
        if request.name == "connect" and not self._connects:
            self._connects, self._there = True, (THERE, _PORT)
        ticket = KernelTicket(self._sockets, request, self._start_s)
        if not blocks:
            ticket.settle(self.now_us + _INLINE_US)
        return ticket

    def tcp_info(self) -> Mapping[str, int]:
        """See `Backend`."""
        return self._sockets.tcp_info()

    def close(self) -> None:
        """See `Backend`."""
        self._stop.set()
        self._reader.join()
        self._sockets.close()
        self._namespace.close()


def _is_virtual() -> bool:
    """Return whether the kernel's time is virtual: a thread that sleeps then wakes when it is due."""
    return "time-travel=" in Path("/proc/cmdline").read_text()


def _check_module(name: str, value: str) -> None:
    """Refuse changes of settings shared by the whole machine."""
    module, _, parameter = name.partition(".")
    has = Path(f"/sys/module/{module}/parameters/{parameter}").read_text().strip()
    if has != value:
        raise ValueError(f"{name} is {has} on this machine, and is not changed; set it to {value} before the script")
