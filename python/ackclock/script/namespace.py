"""Network namespace with one TUN interface: the machine's own Linux with a private network.

The namespace belongs to a thread, and to what that thread opens. It disappears with them; the rest of the process and
of the machine is unaffected.
"""

import ctypes
import fcntl
import os
import struct
import subprocess
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

_CLONE_NEWNET = 0x40000000
_TUNSETIFF, _IFF_TUN, _IFF_NO_PI = 0x400454CA, 0x0001, 0x1000

INTERFACE = "tun0"
HERE, THERE, THERE_NETWORK = "192.168.0.1", "192.0.2.1", "192.0.2.0/24"

_PRIORITY = 10
"""Real-time priority: above normal threads, below the machine's own."""

_WITHOUT_EFFECT = ("net.core.", "net.ipv6.", "net.ipv4.tcp_syncookies")
"""Parameters that a namespace or a kernel may lack: the machine's alone, IPv6, and answers of a full queue of SYNs."""

_Result = TypeVar("_Result")


class KernelError(RuntimeError):
    """Error: this machine cannot provide a namespace: "what; remedy"."""


class Namespace:
    """Network namespace; see the module.

    Attributes:
        tun: Descriptor of the interface: sent packets are read from it, arriving packets are written to it.
    """

    def __init__(self) -> None:
        """Make the namespace and its interface.

        Raises:
            KernelError: If permission or TUN is missing.
        """
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="namespace")
        try:
            self.tun: int = self.run(_make)
        except BaseException:
            self._thread.shutdown()
            raise

    def run(self, work: Callable[[], _Result]) -> _Result:
        """Run a function in the namespace."""
        return self._thread.submit(work).result()

    def set_sysctl(self, name: str, value: str) -> None:
        """Set a kernel parameter of the namespace.

        Raises:
            ValueError: If the kernel lacks the parameter or refuses the value: "what; remedy".
        """
        path = Path("/proc/sys") / name.replace(".", "/")
        try:
            self.run(lambda: path.write_text(value))
        except FileNotFoundError:
            if not name.startswith(_WITHOUT_EFFECT):
                raise ValueError(f"this kernel has no sysctl {name} in a namespace; leave it out") from None
        except OSError as error:
            raise ValueError(f"sysctl {name}={value}: {error.strerror}; see the kernel's documentation") from None

    def command(self, *words: str) -> None:
        """Run a program in the namespace."""
        self.run(lambda: _command(*words))

    def close(self) -> None:
        """Release the namespace."""
        os.close(self.tun)
        self._thread.shutdown()


@contextmanager
def in_real_time() -> Iterator[None]:
    """Run with real-time priority, in this thread and in threads started within."""
    try:
        before = os.sched_getscheduler(0), os.sched_getparam(0)
        os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(_PRIORITY))
    except OSError:
        yield  # where that is not allowed, things happen when they can
        return
    try:
        yield
    finally:
        os.sched_setscheduler(0, *before)


def _make() -> int:
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(_CLONE_NEWNET) != 0:
        reason = os.strerror(ctypes.get_errno())
        raise KernelError(f"no network namespace could be made ({reason}); run as root, which a real kernel needs")
    try:
        tun = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
    except OSError as error:
        raise KernelError(f"/dev/net/tun cannot be opened ({error.strerror}); load the module tun") from error
    request = struct.pack("16sH22x", INTERFACE.encode(), _IFF_TUN | _IFF_NO_PI)
    fcntl.ioctl(tun, _TUNSETIFF, request)
    _command("ip", "link", "set", "lo", "up")
    _command("ip", "address", "add", f"{HERE}/24", "dev", INTERFACE)
    _command("ip", "link", "set", INTERFACE, "up")
    _command("ip", "route", "replace", THERE_NETWORK, "dev", INTERFACE)
    return tun


def _command(*words: str) -> None:
    try:
        done = subprocess.run(words, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        raise KernelError(f"{words[0]}: program not found; install iproute2") from None
    if done.returncode:
        raise KernelError(f"{' '.join(words)}: {done.stderr.strip() or 'failed'}; is this Linux with iproute2?")
