"""The ns-3 side: run `ns3_dumbbell.cc` on a build of ns-3, read its figures."""

import json
import subprocess
from dataclasses import dataclass
from typing import Any

from ns3_builds import Ns3Build, compile_program


@dataclass(frozen=True, slots=True)
class Ns3Figures:
    """The figures of one run of ns-3.

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


def run(build: Ns3Build, **options: float | int | str | bool) -> Ns3Figures:
    """Run ns-3 once.

    Args:
        build: The ns-3 to run.
        options: Options of the program, by their names there.

    Raises:
        RuntimeError: If it fails.
    """
    arguments = [f"--{name}={int(value) if isinstance(value, bool) else value}" for name, value in options.items()]
    command = [str(compile_program(build)), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
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
