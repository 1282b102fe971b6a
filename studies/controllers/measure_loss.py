"""C13, C16, C17: round trips that differ, windows under random loss, the end of slow start."""

import math
from collections.abc import Callable
from pathlib import Path

from ackclock.claims.folder import load_module
from ackclock.claims.measured import Measured, Runs
from ackclock.results import Results

_bbr = load_module(Path(__file__).parent / "measure_bbr.py")

Measure = Callable[[Runs], Measured]


def _group(results: Results, name: str) -> tuple[float, float]:
    """Return a group's goodput, Mbit/s, and the mean of its flows' mean RTTs, ms."""
    flows = [flow for flow in results.summary["flows"] if flow["name"].startswith(name)]
    rtts = [float(rtt["mean"]) for flow in flows if (rtt := flow["rtt_ms"]) is not None]
    return sum(float(flow["goodput_bps"]) for flow in flows) / 1e6, sum(rtts) / len(rtts)


def near_over_far(results: Results) -> tuple[float, float]:
    """Return the ratio of goodputs, and of round trips as they were measured, far over near."""
    (near, near_ms), (far, far_ms) = _group(results, "near"), _group(results, "far")
    return near / far, far_ms / near_ms


def exponent_of(ratio: float, rtts: float) -> float:
    """Return e of throughput as RTT^-e.

    Examples:
        >>> exponent_of(4.0, 2.0)
        2.0
    """
    return math.log(ratio) / math.log(rtts)


def exponent(controller: str) -> Measure:
    """The exponent of the round trip, and what it is of."""

    def measure(runs: Runs) -> Measured:
        ratio, rtts = near_over_far(runs[controller])
        also = {"goodputs": ratio, "RTTs": rtts, "by the paths' RTTs": exponent_of(ratio, 2.0)}
        shorter = controller.split(",")[0]
        if shorter != controller:
            also["over 40 and 80 ms"] = exponent_of(*near_over_far(runs[shorter]))
        return Measured(exponent_of(ratio, rtts), also)

    return measure


def unfairness(controller: str, over: str | None = None) -> Measure:
    """Goodput over the shorter round trip over that over the longer, or two controllers' beside each other."""

    def measure(runs: Runs) -> Measured:
        found = {name: near_over_far(runs[name])[0] for name in runs}
        return Measured(found[controller] / (found[over] if over else 1.0), found)

    return measure


def over_reno(controller: str) -> Measure:
    """Goodput over Reno's."""

    def measure(runs: Runs) -> Measured:
        found = {f"{name} Mbit/s": _bbr.goodput(results) / 1e6 for name, results in runs.items()}
        return Measured(found[f"{controller} Mbit/s"] / found["reno Mbit/s"], found)

    return measure


def overshoot(kind: str) -> Measure:
    """Drops over those without any early end of slow start."""

    def measure(runs: Runs) -> Measured:
        found = {name: _bbr.link(results)["drops"] for name, results in runs.items()}
        ends = {
            f"{name} ends s": float(end)
            for name, results in runs.items()
            if (end := results.summary["flows"][0]["completion_s"]) is not None
        }
        return Measured(found[kind] / found["off"], {f"{name} drops": value for name, value in found.items()} | ends)

    return measure


MEASURES: dict[str, Measure] = {
    "C13a": exponent("reno"),
    "C13b": exponent("cubic, 160 and 320 ms"),
    "C13c": exponent("highspeed"),
    "C13d": unfairness("scalable"),
    "C13e": unfairness("cubic", "bic"),
    "C13f": exponent("htcp"),
    "C13g": exponent("hybla"),
    "C16a": over_reno("westwood"),
    "C16b": over_reno("illinois"),
    "C17a": overshoot("linux"),
    "C17b": overshoot("rfc9406"),
}
