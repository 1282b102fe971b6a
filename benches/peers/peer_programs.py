"""The programs that run the peers: compiled against a simulator, run, and their figures read.

Each program simulates the dumbbell of its peer, takes the same options and prints the same JSON.
"""

import json
import subprocess
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).resolve().parents[2] / "target" / "peers"
"""Where everything is that the comparison makes."""


class PeerMissing(RuntimeError):
    """A simulator or what is needed to build against it is not there; the message has the remedy."""


@dataclass(frozen=True, slots=True)
class PeerBuild:
    """One build of a simulator, and the program that uses it.

    Attributes:
        name: On the command line and in the figures.
        simulator: Name of the simulator.
        version: Version of the simulator.
        how: Kind of the build, in a few words.
        sources: Sources of the program, its own first, and headers that it depends on.
        flags: Options of the compiler and the linker.
        same_tcp: Changes to ackclock's scenario that give it this build's TCP, if a second turn of ackclock has them.
    """

    name: str
    simulator: str
    version: str
    how: str
    sources: tuple[Path, ...]
    flags: tuple[str, ...]
    same_tcp: tuple[str, ...] = ()

    @property
    def label(self) -> str:
        """Name in tables and messages."""
        kind = "" if self.name == self.simulator else f", {self.name}"
        return f"{self.simulator} {self.version}{kind}"

    @property
    def program(self) -> Path:
        """Where the program compiled against it is."""
        return FOLDER / f"{self.sources[0].stem}-{self.name}-{self.version}"


@dataclass(frozen=True, slots=True)
class PeerFigures:
    """The figures of one run of a peer.

    Attributes:
        cpu_s: CPU time of the event loop, set-up left out.
        delivered_packets: Data packets that came out of the bottleneck.
        goodput_bps: Payload that all flows got together, over the whole run.
        retransmitted_segments: Number of retransmitted segments of all flows together.
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


_COMPILING = threading.Lock()


def compile_program(build: PeerBuild) -> Path:
    """Compile a build's program, unless it is newer than its sources.

    Args:
        build: Simulator that the program uses.

    Raises:
        PeerMissing: If the program does not compile.
    """
    with _COMPILING:
        program = build.program
        if program.exists() and program.stat().st_mtime > max(source.stat().st_mtime for source in build.sources):
            return program
        program.parent.mkdir(parents=True, exist_ok=True)
        sources = [str(source) for source in build.sources if source.suffix != ".h"]
        command = ["g++", "-Wall", "-Wextra", *sources, "-o", str(program), *build.flags]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise PeerMissing(f"{sources[0]} does not compile against {build.label}:\n{done.stderr}")
        return program


def run(build: PeerBuild, **options: float | int | str | bool) -> PeerFigures:
    """Run a build's program once.

    Args:
        build: Simulator to run.
        options: Options of the program, by their names there.

    Raises:
        RuntimeError: If it fails.
    """
    arguments = [f"--{name}={int(value) if isinstance(value, bool) else value}" for name, value in options.items()]
    command = [str(compile_program(build)), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"{build.label} failed with status {done.returncode}:\n{done.stderr or done.stdout}")
    return read(done.stdout)


def read(printed: str) -> PeerFigures:
    """Return the figures that a program has printed.

    Args:
        printed: One JSON object.
    """
    figures = json.loads(printed)
    flows = figures["flows"]
    return PeerFigures(
        cpu_s=figures["cpu_s"],
        delivered_packets=figures["delivered_packets"],
        goodput_bps=8 * sum(flow["delivered_bytes"] for flow in flows) / figures["duration_s"],
        retransmitted_segments=sum(flow["retransmitted_segments"] for flow in flows),
        drops=figures["drops"],
        peak_bytes=figures["max_rss_kib"] * 1024,
        episodes=figures["episodes"],
    )
