"""From runs of the authors' controllers to the numbers that papers, tests, users and reviews give."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from ackclock.claims.measured import Measured, Runs
from ackclock.results import Results

Measure = Callable[[Runs], Measured]

DUMBBELL_S: Final = 0.15
CELL_S: Final = 0.05
"""Least round trips of the studies with transfers."""

PAYLOAD: Final = 1210 / 1250
"""Payload of RemyCC's packets over their size on the link."""

MSS: Final = 1400
"""Payload of Indigo's packets."""

REMY: Final = ("remy 0.1", "remy 1", "remy 10")
OTHERS: Final = ("newreno", "cubic", "vegas", "cubic over fq_codel")


def flow(results: Results, place: int = 0) -> Mapping[str, Any]:
    """Return a flow of the summary."""
    found: Mapping[str, Any] = results.summary["flows"][place]
    return found


def goodput(results: Results, place: int = 0) -> float:
    """Return a flow's goodput in Mbit/s."""
    return float(flow(results, place)["goodput_bps"]) / 1e6


def goodputs(results: Results) -> list[float]:
    """Return the goodputs of all flows in Mbit/s."""
    return [goodput(results, place) for place in range(len(results.summary["flows"]))]


def round_trip(results: Results) -> float:
    """Return the mean of the flows' mean round trips in ms."""
    trips = [float(flow(results, place)["rtt_ms"]["mean"]) for place in range(len(results.summary["flows"]))]
    return sum(trips) / len(trips)


def queueing(results: Results) -> float:
    """Return the mean queueing delay of the bottleneck in ms."""
    return float(results.summary["links"][0]["queueing_delay_ms"]["mean"])


def use(results: Results) -> float:
    """Return how much of the time the bottleneck sends, in percent."""
    return 100 * float(results.summary["links"][0]["utilization"])


def jain(results: Results) -> float:
    """Return Jain's index of the flows' goodputs."""
    index: Any = results.summary["jain_index"]
    return float(index)


def throughput(results: Results, round_trip_s: float) -> float:
    """Return the octets of all transfers over the time that they took, in Mbit/s.

    A transfer's time begins when its sender has it to send, after the handshake of its own connection or half a round
    trip after the request, and ends when the receiver has read all.
    """
    done = results.completions
    has_requests = any("exchanges" in each for each in results.summary["flows"])
    before_s = round_trip_s / 2 if has_requests else round_trip_s
    return 8e-6 * float(done["size_bytes"].sum()) / float((done["fct_s"] - before_s).sum())


def speed_up(other: str, round_trip_s: float) -> Measure:
    """RemyCC's throughput over another scheme's."""

    def measure(runs: Runs) -> Measured:
        rates = {name: throughput(runs[name], round_trip_s) for name in ("remy 0.1", other)}
        return Measured(rates["remy 0.1"] / rates[other], {f"{name}, Mbit/s": rate for name, rate in rates.items()})

    return measure


def delay_cut(other: str) -> Measure:
    """Another scheme's queueing delay over RemyCC's."""

    def measure(runs: Runs) -> Measured:
        delays = {name: queueing(runs[name]) for name in ("remy 0.1", other)}
        return Measured(delays[other] / delays["remy 0.1"], {f"{name}, ms": delay for name, delay in delays.items()})

    return measure


def steps(of: Callable[[Results], float], unit: str) -> Measure:
    """The smaller of the steps of a quantity from delta 10 to 1, and to 0.1."""

    def measure(runs: Runs) -> Measured:
        found = {name: of(runs[name]) for name in REMY}
        least, middle, most = found["remy 10"], found["remy 1"], found["remy 0.1"]
        return Measured(min(most / middle, middle / least), {f"{name}, {unit}": value for name, value in found.items()})

    return measure


def most_throughput(runs: Runs) -> Measured:
    """RemyCC's throughput over the best of the others'."""
    rates = {name: throughput(runs[name], DUMBBELL_S) for name in ("remy 0.1", *OTHERS)}
    best = max(rates[name] for name in OTHERS)
    return Measured(rates["remy 0.1"] / best, {f"{name}, Mbit/s": rate for name, rate in rates.items()})


def least_delay(runs: Runs) -> Measured:
    """The least queueing delay of the others over RemyCC's."""
    delays = {name: queueing(runs[name]) for name in ("remy 0.1", *OTHERS)}
    best = min(delays[name] for name in OTHERS)
    return Measured(best / delays["remy 0.1"], {f"{name}, ms": delay for name, delay in delays.items()})


def equal_share(case: str) -> Measure:
    """Throughput over what an equal share of the link would be while on.

    Over all senders, the shares are the link's rate while any of them is on: with eight, on half of the time each, all
    but 1/256 of the time.
    """

    def measure(runs: Runs) -> Measured:
        total = sum(goodputs(runs[case]))
        return Measured(total / (15 * PAYLOAD * (1 - 2**-8)), {"Mbit/s": total})

    return measure


def relative_delay(case: str) -> Measure:
    """The mean delay over the least round trip."""

    def measure(runs: Runs) -> Measured:
        return Measured(round_trip(runs[case]) / (1000 * DUMBBELL_S))

    return measure


def ratio(of: Callable[[Results], float], case: str, other: str) -> Measure:
    """A quantity of a case over that of another."""

    def measure(runs: Runs) -> Measured:
        found = {name: of(runs[name]) for name in (case, other)}
        return Measured(found[case] / found[other], found)

    return measure


def both(results: Results) -> float:
    """Return the sum of the flows' goodputs."""
    return sum(goodputs(results))


def share_beyond_range(runs: Runs) -> Measured:
    """The share of the link that both have at 801.5 Mbit/s, over that at 29.41 Mbit/s."""
    shares = {rate: both(runs[f"100x {rate}"]) / float(rate) for rate in ("801.5", "29.41")}
    found = {f"share at {rate} Mbit/s": share for rate, share in shares.items()}
    return Measured(shares["801.5"] / shares["29.41"], found)


def favour(results: Results) -> float:
    """Return the goodput of the shortest round trip over that of the longest."""
    replies = [each for each in results.summary["flows"] if each["name"].endswith(".reply")]
    rates = {each["name"]: float(each["goodput_bps"]) for each in replies}
    return rates["near.reply"] / rates["far.reply"]


def favours_short(runs: Runs) -> Measured:
    """By how much delta 0.1 favours the short round trip."""
    return Measured(favour(runs["remy 0.1"]), {name: favour(runs[name]) for name in REMY})


def favours_less(runs: Runs) -> Measured:
    """The favour of CUBIC over FQ-CoDel, over the greatest of the RemyCCs'."""
    favours = {name: favour(runs[name]) for name in (*REMY, "cubic over fq_codel")}
    return Measured(favours["cubic over fq_codel"] / max(favours[name] for name in REMY), favours)


def in_flight(case: str) -> Measure:
    """Goodput times the mean round trip, in packets."""

    def measure(runs: Runs) -> Measured:
        rate, delay = goodput(runs[case]), round_trip(runs[case])
        return Measured(rate * delay * 1e3 / (8 * MSS), {"Mbit/s": rate, "ms": delay})

    return measure


def power(results: Results) -> float:
    """Return goodput over the mean round trip, in Mbit/s a second."""
    return goodput(results) / (round_trip(results) / 1e3)


def power_over_best(runs: Runs) -> Measured:
    """Indigo's power over the better one's of CUBIC and BBRv3, on average over the emulators."""
    gains = {}
    for rate in ("100", "78", "115"):
        best = max(power(runs[f"{rate} {other}"]) for other in ("cubic", "bbr3"))
        gains[f"on {rate} Mbit/s"] = power(runs[f"{rate} indigo"]) / best
    return Measured(sum(gains.values()) / len(gains), gains)


def alone(case: str, of: Callable[[Results], float]) -> Measure:
    """A quantity of one case."""

    def measure(runs: Runs) -> Measured:
        return Measured(of(runs[case]))

    return measure


def beside(runs: Runs) -> Measured:
    """Orca's goodput over that of the CUBIC beside it."""
    orca, cubic = goodputs(runs["orca, cubic"])
    first, second = goodputs(runs["cubic, cubic"])
    return Measured(orca / cubic, {"Orca, Mbit/s": orca, "CUBIC, Mbit/s": cubic, "two CUBICs": first / second})


def part(results: Results) -> float:
    """Return the first flow's part of all goodput, in percent."""
    rates = goodputs(results)
    return 100 * rates[0] / sum(rates)


def by_depth(runs: Runs) -> Measured:
    """Orca's share beside CUBIC in a shallow buffer less that in a deep one."""
    parts = {name: part(runs[name]) for name in ("shallow", "deep")}
    return Measured(parts["shallow"] - parts["deep"], {f"{name}, %": each for name, each in parts.items()})


def least_trips(case: str) -> Measure:
    """The mean round trip over the least."""

    def measure(runs: Runs) -> Measured:
        times = flow(runs[case])["rtt_ms"]
        return Measured(float(times["mean"]) / float(times["min"]), {"mean, ms": float(times["mean"])})

    return measure


def less(case: str, other: str, also: Sequence[str] = ()) -> Measure:
    """A case's use of the link less another's, in percent."""

    def measure(runs: Runs) -> Measured:
        trips = {f"{name}, ms": round_trip(runs[name]) for name in (case, other, *also)}
        found = {f"{name}, %": use(runs[name]) for name in (case, other, *also)}
        return Measured(use(runs[case]) - use(runs[other]), found | trips)

    return measure


def rates_change(runs: Runs) -> Measured:
    """The lesser use of the link where the rate alone changes, of Orca's and Indigo's, less CUBIC's."""
    found = {name: use(runs[f"{name}, rates"]) for name in ("orca", "indigo", "cubic")}
    return Measured(min(found["orca"], found["indigo"]) - found["cubic"], found)


def round_trip_grows(runs: Runs) -> Measured:
    """The greater use of the link where the round trip becomes longer once, of Orca's and Indigo's."""
    found = {name: use(runs[f"{name}, longer"]) for name in ("orca", "indigo", "cubic")}
    return Measured(max(found["orca"], found["indigo"]), found)


def evenness(case: str) -> Measure:
    """Jain's index of two flows, beside their goodputs."""

    def measure(runs: Runs) -> Measured:
        first, second = goodputs(runs[case])
        return Measured(jain(runs[case]), {"first": first, "second": second})

    return measure


MEASURES: Final[dict[str, Measure]] = {
    "B1a": speed_up("newreno", DUMBBELL_S),
    "B1b": speed_up("cubic", DUMBBELL_S),
    "B1c": speed_up("vegas", DUMBBELL_S),
    "B1d": speed_up("cubic over fq_codel", DUMBBELL_S),
    "B1e": delay_cut("newreno"),
    "B1f": delay_cut("cubic"),
    "B1g": delay_cut("vegas"),
    "B1h": delay_cut("cubic over fq_codel"),
    "B1i": steps(lambda results: throughput(results, DUMBBELL_S), "Mbit/s"),
    "B1j": steps(queueing, "ms"),
    "B1k": most_throughput,
    "B1l": least_delay,
    "B2a": equal_share("remy 0.1"),
    "B2b": equal_share("remy 1"),
    "B2c": equal_share("remy 10"),
    "B2d": relative_delay("remy 0.1"),
    "B2e": relative_delay("remy 1"),
    "B2f": relative_delay("remy 10"),
    "B3a": alone("100x 29.41", round_trip),
    "B3b": alone("100x 9.93", round_trip),
    "B3c": alone("100x 801.5", round_trip),
    "B3d": alone("100x 29.41", both),
    "B3e": ratio(both, "100x 29.41", "cubic 29.41"),
    "B3f": ratio(both, "100x 29.41", "cubic over fq_codel 29.41"),
    "B3g": ratio(round_trip, "cubic 29.41", "100x 29.41"),
    "B3h": share_beyond_range,
    "B4a": speed_up("cubic", CELL_S),
    "B4b": speed_up("newreno", CELL_S),
    "B4c": speed_up("vegas", CELL_S),
    "B4d": speed_up("cubic over fq_codel", CELL_S),
    "B4e": delay_cut("cubic"),
    "B4f": delay_cut("vegas"),
    "B5a": favours_short,
    "B5b": favours_less,
    "B6a": in_flight("5 Mbit/s, 40 ms"),
    "B6b": in_flight("20 Mbit/s, 20 ms"),
    "B6c": in_flight("50 Mbit/s, 80 ms"),
    "B6d": in_flight("100 indigo"),
    "B6e": in_flight("78 indigo"),
    "B6f": in_flight("115 indigo"),
    "B6g": power_over_best,
    "B7a": alone("orca", goodput),
    "B7b": alone("cubic", goodput),
    "B7f": ratio(goodput, "orca", "cubic"),
    "B7c": beside,
    "B7d": by_depth,
    "B7e": evenness("fq_codel"),
    "B8a": alone("orca", use),
    "B8b": least_trips("orca"),
    "B8c": ratio(goodput, "orca, loss", "orca"),
    "B8d": ratio(goodput, "indigo, loss", "indigo"),
    "B8e": less("orca", "cubic", ("bbr3", "remy")),
    "B8f": less("orca", "bbr3"),
    "B8g": less("indigo", "cubic"),
    "B8l": rates_change,
    "B8m": round_trip_grows,
    "B8h": evenness("orca, orca"),
    "B8i": evenness("fq_codel"),
    "B8j": evenness("indigo, drop_tail"),
    "B8k": evenness("indigo, fq_codel"),
}
"""By a claim's id."""
