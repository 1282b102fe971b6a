"""The same lone flows on versions of Linux, in ns-3, and simulated as each version.

`python -m studies.linux.versions` makes the record anew: kernels are those of `ackclock linux build`, in virtual time.
Nothing is random in these runs, and hosts have no noise.
"""

import argparse
import importlib
import json
import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Final

import ackclock
from ackclock import Results, Scenario
from ackclock.running import kernel, linux_kernels

FILE: Final = Path(__file__).with_name("versions.json")
PEERS: Final = Path(__file__).parents[2] / "benches" / "peers"
DURATION_S: Final = 10
KERNELS: Final = {"6.1": "linux-6.12", "6.12": "linux-6.12", "7.3": "linux-7.3"}
"""Names of kernels, each with the profile that the simulator takes for it."""
PATHS: Final = {
    "Reno, 10 Mbit/s, 40 ms, 50 packets": ("reno", 10, 40, 50),
    "Reno, 50 Mbit/s, 100 ms, 300 packets": ("reno", 50, 100, 300),
    "Reno, 100 Mbit/s, 60 ms, 250 packets": ("reno", 100, 60, 250),
    "CUBIC, 1 Mbit/s, 40 ms, 20 packets": ("cubic", 1, 40, 20),
    "CUBIC, 10 Mbit/s, 200 ms, 167 packets": ("cubic", 10, 200, 167),
    "CUBIC, 100 Mbit/s, 60 ms, 250 packets": ("cubic", 100, 60, 250),
    "BBR, 20 Mbit/s, 40 ms, 533 packets": ("bbr", 20, 40, 533),
    "BBR, 100 Mbit/s, 60 ms, 250 packets": ("bbr", 100, 60, 250),
}
"""Controller, rate in Mbit/s, round-trip time in ms, and limit of the FIFO."""
_IN_NS3: Final = {"reno": "TcpLinuxReno", "cubic": "TcpCubic", "bbr": "TcpBbr"}

Figures = dict[str, float]
"""Goodput over the whole run in Mbit/s, and the number of segments sent again."""


def scenario(path: str, profile: str) -> Scenario:
    """Return the scenario of a path with the profile of a version."""
    controller, rate, rtt, limit = PATHS[path]
    return Scenario.from_json(
        json.dumps(
            {
                "name": path,
                "duration": f"{DURATION_S} s",
                "tcp": {"profile": profile, "host_noise": "0 ns"},
                "topology": {
                    "kind": "dumbbell",
                    "access": {"rate": "1 Gbit/s", "delay": "10 us"},
                    "bottleneck": {
                        "rate": f"{rate} Mbit/s",
                        "delay": f"{rtt / 2} ms",
                        "queue": {"kind": "drop_tail", "limit": f"{limit} packets"},
                    },
                },
                "flow": [{"name": "one", "controller": controller}],
                "trace": {"flows": "none", "links": "none"},
            }
        )
    )


def figures(results: Results) -> Figures:
    """Return what is compared of a run."""
    flow = results.summary["flows"][0]
    return {
        "goodput": round(8e-6 * flow["delivered_bytes"] / DURATION_S, 3),
        "sent again": flow["retransmitted_segments"],
    }


def in_ns3(path: str) -> Figures:
    """Return the figures of a path in ns-3, by the program of `benches/peers`.

    Raises:
        RuntimeError: If there is no ns-3, or it fails.
    """
    sys.path.insert(0, str(PEERS))
    builds, peer = importlib.import_module("ns3_builds"), importlib.import_module("peer_programs")
    controller, rate, rtt, limit = PATHS[path]
    found = peer.run(
        builds.debian(),
        controller=_IN_NS3[controller],
        rate=f"{rate}Mbps",
        accessRate="1Gbps",
        rtt=rtt / 1e3,
        queue=limit,
        duration=DURATION_S,
        buffer=int(4 * (rate * rtt * 1e3 / 8 + limit * 1500)),
    )
    return {"goodput": round(found.goodput_bps / 1e6, 3), "sent again": found.retransmitted_segments}


def simulated(path: str, profile: str) -> Figures:
    """Return the figures of a simulation."""
    return figures(ackclock.run(scenario(path, profile)))


def on_linux(path: str, name: str) -> Figures:
    """Return the figures of a path on a kernel.

    Raises:
        kernel.KernelError: If there is no such kernel.
    """
    return figures(kernel.run(scenario(path, KERNELS[name]), on=linux_kernels.find(name)))


PLACES: Final[dict[str, Callable[[str], Figures]]] = {
    **{f"Linux {name}": partial(on_linux, name=name) for name in KERNELS},
    **{f"as {profile}": partial(simulated, profile=profile) for profile in dict.fromkeys(KERNELS.values())},
    "ns-3 3.37": in_ns3,
}
"""Places that run a path, in the order of the table's columns."""

Record = dict[str, dict[str, Figures]]
"""Figures of each path in each place."""


def read() -> Record:
    """Return the record."""
    found: Record = json.loads(FILE.read_text(encoding="utf-8"))
    return found


def table(record: Record) -> str:
    """Return a record as a table: the goodput, and the segments sent again."""
    rows = [["", *PLACES], ["---"] * (len(PLACES) + 1)]
    for path, row in record.items():
        rows.append([path, *(f"{row[place]['goodput']:.2f}; {row[place]['sent again']:,}" for place in PLACES)])
    return "".join(f"| {' | '.join(row)} |\n" for row in rows)


def main(arguments: Sequence[str] | None = None) -> None:
    """Record."""
    parser = argparse.ArgumentParser(prog="python -m studies.linux.versions", description=__doc__)
    parser.add_argument("places", nargs="*", metavar="PLACE", help=f"{', '.join(PLACES)}; all if none is given")
    chosen = parser.parse_args(arguments).places or list(PLACES)
    if unknown := set(chosen) - PLACES.keys():
        parser.error(f"{', '.join(sorted(unknown))}: must be of {', '.join(PLACES)}")
    before = read() if FILE.exists() else {}
    try:
        record = {path: before.get(path, {}) | {place: PLACES[place](path) for place in chosen} for path in PATHS}
    except (OSError, RuntimeError) as error:
        parser.error(str(error))
    FILE.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
