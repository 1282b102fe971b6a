"""The ns-3 side: build `ns3_dumbbell.cc` against the installed ns-3, run it, read its figures."""

import json
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
SOURCE = HERE / "ns3_dumbbell.cc"
PROGRAM = HERE.parents[1] / "target" / "peers" / "ns3_dumbbell"

MODULES = ("internet", "applications", "point-to-point", "nix-vector-routing", "network", "core")
REMEDY = "On Debian or Ubuntu: sudo apt-get install g++ pkg-config ns3 libns3-dev"

OPTIMISED_SPEEDUP = 1.4
"""How much faster an optimised build of ns-3 3.44 was seen to be than Debian's 3.37, which has its logging built in."""


class Ns3Missing(RuntimeError):
    """ns-3 or what is needed to build against it is not installed; the message has the remedy."""


@dataclass(frozen=True, slots=True)
class Ns3Figures:
    """What one run of ns-3 gave.

    Attributes:
        cpu_s: CPU time of the event loop, set-up left out.
        delivered_packets: Data packets that came out of the bottleneck.
        goodput_bps: Payload that all flows got together, over the whole run.
        retransmitted_segments: Of all flows together.
        drops: Packets that the bottleneck's queue dropped, or that were dropped on demand.
        peak_bytes: Largest resident size of the process.
        episodes: Congestion episodes of the first flow, if it was watched.
    """

    cpu_s: float
    delivered_packets: int
    goodput_bps: float
    retransmitted_segments: int
    drops: int
    peak_bytes: int
    episodes: list[dict[str, Any]]


def version() -> str:
    """Return the version of the installed ns-3.

    Raises:
        Ns3Missing: If it is not installed.
    """
    for tool in ("pkg-config", "g++"):
        if shutil.which(tool) is None:
            raise Ns3Missing(f"{tool} is not installed, so ns-3 cannot be measured. {REMEDY}")
    done = _run("pkg-config", "--modversion", "ns3-core")
    if done.returncode != 0:
        raise Ns3Missing(f"ns-3 is not installed (pkg-config knows no ns3-core). {REMEDY}")
    return done.stdout.strip()


def build() -> Path:
    """Compile the program unless it is newer than its source.

    Raises:
        Ns3Missing: If ns-3 is not installed, or not all of it.
    """
    version()
    if PROGRAM.exists() and PROGRAM.stat().st_mtime > SOURCE.stat().st_mtime:
        return PROGRAM
    PROGRAM.parent.mkdir(parents=True, exist_ok=True)
    done = _run("g++", "-std=c++17", "-O2", "-Wall", "-Wextra", str(SOURCE), "-o", str(PROGRAM), *_flags())
    if done.returncode != 0:
        raise Ns3Missing(f"the ns-3 program does not compile:\n{done.stderr}\n{REMEDY}")
    return PROGRAM


def _flags() -> list[str]:
    # Debian's files also name libraries that only ns-3 itself was linked with, and whose packages may be missing.
    done = _run("pkg-config", "--cflags", "--libs", *(f"ns3-{module}" for module in MODULES))
    if done.returncode != 0:
        raise Ns3Missing(f"parts of ns-3 are not installed: {done.stderr.strip()}. {REMEDY}")
    wanted = [flag for flag in done.stdout.split() if flag.startswith(("-I", "-L", "-lns3", "-D"))]
    return [flag.rstrip(";\\") for flag in wanted if flag.rstrip(";\\") != "-I/usr"]


def run(**options: float | int | str | bool) -> Ns3Figures:
    """Run ns-3 once.

    Args:
        options: Options of the program, by their names there.

    Raises:
        RuntimeError: If it fails.
    """
    arguments = [f"--{name}={int(value) if isinstance(value, bool) else value}" for name, value in options.items()]
    done = _run(str(build()), *arguments)
    if done.returncode != 0:
        raise RuntimeError(f"ns-3 failed with status {done.returncode}:\n{done.stderr or done.stdout}")
    figures = json.loads(done.stdout)
    flows = figures["flows"]
    return Ns3Figures(
        cpu_s=figures["cpu_s"],
        delivered_packets=figures["delivered_packets"],
        goodput_bps=8 * sum(flow["delivered_bytes"] for flow in flows) / figures["duration_s"],
        retransmitted_segments=sum(flow["retransmitted_segments"] for flow in flows),
        drops=figures["drops"],
        peak_bytes=figures["max_rss_kib"] * 1024,
        episodes=figures["episodes"],
    )


def _run(*command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, capture_output=True, text=True, check=False)
