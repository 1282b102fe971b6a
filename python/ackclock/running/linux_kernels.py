"""Kernels that run in virtual time, built by `ackclock linux build`, in the user's cache."""

import json
import os
import re
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from ackclock.base.printable import unknown
from ackclock.results.manifests import VirtualTime
from ackclock.running.kernel import KernelError
from ackclock.running.linux_archive import version_key

PROGRAM, ABOUT = "linux", "kernel.json"
"""Files of a kernel: the executable, and the facts about it."""

AGENT_FORM: Final = 2
"""Form of the reports of `ackclock_agent.c`, as in `kernel.json`; a kernel of another form cannot ask for decisions."""

NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+-]{0,63}")
"""Names of kernels, which are names of folders."""


@dataclass(frozen=True, slots=True)
class Kernel:
    """Kernel in the cache.

    Attributes:
        name: Name, by which `find` finds it.
        version: Version, for example `6.12.107`.
        path: Executable.
        about: Contents of `kernel.json`.
        boot: Further boot arguments, such as `tcp_cubic.beta=800` for a parameter of a module.
    """

    name: str
    version: str
    path: Path
    about: dict[str, Any]
    boot: tuple[str, ...] = ()

    @property
    def identity(self) -> VirtualTime:
        """Version and hash, by which results say where they come from."""
        return {"version": self.version, "sha256": self.about["linux_sha256"]}

    @property
    def asks(self) -> bool:
        """Whether its controller `ackclock_agent` can ask this package for decisions."""
        return self.about.get("agent") == AGENT_FORM

    @property
    def size(self) -> int:
        """Size of all its files, bytes."""
        return sum(file.stat().st_size for file in self.path.parent.iterdir())


def cache() -> Path:
    """Return the folder of kernels: `ackclock/linux` in `$XDG_CACHE_HOME`, which is `~/.cache` by default."""
    named = os.environ.get("XDG_CACHE_HOME", "")
    base = Path(named) if Path(named).is_absolute() else Path.home() / ".cache"  # others count as unset, says XDG
    return base / "ackclock" / "linux"


def kernels() -> list[Kernel]:
    """Return all kernels, from the oldest version to the newest."""
    folder = cache()
    names = sorted(entry.name for entry in folder.iterdir()) if folder.is_dir() else []
    found = [kernel for name in names if NAME.fullmatch(name) and (kernel := _read(folder / name)) is not None]
    return sorted(found, key=lambda kernel: (version_key(_upstream(kernel.version)), not kernel.about["modules"]))


def _upstream(version: str) -> str:
    return version.replace("-rc", "~rc")


def _read(folder: Path) -> Kernel | None:
    """Return the kernel in a folder; None if it is not whole."""
    program, file = folder / PROGRAM, folder / ABOUT
    if not (program.is_file() and os.access(program, os.X_OK) and file.is_file()):
        return None
    try:
        about = json.loads(file.read_text(encoding="utf-8"))
        return Kernel(folder.name, about["version"], program, {"modules": []} | about)
    except (ValueError, KeyError, TypeError) as error:
        raise KernelError(
            f"{file}: it is not readable ({error}); remove the folder and build the kernel anew"
        ) from error


def find(name: str | None = None) -> Kernel:
    """Return a kernel by its name.

    Args:
        name: Name of the kernel, or its exact version; the newest version by default, without modules if there is one.

    Raises:
        KernelError: If it has not been built. The message says how to build it.
    """
    found = kernels()
    if name is None and found:
        return found[-1]
    for kernel in sorted(found, key=lambda kernel: kernel.name != name):
        if name in (kernel.name, kernel.version):
            return kernel
    wanted = name if name and re.fullmatch(r"\d+\.\d+(\.\d+)?", name) else ""
    build = f"build it: {f'ackclock linux build {wanted}'.strip()}"
    if not found:
        raise KernelError(f"no Linux kernel is built yet for runs in virtual time; {build}")
    raise KernelError(f"{unknown('kernel', name or '', [kernel.name for kernel in found])}; {build}")


def at(place: str) -> Kernel | None:
    """Return the kernel at a place, `linux` or `linux:NAME`; None if it is another place.

    Raises:
        KernelError: If the kernel has not been built.
    """
    kind, _, name = place.partition(":")
    return find(name or None) if kind == "linux" else None


def remove(names: list[str]) -> list[Kernel]:
    """Delete kernels.

    Args:
        names: Names of kernels; if one is unknown, all stay.

    Returns:
        The removed kernels.

    Raises:
        KernelError: If a name is unknown.
    """
    found = {kernel.name: kernel for kernel in kernels()}
    for name in names:
        if name not in found:
            raise KernelError(unknown("kernel", name, found, lists=bool(found)) + ("" if found else "; none is built"))
    gone = [found[name] for name in dict.fromkeys(names)]
    for kernel in gone:
        shutil.rmtree(kernel.path.parent)
    return gone
