"""The emulator beside Rattan (https://github.com/stack-rs/rattan), in turn: what passes, how late small packets are.

    cargo install rattan --version 0.1.1 --root /tmp/rattan
    sudo python benches/appliance/rattan.py --rattan /tmp/rattan/bin/rattan [--runs 3]

On each path a CUBIC flow of this kernel sends for so long, then a host knocks at a closed port four hundred times, with
nothing else on the path: from the SYN to the reset is a round trip, and what it has more than the path's delay is the
emulator's and the kernel's. CPU time is that of the emulator's process in user and kernel, which in both does the
receiving hosts' work in part. Needs root and `make kernel`. Rattan has its other end in the machine's own namespace.
"""

import argparse
import json
import os
import resource
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import NamedTuple

import ends
from emulator import scenario
from lab import PORT, SERVER, Lab

KNOCKS = 400
CLOSED = PORT - 1


class Case(NamedTuple):
    """A path, as both are told of it; None is no limit."""

    name: str
    rate_mbps: int | None
    one_way_ms: float
    packets: int


CASES = (
    Case("100 Mbit/s, 60 ms, 500 packets", 100, 30, 500),
    Case("1 Gbit/s, 28 ms, 2,333 packets", 1000, 14, 2333),
    Case("no limit, 2 ms", None, 1, 100_000),
)


class Found(NamedTuple):
    """The figures measured on a path."""

    goodput_mbps: float
    extra_p50_us: float
    extra_p99_us: float
    cpu: float


def knock(to: str) -> list[float]:
    """Return round trips, seconds."""
    trips = []
    for _ in range(KNOCKS):
        with socket.socket() as s:
            begun = time.perf_counter()
            try:
                s.connect((to, CLOSED))
            except ConnectionRefusedError:
                trips.append(time.perf_counter() - begun)
        time.sleep(0.002)
    return trips


def client(to: str, seconds: float) -> list[float]:
    """Send a flow, then knock."""
    ends.send((to, PORT), "cubic", seconds)
    time.sleep(1.0)
    return knock(to)


def found(goodput_bps: float, trips: list[float], case: Case, cpu: float) -> Found:
    """Put a run together."""
    extra = sorted(1e6 * (trip - 2e-3 * case.one_way_ms) for trip in trips)
    return Found(goodput_bps / 1e6, extra[len(extra) // 2], extra[len(extra) * 99 // 100], cpu)


def ours(case: Case, seconds: float) -> Found:
    """One run on ackclock's emulator."""
    rate = "1 Tbit/s" if case.rate_mbps is None else f"{case.rate_mbps} Mbit/s"
    # The first link of the path has 10 us of its own.
    delay = f"{round(1e3 * case.one_way_ms) - 10} us"
    queue = f'{{ kind = "drop_tail", limit = "{case.packets} packets" }}'
    with tempfile.NamedTemporaryFile("w", suffix=".toml") as file:
        file.write(scenario(1, f'rate = "{rate}"\ndelay = "{delay}"', queue))
        file.flush()
        with Lab(Path(file.name), ("p0.a", "p0.r", "p0.b")) as lab:
            arrived = lab.begin(2, ends.receive, (SERVER, PORT), seconds / 3, seconds)
            trips = lab.call(0, client, SERVER, seconds)
            got = arrived()
    return found(got.goodput_bps, trips, case, lab.carried["cpu_s"] / lab.carried["wall_s"])


def theirs(rattan: Path, case: Case, seconds: float) -> Found:
    """One run on Rattan."""
    options = [str(rattan), "link"]
    for way in ("uplink", "downlink"):
        options += [f"--{way}-delay", f"{case.one_way_ms}ms"]
        if case.rate_mbps is not None:
            options += [f"--{way}-bandwidth", f"{case.rate_mbps}Mbps", f"--{way}-queue", "droptail"]
            options += [f"--{way}-queue-args", json.dumps({"packet_limit": case.packets})]
    with tempfile.TemporaryDirectory() as folder:
        told = Path(folder) / "told.json"
        begun = time.monotonic()
        child = subprocess.Popen(
            [*options, "--", sys.executable, __file__, "--client", str(seconds), "--into", told],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env=os.environ | {"RUST_LOG": "error"},
        )
        got = ends.receive(("", PORT), seconds / 3, seconds)
        _, status, usage = os.wait4(child.pid, 0)
        wall = time.monotonic() - begun
        if status:
            raise SystemExit(f"rattan ended with {os.waitstatus_to_exitcode(status)}")
        trips, own_cpu = json.loads(told.read_text())
    return found(got.goodput_bps, trips, case, (usage.ru_utime + usage.ru_stime - own_cpu) / wall)


def inside(seconds: float, into: str) -> None:
    """Be the client within Rattan; its own CPU time is none of the emulator's."""
    trips = client(os.environ["RATTAN_BASE"], seconds)
    usage = resource.getrusage(resource.RUSAGE_SELF)
    Path(into).write_text(json.dumps([trips, usage.ru_utime + usage.ru_stime]))


def main() -> None:
    """Measure in turn, and print medians."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rattan", type=Path, default=Path("rattan"), help="its program")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=9.0, help="of each flow, of which two thirds count")
    parser.add_argument("--client", type=float, help=argparse.SUPPRESS)
    parser.add_argument("--into", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.client is not None:
        return inside(options.client, options.into)
    for case in CASES:
        kinds: dict[str, Callable[[], Found]] = {
            "ackclock": partial(ours, case, options.seconds),
            "rattan": partial(theirs, options.rattan, case, options.seconds),
        }
        runs: dict[str, list[Found]] = {name: [] for name in kinds}
        for _ in range(options.runs):
            for name, run in kinds.items():
                runs[name].append(run())
        for name, rows in runs.items():
            numbers = zip(Found._fields, (statistics.median(column) for column in zip(*rows, strict=True)), strict=True)
            shown = ", ".join(f"{field} {value:.4g}" for field, value in numbers)
            print(f"{case.name}: {name}: {shown}, load {os.getloadavg()[0]:.1f}", flush=True)
    return None


if __name__ == "__main__":
    main()
