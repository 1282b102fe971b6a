"""C9 to C12: marks, incast, and queues that are managed."""

import math
from collections.abc import Callable
from pathlib import Path

import polars as pl

from ackclock.claims.folder import load_module
from ackclock.claims.measured import Measured, Runs
from ackclock.results import Results

_bbr = load_module(Path(__file__).parent / "measure_bbr.py")

Measure = Callable[[Runs], Measured]

PATH_PACKETS = 1e9 * 1.002e-3 / 12000
"""BDP of C9's path, packets."""
FILE_BITS = 256e3 * 8
PRAGUE_S = 40.0
"""Measured of a run of C11."""


def amplitude(flows: int, threshold: int, bdp: float = PATH_PACKETS) -> float:
    """Return by how much DCTCP's queue swings (Alizadeh et al. 2010, equation 8).

    Args:
        flows: N, in step.
        threshold: K, packets.
        bdp: Bandwidth-delay product of the path, packets.

    Examples:
        >>> amplitude(2, 20, 80.0)
        10.0
    """
    return 0.5 * math.sqrt(2 * flows * (bdp + threshold))


def queue(results: Results) -> pl.Series:
    """Return the bottleneck's queue over the second second, packets."""
    link = results.links.filter((pl.col("link") == "bottleneck") & (pl.col("time_s") > 1.0))
    return link["queue_packets"].cast(pl.Float64)


def _ends(results: Results) -> tuple[float, float]:
    found = queue(results).to_list()
    return min(found), max(found)


def use(case: str) -> Measure:
    """Use of the link, with that of every threshold."""

    def measure(runs: Runs) -> Measured:
        found = {name: _bbr.link(results)["utilization"] for name, results in runs.items() if name != "reno"}
        return Measured(found[case], found)

    return measure


def swing(runs: Runs) -> Measured:
    """Greatest less least queue over the law's amplitude, with 1 and 4 flows beside."""
    found = {}
    for flows in (1, 2, 4):
        low, high = _ends(runs[f"{flows} K=20"])
        found[f"{flows} flows"] = (high - low) / amplitude(flows, 20)
    return Measured(found["2 flows"], found)


def top(runs: Runs) -> Measured:
    """Greatest queue over K + N, with 1 and 4 flows beside."""
    found = {f"{flows} flows": _ends(runs[f"{flows} K=20"])[1] / (20 + flows) for flows in (1, 2, 4)}
    return Measured(found["2 flows"], found)


def less_buffer(runs: Runs) -> Measured:
    """DCTCP's mean queue over Reno's, with the use of the link."""
    dctcp, reno = _bbr.link(runs["2 K=20"]), _bbr.link(runs["reno"])
    also = {"use, DCTCP": dctcp["utilization"], "use, Reno": reno["utilization"]}
    return Measured(dctcp["queue"] / reno["queue"], also)


def taken(case: str) -> Measure:
    """Goodput of all servers, from their start to the end of the last, divided by 1 Gbit/s."""

    def measure(runs: Runs) -> Measured:
        found = {}
        for name, results in runs.items():
            flows = results.summary["flows"]
            ends = [6.0 if flow["completion_s"] is None else float(flow["completion_s"]) for flow in flows]
            found[name] = len(flows) * FILE_BITS / max(ends) / 1e9
        return Measured(found[case], found)

    return measure


def collapse(runs: Runs) -> Measured:
    """The least that 4, 16 or 32 servers with a least timeout of 200 ms take."""
    every = taken("cubic 16 200 ms")(runs).also
    return Measured(min(every[f"cubic {servers} 200 ms"] for servers in (4, 16, 32)), every)


def timeouts(runs: Runs) -> Measured:
    """Timeouts of 32 DCTCP servers, with the others'."""
    found = {name: float(sum(flow["timeouts"] for flow in r.summary["flows"])) for name, r in runs.items()}
    return Measured(found["dctcp 32 200 ms"], found)


def unevenness(runs: Runs) -> Measured:
    """The greatest ratio of two flows' goodputs, the faster over the slower; Prague's over CUBIC's beside."""
    found = {}
    for name, results in runs.items():
        if name.endswith("ms"):
            found[name] = _bbr.goodput(results, "one") / _bbr.goodput(results, "other")
    return Measured(max(max(ratio, 1 / ratio) for ratio in found.values()), found)


def of_law(runs: Runs) -> Measured:
    """Prague's rate over 1/p - 1 Mbit/s, the greatest of all paths up to 25 ms; only its packets are marked."""
    found = {}
    for name in ("4 Mbit/s 20 ms", "12 Mbit/s 20 ms", "40 Mbit/s 10 ms", "40 Mbit/s 20 ms", "120 Mbit/s 20 ms"):
        results = runs[name]
        entry = next(entry for entry in results.summary["links"] if entry["name"] == "bottleneck")
        rate_bps = _bbr.goodput(results, "one") / _bbr.PAYLOAD
        packets = rate_bps * PRAGUE_S / 12000
        found[name] = rate_bps / 1e6 / (packets / float(entry["marks"]) - 1)
    return Measured(max(found.values()), found)


def wait(case: str) -> Measure:
    """Mean wait, with the use of the link."""

    def measure(runs: Runs) -> Measured:
        entry = next(entry for entry in runs[case].summary["links"] if entry["name"] == "bottleneck")
        return Measured(float(entry["queueing_delay_ms"]["mean"]), {"use of the link": float(entry["utilization"])})

    return measure


MEASURES: dict[str, Measure] = {
    "C9a": use("2 K=12"),
    "C9b": use("2 K=3"),
    "C9c": swing,
    "C9d": top,
    "C9e": less_buffer,
    "C10a": collapse,
    "C10b": taken("cubic 32 1 ms"),
    "C10c": timeouts,
    "C11a": unevenness,
    "C11b": wait("two of Prague"),
    "C11c": of_law,
    "C12a": wait("codel"),
    "C12b": wait("fq_codel"),
    "C12c": wait("pie"),
    "C12d": wait("dualpi2"),
}
