"""From the results of one flow, of pairs, of two round trips and of changing rates to the numbers of the papers."""

import math
from collections.abc import Callable, Collection

import polars as pl

from ackclock.claims.measured import Measured, Runs
from ackclock.results import Results

CLASSIC = ("newreno", "cubic")
LEARNED = ("dqn_newreno", "dqn_cubic")
RATES = ("50", "100")
"""Rates of the bottleneck in D1, Mbit/s."""
LEARNED_S = 25.0
"""Time after which DQN-NewReno has settled according to the paper, s."""
SETTLED_S = (10.0, 50.0)
"""Span in which a pair is past slow start, s."""
PERIODS = ((0.0, 50.0), (50.0, 100.0), (100.0, 150.0))
"""Begin and end of each period of D4, s."""
LINKS_MBPS = (100.0, 50.0, 100.0)
"""Rate of the bottleneck in each of these."""

RETURNING = (
    "cubic",
    "dqn_newreno",
    "dqn_cubic",
    "by round trip",
    "short replay",
    "no target network",
    "no dropout",
    "no slow start",
)
"""Cases of D6, in the order of its claims."""

SEGMENT_BYTES = 536
"""Segment size of ns-3 where a scenario sets none, bytes."""
HEADERS_BYTES = 52
"""IP's, and TCP's with timestamps: the papers' 49.07 and 48.40 are of bytes with headers."""

MORE = ("double", "five steps", "memory", "all")
"""Further cases, which are in no study with those above."""

RECURRENT = (
    "recurrent",
    "recurrent, no dropout",
    "dqn_cubic, recurrent",
    "dqn_cubic, recurrent, no dropout",
)
"""Cases with a recurrent layer."""

Measure = Callable[[Runs], Measured]


def goodput(results: Results, flow: str = "1") -> float:
    """Return a flow's average over its life in Mbit/s."""
    return float(results.flow(flow)["goodput_bps"]) / 1e6


def with_headers(results: Results) -> float:
    """Return a full segment's bytes with headers to its payload."""
    return 1 + HEADERS_BYTES / int(results.scenario["tcp"].get("mss", SEGMENT_BYTES))


def throughput(results: Results, flow: str = "1") -> float:
    """Return the same with headers."""
    return with_headers(results) * goodput(results, flow)


def lost(results: Results, flow: str = "1") -> int:
    """Return how many segments the sender took for lost."""
    return int(results.flow(flow)["lost_segments"])


def between(results: Results, flow: str, begin_s: float, end_s: float) -> float:
    """Return a flow's average over a part of the run in Mbit/s."""
    rows = _rows(results, flow, begin_s, end_s)["goodput_bps"].fill_nan(0.0).fill_null(0.0)
    return float(rows.sum()) / len(rows) / 1e6


def _rows(results: Results, flow: str, begin_s: float, end_s: float) -> pl.DataFrame:
    later = (pl.col("time_s") > begin_s + 1e-6) & (pl.col("time_s") <= end_s + 1e-6)
    return results.flows.filter((pl.col("flow") == flow) & later)


def unsteadiness(results: Results, begin_s: float, end_s: float, column: str = "cwnd_bytes") -> float:
    """Return the coefficient of variation of flow 1's cwnd, or another series, sampled twice a second."""
    values = [float(value) for value in _rows(results, "1", begin_s, end_s)[column]]
    mean = math.fsum(values) / len(values)
    return math.sqrt(math.fsum((value - mean) ** 2 for value in values) / len(values)) / mean


def episodes(results: Results, begin_s: float, end_s: float, flows: Collection[str] = ("1",)) -> int:
    """Return how often flows, the first unless others are named, reduced their windows."""
    later = (pl.col("time_s") > begin_s) & (pl.col("time_s") <= end_s)
    return results.episodes.filter(pl.col("flow").is_in(list(flows)) & later).height


def jain(first: float, second: float) -> float:
    """Return Jain's index of two goodputs.

    Examples:
        >>> round(jain(80.64, 11.91), 4)
        0.6445
    """
    squares = first * first + second * second
    return (first + second) ** 2 / (2 * squares) if squares else 0.0


# ---- D1: one flow --------------------------------------------------------------------------------------------------


def gain(rate: str, above: str, below: str) -> Measure:
    """The difference between two controllers' rates, in Mbit/s."""
    other = next(each for each in RATES if each != rate)

    def measure(runs: Runs) -> Measured:
        gains = {
            each: throughput(runs[f"{each} {above}"], "1") - throughput(runs[f"{each} {below}"], "1") for each in RATES
        }
        also = {f"at {other} Mbit/s": gains[other], below: throughput(runs[f"{rate} {below}"], "1")}
        return Measured(gains[rate], also | {above: throughput(runs[f"{rate} {above}"], "1")})

    return measure


def newreno_least(runs: Runs) -> Measured:
    """The lead of the weaker learned controller over NewReno, at the worse of the two rates, in Mbit/s."""
    gains = {
        f"{name}, {rate}": throughput(runs[f"{rate} {name}"]) - throughput(runs[f"{rate} newreno"])
        for rate in RATES
        for name in LEARNED
    }
    return Measured(min(gains.values()), gains)


def dqn_cubic_most(runs: Runs) -> Measured:
    """The lead of DQN-CUBIC over the best of the others, at the worse of the two rates, in Mbit/s."""
    others = ("newreno", "cubic", "dqn_newreno")
    leads = {
        f"at {rate} Mbit/s": throughput(runs[f"{rate} dqn_cubic"])
        - max(throughput(runs[f"{rate} {o}"]) for o in others)
        for rate in RATES
    }
    return Measured(min(leads.values()), leads)


def fewest_lost(runs: Runs) -> Measured:
    """DQN-CUBIC's lost segments beside the fewest of any other, at 100 Mbit/s."""
    counts = {name: float(lost(runs[f"100 {name}"])) for name in (*CLASSIC, *LEARNED)}
    fewest = min(count for name, count in counts.items() if name != "dqn_cubic")
    return Measured(counts["dqn_cubic"] / fewest if fewest else None, {f"{name} lost": n for name, n in counts.items()})


def losing_less(runs: Runs) -> Measured:
    """DQN-NewReno's reductions after it has learned beside those before, at 100 Mbit/s."""
    results = runs["100 dqn_newreno"]
    before, after = episodes(results, 0.0, LEARNED_S), episodes(results, LEARNED_S, 50.0)
    return Measured(after / before if before else None, {"reductions before": before, "after": after})


def settled_sooner(runs: Runs) -> Measured:
    """The unsteadiness of DQN-CUBIC's window from 5 s to 25 s less that of DQN-NewReno's, at 100 Mbit/s."""
    spreads = {name: unsteadiness(runs[f"100 {name}"], 5.0, LEARNED_S) for name in (*CLASSIC, *LEARNED)}
    return Measured(spreads["dqn_cubic"] - spreads["dqn_newreno"], spreads)


def level(learned: str, classic: str) -> Measure:
    """The unsteadiness of a learned window after 25 s divided by a classic controller's, at 100 Mbit/s."""

    def measure(runs: Runs) -> Measured:
        spreads = {name: unsteadiness(runs[f"100 {name}"], LEARNED_S, 50.0) for name in (learned, *CLASSIC)}
        return Measured(spreads[learned] / spreads[classic], spreads)

    return measure


def grows(learned: str, classic: str) -> Measure:
    """The gain at 100 Mbit/s less that at 50 Mbit/s."""

    def measure(runs: Runs) -> Measured:
        gains = {
            rate: throughput(runs[f"{rate} {learned}"], "1") - throughput(runs[f"{rate} {classic}"], "1")
            for rate in RATES
        }
        return Measured(gains["100"] - gains["50"], {f"gain at {rate} Mbit/s": gains[rate] for rate in RATES})

    return measure


# ---- D2 and D3: pairs ----------------------------------------------------------------------------------------------


def _flows(runs: Runs, case: str) -> dict[str, float]:
    return {f"flow {flow}": throughput(runs[case], flow) for flow in ("1", "2")}


def difference(case: str, *beside: str) -> Measure:
    """Flow 1's rate less flow 2's, in Mbit/s."""

    def measure(runs: Runs) -> Measured:
        first, second = _flows(runs, case).values()
        others = {f"{other}: flow {flow}": throughput(runs[other], flow) for other in beside for flow in ("1", "2")}
        return Measured(first - second, _flows(runs, case) | {"apart": abs(first - second)} | others)

    return measure


def fairness(case: str) -> Measure:
    """Jain's index of the two rates."""

    def measure(runs: Runs) -> Measured:
        return Measured(jain(*_flows(runs, case).values()), _flows(runs, case))

    return measure


def utilisation(case: str) -> Measure:
    """Both throughputs beside the bottleneck's 100 Mbit/s, in percent."""

    def measure(runs: Runs) -> Measured:
        return Measured(sum(_flows(runs, case).values()), _flows(runs, case))

    return measure


def fairer(case: str, *others: str) -> Measure:
    """One case's index less the least of others'."""

    def measure(runs: Runs) -> Measured:
        values = {name: jain(*_flows(runs, name).values()) for name in (case, *others)}
        return Measured(values[case] - min(values[other] for other in others), values)

    return measure


def less_fair(case: str, *others: str) -> Measure:
    """The least of others' indices less one case's."""

    def measure(runs: Runs) -> Measured:
        found = fairer(case, *others)(runs)
        return Measured(-found.value if found.value is not None else None, found.also)

    return measure


def fuller(case: str, *others: str) -> Measure:
    """One case's use of the bottleneck less the highest of the others, in percent."""

    def measure(runs: Runs) -> Measured:
        values = {name: sum(_flows(runs, name).values()) for name in (case, *others)}
        return Measured(values[case] - max(values[other] for other in others), values)

    return measure


def swinging(runs: Runs) -> Measured:
    """The variation of DQN-NewReno's throughput divided by DQN-CUBIC's, the lesser with either neighbour."""
    spreads = {
        f"{name}, {other}": unsteadiness(runs[f"{name}, {other}"], *SETTLED_S, "goodput_bps")
        for name in LEARNED
        for other in CLASSIC
    }
    ratios = [spreads[f"dqn_newreno, {other}"] / spreads[f"dqn_cubic, {other}"] for other in CLASSIC]
    return Measured(min(ratios), spreads)


def giving_way(runs: Runs) -> Measured:
    """Reductions of both flows with DQN-CUBIC beside NewReno over those with CUBIC beside it."""
    counts = {name: episodes(runs[f"{name}, newreno"], *SETTLED_S, "12") for name in ("dqn_cubic", "cubic", "newreno")}
    return Measured(
        counts["dqn_cubic"] / counts["cubic"] if counts["cubic"] else None,
        {f"{name}, newreno: reductions": float(count) for name, count in counts.items()},
    )


def _lead(results: Results) -> float:
    """Flow 1's lead in the last 25 s, in Mbit/s."""
    return with_headers(results) * (between(results, "1", 25.0, 50.0) - between(results, "2", 25.0, 50.0))


def keeps_it(runs: Runs) -> Measured:
    """The lead of the flow of 40 ms in the last 25 s, where it is the first to begin."""
    return Measured(_lead(runs["40 ms first"]), {f"{name}: lead": _lead(results) for name, results in runs.items()})


def first_come(runs: Runs) -> Measured:
    """The lead of the flow of 40 ms where it begins before the other, less its lead where it begins after it."""
    return Measured(_lead(runs["40 ms first"]) - _lead(runs["60 ms first"]))


# ---- D4: changing rates --------------------------------------------------------------------------------------------


def period(case: str, index: int, *beside: str, flow: str = "1") -> Measure:
    """A flow's average in one of the three periods, in Mbit/s."""

    def measure(runs: Runs) -> Measured:
        def average(name: str, flow: str) -> float:
            return with_headers(runs[name]) * between(runs[name], flow, *PERIODS[index])

        other_flow = "2" if flow == "1" else "1"
        also = {f"flow {other_flow}": average(case, other_flow)}
        for other in beside:
            also |= {f"{other}: flow {each}": average(other, each) for each in ("1", "2")}
        return Measured(average(case, flow), also)

    return measure


def used(case: str, index: int) -> Measure:
    """Both averages in one of the periods beside the bottleneck's rate, in percent."""

    def measure(runs: Runs) -> Measured:
        both = [with_headers(runs[case]) * between(runs[case], flow, *PERIODS[index]) for flow in ("1", "2")]
        return Measured(100 * sum(both) / LINKS_MBPS[index])

    return measure


def ahead(case: str, index: int) -> Measure:
    """Flow 1's average in one of the periods less flow 2's, in Mbit/s."""

    def measure(runs: Runs) -> Measured:
        rates = {
            f"flow {flow}": with_headers(runs[case]) * between(runs[case], flow, *PERIODS[index]) for flow in ("1", "2")
        }
        return Measured(rates["flow 1"] - rates["flow 2"], rates)

    return measure


def uses_more(case: str, other: str, index: int) -> Measure:
    """The difference between two cases' use of the bottleneck in a period, in percent."""

    def measure(runs: Runs) -> Measured:
        shares = {name: used(name, index)(runs).value or 0.0 for name in (case, other)}
        return Measured(shares[case] - shares[other], shares)

    return measure


def carries_on(case: str) -> Measure:
    """Flow 1's recovery after a change of rate, divided by that of CUBIC in its place, which learns nothing.

    Recovery is goodput in the first 10 s of a period divided by goodput in the rest, the lesser of the two changes.
    """

    def measure(runs: Runs) -> Measured:
        shares = {f"at {begin:g} s": _after_change(runs[case], begin, end) for begin, end in PERIODS[1:]}
        beside = min(_after_change(runs["cubic"], begin, end) for begin, end in PERIODS[1:])
        return Measured(min(shares.values()) / beside, shares | {"CUBIC in its place": beside})

    return measure


def _after_change(results: Results, begin_s: float, end_s: float) -> float:
    return between(results, "1", begin_s, begin_s + 10.0) / between(results, "1", begin_s + 10.0, end_s)


def keeps_its_character(runs: Runs) -> Measured:
    """Reductions of DQN-NewReno over those of DQN-CUBIC after the first change."""
    counts = {name: float(episodes(runs[name], PERIODS[1][0], PERIODS[2][1])) for name in (*LEARNED, *CLASSIC)}
    return Measured(counts["dqn_newreno"] / counts["dqn_cubic"] if counts["dqn_cubic"] else None, counts)


def stagnates(runs: Runs) -> Measured:
    """The goodput of flow 2 in the last 20 s less that from 110 s to 130 s, in Mbit/s."""
    results = runs["dqn_newreno"]
    soon, late = (with_headers(results) * between(results, "2", *span) for span in ((110.0, 130.0), (130.0, 150.0)))
    return Measured(late - soon, {"from 110 to 130 s": soon, "from 130 to 150 s": late})


def losses(above: str, below: str) -> Measure:
    """Segments that flow 1 lost under one controller beside those under another."""

    def measure(runs: Runs) -> Measured:
        counts = {name: float(lost(runs[name])) for name in (above, below, *CLASSIC) if name in runs}
        value = counts[above] / counts[below] if counts[below] else None
        return Measured(value, {f"{name} lost": count for name, count in counts.items()})

    return measure


def lost_by(case: str) -> Measure:
    """Segments that flow 1 lost."""

    def measure(runs: Runs) -> Measured:
        return Measured(float(lost(runs[case])))

    return measure


# ---- D6: a rate that returns ---------------------------------------------------------------------------------------


def regained(case: str) -> Measure:
    """Flow 1's goodput in the 10 s after its rate has returned, in percent of the link's."""

    def measure(runs: Runs) -> Measured:
        soon = between(runs[case], "1", 100.0, 110.0)
        also = {
            "Mbit/s before": between(runs[case], "1", 25.0, 50.0),
            "Mbit/s in the 10 s after the return": soon,
            "Mbit/s in the last 25 s": between(runs[case], "1", 125.0, 150.0),
            "% of the link, all 150 s": 100 * _used(runs[case]),
            "segments lost": float(lost(runs[case])),
        }
        return Measured(100 * soon / LINKS_MBPS[2], also)

    return measure


def above_cubic(case: str) -> Measure:
    """The use of the link over all 150 s less CUBIC's, in percent of the link."""

    def measure(runs: Runs) -> Measured:
        shares = {name: 100 * _used(runs[name]) for name in (case, "cubic")}
        return Measured(shares[case] - shares["cubic"], {f"{name}, %": share for name, share in shares.items()})

    return measure


def _used(results: Results) -> float:
    """Return goodput by what the link could carry in the three periods, which last alike."""
    return math.fsum(between(results, "1", begin, end) for begin, end in PERIODS) / math.fsum(LINKS_MBPS)


def _pairs() -> dict[str, Measure]:
    found: dict[str, Measure] = {}
    for letter, case in zip("abcd", [f"{name}, {other}" for name in LEARNED for other in CLASSIC], strict=True):
        found[f"D2{letter}1"] = difference(case, "newreno, cubic")
        found[f"D2{letter}2"] = fairness(case)
        found[f"D2{letter}3"] = utilisation(case)
    return found


def _round_trips() -> dict[str, Measure]:
    found: dict[str, Measure] = {}
    for letter, name in zip("abcd", (*CLASSIC, *LEARNED), strict=True):
        found[f"D3{letter}1"] = difference(name)
        found[f"D3{letter}2"] = fairness(name)
    return found


def _one_agent() -> dict[str, Measure]:
    """The same round trips where both flows have one agent, and beside an agent for each."""
    found: dict[str, Measure] = {}
    for letter, number, name in zip("hi", "12", LEARNED, strict=True):
        case = f"{name}, one agent"
        found |= {f"D3{letter}1": difference(case, name), f"D3{letter}2": fairness(case)}
        found |= {f"D3{letter}3": utilisation(case), f"D3j{number}": fairer(case, name)}
    return found


def _changes() -> dict[str, Measure]:
    found: dict[str, Measure] = {}
    for letter, case in zip("ab", LEARNED, strict=True):
        found |= {f"D4{letter}{index + 1}": period(case, index, *CLASSIC) for index in range(3)}
        found |= {f"D4{letter}{index + 4}": used(case, index) for index in range(2)}
        found |= {f"D4{letter}{index + 6}": period(case, index, flow="2") for index in range(3)}
    return found


MEASURES: dict[str, Measure] = {
    "D1a1": gain("100", "cubic", "newreno"),
    "D1a2": newreno_least,
    "D1a3": dqn_cubic_most,
    "D1b1": gain("100", "dqn_newreno", "newreno"),
    "D1b2": gain("100", "dqn_newreno", "cubic"),
    "D1b3": gain("100", "dqn_cubic", "newreno"),
    "D1b4": gain("100", "dqn_cubic", "cubic"),
    "D1c1": fewest_lost,
    "D1c2": losing_less,
    "D1c3": settled_sooner,
    "D1d1": level("dqn_newreno", "newreno"),
    "D1d2": level("dqn_cubic", "newreno"),
    "D1e1": grows("dqn_newreno", "newreno"),
    "D1e2": grows("dqn_cubic", "newreno"),
    "D1h": gain("100", "dqn_cubic", "dqn_newreno"),
    "D1g1": gain("100", "dqn_newreno", "newreno"),
    "D1g2": gain("100", "dqn_cubic", "newreno"),
    **_pairs(),
    **_round_trips(),
    **_one_agent(),
    "D3c3": utilisation("dqn_newreno"),
    "D3d3": utilisation("dqn_cubic"),
    "D2f": fairer("dqn_cubic, newreno", "dqn_newreno, newreno"),
    "D2g": fuller("dqn_cubic, cubic", "dqn_newreno, cubic"),
    "D2h": swinging,
    "D2i": giving_way,
    "D3m": keeps_it,
    "D3n": first_come,
    "D3e": fairer("dqn_cubic", "dqn_newreno"),
    "D3k": less_fair("dqn_newreno", *CLASSIC),
    "D3l": fuller("dqn_cubic", *CLASSIC, "dqn_newreno"),
    "D4i1": ahead("dqn_newreno", 2),
    "D4i2": ahead("dqn_cubic", 2),
    "D4j": uses_more("dqn_cubic", "dqn_newreno", 1),
    **_changes(),
    "D4c1": carries_on("dqn_newreno"),
    "D4c2": carries_on("dqn_cubic"),
    "D4c3": keeps_its_character,
    "D4i3": stagnates,
    "D4d": losses("dqn_cubic", "dqn_newreno"),
    "D4d2": lost_by("dqn_newreno"),
    "D4d3": lost_by("dqn_cubic"),
    **{f"D6{letter}": regained(case) for letter, case in zip("abcdefjk", RETURNING, strict=True)},
    **{f"D6{letter}": regained(case) for letter, case in zip("ghil", MORE, strict=True)},
    **{f"D6{letter}": regained(case) for letter, case in zip("nopq", RECURRENT, strict=True)},
    "D6m": above_cubic("no dropout"),
}
