"""Simulation of a recording: its scenario, the run, and the conversion of results to the recording's columns."""

import itertools
import json
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from ackclock import _core
from ackclock.results import Results
from ackclock.stats.metrics import Flags, Floats

from .linux_recordings import FlowSettings, Recording
from .series import FlowSeries, QueueSeries

MSS_BYTES = 1448
RTT_FACTORS = (1.0, 0.995, 0.9975, 1.0025, 1.005)
"""Factors of the round-trip time: as simulations are deterministic, a slightly different path stands in for chance."""

_LINK = "bottleneck"


@dataclass(frozen=True, slots=True)
class SimulatedRun:
    """Simulation of a recording.

    Attributes:
        rtt_factor: Factor of all propagation delays.
        flows: Samples of each flow, in the recording's order.
        queue: Samples of the bottleneck.
    """

    rtt_factor: float
    flows: tuple[FlowSeries, ...]
    queue: QueueSeries


@dataclass(frozen=True, slots=True)
class Variant:
    """Variation between the simulations of one recording."""

    rtt_factor: float
    starts_s: tuple[float, ...]


def variants(recording: Recording) -> list[Variant]:
    """Return the simulations to make: each RTT factor, with each repetition's start times if they matter.

    Args:
        recording: The recording.
    """
    starts = dict.fromkeys(run.starts_s for run in recording.runs)
    return [Variant(factor, start) for start, factor in itertools.product(starts, RTT_FACTORS)]


def unsupported(recording: Recording) -> list[str]:
    """Return the controllers of a recording that cannot be simulated.

    Args:
        recording: The recording.
    """
    known = {entry["name"] for entry in json.loads(_core.controllers())}
    return sorted({flow.cc for flow in recording.flows} - known)


def scenario(recording: Recording, variant: Variant) -> _core.Scenario:
    """Build a scenario from the settings.

    Args:
        recording: Recording whose controllers are known.
        variant: Variation to apply.
    """
    rtts_ms = [flow.rtt_ms * variant.rtt_factor for flow in recording.flows]
    up_s = [start + rtt / 1000 for start, rtt in zip(variant.starts_s, rtts_ms, strict=True)]
    document = {
        "name": recording.name,
        "duration": f"{max(up_s) + recording.path.secs:.6f} s",
        "topology": _topology(recording, min(rtts_ms)),
        "trace": {
            "interval": "10 ms",
            "flows": ["cwnd", "ssthresh", "srtt", "goodput"],
            "links": ["queue_length"],
            "which_links": [_LINK],
        },
        "flow": [
            _flow(flow, rtt_ms, start_s)
            for flow, rtt_ms, start_s in zip(recording.flows, rtts_ms, variant.starts_s, strict=True)
        ],
    }
    return _core.Scenario.from_json(json.dumps(document))


def _topology(recording: Recording, rtt_ms: float) -> dict[str, Any]:
    """Return a topology of queue, rate and delay; neither the reverse path nor the hosts' links are limiting."""
    free = {"rate": "1 Tbit/s", "queue": {"kind": "drop_tail", "limit": "unlimited"}}
    delay = f"{rtt_ms / 2:.6f} ms"
    return {
        "kind": "dumbbell",
        "access": free | {"delay": "0 ms"},
        "bottleneck": {
            "rate": f"{recording.path.rate_mbps:g} Mbit/s",
            "delay": delay,
            "queue": {"kind": "drop_tail", "limit": f"{recording.path.queue_packets} packets"},
            "reverse": free | {"delay": delay},
        },
    }


def _flow(flow: FlowSettings, rtt_ms: float, start_s: float) -> dict[str, Any]:
    return {
        "name": _name(flow),
        "controller": flow.cc if flow.hystart or flow.cc != "cubic" else {"kind": flow.cc, "hystart": "off"},
        "start": f"{start_s:.6f} s",
        "rtt": f"{rtt_ms:.6f} ms",
        "tcp": _tcp(flow),
    }


def _tcp(flow: FlowSettings) -> dict[str, Any]:
    """Return Linux's settings as recorded: buffers limited no window; without scaling, its field did."""
    return {
        "profile": "linux-6.x",
        "receive_autotuning": {"initial": "64 KiB", "max": "32 MiB", "opens_to": "80 KiB"},
        "send_autotuning": {"max": "64 MiB"},
        "window_scaling": flow.window_scaling,
        "tso": flow.tso,
    }


def _name(flow: FlowSettings) -> str:
    return f"flow{flow.flow}"


def simulated_run(recording: Recording, variant: Variant, results: Results) -> SimulatedRun:
    """Convert results to the columns of a recording.

    Args:
        recording: The recording.
        variant: Variation that was simulated.
        results: Results of the run.
    """
    flows = tuple(
        _flow_series(results, flow, start_s, variant.rtt_factor, recording.path.secs)
        for flow, start_s in zip(recording.flows, variant.starts_s, strict=True)
    )
    up_s = variant.starts_s[0] + recording.flows[0].rtt_ms * variant.rtt_factor / 1000
    rows = results.links.filter((pl.col("link") == _LINK) & (pl.col("time_s") >= up_s))
    queue = QueueSeries(_floats(rows["time_s"]) - up_s, _floats(rows["queue_packets"]))
    return SimulatedRun(variant.rtt_factor, flows, queue)


def _flow_series(results: Results, flow: FlowSettings, start_s: float, rtt_factor: float, secs: float) -> FlowSeries:
    """Return a flow's samples on the recording's clock, which starts an RTT after the SYN."""
    rtt_s = flow.rtt_ms * rtt_factor / 1000
    up_s = start_s + rtt_s
    rows = results.flows.filter(pl.col("flow") == _name(flow))
    read_bytes = np.cumsum(_floats(rows["goodput_bps"]) * np.diff(_floats(rows["time_s"]), prepend=start_s)) / 8
    since_up = (rows["time_s"] >= up_s) & (rows["time_s"] <= up_s + secs)
    time_s = _floats(rows["time_s"])
    acked = np.interp(time_s, time_s + rtt_s / 2, read_bytes, left=0.0)
    kept = rows.filter(since_up)
    return FlowSeries(
        time_s=_floats(kept["time_s"]) - up_s,
        cwnd_segments=_floats(kept["cwnd_bytes"]) / MSS_BYTES,
        ssthresh_segments=_floats(kept["ssthresh_bytes"]) / MSS_BYTES,
        srtt_ms=_floats(kept["srtt_s"]) * 1000,
        in_recovery=_in_recovery(_floats(kept["time_s"]), results.episodes.filter(pl.col("flow") == _name(flow))),
        acked_bytes=acked[since_up.to_numpy()],
        secs=secs,
        retransmitted=int(results.flow(_name(flow))["retransmitted_segments"]),
    ).thinned()


def _in_recovery(time_s: Floats, episodes: pl.DataFrame) -> Flags:
    """Return whether each sample is inside an episode; one without an end lasts on."""
    starts = _floats(episodes["time_s"])
    ends = starts + np.nan_to_num(_floats(episodes["duration_s"]), nan=np.inf)
    inside = (time_s[:, None] >= starts) & (time_s[:, None] < ends)
    return np.asarray(inside.any(axis=1))


def _floats(column: pl.Series) -> Floats:
    return column.cast(pl.Float64).fill_null(float("nan")).to_numpy()
