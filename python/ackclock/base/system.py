"""Platform-dependent services: locks, deferred signals, durable folders, memory and cores of a process.

Departures: Windows cannot open folders, so folders are neither locked nor synced there, and signals are not deferred.
What a killed process leaves behind is recognised by its age alone. The Windows branches follow Python's documentation
and have not been run on Windows. In a browser (Pyodide) there are no threads, and the memory of a process is unknown.
"""

import os
import platform
import re
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl

    if sys.platform != "emscripten":
        import resource


HAS_THREADS: Final = sys.platform != "emscripten"
"""Whether threads can be started; in a browser they cannot."""

thread_time: Final = getattr(time, "thread_time", time.process_time)
"""CPU time of this thread in seconds; in a browser, of all."""


def cores() -> int:
    """Return the number of cores that this process may use; one in a browser, which has no threads."""
    if not HAS_THREADS:
        return 1
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def physical_bytes() -> int:
    """Return the machine's physical memory, bytes; 2^63 - 1 if unknown."""
    names = getattr(os, "sysconf_names", {})
    if "SC_PHYS_PAGES" not in names:
        return (1 << 63) - 1
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


_POOL = re.compile(r"polars-\d")
_forked = {"beside Polars": False}


def _look_at_threads() -> None:
    names = (task / "comm" for task in Path("/proc/self/task").glob("*"))
    with suppress(OSError):
        _forked["beside Polars"] = "polars" in sys.modules and any(_POOL.match(name.read_text()) for name in names)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_look_at_threads, after_in_parent=lambda: _forked.update({"beside Polars": False}))


def check_fork() -> None:
    """Refuse to build tables in a process that was forked while Polars had threads: it would deadlock.

    Raises:
        RuntimeError: If this process was forked so.
    """
    if _forked["beside Polars"]:
        raise RuntimeError(
            "this process was forked from one in which Polars had threads, which it has not: Polars would wait for "
            'them for ever; begin it anew, with mp_context=multiprocessing.get_context("spawn")'
        )


def lock(handle: int) -> None:
    """Lock an open file exclusively until it is closed.

    Args:
        handle: File descriptor of `os.open`.

    Raises:
        BlockingIOError: If another process has the lock.
        OSError: If the file system does not support locks.
    """
    if sys.platform == "win32":
        try:
            msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
        except PermissionError as error:
            raise BlockingIOError(*error.args) from error
    else:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)


@contextmanager
def held_folder(folder: Path) -> Iterator[None]:
    """Hold a lock on a folder for the life of this process, on platforms that support it."""
    handle = None if sys.platform == "win32" else os.open(folder, os.O_RDONLY)
    try:
        if handle is not None:
            with suppress(OSError):
                lock(handle)
        yield
    finally:
        if handle is not None:
            os.close(handle)


def is_held(folder: Path) -> bool:
    """Return whether a process may hold a lock on a folder; True if this is unknown."""
    if sys.platform == "win32":
        return not folder.exists()
    try:
        handle = os.open(folder, os.O_RDONLY)
    except OSError:
        return True
    try:
        lock(handle)
    except OSError:
        return True
    finally:
        os.close(handle)
    return False


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Defer Ctrl-C and SIGTERM, so that what is reported of an interrupted command is true."""
    if sys.platform == "win32":
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGTERM})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def sync(path: Path) -> None:
    """Flush a file or folder to disk."""
    if sys.platform == "win32" and path.is_dir():
        return
    handle = os.open(path, os.O_RDWR if sys.platform == "win32" else os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def allow_as_usual(handle: int) -> None:
    """Give a temporary file the default permissions of new files."""
    if sys.platform != "win32":
        os.fchmod(handle, 0o666 & ~umask())


def umask() -> int:
    """Return the umask of this process."""
    mask = os.umask(0)
    os.umask(mask)
    return mask


def resident_bytes() -> int:
    """Return the resident memory of this process, bytes; its peak if the current value is unknown, 0 if both are."""
    if sys.platform in ("win32", "emscripten"):
        return 0
    try:
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    except OSError:
        most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return most if sys.platform == "darwin" else most * 1024
    return pages * resource.getpagesize()


def peak_bytes() -> int:
    """Return the largest resident size of this process so far.

    Linux's `ru_maxrss` is handed down by the process that started this one, so the kernel's own high-water mark of
    this address space is read where there is one.
    """
    status = Path("/proc/self/status")
    if status.is_file():
        for line in status.read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def processor() -> str:
    """Return the processor's name, as the system tells it."""
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:  # noqa: PTH123  read only to the first match
            return next(line.partition(":")[2].strip() for line in file if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()
