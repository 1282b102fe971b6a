"""Runs on a Linux kernel in virtual time, started as an ordinary process without any privilege (user-mode Linux).

The kernel's first process is `ackclock-kernel`. It sees the files of this machine, read-only, and writes to one folder.
"""

import contextlib
import ctypes
import itertools
import json
import os
import select
import signal
import socket
import subprocess
import tempfile
import time
import weakref
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from ackclock.running.engine import check_stop
from ackclock.running.kernel import KernelError
from ackclock.running.kernel import program as first_process
from ackclock.running.linux_kernels import Kernel

_BOOT: Final = (
    "mem=1024M",  # from 768 MiB on, Linux lets a receive buffer grow to its usual 6 MiB
    "rootfstype=hostfs",
    "rootflags=/",
    "ro",
    "con=null",
    "con0=null,fd:1",
    "uml_dir=./",
    "time-travel=inf-cpu",
    f"time-travel-start={1_700_000_000 * 10**9}",
    "init=/proc/self/cwd/init",
)
"""Boot arguments. They seed the kernel's random numbers, so that nothing in them may differ between runs but a seed."""

_ADDR_NO_RANDOMIZE: Final = 0x0040000
_CURRENT: Final = 0xFFFFFFFF
"""Arguments of personality(2): where a program lies in memory is not random; only return the personality."""

_TOLD_LINES: Final = 12
"""Lines of the console in the message about a kernel that stopped."""

_DEAF_S: Final = 0.1
"""Longest time without a look at whether the run is still needed, seconds."""

_GUARD: Final = ("/bin/sh", "-c", 'read -r line; kill -s KILL -- "-$1"; rm -rf -- "$2"', "sh")
"""Program that waits for the end of this process, however it ends, and then ends a kernel and removes its folder.

The end of the thread that started the kernel, for which the system has a signal, is another event."""

REPORT_SIZE: Final = 128
"""Size of `struct report` of ackclock_agent.c, octets. It begins with `struct observation`."""

_turn = itertools.count(os.getpid())
"""Number of the next kernel: it decides about the processor, so that kernels of several runs are on several."""


@dataclass(frozen=True, slots=True)
class Called:
    """Outcome of a program inside a kernel.

    Attributes:
        code: Exit code.
        out: Standard output.
        err: Standard error.
        wall_s: Time that the kernel took from its start to its end, seconds.
        cpu_s: CPU time of the kernel and all in it, seconds.
    """

    code: int
    out: bytes
    err: str
    wall_s: float
    cpu_s: float


class Booted:
    """Kernel that runs a program; a temporary folder is its current folder.

    `close`, the garbage collector or the end of this process, even by SIGKILL, ends the kernel and removes the folder.

    Attributes:
        folder: The folder.
    """

    def __init__(
        self,
        kernel: Kernel,
        arguments: Sequence[str],
        text: str = "",
        *,
        program: str | None = None,
        seed: int = 0,
        agent: bool = False,
    ) -> None:
        """Start a kernel.

        Args:
            kernel: Kernel to start.
            arguments: Arguments of the program; relative names are of files in the current folder.
            text: Its standard input.
            program: Path of the program; `ackclock-kernel` by default.
            seed: Seed of the kernel's own random numbers.
            agent: Listen at the socket by which `ackclock_agent` asks for decisions; see `accept`.

        Raises:
            KernelError: If the kernel cannot be started.
        """
        self._kernel = kernel
        self._temporary = tempfile.TemporaryDirectory(prefix="ackclock-linux-")
        self.folder: Final = Path(self._temporary.name)
        self._listener = socket.socket(socket.AF_UNIX) if agent else None
        self._children: list[subprocess.Popen[bytes]] = []
        self._guards: list[subprocess.Popen[bytes]] = []
        self._end = weakref.finalize(self, _end, self._children, self._guards, self._temporary)
        try:
            order = {"arguments": list(arguments), "folder": str(Path.cwd())}
            order |= {} if program is None else {"program": program}
            (self.folder / "order.json").write_text(json.dumps(order))
            (self.folder / "in").write_text(text)
            (self.folder / "init").symlink_to(first_process().resolve())
            if self._listener is not None:
                self._listen(self._listener)
            self._begun = time.perf_counter()
            self._child = self._start(seed)
        except BaseException:
            self.close()
            raise

    def _listen(self, listener: socket.socket) -> None:
        """Listen at `agent` in the folder, however long the folder's path: an address has room for 107 bytes."""
        folder = os.open(self.folder, os.O_PATH)
        try:
            listener.bind(f"/proc/self/fd/{folder}/agent")
        finally:
            os.close(folder)
        listener.listen(1)

    def _start(self, seed: int) -> "subprocess.Popen[bytes]":
        with (self.folder / "console").open("wb") as console, _fixed_addresses():
            try:
                child = subprocess.Popen(
                    [str(self._kernel.path), *_BOOT, *self._kernel.boot, f"seed={seed}", "--", "init"],
                    cwd=self.folder,
                    stdin=subprocess.DEVNULL,
                    stdout=console,
                    stderr=subprocess.STDOUT,
                    start_new_session=True,
                )
            except OSError as error:
                raise KernelError(f"{self._kernel.path}: the kernel cannot be started ({error.strerror})") from error
        self._children.append(child)
        guard = [*_GUARD, str(child.pid), str(self.folder)]
        # The other end of its input is this process's alone.
        self._guards.append(
            subprocess.Popen(
                guard,
                cwd="/",
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
            )
        )
        # Its processes take turns, a call of the program at a time; on one processor that takes a third less time.
        processors = sorted(os.sched_getaffinity(0))
        with contextlib.suppress(ProcessLookupError):
            os.sched_setaffinity(child.pid, {processors[next(_turn) % len(processors)]})
        return child

    def accept(self) -> socket.socket | None:
        """Return the socket to the kernel's `ackclock_agent`; None if the kernel ended without opening it.

        Raises:
            StoppedError: If the outcome is no longer needed.
        """
        assert self._listener is not None
        ended = os.pidfd_open(self._child.pid)
        try:
            while not (ready := select.select([self._listener.fileno(), ended], [], [], _DEAF_S)[0]):
                check_stop()
            return self._listener.accept()[0] if self._listener.fileno() in ready else None
        finally:
            os.close(ended)

    def answer(self, decision: Callable[[bytes], bytes]) -> None:
        """Answer the reports of the kernel's `ackclock_agent` until the kernel ends, or closes its socket.

        Args:
            decision: Function from the octets of a report to those of a decision.

        Raises:
            StoppedError: If the outcome is no longer needed.
        """
        channel = self.accept()
        if channel is None:
            return
        # A kernel that stops meanwhile is told of by its outcome.
        with channel, contextlib.suppress(ConnectionError):
            while report := received(channel):
                channel.sendall(decision(report))

    def outcome(self) -> Called:
        """Wait for the end of the program, and return its outcome.

        Raises:
            KernelError: If the kernel stopped before the program ended.
            StoppedError: If the outcome is no longer needed.
        """
        self._wait()
        _, status, usage = os.wait4(self._child.pid, 0)
        self._child.returncode = os.waitstatus_to_exitcode(status)
        wall_s = time.perf_counter() - self._begun
        if not (self.folder / "code").is_file():
            console = (self.folder / "console").read_text(errors="replace")
            name = self._kernel.name
            raise KernelError(f"the kernel {name} stopped before the run ended; it said last:\n{_last(console)}")
        told = (self.folder / "err").read_text(errors="replace").strip()
        code, out = int((self.folder / "code").read_text()), (self.folder / "out").read_bytes()
        return Called(code, out, told, wall_s, usage.ru_utime + usage.ru_stime)

    def _wait(self) -> None:
        """Wait until the kernel is off, or nobody needs it any longer."""
        ended = os.pidfd_open(self._child.pid)
        try:
            while not select.select([ended], [], [], _DEAF_S)[0]:
                check_stop()
        finally:
            os.close(ended)

    def close(self) -> None:
        """End the kernel if it is running, and remove the folder."""
        if self._listener is not None:
            self._listener.close()
        self._end()


def received(channel: socket.socket) -> bytes:
    """Wait for a report of the kernel's `ackclock_agent`, and return its octets; none if the socket was closed.

    Raises:
        StoppedError: If nobody needs the outcome any longer.
    """
    check_stop()  # reports may come without a pause
    while not select.select([channel], [], [], _DEAF_S)[0]:
        check_stop()
    report = channel.recv(REPORT_SIZE, socket.MSG_WAITALL)
    return report if len(report) == REPORT_SIZE else b""


def _end(
    children: "list[subprocess.Popen[bytes]]",
    guards: "list[subprocess.Popen[bytes]]",
    folder: "tempfile.TemporaryDirectory[str]",
) -> None:
    for guard in guards:
        guard.kill()
        guard.communicate()
    for child in children:
        if child.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(child.pid, signal.SIGKILL)
            child.wait()
    folder.cleanup()


def call(
    kernel: Kernel,
    arguments: Sequence[str],
    text: str = "",
    *,
    program: str | None = None,
    seed: int = 0,
    decision: Callable[[bytes], bytes] | None = None,
) -> Called:
    """Run a program inside a kernel; the arguments are those of `Booted` and `Booted.answer`.

    Raises:
        KernelError: If the kernel stopped before the program ended, or cannot be started.
        StoppedError: If the outcome is no longer needed.
    """
    agent = decision is not None
    with contextlib.closing(Booted(kernel, arguments, text, program=program, seed=seed, agent=agent)) as booted:
        if decision is not None:
            booted.answer(decision)
        return booted.outcome()


def _last(console: str) -> str:
    """Return the last messages, without the addresses on the stack of a kernel that has panicked."""
    lines = console.partition("\nStack:")[0].strip().splitlines()
    return "\n".join(lines[-_TOLD_LINES:])


@contextlib.contextmanager
def _fixed_addresses() -> Iterator[None]:
    """Let this thread start programs that lie at the same addresses each time; a kernel's memory depends on that."""
    libc = ctypes.CDLL(None)
    before = libc.personality(_CURRENT)
    libc.personality(before | _ADDR_NO_RANDOMIZE)
    try:
        yield
    finally:
        libc.personality(before)
