"""Runs on a Linux kernel in virtual time, started as an ordinary process without any privilege (user-mode Linux).

The kernel's first process is `ackclock-kernel`. It sees the files of this machine, read-only, and writes to one folder.
"""

import ctypes
import itertools
import json
import os
import select
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
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

_DEAF_MS: Final = 100
"""Longest time without a look at whether the run is still needed, milliseconds."""

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


def call(
    kernel: Kernel, arguments: Sequence[str], text: str = "", *, program: str | None = None, seed: int = 0
) -> Called:
    """Run a program inside a kernel.

    Args:
        kernel: Kernel to start.
        arguments: Arguments of the program; relative names are of files in the current folder.
        text: Its standard input.
        program: Path of the program; `ackclock-kernel` by default.
        seed: Seed of the kernel's own random numbers.

    Raises:
        KernelError: If the kernel stopped before the program ended, or cannot be started.
    """
    with tempfile.TemporaryDirectory(prefix="ackclock-linux-") as name:
        folder = Path(name)
        order = {"arguments": list(arguments), "folder": str(Path.cwd())}
        order |= {} if program is None else {"program": program}
        (folder / "order.json").write_text(json.dumps(order))
        (folder / "in").write_text(text)
        (folder / "init").symlink_to(first_process().resolve())
        begun = time.perf_counter()
        console, cpu_s = boot(kernel, folder, seed)
        wall_s = time.perf_counter() - begun
        if not (folder / "code").is_file():
            raise KernelError(f"the kernel {kernel.name} stopped before the run ended; it said last:\n{_last(console)}")
        told = (folder / "err").read_text(errors="replace").strip()
        code, out = int((folder / "code").read_text()), (folder / "out").read_bytes()
        return Called(code, out, told, wall_s, cpu_s)


def _console(child: "subprocess.Popen[bytes]") -> bytes:
    """Read what a kernel's console shows until the kernel is off, or nobody needs it any longer."""
    assert child.stdout is not None
    ready = select.poll()
    ready.register(child.stdout, select.POLLIN)
    parts: list[bytes] = []
    while True:
        check_stop()
        if ready.poll(_DEAF_MS):
            part = os.read(child.stdout.fileno(), 65_536)
            if not part:
                return b"".join(parts)
            parts.append(part)


def _last(console: str) -> str:
    """Return the last messages, without the addresses on the stack of a kernel that has panicked."""
    lines = console.partition("\nStack:")[0].strip().splitlines()
    return "\n".join(lines[-_TOLD_LINES:])


@contextmanager
def _fixed_addresses() -> Iterator[None]:
    """Let this thread start programs that lie at the same addresses each time; a kernel's memory depends on that."""
    libc = ctypes.CDLL(None)
    before = libc.personality(_CURRENT)
    libc.personality(before | _ADDR_NO_RANDOMIZE)
    try:
        yield
    finally:
        libc.personality(before)


def boot(kernel: Kernel, folder: Path, seed: int = 0) -> tuple[str, float]:
    """Start the kernel in a folder and wait until it is off; return what its console shows, and its CPU time."""
    try:
        with _fixed_addresses():
            child = subprocess.Popen(
                [str(kernel.path), *_BOOT, f"seed={seed}", "--", "init"],
                cwd=folder,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
    except OSError as error:
        raise KernelError(f"{kernel.path}: the kernel cannot be started ({error.strerror})") from error
    with child:
        # Its processes take turns, a call of the program at a time; on one processor that takes a third less time.
        processors = sorted(os.sched_getaffinity(0))
        os.sched_setaffinity(child.pid, {processors[next(_turn) % len(processors)]})
        try:
            written = _console(child)
            _, status, usage = os.wait4(child.pid, 0)
            child.returncode = os.waitstatus_to_exitcode(status)
        except BaseException:
            os.killpg(child.pid, signal.SIGKILL)
            child.wait()
            raise
    return written.decode(errors="replace"), usage.ru_utime + usage.ru_stime
