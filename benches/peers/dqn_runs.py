"""One run of the papers' testbed in either simulator, kept by what decides it."""

import hashlib
import json
import random
import subprocess
from pathlib import Path
from typing import Any

import ns3_builds
import peer_programs
import polars as pl
from dqn_cases import DELAYS_MS, FOLDER, OURS, Row

from ackclock._core import Scenario
from ackclock.claims.origin import engine
from ackclock.results import Results
from ackclock.running import run

KEPT = peer_programs.FOLDER / "dqn-twin"

HEADERS_BYTES = 52
"""IP's and TCP's, of a full segment: the papers' 49.07 and 48.40 Mbit/s are with them."""

BIN_S = 0.5


def start_s(seed: int) -> float:
    """Start of flow 2, s, within the first 100 ms and the same in both simulators."""
    return random.Random(seed).uniform(0.0, 0.1)


def run_ns3(row: Row, segment_bytes: int, seed: int, *, only_kept: bool = False) -> dict[str, Any] | None:
    """Run ns-3, or take what an earlier run has left.

    Args:
        row: Row of the tables.
        segment_bytes: The payload of a segment.
        seed: From 1 on.
        only_kept: Run nothing; `None` if nothing was left.
    """
    options = {"duration": "50", **row.ns3, "controllers": ",".join(row.controllers), "seed": str(seed)}
    options |= {"mss": str(segment_bytes)}
    options |= {"start2": f"{start_s(seed):.6f}"} if len(row.controllers) > 1 else {}
    options |= {} if row.is_random else {"delay": f"{DELAYS_MS[seed - 1]:g}"}
    sources = b"".join(path.read_bytes() for path in ns3_builds.DQN_SOURCES)
    file = _kept("ns-3", json.dumps(options, sort_keys=True).encode() + sources)
    if file.exists() or only_kept:
        return json.loads(file.read_text(encoding="utf-8")) if file.exists() else None
    program = ns3_builds.compile_dqn(ns3_builds.debian())
    command = [str(program), *(f"--{name}={value}" for name, value in options.items())]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"ns-3 failed with status {done.returncode}: {' '.join(command)}\n{done.stderr}")
    return _keep(file, _of_ns3(json.loads(done.stdout), segment_bytes))


def _with_headers(segment_bytes: int) -> float:
    """Return the bytes of a full segment to its payload."""
    return (segment_bytes + HEADERS_BYTES) / segment_bytes


def _of_ns3(figures: dict[str, Any], segment_bytes: int) -> dict[str, Any]:
    scale = 8e-6 * _with_headers(segment_bytes) / BIN_S
    return {
        "flows": [
            {
                "mbps": [round(scale * count, 4) for count in flow["delivered_bytes"]],
                "cwnd": [round(segments, 1) for segments in flow["cwnd_segments"]],
                "retransmitted": flow["retransmitted"],
                "reductions_s": flow["reductions_s"],
            }
            for flow in figures["flows"]
        ]
    }


def run_ackclock(row: Row, segment_bytes: int, seed: int, *, only_kept: bool = False) -> dict[str, Any] | None:
    """Run ackclock, or take what an earlier run has left; the arguments are those of `run_ns3`."""
    overrides = [f"seed={seed}", f"tcp.mss={segment_bytes}", *_devices(row), *row.overrides]
    overrides += [f"flow[{flow}].controller={OURS[name]}" for flow, name in enumerate(row.controllers)]
    overrides += [f'flow[1].start="{1e3 * start_s(seed):.3f} ms"'] if len(row.controllers) > 1 else []
    overrides += [] if row.is_random else [f'topology.link[0].delay="{DELAYS_MS[seed - 1]:g} ms"']
    scenario = Scenario.load(str(FOLDER / row.scenario), overrides)
    file = _kept("ackclock", f"{engine()}{scenario.hash}".encode())
    if file.exists() or only_kept:
        return json.loads(file.read_text(encoding="utf-8")) if file.exists() else None
    return _keep(file, _of_ackclock(run(scenario), segment_bytes, len(row.controllers)))


def _devices(row: Row) -> list[str]:
    """Behind FQ-CoDel, which the scenarios have, a device that takes 100 packets, as ns-3's do."""
    return [f"topology.link[{link}].device_queue=100" for link in range(1 + 2 * len(row.controllers))]


def _of_ackclock(results: Results, segment_bytes: int, flows: int) -> dict[str, Any]:
    found = []
    for flow in map(str, range(1, flows + 1)):
        rows = results.flows.filter((results.flows["flow"] == flow) & (results.flows["time_s"] > 0))
        reductions = results.episodes.filter(results.episodes["flow"] == flow)
        found.append(
            {
                "mbps": [round(1e-6 * _with_headers(segment_bytes) * rate, 4) for rate in _known(rows["goodput_bps"])],
                "cwnd": [round(size / segment_bytes, 1) for size in _known(rows["cwnd_bytes"])],
                "retransmitted": int(results.flow(flow)["retransmitted_segments"]),
                "reductions_s": list(reductions["time_s"]),
            }
        )
    return {"flows": found}


def _known(numbers: pl.Series) -> list[float]:
    """Return them with 0 where there is none, as before a flow has begun."""
    return [float(value) for value in numbers.cast(pl.Float64).fill_nan(0.0).fill_null(0.0)]


def _kept(simulator: str, settings: bytes) -> Path:
    return KEPT / f"{simulator}-{hashlib.sha256(settings).hexdigest()[:24]}.json"


def _keep(file: Path, found: dict[str, Any]) -> dict[str, Any]:
    part = file.with_suffix(".part")
    part.write_text(json.dumps(found), encoding="utf-8")
    part.replace(file)
    return found
