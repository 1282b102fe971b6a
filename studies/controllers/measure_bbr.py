"""C1 to C6: BBR alone, with others of its kind, and beside CUBIC."""

import itertools
import statistics
from collections.abc import Callable, Sequence

import polars as pl

from ackclock.claims.measured import Measured, Runs
from ackclock.results import Results

Measure = Callable[[Runs], Measured]

PAYLOAD = 1448 / 1500
"""Payload of a full packet as a share of the packet."""
FOUR_SEGMENTS = 4 * 1448
"""BBR's window in ProbeRTT, octets."""
DEPTHS = (0.5, 1, 2, 4, 8, 16, 32, 64)
"""Buffers of C5, BDP."""
DEEP = (2, 4, 8, 16)
"""Those over which the model's median error is taken."""
PATH_S = 0.04
"""Round trip of C5's path."""


def goodput(results: Results, name: str = "flow") -> float:
    """Return a flow's goodput, bit/s."""
    return float(results.flow(name)["goodput_bps"])


def link(results: Results) -> dict[str, float]:
    """Return use, drops and mean queue of the bottleneck."""
    entry = next(entry for entry in results.summary["links"] if entry["name"] == "bottleneck")
    return {
        "utilization": float(entry["utilization"]),
        "drops": float(entry["drops"]),
        "queue": float(entry["queue_packets"]["mean"]),
    }


def share(results: Results) -> float:
    """Return the part that flow `one` has of all goodput."""
    every = [float(flow["goodput_bps"]) for flow in results.summary["flows"]]
    return goodput(results, "one") / sum(every)


# ---- C1 to C3 --------------------------------------------------------------------------------------------------------


def of_delivered(results: Results, p: float, rate_bps: float = 100e6) -> float:
    """Return goodput over what a link that loses `p` can deliver."""
    return goodput(results) / (rate_bps * (1 - p) * PAYLOAD)


def up_to_five_percent(runs: Runs) -> Measured:
    """BBR's least part of what the link can deliver, up to 5 % of loss."""
    found = {p: of_delivered(runs[f"bbr {p}"], p) for p in (0.001, 0.01, 0.05)}
    return Measured(min(found.values()), {f"at {100 * p:g} %": value for p, value in found.items()})


def at_loss(controller: str, p: float) -> Measure:
    """Goodput over the link's rate; BBR's over what it can deliver."""

    def measure(runs: Runs) -> Measured:
        results = runs[f"{controller} {p}"]
        value = of_delivered(results, p) if controller == "bbr" else goodput(results) / 100e6
        return Measured(value, {"Mbit/s": goodput(results) / 1e6})

    return measure


def netperf(runs: Runs) -> Measured:
    """CUBIC's goodput, with each segment lost by itself."""
    found = {case: goodput(results) / 1e6 for case, results in runs.items()}
    return Measured(found["each by itself"], {f"{case} Mbit/s": value for case, value in found.items()})


def median_rtt(case: str) -> Measure:
    """Median of the RTT samples, with that of every case."""

    def measure(runs: Runs) -> Measured:
        found = {name: results.summary["flows"][0]["rtt_ms"] for name, results in runs.items()}
        medians = {f"{name} ms": float(rtt["p50"]) for name, rtt in found.items() if rtt is not None}
        return Measured(medians[f"{case} ms"], medians)

    return measure


def lesser_use(runs: Runs) -> Measured:
    """The lesser use of the link, of BBR and of CUBIC."""
    found = {case: link(runs[case])["utilization"] for case in ("bbr", "cubic")}
    return Measured(min(found.values()), found)


def probes(results: Results) -> list[float]:
    """Return the times at which the window fell to four segments."""
    flow = results.flows.filter((pl.col("time_s") > 1.0) & pl.col("cwnd_bytes").is_not_null())
    small = flow.with_columns(small=pl.col("cwnd_bytes") <= FOUR_SEGMENTS)
    begins = small.filter(pl.col("small") & ~pl.col("small").shift(1, fill_value=False))
    return [float(time) for time in begins["time_s"]]


def between_probes(runs: Runs) -> Measured:
    """Mean time from one ProbeRTT to the next."""
    times = probes(runs["as it is"])
    gaps = [after - before for before, after in itertools.pairwise(times)]
    return Measured(
        statistics.fmean(gaps), {"probes": float(len(times)), "least s": min(gaps), "greatest s": max(gaps)}
    )


def cost_of_probes(runs: Runs) -> Measured:
    """Goodput lost to ProbeRTT, percent."""
    with_it, without = goodput(runs["as it is"]), goodput(runs["never"])
    return Measured(100 * (1 - with_it / without), {"with Mbit/s": with_it / 1e6, "without Mbit/s": without / 1e6})


# ---- C4 --------------------------------------------------------------------------------------------------------------


def jain(values: Sequence[float]) -> float:
    """Return Jain's index of fairness.

    Examples:
        >>> jain([1.0, 1.0]), jain([1.0, 0.0])
        (1.0, 0.5)
    """
    return sum(values) ** 2 / (len(values) * sum(value * value for value in values))


def goodputs(results: Results) -> list[float]:
    """Return every flow's goodput, Mbit/s."""
    return [float(flow["goodput_bps"]) / 1e6 for flow in results.summary["flows"]]


def standing(runs: Runs) -> Measured:
    """Mean queue in BDP: 100 Mbit/s and 40 ms are 333 packets."""
    results = runs["bbr, 8 BDP"]
    return Measured(link(results)["queue"] / (100e6 * 0.04 / 12000), {"Jain's index": jain(goodputs(results))})


def drops(runs: Runs) -> Measured:
    """Drops of BBR over those of CUBIC in a shallow buffer."""
    bbr, cubic = runs["bbr, 0.2 BDP"], runs["cubic, 0.2 BDP"]
    also = {f"flow {number} Mbit/s": value for number, value in enumerate(goodputs(bbr), 1)}
    lost = {"BBR's drops": link(bbr)["drops"], "CUBIC's drops": link(cubic)["drops"]}
    return Measured(lost["BBR's drops"] / lost["CUBIC's drops"], lost | also)


def far_over_near(runs: Runs) -> Measured:
    """Goodput over the longer round trip over that over the shorter."""
    results = runs["bbr, 10 and 40 ms, 8 BDP"]
    near, far = goodput(results, "near") / 1e6, goodput(results, "far") / 1e6
    return Measured(far / near, {"10 ms Mbit/s": near, "40 ms Mbit/s": far})


# ---- C5, C6 ----------------------------------------------------------------------------------------------------------


def model(depth: float, rate_bps: float, rtt_s: float = PATH_S, flows: int = 1) -> float:
    """Return the share that Ware et al. (2019) give BBR flows beside loss-based ones.

    Args:
        depth: Depth of the buffer, in BDP.
        rate_bps: Rate of the link.
        rtt_s: RTT of the path without a queue.
        flows: Number of BBR flows.

    Examples:
        Of 8 BDP of 33.3 packets, p = 1/2 - 1/16 - 4/266.7 = 0.4225; every 10 s 0.32 + 0.2 + 0.04 s go to ProbeRTT:

        >>> round(model(8, 10e6), 4)
        0.5452
    """
    buffer_s = depth * rtt_s
    packets = buffer_s * rate_bps / 12000
    p = max(0.0, 0.5 - 1 / (2 * depth) - 4 * flows / packets)
    return (1 - p) * (1 - probe_time(buffer_s, rtt_s))


def probe_time(buffer_s: float, rtt_s: float) -> float:
    """Return the part of the time that the model gives to ProbeRTT, equation (11)."""
    return (buffer_s + 0.2 + rtt_s) / 10


def _settled(results: Results) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return BBR's samples after the first 100 s: in ProbeRTT, and outside of it."""
    flow = results.flows.filter((pl.col("flow") == "one") & (pl.col("time_s") > 100))
    probing = pl.col("cwnd_bytes") <= FOUR_SEGMENTS
    return flow.filter(probing), flow.filter(~probing)


def of_cap(results: Results) -> float:
    """Return BBR's mean flight over its mean window, outside ProbeRTT."""
    _, outside = _settled(results)
    return float(outside["flight_size_bytes"].sum()) / float(outside["cwnd_bytes"].sum())


def in_probe(results: Results) -> float:
    """Return the part of the time that BBR is in ProbeRTT."""
    probing, outside = _settled(results)
    return probing.height / (probing.height + outside.height)


def taken_for_path(results: Results, window_s: float = 10.2) -> float:
    """Return the round trip that BBR takes for the path's, over that: the mean of the least of each window."""
    probing, outside = _settled(results)
    samples = pl.concat([probing, outside]).drop_nulls("rtt_sample_s")
    windows = samples.group_by((pl.col("time_s") / window_s).floor()).agg(pl.col("rtt_sample_s").min())
    return float(windows["rtt_sample_s"].to_numpy().mean()) / PATH_S


def left_by_cubic(results: Results, depth: float) -> tuple[float, float]:
    """Return what that round trip is by the model, and by what CUBIC alone has in flight, over the path's.

    CUBIC has p of all in flight. The model has its p of the queue wait, and the path on top; but while BBR is in
    ProbeRTT CUBIC fills the path, too, so that no more than p of queue and path is left: p (f X + 1), of a buffer of X
    that is f full.
    """
    _, outside = _settled(results)
    other = results.flows.filter((pl.col("flow") == "other") & (pl.col("time_s") > 100))
    one = float(outside["flight_size_bytes"].to_numpy().mean())
    two = float(other["flight_size_bytes"].to_numpy().mean())
    p = two / (one + two)
    queued = link(results)["queue"] / (10e6 * PATH_S / 12000)
    return p * depth + 1, p * (queued + 1)


def in_shallow(runs: Runs) -> Measured:
    """BBR's lesser share where the buffer is at most one BDP."""
    found = {name: share(runs[name]) for name in ("0.5", "1")}
    return Measured(min(found.values()), {f"{name} BDP": value for name, value in found.items()})


def errors(shares: dict[float, float], rate_bps: float) -> Measured:
    """The model's median error over some depths, percent of the share that is measured."""
    off = [100 * abs(model(depth, rate_bps) / value - 1) for depth, value in shares.items()]
    also = {f"{depth:g} BDP": value for depth, value in shares.items()}
    return Measured(statistics.median(off), also | {f"model {d:g} BDP": model(d, rate_bps) for d in shares})


def in_deep(runs: Runs) -> Measured:
    """The model's median error from 2 to 16 BDP."""
    found = errors({depth: share(runs[f"{depth:g}"]) for depth in DEEP}, 10e6)
    fill = {f"fill {d:g} BDP": link(runs[f"{d:g}"])["queue"] / (d * 10e6 * PATH_S / 12000) for d in DEEP}
    probing = {f"ProbeRTT {d:g} BDP": in_probe(runs[f"{d:g}"]) for d in DEEP}
    law = {f"ProbeRTT by (11) {d:g} BDP": probe_time(d * PATH_S, PATH_S) for d in DEEP}
    paths: dict[str, float] = {}
    for depth in DEEP:
        model_has, alone = left_by_cubic(runs[f"{depth:g}"], depth)
        paths[f"BBR's path {depth:g} BDP"] = taken_for_path(runs[f"{depth:g}"])
        paths |= {f"the model's {depth:g} BDP": model_has, f"p (fX + 1) {depth:g} BDP": alone}
    return Measured(found.value, {**found.also, **fill, **probing, **law, **paths})


def of_model(depth: int) -> Measure:
    """BBR's share over the model's, with what explains it."""

    def measure(runs: Runs) -> Measured:
        results, reno = runs[f"{depth}"], runs[f"{depth}, reno"]
        law = model(depth, 10e6)
        also = {
            "share": share(results),
            "model": law,
            "flight over cap": of_cap(results),
            "time in ProbeRTT": in_probe(results),
            "by (11)": probe_time(depth * PATH_S, PATH_S),
            "share beside Reno": share(reno),
        }
        return Measured(share(results) / law, also)

    return measure


def at_cap(runs: Runs) -> Measured:
    """Flight over cap at 2 and 4 BDP, with that of every depth."""
    found = {depth: of_cap(runs[f"{depth:g}"]) for depth in DEPTHS}
    return Measured((found[2] + found[4]) / 2, {f"{depth:g} BDP": value for depth, value in found.items()})


def beside_many(runs: Runs) -> Measured:
    """BBR's share beside 16 CUBIC flows over that beside one."""
    found = {case: share(runs[case]) for case in ("1", "4", "16")}
    also = {f"beside {case}": value for case, value in found.items()}
    return Measured(found["16"] / found["1"], also | {"model": model(10, 50e6)})


def beside_sixteen(runs: Runs) -> Measured:
    """BBR's share beside 16 CUBIC flows."""
    return Measured(share(runs["16"]), {"model": model(10, 50e6)})


def ten_of_each(runs: Runs) -> Measured:
    """The share of ten BBR flows beside ten of CUBIC over the model's."""
    rates = goodputs(runs["ten of each"])
    found, law = sum(rates[:10]) / sum(rates), model(10, 50e6, flows=10)
    return Measured(found / law, {"share": found, "model": law, "Jain's index of BBR's": jain(rates[:10])})


def greatest_of_third(runs: Runs) -> Measured:
    """BBRv3's greatest share."""
    found = {case: share(results) for case, results in runs.items() if not case.startswith("bbr")}
    return Measured(max(found.values()), {f"{case} BDP": value for case, value in found.items()})


def third_over_first(runs: Runs) -> Measured:
    """BBRv3's share over the first version's at 1 BDP."""
    third, first = share(runs["1"]), share(runs["bbr 1"])
    return Measured(third / first, {"BBRv3": third, "BBRv1": first})


def model_of_third(runs: Runs) -> Measured:
    """BBRv3's share over the first version's model at 1 BDP, and the first version's own."""
    law = model(1, 50e6)
    return Measured(share(runs["1"]) / law, {"BBRv1's": share(runs["bbr 1"]) / law, "model": law})


MEASURES: dict[str, Measure] = {
    "C1a": up_to_five_percent,
    "C1b": at_loss("bbr", 0.15),
    "C1c": at_loss("cubic", 0.001),
    "C1d": at_loss("cubic", 0.05),
    "C1e": netperf,
    "C2a": median_rtt("cubic"),
    "C2b": median_rtt("bbr"),
    "C2c": lesser_use,
    "C3a": between_probes,
    "C3b": cost_of_probes,
    "C4a": standing,
    "C4b": drops,
    "C4c": far_over_near,
    "C5a": in_shallow,
    "C5b": in_deep,
    "C5c": of_model(32),
    "C5d": of_model(64),
    "C5e": at_cap,
    "C5f": beside_many,
    "C5g": beside_sixteen,
    "C5h": ten_of_each,
    "C6a": greatest_of_third,
    "C6b": third_over_first,
    "C6c": model_of_third,
}
