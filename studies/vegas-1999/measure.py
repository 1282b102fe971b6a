"""From the results of a study's cases to the number that is set beside the paper's statement."""

import math
import tomllib
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import polars as pl

from ackclock.claims.measured import Measured, Runs
from ackclock.results import Results

OBSERVED = ("A1", "A2")
"""The connections from A to X."""
COLLAPSE = 0.75
"""V3b's limit."""
SETTLED_S = 10.0
"""Rates are taken from here to the end: the last connection has started at about 3.4 s."""


def rates(results: Results, flow: str) -> pl.Series:
    """Return a connection's goodput in each bin of 0.2 s once all have started, in bit/s."""
    rows = results.flows.filter((pl.col("flow") == flow) & (pl.col("time_s") > SETTLED_S))
    return rows["goodput_bps"]


def goodput(results: Results, flows: Sequence[str] = OBSERVED) -> float:
    """Return the goodput of connections together once all have started, in kbit/s."""
    return sum(_mean(rates(results, flow)) for flow in flows) / 1e3


def unsteadiness(results: Results) -> float:
    """Return the coefficient of variation of the rate in bins of 0.2 s, averaged over the observed connections."""
    spreads = [_spread(rates(results, flow)) for flow in OBSERVED]
    return sum(spreads) / len(spreads)


def _mean(series: pl.Series) -> float:
    return float(series.sum()) / len(series)


def _spread(series: pl.Series) -> float:
    mean = _mean(series)
    deviation = float((series - mean).pow(2).sum()) / len(series)
    return float(deviation**0.5 / mean) if mean > 0 else float("inf")


def _ratio(above: float, below: float) -> float:
    return above / below if below > 0 else float("inf")


def where_vegas_collapses(measure: Callable[[Runs], Measured]) -> Callable[[Runs], Measured]:
    """A cure is judged where there is something to cure: where V3b holds."""

    def measured(runs: Runs) -> Measured:
        beside = v3b(runs).value
        found = measure(runs)
        return found if beside is not None and beside <= COLLAPSE else Measured(None, found.also)

    return measured


def _kbps(runs: Runs, *cases: str) -> dict[str, float]:
    return {f"{case} kbit/s": goodput(runs[case]) for case in cases}


def quotient(above: str, below: str) -> Callable[[Runs], Measured]:
    """Compare the goodput of the observed connections in two cases."""

    def measure(runs: Runs) -> Measured:
        return Measured(_ratio(goodput(runs[above]), goodput(runs[below])), _kbps(runs, above, below))

    return measure


def steadier(vegas: str, tahoe: str) -> Callable[[Runs], Measured]:
    """Compare how unsteady the rates of two cases are."""

    def measure(runs: Runs) -> Measured:
        values = {case: unsteadiness(runs[case]) for case in (vegas, tahoe)}
        return Measured(_ratio(values[vegas], values[tahoe]), {f"variation, {case}": v for case, v in values.items()})

    return measure


def v3b(runs: Runs) -> Measured:
    """The share of goodput that backward congestion leaves of Vegas, divided by the share that it leaves of Tahoe."""
    vegas = _ratio(goodput(runs["3 vegas"]), goodput(runs["1 vegas"]))
    tahoe = _ratio(goodput(runs["3 tahoe"]), goodput(runs["1 tahoe"]))
    return Measured(_ratio(vegas, tahoe), {"left of Vegas": vegas, "left of Tahoe": tahoe})


def v3d(runs: Runs) -> Measured:
    """The load of eight connections' ACKs on the forward link, beside that of experiment 2's connection."""
    acks = _forward_link(runs["3 vegas"]) - goodput(runs["3 vegas"]) * _HEADERS
    added = goodput(runs["2 vegas"], ["B"]) * _HEADERS
    return Measured(_ratio(acks, added), {"ACKs kbit/s": acks, "B kbit/s": added})


def still_congested(runs: Runs) -> Measured:
    """Wait on the way back with plain Vegas divided by that with modified Vegas."""
    waits = {case: float(runs[case].link("R2->R1")["queueing_delay_ms"]["mean"]) for case in ("3 vegas", "3 both")}
    also = {f"wait back, {case} ms": wait for case, wait in waits.items()} | _kbps(runs, "3 vegas", "3 both")
    return Measured(_ratio(waits["3 vegas"], waits["3 both"]), also)


_HEADERS = 540 / 500
"""Octets on the link for one of payload."""


def _forward_link(results: Results) -> float:
    rows = results.links.filter((pl.col("link") == "R1->R2") & (pl.col("time_s") > SETTLED_S))
    return _mean(rows["throughput_bps"]) / 1e3


def alone(case: str, flow: str) -> Callable[[Runs], Measured]:
    """Compare a modified connection with itself when it was plain."""

    def measure(runs: Runs) -> Measured:
        modified, plain = goodput(runs[case], [flow]), goodput(runs["3 vegas"], [flow])
        other = next(name for name in OBSERVED if name != flow)
        also = {"modified kbit/s": modified, "when plain": plain, "the other kbit/s": goodput(runs[case], [other])}
        return Measured(_ratio(modified, plain), also)

    return measure


def both(case: str) -> Callable[[Runs], Measured]:
    """Compare the one of two modified connections that gains less with itself when it was plain."""

    def measure(runs: Runs) -> Measured:
        values = {flow: _ratio(goodput(runs[case], [flow]), goodput(runs["3 vegas"], [flow])) for flow in OBSERVED}
        also = {f"{flow}, times": value for flow, value in values.items()}
        return Measured(min(values.values()), also | _kbps(runs, case, "3 vegas", "3 vegas, SGPQ"))

    return measure


def same(runs: Runs) -> Measured:
    """The largest difference that the clock's offset makes to any bin of any connection, in bit/s."""
    reference, *others = [results.flows["goodput_bps"].fill_nan(0.0).fill_null(0.0) for results in runs.values()]
    differences = [float((series - reference).abs().max() or 0.0) for series in others]  # type: ignore[arg-type]
    bins = {f"bins, {case}": float(results.flows.height) for case, results in runs.items()}
    return Measured(max(differences), bins)


def worst_of(reference: str, among: str = "", without: str = "") -> Callable[[Runs], Measured]:
    """Return the least goodput of any other case whose name begins so, relative to that of one case."""

    def measure(runs: Runs) -> Measured:
        base = goodput(runs[reference])
        names = [case for case in runs if case.startswith(among) and case not in (reference, without)]
        others = {case: runs[case] for case in names}
        shares = {case: _ratio(goodput(results), base) for case, results in others.items()}
        return Measured(min(shares.values()), {f"{reference} kbit/s": base} | shares)

    return measure


def base_rtt(runs: Runs) -> Measured:
    """By how much modified Vegas' BaseRTT lies above plain Vegas' at worst, in us; both lie above the true one.

    0 is a BaseRTT before the first sample.
    """
    rows = runs["3 both"].flows.filter(pl.col("flow").is_in(OBSERVED) & (pl.col("base_rtt_s") > 0))
    modified = rows["forward_base_s"] + rows["backward_base_s"]
    difference = (modified - rows["base_rtt_s"]).drop_nans().drop_nulls() * 1e6
    plain_ms = -1e3 * _largest(-rows["base_rtt_s"].drop_nans())
    return Measured(_largest(difference), {"at best": -_largest(-difference), "plain, ms": plain_ms})


def _largest(series: pl.Series) -> float:
    return float(pl.DataFrame({"x": series}).select(pl.col("x").max()).item())


def best_of(above: Sequence[str], below: Sequence[str]) -> Callable[[Runs], Measured]:
    """Compare the best of some cases with the best of others."""

    def measure(runs: Runs) -> Measured:
        ends = [max(goodput(runs[case]) for case in cases) for cases in (above, below)]
        return Measured(_ratio(*ends), _kbps(runs, *above, *below))

    return measure


TICKS_S = {"1 us": 1e-6, "10 us": 1e-5, "100 us": 1e-4, "1 ms": 1e-3}
MSS_BITS = 8 * 1448
BETA = 4.0
"""Beta of the flow in the study of ticks, segments."""


def _one_flow(runs: Runs, case: str) -> float:
    """Return the goodput of the only flow in Mbit/s."""
    return float(runs[case].flow("A")["goodput_bps"]) / 1e6


def tick_law(runs: Runs) -> Measured:
    """Goodput beside beta segments for each tick, where that is less than the link, furthest from 1."""
    allowed = {case: BETA * MSS_BITS / TICKS_S[case.split(", ")[1]] / 1e6 for case in runs}
    bounded = ("1 Gbit/s, 100 us", "1 Gbit/s, 1 ms", "100 Mbit/s, 1 ms")
    ratios = {case: _one_flow(runs, case) / allowed[case] for case in bounded}
    also = {f"{case}: Mbit/s": _one_flow(runs, case) for case in runs}
    return Measured(max(ratios.values(), key=lambda ratio: abs(ratio - 1)), also)


def fine_ticks(runs: Runs) -> Measured:
    """Goodput beside the rate of the link with ticks far below alpha segments' time."""
    shares = {
        "1 Gbit/s, 1 us": _one_flow(runs, "1 Gbit/s, 1 us") / 1000,
        "100 Mbit/s, 10 us": _one_flow(runs, "100 Mbit/s, 10 us") / 100,
    }
    return Measured(min(shares.values()), shares)


def fast_pair(case: str, reference: str) -> Callable[[Runs], Measured]:
    """The lesser gain of the two connections; what all cases have beside it, in Mbit/s."""

    def measure(runs: Runs) -> Measured:
        gains = [_ratio(goodput(runs[case], [flow]), goodput(runs[reference], [flow])) for flow in OBSERVED]
        return Measured(min(gains), _mbps(runs))

    return measure


def _mbps(runs: Runs) -> dict[str, float]:
    return {f"{case}, {flow} Mbit/s": goodput(runs[case], [flow]) / 1e3 for case in runs for flow in OBSERVED}


def fast_alone(case: str, flow: str) -> Callable[[Runs], Measured]:
    """The gain of a connection that alone is modified."""

    def measure(runs: Runs) -> Measured:
        return Measured(_ratio(goodput(runs[case], [flow]), goodput(runs["3 vegas"], [flow])), _mbps(runs))

    return measure


def fast_same(runs: Runs) -> Measured:
    """The largest difference that another offset makes to any bin, in bit/s."""
    return Measured(same({case: runs[case] for case in ("3 both", "3 both, another offset")}).value)


def overhead(runs: Runs) -> Measured:
    """Cost of timestamps where nothing is to be cured, divided by modified Vegas' gain where something is."""
    cost = 1 - _ratio(goodput(runs["1 vegas, timestamps"]), goodput(runs["1 vegas"]))
    gain = _ratio(goodput(runs["3 both"]), goodput(runs["3 vegas"])) - 1
    also = {"cost": cost, "gain": gain}
    return Measured(_ratio(cost, gain), also)


def retransmissions(runs: Runs) -> Measured:
    """Retransmitted segments of the observed connections beside B; where Tahoe has none there is no question."""
    cases = ("2 vegas", "2 tahoe")
    counts = {case: float(sum(runs[case].flow(flow)["retransmitted_segments"] for flow in OBSERVED)) for case in cases}
    vegas, tahoe = counts.values()
    return Measured(vegas / tahoe if tahoe else None, counts)


def unfairness(runs: Runs) -> Measured:
    """The distance between two connections of different round trips under Vegas, divided by that under Tahoe."""
    shares = {
        case: _ratio(goodput(results, ["A2"]), goodput(results, ["A1"])) for case, results in sorted(runs.items())
    }
    tahoe, vegas = (abs(math.log(share)) if 0 < share < math.inf else math.inf for share in shares.values())
    also = {f"longer / shorter, {case}": share for case, share in shares.items()}
    return Measured(_ratio(vegas, tahoe), also, weight=tahoe)


def together(runs: Runs) -> Measured:
    """The number of statements, of those judged together, that hold by their limits in `claims.toml`."""
    held = {claim["id"]: _holds(claim, MEASURES[claim["id"]](runs).value) for claim in _together()}
    return Measured(float(sum(held.values())), {claim: float(holds) for claim, holds in held.items()})


@cache
def _together() -> list[dict[str, Any]]:
    table = tomllib.loads((Path(__file__).parent / "claims.toml").read_text(encoding="utf-8"))
    return [claim for claim in table["claim"] if "region" in claim]


def _holds(claim: dict[str, Any], value: float | None) -> bool:
    return value is not None and claim.get("low", -math.inf) <= value <= claim.get("high", math.inf)


ONE_MISSING = ("3 vegas, SGPQ in all but R2", "3 vegas, SGPQ in all but R3")

MEASURES: dict[str, Callable[[Runs], Measured]] = {
    "V1a": quotient("1 vegas", "1 tahoe"),
    "V1b": steadier("1 vegas", "1 tahoe"),
    "V2a": quotient("2 vegas", "2 tahoe"),
    "V2b": steadier("2 vegas", "2 tahoe"),
    "V3a": quotient("3 tahoe", "1 tahoe"),
    "V3b": v3b,
    "V3c": quotient("3 vegas", "2 vegas"),
    "V3d": v3d,
    "V3e": where_vegas_collapses(still_congested),
    "V4a": where_vegas_collapses(quotient("3 vegas, SGPQ", "3 vegas")),
    "V4b": quotient("3 tahoe, SGPQ", "3 tahoe"),
    "V5a": where_vegas_collapses(alone("3 first", "A1")),
    "V5b": where_vegas_collapses(alone("3 second", "A2")),
    "V6a": where_vegas_collapses(both("3 both")),
    "V6b": where_vegas_collapses(quotient("3 both, least RTT", "3 vegas, SGPQ")),
    "V4c": where_vegas_collapses(best_of(ONE_MISSING, ["3 vegas, SGPQ in all"])),
    "V4g": where_vegas_collapses(best_of(["3 both"], ONE_MISSING)),
    "V4f": quotient("3 both, data both ways", "3 vegas, data both ways, SGPQ"),
    "V4d": quotient("3 vegas, data both ways, SGPQ", "3 vegas, data both ways"),
    "V4e": quotient("2 tahoe, small packets, SGPQ", "2 tahoe, small packets"),
    "V7a": same,
    "V7b": worst_of("10 us", without="plain Vegas"),
    "V8a": worst_of("modified, 0 ppm", "modified"),
    "V8b": worst_of("tolerant, 0 ppm", "tolerant"),
    "V8c": worst_of("modified, never set", "modified"),
    "V8d": worst_of("tolerant, never set", "tolerant"),
    "V9a": quotient("50:1, Vegas", "1:1, Vegas"),
    "V9b": quotient("10:1, Vegas", "1:1, Vegas"),
    "V9c": quotient("50:1, Vegas, SGPQ", "50:1, Vegas"),
    "V9d": quotient("50:1, modified", "50:1, Vegas"),
    "V9e": best_of(
        ["50:1, Vegas, filter", "50:1, Vegas, an ACK for 4"],
        ["50:1, modified", "50:1, Vegas, SGPQ", "50:1, modified, SGPQ"],
    ),
    "V9f": best_of(["50:1, modified, filter"], ["50:1, modified", "50:1, Vegas, filter"]),
    "V9g": quotient("10:1, Vegas, an ACK for 16", "10:1, Vegas"),
    "V9h": best_of(
        ["10:1, 8 back, modified, SGPQ"],
        ["10:1, 8 back, Vegas, SGPQ", "10:1, 8 back, modified, filter", "10:1, 8 back, modified, SGPQ, an ACK for 16"],
    ),
    "V9i": best_of(
        ["50:1, 8 back, Vegas, SGPQ, an ACK for 16", "50:1, 8 back, modified, SGPQ, an ACK for 16"],
        ["50:1, 8 back, Vegas, SGPQ", "50:1, 8 back, modified, SGPQ"],
    ),
    "V9j": quotient("50:1, Vegas, adaptive", "50:1, Vegas"),
    "V9k": quotient("10:1, Vegas, adaptive", "10:1, Vegas"),
    "V9l": best_of(["50:1, modified, adaptive"], ["50:1, modified", "50:1, Vegas, adaptive"]),
    "V9m": best_of(
        ["50:1, Vegas, adaptive", "50:1, modified, adaptive"], ["50:1, Vegas, filter", "50:1, modified, filter"]
    ),
    "V9n": best_of(
        ["50:1, 8 back, Vegas, SGPQ, adaptive", "50:1, 8 back, modified, SGPQ, adaptive"],
        ["50:1, 8 back, Vegas, SGPQ", "50:1, 8 back, modified, SGPQ"],
    ),
    "V10": base_rtt,
    "V11a": quotient("5 ms and 35 ms", "20 ms and 20 ms"),
    "V11b": quotient("35 ms and 5 ms", "20 ms and 20 ms"),
    "V12a": tick_law,
    "V12b": fine_ticks,
    "V12c": fast_alone("3 first", "A1"),
    "V12d": fast_alone("3 second", "A2"),
    "V12e": fast_pair("3 both", "3 vegas"),
    "V12f": fast_same,
    "V12g": quotient("tolerant, 500 ppm", "tolerant, 0 ppm"),
    "V12h": quotient("least, 500 ppm", "3 both, least RTT"),
    "V12i": worst_of("3 both, least RTT", "least", "least, 500 ppm"),
    "V12j": worst_of("tolerant, 0 ppm", "tolerant", "tolerant, 500 ppm"),
    "V13": where_vegas_collapses(overhead),
    "V14a": retransmissions,
    "V14b": unfairness,
    "V15": together,
}
