"""Measures: from the results of a study's cases to the number compared with the published one."""

from collections.abc import Callable

import polars as pl

from ackclock.claims.measured import Measured, Runs
from ackclock.results import Results

FLOW, LINK = "ftp", "Server->Discarder_1"
LBOUND_S = 1.0
ORDINARY_MS = 300
"""Our reading of "a few hundred ms"."""


def share_at_lbound(results: Results) -> float:
    """Return how much of the ACKs after the first RTT sample see RTO at its lower bound, in percent.

    Args:
        results: Results with the RTO recorded at every event.
    """
    samples = after_first_sample(results)
    at_lbound = samples.filter((pl.col("rto_s") - LBOUND_S).abs() < 1e-9)
    return 100 * at_lbound.height / samples.height


def after_first_sample(results: Results) -> pl.DataFrame:
    """Return the flow's rows after that of the first RTT sample.

    Args:
        results: Results with the RTO recorded at every event.
    """
    flow = results.flows.filter(pl.col("flow") == FLOW)
    return flow.filter(pl.col("rtt_sample_s").is_not_null().cum_sum() > 1)


def completion_s(results: Results) -> float:
    """Return how long the file took."""
    flow = results.flow(FLOW)
    if flow["completion_s"] is None:
        raise ValueError(f"{results.name}: the file is not complete at the scenario's end; make `duration` longer")
    return float(flow["completion_s"]) - float(flow["start_s"])


def goodput_mbps(results: Results) -> float:
    """Return the payload's rate over the whole transfer."""
    return float(results.flow(FLOW)["goodput_bps"]) / 1e6


def link_throughput(results: Results) -> pl.DataFrame:
    """Return the throughput over time of the link out of the server, with headers and framing, until completion."""
    link = results.links.filter((pl.col("link") == LINK) & pl.col("throughput_bps").is_not_null())
    return link.filter(pl.col("time_s") <= completion_s(results))


def steady_link_mbps(results: Results) -> float:
    """Return the link's throughput in the second half of the transfer, without the last RTTs, when it falls idle."""
    return _steady(results, link_throughput(results), "throughput_bps")


def steady_goodput_mbps(results: Results) -> float:
    """Return the payload's rate in the same part of the transfer."""
    return _steady(results, results.flows.filter(pl.col("flow") == FLOW), "goodput_bps")


def _steady(results: Results, rows: pl.DataFrame, column: str) -> float:
    end = completion_s(results)
    steady = rows.filter(pl.col("time_s").is_between(0.5 * end, 0.95 * end))
    return float(steady.select(pl.col(column).mean()).item()) / 1e6


def peak_link_mbps(results: Results) -> float:
    """Return the highest throughput of the link in any bin."""
    return _largest(link_throughput(results), "throughput_bps") / 1e6


def largest_kb(results: Results, column: str) -> float:
    """Return the largest value of a series of the flow, in kB."""
    return _largest(results.flows.filter(pl.col("flow") == FLOW), f"{column}_bytes") / 1e3


def _largest(table: pl.DataFrame, column: str) -> float:
    return float(table.select(pl.col(column).max()).item())


def _ratio(runs: Runs, column: str, unit: str) -> Measured:
    on, off = largest_kb(runs["on"], column), largest_kb(runs["off"], column)
    return Measured(on / off, {f"on {unit}": on, f"off {unit}": off})


def _transfer(results: Results) -> dict[str, float]:
    """Return what helps to understand a throughput."""
    flow, link = results.flow(FLOW), results.link(LINK)
    rtt_ms = flow["rtt_ms"]
    assert rtt_ms is not None, "a flow of seconds has samples"
    return {
        "goodput Mbit/s": goodput_mbps(results),
        "mean RTT ms": float(rtt_ms["mean"]),
        "completion s": completion_s(results),
        "drops": float(link["drops"]),
        "timeouts": float(flow["timeouts"]),
    }


def o1(runs: Runs) -> Measured:
    """RTO is LBOUND almost always."""
    shares = {name: share_at_lbound(results) for name, results in runs.items()}
    ordinary = [share for name, share in shares.items() if rtt_ms(name) <= ORDINARY_MS]
    return Measured(min(ordinary), {f"% at {name}": share for name, share in shares.items()})


def o1b(runs: Runs) -> Measured:
    """RTTVAR is far below RTT."""
    shares = {name: variation(results) for name, results in runs.items()}
    return Measured(max(shares.values()), {f"% at {name}": share for name, share in shares.items()})


def variation(results: Results) -> float:
    """Return the mean of RTTVAR / SRTT over the ACKs after the first RTT sample, in percent."""
    share = after_first_sample(results).select((pl.col("rttvar_s") / pl.col("srtt_s")).mean())
    return 100 * float(share.item())


def rtt_ms(case: str) -> float:
    """Return the RTT that a case of the study is named after."""
    return float(case.split(" ms")[0])


def o1c(runs: Runs) -> Measured:
    """The mean RTO by either procedure, where they are furthest apart in ordinary networks."""
    means = {case: _mean_rto(results) for case, results in runs.items()}
    trips = [case.removesuffix(", notes") for case in runs if case.endswith(", notes")]
    ratios = {trip: means[f"{trip}, notes"] / means[f"{trip}, RFC 6298"] for trip in trips}
    ordinary = [ratio for trip, ratio in ratios.items() if rtt_ms(trip) <= ORDINARY_MS]
    return Measured(
        max(ordinary, key=lambda ratio: abs(ratio - 1)), {f"{case}, s": mean for case, mean in means.items()}
    )


def _mean_rto(results: Results) -> float:
    return float(after_first_sample(results).select(pl.col("rto_s").mean()).item())


OUTAGE_S = 2.0
"""From then on a discarder drops everything."""
TIMEOUTS = 9


def _outage(results: Results) -> pl.DataFrame:
    """Return the flow's rows from the outage on: ACKs that are still under way, then one at each timeout."""
    return results.flows.filter((pl.col("flow") == FLOW) & (pl.col("time_s") > OUTAGE_S))


def waits(case: str, maximum_s: float) -> Callable[[Runs], Measured]:
    """Compare the waits for the timeouts of an outage with one second that doubles up to a maximum."""

    def measure(runs: Runs) -> Measured:
        gaps = _outage(runs[case])["time_s"].diff().drop_nulls()
        found = gaps.filter(gaps > LBOUND_S / 2).head(TIMEOUTS).to_list()
        wanted = [min(LBOUND_S * 2**number, maximum_s) for number in range(TIMEOUTS)]
        apart = max(abs(wait - law) for wait, law in zip(found, wanted, strict=True))
        return Measured(apart, {f"wait {number}, s": wait for number, wait in enumerate(found, 1)})

    return measure


def o1f(runs: Runs) -> Measured:
    """Return the RTO after the ACK of a segment that was sent four times, with Karn's rule and without it."""
    disabled = {"disabled, s": _after_three_timeouts_s(runs["short, disabled"])}
    return Measured(_after_three_timeouts_s(runs["short"]), disabled)


def _after_three_timeouts_s(results: Results) -> float:
    rtos = _outage(results)["rto_s"].to_list()
    return float(rtos[rtos.index(8 * LBOUND_S) + 1])


def o2a(runs: Runs) -> Measured:
    """Throughput with scaling off."""
    return Measured(steady_link_mbps(runs["off"]), _transfer(runs["off"]))


def o2b(runs: Runs) -> Measured:
    """Highest throughput with scaling on."""
    steady = {"steady Mbit/s": steady_link_mbps(runs["on"])}
    return Measured(peak_link_mbps(runs["on"]), steady | _transfer(runs["on"]))


def o2c(runs: Runs) -> Measured:
    """Completion time off / on."""
    off, on = completion_s(runs["off"]), completion_s(runs["on"])
    return Measured(off / on, {"off s": off, "on s": on})


def o3a(runs: Runs) -> Measured:
    """Flight size with scaling off."""
    return Measured(largest_kb(runs["off"], "flight_size"))


def o3b(runs: Runs) -> Measured:
    """Flight size on / off."""
    return _ratio(runs, "flight_size", "kB")


def o4a(runs: Runs) -> Measured:
    """Congestion window with scaling off."""
    return Measured(largest_kb(runs["off"], "cwnd"))


def o4b(runs: Runs) -> Measured:
    """Congestion window on / off."""
    return _ratio(runs, "cwnd", "kB")


def o5(runs: Runs) -> Measured:
    """Throughput without delay."""
    rates = {case: steady_link_mbps(runs[case]) for case in ("off", "on")}
    goodputs = {f"goodput {case} Mbit/s": goodput_mbps(runs[case]) for case in ("off", "on")}
    return Measured(min(rates.values()), {f"link {case} Mbit/s": rate for case, rate in rates.items()} | goodputs)


def o7b(runs: Runs) -> Measured:
    """Throughput of the satellite link with scaling on."""
    return Measured(steady_link_mbps(runs["on"]), _transfer(runs["on"]))


def _exact_window(case: str) -> Callable[[Runs], Measured]:
    """Return what measures the payload's steady rate: a window in each round trip is one of payload, and greatest."""

    def measure(runs: Runs) -> Measured:
        link = {"link Mbit/s": steady_link_mbps(runs[case])}
        return Measured(steady_goodput_mbps(runs[case]), link | _transfer(runs[case]))

    return measure


MEASURES: dict[str, Callable[[Runs], Measured]] = {
    "O1": o1,
    "O1b": o1b,
    "O1c": o1c,
    "O1d": waits("long", 64.0),
    "O1e": waits("long, 16 s", 16.0),
    "O1f": o1f,
    "O2a": o2a,
    "O2b": o2b,
    "O2c": o2c,
    "O3a": o3a,
    "O3b": o3b,
    "O4a": o4a,
    "O4b": o4b,
    "O5": o5,
    "O6a": o4a,
    "O6b": o4b,
    "O7a": o2a,
    "O7b": o7b,
    "O7c": _exact_window("window 100860"),
    "O7i": _exact_window("window 99280"),
    "O7d": _exact_window("window 96188"),
    "O7e": o2a,
    "O7f": o7b,
    "O7g": _exact_window("window 100860"),
    "O7j": _exact_window("window 99280"),
    "O7h": _exact_window("window 96188"),
}
