"""Tree of kernel sources to build from: the part that user-mode Linux needs, with what has to differ there."""

import os
import re
import shutil
import subprocess
import tarfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import IO, Final, cast

from ackclock.running.kernel import KernelError
from ackclock.running.linux_archive import Report

_UNUSED: Final = (
    "Documentation", "drivers/gpu", "drivers/infiniband", "drivers/media", "drivers/net/ethernet",
    "drivers/net/wireless", "drivers/scsi", "drivers/staging", "samples", "sound", "tools/perf", "tools/testing",
)  # fmt: skip
"""Folders of which the build reads only what describes it: 1.1 of the 1.7 GB of Linux 6.12."""

_DESCRIPTIONS: Final = ("Kconfig", "Makefile", "Kbuild")
_ARCHITECTURES: Final = ("um", "x86")

_LEFTOVERS: Final = (".config", "include/config", "arch/um/include/generated", "arch/x86/include/generated")
"""Files of builds in the tree itself, next to which the kernel refuses to be built in another folder."""

_REPORTED_EACH: Final = 1000


def is_needed(path: str) -> bool:
    """Return whether the build needs a file.

    Args:
        path: Path in the tree, with slashes.

    Examples:
        >>> is_needed("net/ipv4/tcp_cubic.c"), is_needed("drivers/gpu/drm/Kconfig"), is_needed("drivers/gpu/drm/drm.c")
        (True, True, False)
    """
    parts = PurePosixPath(path).parts
    if parts[0] == ".git":
        return False
    is_foreign = len(parts) > 2 and parts[0] == "arch" and parts[1] not in _ARCHITECTURES
    is_unused = is_foreign or any(path.startswith(f"{name}/") for name in _UNUSED)
    return not is_unused or parts[-1].startswith(_DESCRIPTIONS)


def unpack(package: Path, folder: Path, report: Report = lambda *_: None) -> None:
    """Unpack the sources in a Debian package `linux-source-*`, which holds them as a compressed archive.

    Args:
        package: The package.
        folder: Destination.
        report: Receiver of progress, files.

    Raises:
        KernelError: If the package holds no kernel sources.
    """
    with subprocess.Popen(
        ["ar", "p", str(package), "data.tar.xz"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as reader:
        try:
            with tarfile.open(fileobj=cast("IO[bytes]", reader.stdout), mode="r|xz") as outer:
                for member in outer:
                    if re.search(r"/linux-source-[^/]+\.tar\.\w+$", member.name):
                        _unpack_sources(cast("IO[bytes]", outer.extractfile(member)), folder, report)
                        return
        except (tarfile.TarError, EOFError) as error:
            raise KernelError(
                f"{package}: it cannot be unpacked ({error}); remove it, so that it is fetched anew"
            ) from error
        finally:
            reader.kill()
    raise KernelError(f"{package}: it holds no archive of kernel sources; name another version")


def _unpack_sources(content: IO[bytes], folder: Path, report: Report) -> None:
    with tarfile.open(fileobj=content, mode="r|*") as archive:
        archive.extraction_filter = getattr(tarfile, "data_filter", lambda member, _: member)  # not before 3.11.4
        for number, member in enumerate(archive):
            _, _, path = member.name.partition("/")
            if number % _REPORTED_EACH == 0:
                report("unpacking", number, None)
            if path and not member.isdir() and is_needed(path):
                member.name = path
                archive.extract(member, folder)


def copy(tree: Path, folder: Path, report: Report = lambda *_: None) -> None:
    """Copy the needed part of a user's tree, which stays as it is.

    Args:
        tree: Folder with kernel sources.
        folder: Destination.
        report: Receiver of progress, files.

    Raises:
        KernelError: If the folder holds no kernel sources.
    """
    check(tree)
    for number, file in enumerate(_files(tree)):
        path = file.relative_to(tree)
        if number % _REPORTED_EACH == 0:
            report("copying", number, None)
        if is_needed(path.as_posix()):
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(file, folder / path, follow_symlinks=False)


def _files(folder: Path) -> Iterator[Path]:
    """Yield files and links below a folder, without following links."""
    for root, folders, names in os.walk(folder):
        links = [name for name in folders if Path(root, name).is_symlink()]
        yield from (Path(root, name) for name in (*names, *links))


def check(tree: Path) -> None:
    """Check that a folder holds kernel sources with user-mode Linux.

    Raises:
        KernelError: If it does not, or if it was built in place.
    """
    if not (tree / "Makefile").is_file() or not (tree / "arch/um/Kconfig").is_file():
        raise KernelError(
            f"{tree}: it holds no kernel sources (Makefile, arch/um); give a version such as 6.12, or their folder"
        )
    for name in _LEFTOVERS:
        if (tree / name).exists():
            raise KernelError(
                f"{tree}: it was built in place ({name}); run `make ARCH=um mrproper` there, or give a copy"
            )
    version(tree)


def version(tree: Path) -> str:
    """Return the version of a tree, as `make kernelversion` prints it.

    Raises:
        KernelError: If its Makefile states none.
    """
    text = (tree / "Makefile").read_text(encoding="utf-8")
    found = dict(re.findall(r"(?m)^(VERSION|PATCHLEVEL|SUBLEVEL|EXTRAVERSION) *= *(.*?) *$", text))
    if not {"VERSION", "PATCHLEVEL", "SUBLEVEL"} <= found.keys():
        raise KernelError(f"{tree / 'Makefile'}: it states no version; it must be the Makefile of a kernel")
    return f"{found['VERSION']}.{found['PATCHLEVEL']}.{found['SUBLEVEL']}{found.get('EXTRAVERSION', '')}"


# ---- what has to differ ---------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Change:
    """Change of one file: its pattern, the replacement, and its purpose."""

    file: str
    pattern: str
    replacement: str
    purpose: str


_REGISTERS: Final = "room for the registers of processors with tiles"

_CHANGES: Final = (
    _Change("arch/um/Kconfig", r"(config HZ\n\tint\n\tdefault )100\b", r"\g<1>1000", "timer ticks each millisecond"),
    _Change(
        "arch/um/os-Linux/util.c",
        r"return getrandom\(buf, len, flags\);",
        # Zeros count as a seed, so nobody waits for one; the kernel adds its command line to it.
        "memset(buf, 0, len);\n\treturn len;",
        "no random numbers of the host",
    ),
    # A clock of 256 ns, which moves on by as much whenever a program reads it, and timers up to 500 ns late.
    _Change(
        "arch/um/include/linux/time-internal.h",
        r"(#define TIMER_M(?:ULTIPLIER|IN_DELTA)\s+)\d+",
        r"\g<1>1",
        "a clock of nanoseconds",
    ),
    # Later versions ask the processor for the size; 2696 bytes are too few for those with tiles (AMX).
    _Change("arch/x86/um/user-offsets.c", r"(DEFINE_LONGS\(HOST_FP_SIZE, )2696\)", r"\g<1>12288)", _REGISTERS),
    _Change(
        "arch/x86/um/os-Linux/registers.c",
        r"((?:static )?int have_xstate_support;)",
        r"\g<1>\nstatic unsigned long xstate_size;",
        _REGISTERS,
    ),
    _Change(
        "arch/x86/um/os-Linux/registers.c",
        r"(\t\thave_xstate_support = 1);",
        r"\g<1>, xstate_size = iov.iov_len;",
        _REGISTERS,
    ),
    _Change(
        "arch/x86/um/os-Linux/registers.c",
        r"(?s)(int restore_fp_registers\(.*?iov\.iov_len = )FP_SIZE \* sizeof\(unsigned long\)",
        r"\g<1>xstate_size",
        _REGISTERS,
    ),
)


def change(tree: Path) -> list[str]:
    """Make the changes that virtual time needs.

    Args:
        tree: Copy of the sources.

    Returns:
        The purposes of changes whose place was not found.
    """
    left_out = []
    for wanted in _CHANGES:
        if wanted.purpose == _REGISTERS and not _has_fixed_registers(tree):
            continue
        file = tree / wanted.file
        before = file.read_text(encoding="utf-8") if file.is_file() else ""
        after = re.sub(wanted.pattern, wanted.replacement, before)
        if after == before:
            left_out.append(wanted.purpose)
        else:
            file.write_text(after, encoding="utf-8")
    return list(dict.fromkeys(left_out))


def _has_fixed_registers(tree: Path) -> bool:
    file = tree / "arch/x86/um/user-offsets.c"
    return file.is_file() and "HOST_FP_SIZE" in file.read_text(encoding="utf-8")


def add_modules(tree: Path, modules: Sequence[Path]) -> None:
    """Add C files of a user to the kernel's TCP.

    Args:
        tree: Copy of the sources.
        modules: C files, each with a `struct tcp_congestion_ops` that it registers.

    Raises:
        KernelError: If a file is unusable, or has the name of one of the kernel's.
    """
    folder = tree / "net/ipv4"
    for file in modules:
        check_module(file)
        if (folder / file.name).exists():
            raise KernelError(f"{file}: the kernel has a file {file.name} in net/ipv4 already; give it another name")
        shutil.copyfile(file, folder / file.name)
    objects = "".join(f"obj-y += {file.stem}.o\n" for file in modules)
    with (folder / "Makefile").open("a", encoding="utf-8") as makefile:
        makefile.write(f"\n{objects}")


def check_module(file: Path) -> None:
    """Check that a file can be compiled into the kernel as a congestion control.

    Raises:
        KernelError: If it cannot.
    """
    if not file.is_file():
        raise KernelError(f"{file}: not found; --module takes a C file")
    if not re.fullmatch(r"[A-Za-z0-9_-]+\.c", file.name):
        raise KernelError(f'{file}: its name must consist of letters, digits, "_" and "-", and end in ".c"')
    if "tcp_register_congestion_control" not in file.read_text(encoding="utf-8", errors="replace"):
        raise KernelError(f"{file}: it never calls tcp_register_congestion_control; register its tcp_congestion_ops")
