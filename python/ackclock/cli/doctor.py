"""`ackclock doctor`: capabilities of this machine, their purpose, and how to get missing ones."""

import json
import os
import platform
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from rich.text import Text

from ackclock._core import build_info
from ackclock.base.printable import amount
from ackclock.base.system import cores
from ackclock.cli.answers import is_asked, put
from ackclock.cli.table_output import print_list
from ackclock.plotting.terminal import output

_LOW_DISK_GIB = 2.0
_LEAST_BPF_KERNEL = (6, 4)
"""First kernel release whose controllers are unregistered with their program and replaceable under live connections."""


@dataclass(frozen=True, slots=True)
class Finding:
    """Line of the report.

    Attributes:
        name: Name of the capability.
        ok: Whether it is present and sufficient.
        found: Value found.
        purpose: Purpose of the capability.
        remedy: Instruction how to get it.
    """

    name: str
    ok: bool
    found: str
    purpose: str
    remedy: str = ""


def doctor() -> None:
    """Report what this machine supports, and how to get the rest."""
    findings = list(_probed())
    if is_asked():
        put(json.dumps([asdict(finding) for finding in findings], indent=2) + "\n")
    else:
        _print(findings)


def _print(findings: list[Finding]) -> None:
    rows = []
    for finding in findings:
        mark = Text("ok", "green") if finding.ok else Text("missing", "yellow")
        remedy = Text(f"\n{finding.remedy}", "yellow") if finding.remedy and not finding.ok else Text("")
        rows.append((mark, Text(finding.name, "cyan"), finding.found, Text(finding.purpose) + remedy))
    print_list(("", "what", "found", "what it is for, and how to get it"), rows)
    missing = sum(not finding.ok for finding in findings)
    output().print(f"\n{missing} missing; simulating needs none of them." if missing else "\nnothing is missing")


def _probed() -> Iterator[Finding]:
    """Look at the machine, at packages and programs, and at the kernel."""
    yield from _machine()
    yield _module("Matplotlib", "matplotlib", "figures and pages", "report")
    yield _module("Gymnasium", "gymnasium", "environments for agents", "gym")
    rust = "install a Rust toolchain, 1.95 or later"
    yield _there("Rust", _first_line("cargo --version"), "building from source", rust)
    yield _module("Ray", "ray", "sweeps on many machines (--backend ray)", "ray")
    version = _first_line("pkg-config --modversion libns3-core") or _first_line("pkg-config --modversion ns3-core")
    ns3 = "apt-get install libns3-dev ns3 pkg-config"
    yield _there("ns-3", version, "the side-by-side measurement (make -f benches/Makefile peers)", ns3)
    yield _tool("tshark", "reading captures (.pcapng)", "tshark")
    yield _tool("tcptrace", "time-sequence graphs of captures", "tcptrace")
    browsers = ("chromium", "chromium-browser", "google-chrome")
    yield _tool("Chromium", "looking at reports without a screen", *browsers)
    yield _studio()
    card = _first_line("nvidia-smi --query-gpu=name,memory.total --format=csv,noheader")
    yield _there("GPU", card, "faster training of large networks (ackclock train)", "a CUDA driver")
    yield from _kernel()
    yield _virtual_kernel()


def _there(name: str, found: str, purpose: str, remedy: str) -> Finding:
    """Return a finding of what is there if anything was found of it."""
    return Finding(name, bool(found), found or "-", purpose, remedy)


def _module(name: str, module: str, purpose: str, extra: str) -> Finding:
    from importlib.metadata import PackageNotFoundError, version

    try:
        found = version(module)
    except PackageNotFoundError:
        found = ""
    return _there(name, found, purpose, "" if found else f"pip install 'ackclock[{extra}]'")


def _tool(name: str, purpose: str, *commands: str) -> Finding:
    path = next(filter(None, map(shutil.which, commands)), "")
    return _there(name, path, purpose, f"apt-get install {commands[0]}")


def _machine() -> Iterator[Finding]:
    processor = f"{amount(cores(), 'core')}, {platform.machine()}"
    yield Finding("processor", True, processor, "a sweep runs one simulation on each core")
    held = "series and events are held in memory"
    if hasattr(os, "sysconf"):
        total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
        yield Finding("memory", total >= 1, f"{total:.1f} GiB", held, "1 GiB at least")
    else:
        yield Finding("memory", True, "not known", held)
    free = shutil.disk_usage(Path.cwd()).free / 2**30
    yield Finding("disk", free >= _LOW_DISK_GIB, f"{free:.1f} GiB free here", "result folders", "free some space")
    yield Finding("Python", sys.version_info >= (3, 11), platform.python_version(), "this program")
    info = build_info()
    profile = str(info.get("profile"))
    found = f"{info.get('version')}, {profile}, {info.get('target') or info.get('rustc target') or ''}".rstrip(", ")
    yield Finding("ackclock core", profile == "release", found, "speed", "build it in release: make build")


def _studio() -> Finding:
    """Check whether the studio is built; in a repository, report what its build lacks."""
    from ackclock.cli import studio_server

    purpose, remedy = "the simulator in the browser (ackclock studio)", "make studio, in the repository"
    try:
        return _there("studio", str(studio_server.page()), purpose, remedy)
    except studio_server.StudioError:
        script = Path(studio_server.__file__).resolve().parents[3] / "studio" / "engine.sh"
        done = _completed([str(script), "--missing"]) if script.is_file() else None
        missing = done.stdout.split("\n") if done else []
        missing += [] if shutil.which("npm") else ["npm (apt-get install npm)"]
        lacking = "; ".join(filter(None, missing))
        return _there("studio", "", purpose, remedy + (f", which lacks: {lacking}" if lacking else ""))


def _kernel() -> Iterator[Finding]:
    from ackclock.running import kernel

    system = f"{platform.system()} {platform.release()}"
    yield Finding("kernel", sys.platform == "linux", system, "kernel features below", "Linux")
    root = hasattr(os, "geteuid") and os.geteuid() == 0
    yield Finding("root", root, "yes" if root else "no", "network namespaces and kernel controllers", "run as root")
    made = _completed(["unshare", "--net", "ip", "link"])
    found, remedy = "can be made" if made and not made.returncode else "", "run as root, and apt-get install iproute2"
    yield _there("network namespaces", found, "the same scenario on the real kernel", remedy)
    found = "yes" if os.access("/dev/net/tun", os.R_OK | os.W_OK) else ""
    yield _there("/dev/net/tun", found, "the link emulator", "modprobe tun, as root")
    try:
        program = str(kernel.program())
    except kernel.KernelError:
        program = ""
    purpose, remedy = (
        "the same scenario on the real kernel (ackclock run --on kernel)",
        "make kernel, in the repository",
    )
    yield _there(kernel.PROGRAM, program, purpose, remedy)
    yield _bpf()
    purpose = "HighSpeed, Scalable, Vegas and others inside the kernel (ackclock-kernel load, exec)"
    remedy = "apt-get install clang libelf-dev zlib1g-dev, then make kernel, in the repository"
    found = "yes" if program and _first_line(program, "list") else ""
    yield _there("controllers in eBPF", found, purpose, remedy)
    path = Path("/proc/sys/net/ipv4/tcp_available_congestion_control")
    found, remedy = path.read_text().strip() if path.is_file() else "", "modprobe tcp_bbr and the like, as root"
    yield _there("kernel controllers", found, "comparison with the real kernel", remedy)


def _virtual_kernel() -> Finding:
    """Check which kernels are built for virtual time, or what building one lacks."""
    from ackclock.running import kernel, linux_build, linux_kernels

    purpose, remedy = "the real kernel in virtual time, without root (ackclock run --on linux)", "ackclock linux build"
    try:
        found = ", ".join(built.name for built in linux_kernels.kernels())
    except kernel.KernelError as error:
        return _there("Linux in virtual time", "", purpose, str(error))
    if lacking := linux_build.missing():
        remedy += f", which lacks: {lacking}"
    return _there("Linux in virtual time", found, purpose, remedy)


def _bpf() -> Finding:
    btf = Path("/sys/kernel/btf/vmlinux")
    types = btf.read_bytes() if btf.is_file() else b""
    there = b"bpf_struct_ops_tcp_congestion_ops" in types
    release = platform.release()
    numbers = [int(number) for number in re.findall(r"\d+", release)[:2]]
    is_new = numbers >= list(_LEAST_BPF_KERNEL)
    found = "tcp_congestion_ops" if there else "BTF without tcp_congestion_ops" if types else "no BTF"
    if there and not is_new:
        found += f", but the kernel is {release}"
    least = ".".join(map(str, _LEAST_BPF_KERNEL))
    remedy = f"a kernel from {least} on with CONFIG_DEBUG_INFO_BTF and CONFIG_BPF_JIT"
    return Finding("eBPF struct_ops", there and is_new, found, "controllers inside the kernel", remedy)


def _first_line(command: str, *arguments: str) -> str:
    """Return the first line of a command's output; empty if it is missing, fails, or takes too long."""
    done = _completed([command, *arguments] if arguments else command.split())
    return done.stdout.strip().partition("\n")[0] if done and done.returncode == 0 else ""


def _completed(command: list[str]) -> subprocess.CompletedProcess[str] | None:
    try:
        return subprocess.run(command, capture_output=True, text=True, timeout=10, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
