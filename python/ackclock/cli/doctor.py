"""`ackclock doctor`: capabilities of this machine, their purpose, and how to get missing ones."""

import json
import os
import platform
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Annotated

import typer
from rich.text import Text

from ackclock._core import build_info
from ackclock.base.system import cores
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
        remedy: How to get it.
    """

    name: str
    ok: bool
    found: str
    purpose: str
    remedy: str = ""


def doctor(as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False) -> None:
    """Report what this machine supports, and how to get the rest."""
    findings = [probe() for probe in _PROBES]
    if as_json:
        print(json.dumps([asdict(finding) for finding in findings], indent=2))
        return
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


def _cores() -> Finding:
    return Finding(
        "processor", True, f"{cores()} cores, {platform.machine()}", "a sweep runs one simulation on each core"
    )


def _memory() -> Finding:
    if not hasattr(os, "sysconf"):
        return Finding("memory", True, "not known", "series and events are held in memory")
    total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return Finding("memory", total >= 1, f"{total:.1f} GiB", "series and events are held in memory", "1 GiB at least")


def _disk() -> Finding:
    free = shutil.disk_usage(Path.cwd()).free / 2**30
    return Finding("disk", free >= _LOW_DISK_GIB, f"{free:.1f} GiB free here", "result folders", "free some space")


def _python() -> Finding:
    return Finding("Python", sys.version_info >= (3, 11), platform.python_version(), "this program")


def _build() -> Finding:
    info = build_info()
    profile = str(info.get("profile"))
    found = f"{info.get('version')}, {profile}, {info.get('target') or info.get('rustc target') or ''}".rstrip(", ")
    return Finding("ackclock core", profile == "release", found, "speed", "build it in release: make build")


def _kernel() -> Finding:
    return Finding(
        "kernel", sys.platform == "linux", f"{platform.system()} {platform.release()}", "kernel features below", "Linux"
    )


def _module(name: str, module: str, purpose: str, extra: str) -> Finding:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return Finding(name, True, version(module), purpose)
    except PackageNotFoundError:
        return Finding(name, False, "-", purpose, f"pip install 'ackclock[{extra}]'")


def _ns3() -> Finding:
    package = next((name for name in ("libns3-core", "ns3-core") if _succeeds(["pkg-config", name])), "ns3-core")
    purpose, remedy = "the side-by-side measurement (make peers)", "apt-get install libns3-dev ns3 pkg-config"
    return _command("ns-3", f"pkg-config --modversion {package}", purpose, remedy)


def _tool(name: str, commands: tuple[str, ...], purpose: str) -> Finding:
    path = next(filter(None, map(shutil.which, commands)), None)
    return Finding(name, path is not None, path or "-", purpose, f"apt-get install {commands[0]}")


def _command(name: str, command: str, purpose: str, remedy: str) -> Finding:
    """Return the finding for a command, with the first line of its output."""
    found = _first_line(command.split())
    return Finding(name, bool(found), found or "-", purpose, remedy)


def _studio() -> Finding:
    """Check whether the studio is built; in a repository, report what its build lacks."""
    from ackclock.cli import studio_server

    purpose = "the simulator in the browser (ackclock studio)"
    try:
        return Finding("studio", True, str(studio_server.page()), purpose)
    except studio_server.StudioError:
        script = Path(studio_server.__file__).resolve().parents[3] / "studio" / "engine.sh"
        done = _completed([str(script), "--missing"]) if script.is_file() else None
        missing = done.stdout.split("\n") if done else []
        missing += [] if shutil.which("npm") else ["npm (apt-get install npm)"]
        lacking = "; ".join(filter(None, missing))
        remedy = "make studio, in the repository" + (f", which lacks: {lacking}" if lacking else "")
        return Finding("studio", False, "-", purpose, remedy)


def _root() -> Finding:
    root = hasattr(os, "geteuid") and os.geteuid() == 0
    return Finding("root", root, "yes" if root else "no", "network namespaces and kernel controllers", "run as root")


def _namespaces() -> Finding:
    made = _succeeds(["unshare", "--net", "ip", "link"])
    found = "can be made" if made else "-"
    remedy = "run as root, and apt-get install iproute2"
    return Finding("network namespaces", made, found, "the same scenario on the real kernel", remedy)


def _tun() -> Finding:
    there = os.access("/dev/net/tun", os.R_OK | os.W_OK)
    return Finding("/dev/net/tun", there, "yes" if there else "-", "the link emulator", "modprobe tun, as root")


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


def _bpf_controllers() -> Finding:
    """Check whether `ackclock-kernel` was built with its controllers."""
    from ackclock.running import kernel

    purpose = "HighSpeed, Scalable, Vegas and others inside the kernel (ackclock-kernel load, exec)"
    remedy = "apt-get install clang libelf-dev zlib1g-dev, then make kernel, in the repository"
    try:
        listed = _first_line([str(kernel.program()), "list"])
    except kernel.KernelError:
        listed = ""
    return Finding("controllers in eBPF", bool(listed), "yes" if listed else "-", purpose, remedy)


def _kernel_program() -> Finding:
    from ackclock.running import kernel

    purpose = "the same scenario on the real kernel (ackclock run --on kernel)"
    try:
        return Finding(kernel.PROGRAM, True, str(kernel.program()), purpose)
    except kernel.KernelError:
        return Finding(kernel.PROGRAM, False, "-", purpose, "make kernel, in the repository")


def _kernel_controllers() -> Finding:
    path = Path("/proc/sys/net/ipv4/tcp_available_congestion_control")
    found = path.read_text().strip() if path.is_file() else ""
    remedy = "modprobe tcp_bbr and the like, as root"
    return Finding("kernel controllers", bool(found), found or "-", "comparison with the real kernel", remedy)


_PROBES: tuple[Callable[[], Finding], ...] = (
    _cores, _memory, _disk, _python, _build,
    partial(_module, "Matplotlib", "matplotlib", "figures and pages", "report"),
    partial(_module, "Gymnasium", "gymnasium", "environments for agents", "gym"),
    partial(_command, "Rust", "cargo --version", "building from source", "install a Rust toolchain, 1.95 or later"),
    partial(_module, "Ray", "ray", "sweeps on many machines (--backend ray)", "ray"),
    _ns3,
    partial(_tool, "tshark", ("tshark",), "reading captures (.pcapng)"),
    partial(_tool, "tcptrace", ("tcptrace",), "time-sequence graphs of captures"),
    partial(
        _tool, "Chromium", ("chromium", "chromium-browser", "google-chrome"), "looking at reports without a screen"
    ),
    _studio,
    partial(
        _command, "GPU", "nvidia-smi --query-gpu=name,memory.total --format=csv,noheader",
        "faster training of large networks (ackclock train)", "a CUDA driver",
    ),
    _kernel, _root, _namespaces, _tun, _kernel_program, _bpf, _bpf_controllers, _kernel_controllers,
)  # fmt: skip


def _first_line(command: list[str]) -> str:
    """Return the first line of a command's output; empty if it is missing, fails, or takes too long."""
    done = _completed(command)
    return done.stdout.strip().partition("\n")[0] if done and done.returncode == 0 else ""


def _succeeds(command: list[str]) -> bool:
    done = _completed(command)
    return done is not None and done.returncode == 0


def _completed(command: list[str]) -> subprocess.CompletedProcess[str] | None:
    try:
        return subprocess.run(command, capture_output=True, text=True, timeout=10, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
