"""Runs on a Linux kernel in virtual time, started as an ordinary process without any privilege (user-mode Linux).

The kernel's first process is `ackclock-kernel`. It sees the files of this machine, read-only, and writes to one folder.
"""

import itertools
import json
import os
import signal
import subprocess
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from ackclock.running.kernel import KernelError, program
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
    "--",
    "init",
)
"""Boot arguments. They seed the kernel's random numbers, so that nothing in them may differ between runs."""

_TOLD_LINES: Final = 12
"""Lines of the console in the message about a kernel that stopped."""

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


def call(kernel: Kernel, arguments: Sequence[str], text: str = "") -> Called:
    """Run `ackclock-kernel` inside a kernel.

    Args:
        kernel: Kernel to start.
        arguments: Arguments of the program; relative names are of files in the current folder.
        text: Its standard input.

    Raises:
        KernelError: If the kernel stopped before the program ended, or cannot be started.
    """
    with tempfile.TemporaryDirectory(prefix="ackclock-linux-") as name:
        folder = Path(name)
        (folder / "order.json").write_text(json.dumps({"arguments": list(arguments), "folder": str(Path.cwd())}))
        (folder / "in").write_text(text)
        (folder / "init").symlink_to(program().resolve())
        begun = time.perf_counter()
        console, cpu_s = boot(kernel, folder)
        wall_s = time.perf_counter() - begun
        if not (folder / "code").is_file():
            raise KernelError(f"the kernel {kernel.name} stopped before the run ended; it said last:\n{_last(console)}")
        told = (folder / "err").read_text(errors="replace").strip()
        code, out = int((folder / "code").read_text()), (folder / "out").read_bytes()
        return Called(code, out, told, wall_s, cpu_s)


def _last(console: str) -> str:
    """Return the last messages, without the addresses on the stack of a kernel that has panicked."""
    lines = console.partition("\nStack:")[0].strip().splitlines()
    return "\n".join(lines[-_TOLD_LINES:])


def boot(kernel: Kernel, folder: Path) -> tuple[str, float]:
    """Start the kernel in a folder and wait until it is off; return what its console shows, and its CPU time."""
    try:
        child = subprocess.Popen(
            [str(kernel.path), *_BOOT],
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    except OSError as error:
        raise KernelError(f"{kernel.path}: the kernel cannot be started ({error.strerror})") from error
    assert child.stdout is not None
    with child:
        # Its processes take turns, a call of the program at a time; on one processor that takes a third less time.
        processors = sorted(os.sched_getaffinity(0))
        os.sched_setaffinity(child.pid, {processors[next(_turn) % len(processors)]})
        try:
            written = child.stdout.read()
            _, status, usage = os.wait4(child.pid, 0)
            child.returncode = os.waitstatus_to_exitcode(status)
        except BaseException:
            os.killpg(child.pid, signal.SIGKILL)
            child.wait()
            raise
    return written.decode(errors="replace"), usage.ru_utime + usage.ru_stime
