"""H2 to H4: what an appliance keeps, for how long, and what that does to throughput."""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import polars as pl

from ackclock.claims.measured import Measured, Runs
from ackclock.results import Results

Measure = Callable[[Runs], Measured]

SETTLED_S = 20.0
"""Where the measurement window of every scenario here begins: buffers are full by then."""
UNITS = {"B": 1, "kB": 1000, "KiB": 1024, "MB": 10**6, "MiB": 1024**2}


def kept(results: Results) -> Mapping[str, Any]:
    """Return what the appliance says of the way forward."""
    (flow,) = results.appliance("box")["flows"]
    return flow["forward"]


def goodput(results: Results) -> float:
    """Return the flow's goodput in Mbit/s."""
    return float(results.flow("old")["goodput_bps"]) / 1e6


def latency_ms(results: Results, which: str = "mean") -> float:
    """Return how long an octet stays in the appliance before it is sent on."""
    return float(kept(results)["added_latency_ms"][which])


def samples(results: Results) -> pl.DataFrame:
    """Return the samples of the way forward that fall into the measurement window."""
    rows = results.appliances
    return rows.filter((pl.col("direction") == "forward") & (pl.col("time_s") > SETTLED_S))


def time_share(results: Results, condition: pl.Expr) -> float:
    """Return in which part of the samples something holds, in percent."""
    rows = samples(results)
    return 100 * rows.filter(condition).height / rows.height


NOTHING_TO_SEND = pl.col("unread_bytes") + pl.col("copying_bytes") + pl.col("unsent_bytes") == 0
NOTHING_AT_ALL = pl.col("in_socket_bytes") == 0
IN_SLOW_START = pl.col("cwnd_bytes") < pl.col("ssthresh_bytes")


# ---- H2 ------------------------------------------------------------------------------------------------------------


def size_bytes(case: str) -> int:
    """Return the size that a case is named by, or a manifest has.

    Examples:
        >>> size_bytes("64 KiB"), size_bytes("65.536 kB")
        (65536, 65536)
    """
    value, unit = case.split()
    return round(float(value) * UNITS[unit])


def law_ms(results: Results, size: int) -> float:
    """Return how long an octet has to wait for what is before it, in both buffers.

    Less what is in flight behind the appliance, which the send buffer holds, and less what can be under way before it
    in a round trip, for which the receive buffer keeps a place.

    Args:
        results: Results of a run whose buffers are full.
        size: Size of each of the two buffers, in bytes.
    """
    rows = samples(results)
    flight, near_s = (_mean(rows[column]) for column in ("flight_size_bytes", "near_srtt_s"))
    return 8 * (2 * size - flight) / goodput(results) / 1e3 - 1e3 * near_s


def _mean(series: pl.Series) -> float:
    return float(series.sum()) / len(series)


def exponent(sizes: Sequence[str]) -> Measure:
    """The slope of the logarithm of latency over that of the size, by least squares."""

    def measure(runs: Runs) -> Measured:
        points = [(math.log(size_bytes(size)), math.log(latency_ms(runs[size]))) for size in sizes]
        x, y = (math.fsum(values) / len(values) for values in zip(*points, strict=True))
        slope = math.fsum((a - x) * (b - y) for a, b in points) / math.fsum((a - x) ** 2 for a, _ in points)
        also = {f"{size} ms": latency_ms(runs[size]) for size in sizes}
        return Measured(slope, also | {f"{size} Mbit/s": goodput(runs[size]) for size in sizes})

    return measure


def beside_law(runs: Runs) -> Measured:
    """Latency beside the law's, of the size that the appliance's buffers have."""
    results = runs["appliance"]
    size = size_bytes(results.manifest["scenario"]["appliance"][0]["far"]["tcp"]["send_buffer"])
    also = {"goodput Mbit/s": goodput(results), "mean added latency ms": latency_ms(results)}
    return Measured(also["mean added latency ms"] / law_ms(results, size), also)


def furthest_from_law(runs: Runs) -> Measured:
    """Latency beside the law's, at the size where the two are furthest apart."""
    ratios = {size: latency_ms(results) / law_ms(results, size_bytes(size)) for size, results in runs.items()}
    return Measured(max(ratios.values(), key=lambda ratio: abs(math.log(ratio))), ratios)


def slope(small: str, large: str) -> Measure:
    """Latency that more buffer adds, beside what two buffers take at the far rate."""

    def measure(runs: Runs) -> Measured:
        added_s = (latency_ms(runs[large]) - latency_ms(runs[small])) / 1e3
        megabytes = (size_bytes(large) - size_bytes(small)) / 1e6
        rate = goodput(runs[large])
        return Measured(added_s / megabytes * rate / 16, {"s/MB": added_s / megabytes, "far rate Mbit/s": rate})

    return measure


# ---- H3 and H4 -----------------------------------------------------------------------------------------------------


def _beside(runs: Runs, *cases: str) -> dict[str, float]:
    found: dict[str, float] = {}
    for case in cases:
        found[f"{case} Mbit/s"] = goodput(runs[case])
        found[f"{case} mean ms"] = latency_ms(runs[case])
        found[f"{case} p95 ms"] = latency_ms(runs[case], "p95")
    return found


def kept_throughput(case: str) -> Measure:
    """Goodput beside that without ECE."""

    def measure(runs: Runs) -> Measured:
        return Measured(goodput(runs[case]) / goodput(runs["socket"]), _beside(runs, case, "socket"))

    return measure


def held_down(runs: Runs) -> Measured:
    """Mean latency beside that without ECE."""
    return Measured(latency_ms(runs["ece"]) / latency_ms(runs["socket"]), _beside(runs, "ece", "socket"))


def beyond_the_interval(runs: Runs) -> Measured:
    """Latency with twice the longest interval divided by latency with half of it, least over the round trips."""
    trips = sorted({case.split(",")[0] for case in runs})
    ratios = {trip: latency_ms(runs[f"{trip}, double"]) / latency_ms(runs[f"{trip}, half"]) for trip in trips}
    also = {f"{case}: mean ms": latency_ms(results) for case, results in runs.items()}
    return Measured(min(ratios.values()), also)


def rises(runs: Runs) -> Measured:
    """Mean latency beside that of the plain appliance."""
    return Measured(latency_ms(runs["bounded"]) / latency_ms(runs["socket"]), _beside(runs, "bounded", "socket"))


def above_intervals(runs: Runs) -> Measured:
    """Mean latency beside that with ECE at intervals; no answer where nothing waits at intervals, either."""
    least = latency_ms(runs["interval"])
    value = latency_ms(runs["bounded"]) / least if least > 0 else None
    return Measured(value, _beside(runs, "bounded", "interval", "socket"))


def dry(case: str) -> Measure:
    """The share of time with nothing to send, less that without ECE, in percent."""

    def measure(runs: Runs) -> Measured:
        also = {
            "with ECE %": time_share(runs[case], NOTHING_TO_SEND),
            "without ECE %": time_share(runs["socket"], NOTHING_TO_SEND),
            "nothing at all %": time_share(runs[case], NOTHING_AT_ALL),
        }
        return Measured(also["with ECE %"] - also["without ECE %"], also)

    return measure


def in_recovery(results: Results, times: pl.Series) -> pl.Series:
    """Return at which times the far side is in a recovery, where cwnd below ssthresh is no slow start.

    Args:
        results: Results of a run.
        times: In order. What follows a timeout is slow start.
    """
    forward = (pl.col("direction") == "forward") & pl.col("appliance").is_not_null() & (pl.col("cause") != "timeout")
    episodes = results.episodes.filter(forward).sort("time_s")
    ends = episodes.select("time_s", end=pl.col("time_s") + pl.col("duration_s").fill_null(math.inf))
    joined = pl.DataFrame({"time_s": times}).join_asof(ends, on="time_s", strategy="backward")
    return (joined["time_s"] <= joined["end"]).fill_null(value=False)


def restarts(results: Results) -> list[float]:
    """Return for each return to slow start how far it goes: the least cwnd in it, of ssthresh."""
    rows = samples(results).sort("time_s")
    rows = rows.with_columns(recovering=in_recovery(results, rows["time_s"]))
    slow = IN_SLOW_START & ~pl.col("recovering")
    rows = rows.select(
        slow=slow,
        episode=(slow & ~slow.shift(1)).fill_null(value=False).cum_sum(),
        part=pl.col("cwnd_bytes") / pl.col("ssthresh_bytes"),
    )
    found = rows.filter(pl.col("slow") & (pl.col("episode") > 0)).group_by("episode").agg(pl.col("part").min())
    return found["part"].to_list()


def slow_start(case: str) -> Measure:
    """The far side's returns to slow start per minute, less those without ECE, with the depth of each."""

    def measure(runs: Runs) -> Measured:
        rows = samples(runs[case])
        minutes = (float(rows["time_s"].max()) - SETTLED_S) / 60  # type: ignore[arg-type]
        also: dict[str, float] = {"least far cwnd kB": float(rows["cwnd_bytes"].min()) / 1e3}  # type: ignore[arg-type]
        for name, results in (("with ECE", runs[case]), ("without ECE", runs["socket"])):
            found, far = restarts(results), kept(results)
            also[f"{name} /min"] = len(found) / minutes
            also[f"{name}, cwnd / ssthresh then"] = math.fsum(found) / len(found) if found else 1.0
            also[f"{name}, far timeouts"] = float(far["timeouts"])
            also[f"{name}, far fast recoveries"] = float(far["fast_recoveries"])
        return Measured(also["with ECE /min"] - also["without ECE /min"], also)

    return measure


def window_kept(case: str) -> Measure:
    """Goodput divided by that without ECE, with the far side's returns to slow start per minute."""

    def measure(runs: Runs) -> Measured:
        found = without_loss(case)(runs)
        often = slow_start(case)(runs).also
        return Measured(found.value, {**found.also, **{name: often[name] for name in often if name.endswith("/min")}})

    return measure


def reserve(runs: Runs) -> Measured:
    """The gain of the whole reserve over half of it, in percent of goodput with the whole, least over round trips."""
    trips = sorted({case.split(",")[0] for case in runs})
    gains = {trip: 100 * (1 - goodput(runs[f"{trip}, half"]) / goodput(runs[f"{trip}, whole"])) for trip in trips}
    return Measured(min(gains.values()), {f"{case}: Mbit/s": goodput(results) for case, results in runs.items()})


# ---- end to end ------------------------------------------------------------------------------------------------------


def outstanding_bytes(results: Results) -> float:
    """Return the mean of what is in the network: acknowledged to the sender's host, or about to be, and not yet read.

    From the appliance's arrivals and the receiver's reads since the sample before.

    Args:
        results: Results of a run whose series have both.
    """
    near, far = samples_of(results.appliances, "arrived_bps"), samples_of(results.flows, "goodput_bps")
    both = near.join(far, on="time_s").sort("time_s")
    step_s = both["time_s"].diff().fill_null(both["time_s"][0])
    kept = ((both["arrived_bps"] - both["goodput_bps"]) * step_s / 8).cum_sum()
    return _mean(kept.filter(both["time_s"] > SETTLED_S))


def samples_of(rows: pl.DataFrame, column: str) -> pl.DataFrame:
    """Return times and a column of the flow's way forward, 0 where there is nothing yet."""
    if "direction" in rows.columns:
        rows = rows.filter(pl.col("direction") == "forward")
    return rows.filter(pl.col("flow") == "old").select("time_s", pl.col(column).fill_null(0.0))


def write_to_read_ms(results: Results) -> float:
    """Return an octet's mean time from the write at its host to the read at the other, by Little's law.

    The host's send buffer, which a writer without pauses keeps full, holds what the near side has not acknowledged.

    Args:
        results: Results of a run whose sender has a fixed buffer.
    """
    buffer, unit = results.manifest["scenario"]["flow"][0]["sender_tcp"]["send_buffer"].split()
    written = float(buffer) * UNITS[unit]
    return 8 * (written + outstanding_bytes(results)) / goodput(results) / 1e3


def end_to_end(case: str, beside: str) -> Measure:
    """Time from write to read beside that of another discipline."""

    def measure(runs: Runs) -> Measured:
        also = {f"{name}, write to read ms": write_to_read_ms(results) for name, results in runs.items()}
        also |= {f"{name} Mbit/s": goodput(results) for name, results in runs.items()}
        return Measured(also[f"{case}, write to read ms"] / also[f"{beside}, write to read ms"], also)

    return measure


def without_loss(case: str) -> Measure:
    """Goodput beside that without ECE, with the time in which there is nothing to send."""

    def measure(runs: Runs) -> Measured:
        also = {f"{case}, nothing to send %": time_share(runs[case], NOTHING_TO_SEND)}
        also |= {f"{name} Mbit/s": goodput(runs[name]) for name in (case, "socket")}
        return Measured(goodput(runs[case]) / goodput(runs["socket"]), also)

    return measure


def stay(case: str) -> Measure:
    """Mean latency in the appliance beside that without ECE."""

    def measure(runs: Runs) -> Measured:
        also = {f"{name}, added ms": latency_ms(runs[name]) for name in (case, "socket")}
        return Measured(also[f"{case}, added ms"] / also["socket, added ms"], also)

    return measure


def _limits() -> dict[str, Measure]:
    found: dict[str, Measure] = {}
    for letter in "ab":
        found[f"H4{letter}1"] = kept_throughput("bounded")
        found[f"H4{letter}2"] = rises
        found[f"H4{letter}3"] = dry("bounded")
        found[f"H4{letter}4"] = slow_start("bounded")
        found[f"H4{letter}5"] = above_intervals
    return found


SIZES = ("1 MiB", "4 MiB", "16 MiB", "64 MiB")

MEASURES: dict[str, Measure] = {
    "H2a": exponent(SIZES),
    "H2b": exponent(("64 KiB", "256 KiB")),
    "H2c": beside_law,
    "H2d": slope("16 MiB", "64 MiB"),
    "H2e": furthest_from_law,
    "H3a": kept_throughput("ece"),
    "H3b": held_down,
    "H3c": beyond_the_interval,
    **_limits(),
    "H3d": end_to_end("interval", "socket"),
    "H3h": end_to_end("interval", "socket"),
    "H4a6": end_to_end("droptail", "socket"),
    "H4a7": end_to_end("droptail", "interval"),
    "H4b6": end_to_end("red", "socket"),
    "H4b7": end_to_end("red", "interval"),
    "H3e": kept_throughput("ece"),
    "H3f": held_down,
    "H3g": kept_throughput("ece"),
    "H4a10": dry("droptail"),
    "H4a11": stay("droptail"),
    "H4b10": dry("red"),
    "H4b11": stay("red"),
    "H4a8": without_loss("droptail"),
    "H4a9": slow_start("droptail"),
    "H4b8": without_loss("red"),
    "H4b9": slow_start("red"),
    "H4a12": window_kept("droptail"),
    "H4b12": window_kept("red"),
    "H4c": reserve,
}
