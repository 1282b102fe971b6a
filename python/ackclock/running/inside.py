"""Functions of Python run inside a kernel in virtual time: many items in one start of it.

Functions, items and results are pickled, as between the processes of a pool: both ends are this program.
"""

import base64
import os
import pickle
import sys
from collections.abc import Callable, Iterable, Sequence
from io import BytesIO
from pathlib import Path
from typing import Any, Final, TypeVar

from ackclock.running.kernel import KernelError
from ackclock.running.linux_kernels import Kernel
from ackclock.running.user_mode import call

_Item = TypeVar("_Item")
_Result = TypeVar("_Result")

TICKS_PER_S: Final = 1000
"""Timer ticks of the kernels that `ackclock linux build` makes."""


def nothing() -> None:
    """Prepare nothing."""


def mapped_inside(
    kernel: Kernel,
    work: Callable[[_Item], _Result],
    items: Iterable[_Item],
    prepare: Callable[[], None] = nothing,
) -> list[_Result]:
    """Run a function over items inside a kernel, one after the other.

    Args:
        kernel: Kernel to start.
        work: Module-level function.
        items: The items.
        prepare: Module-level function that runs first; after it the module of `work` can be imported.

    Returns:
        The results, in order.

    Raises:
        KernelError: If the kernel stopped, or the function failed.
    """
    order = b"".join(map(pickle.dumps, (prepare, (work, list(items)))))
    package = str(Path(__file__).resolve().parents[2])
    passed = {"PATH": os.environ.get("PATH", os.defpath), "PYTHONPATH": package, "PYTHONDONTWRITEBYTECODE": "1"}
    settings = [f"{name}={value}" for name, value in passed.items()]
    code = f"from {__name__} import work_through; work_through()"
    python = [*settings, sys.executable, "-P", "-c", code]
    called = call(kernel, python, base64.b64encode(order).decode(), program="/usr/bin/env")
    if called.code != 0:
        last: Sequence[str] = called.err.splitlines()[-1:] or [f"Python ended with {called.code}"]
        raise KernelError(f"on Linux {kernel.version}: {last[0]}")
    results: list[_Result] = pickle.loads(base64.b64decode(called.out))
    return results


def work_through() -> None:
    """Do what standard input orders, and write the results to standard output; the kernel's Python calls this."""
    order = BytesIO(base64.b64decode(sys.stdin.buffer.read()))
    written, sys.stdout = sys.stdout, sys.stderr  # what the function prints is no result
    prepare: Callable[[], None] = pickle.load(order)
    prepare()
    work: Callable[[Any], Any]
    work, items = pickle.load(order)
    written.buffer.write(base64.b64encode(pickle.dumps([work(item) for item in items])))
