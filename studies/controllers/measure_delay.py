"""C7, C8, C14, C15, C18, C19, C21: controllers that look at delay, and PCC."""

from collections.abc import Callable
from pathlib import Path

from ackclock.claims.folder import load_module
from ackclock.claims.measured import Measured, Runs
from ackclock.results import Results

_bbr = load_module(Path(__file__).parent / "measure_bbr.py")

Measure = Callable[[Runs], Measured]

COPA_PACKETS = 1.25 / 0.5
"""Mean queue of a Copa flow, packets: its target is 1/(delta dq), and its window swings from 0 to 2.5/delta."""
ALPHA = 100
"""Packets that a FAST flow keeps in the queue."""
SWIFT_TARGET_MS = 0.05
BUFFER = 100e6 * 0.03 / 12000
"""One BDP of PCC's path, packets."""


def wait_ms(results: Results) -> float:
    """Return the bottleneck's mean wait."""
    entry = next(entry for entry in results.summary["links"] if entry["name"] == "bottleneck")
    return float(entry["queueing_delay_ms"]["mean"])


# ---- C7: Copa --------------------------------------------------------------------------------------------------------


def fairness(over: str) -> Measure:
    """Jain's index of the Copa flows over that of another controller's."""

    def measure(runs: Runs) -> Measured:
        found = {case: _bbr.jain(_bbr.goodputs(results)) for case, results in runs.items()}
        queues = {f"queue, {case}": _bbr.link(results)["queue"] for case, results in runs.items()}
        return Measured(found["copa"] / found[over], found | queues)

    return measure


def copa_queue(runs: Runs) -> Measured:
    """Mean queue of ten Copa flows over the law's."""
    found = _bbr.link(runs["copa"])
    also = {"packets": found["queue"], "drops": found["drops"]}
    without = _bbr.link(runs["copa, no switch"])["queue"] / (10 * COPA_PACKETS)
    return Measured(found["queue"] / (10 * COPA_PACKETS), also | {"without the switch": without})


def copa_over_cubic(runs: Runs) -> Measured:
    """Copa's mean queue over CUBIC's, with the use of the link."""
    copa, cubic = _bbr.link(runs["copa"]), _bbr.link(runs["cubic"])
    also = {"use, Copa": copa["utilization"], "use, CUBIC": cubic["utilization"]}
    return Measured(copa["queue"] / cubic["queue"], also)


def copa_beside_cubic(runs: Runs) -> Measured:
    """Copa's least share up to 2 BDP, with the others."""
    found = {case: _bbr.share(results) for case, results in runs.items()}
    least = min(found[case] for case in ("0.5", "1", "2"))
    return Measured(least, {f"{case} BDP": value for case, value in found.items()})


# ---- C8: PCC ---------------------------------------------------------------------------------------------------------


def shallow(runs: Runs) -> Measured:
    """Vivace's goodput over the link's rate, with CUBIC's."""
    found = {case: _bbr.goodput(runs[f"{case} 13.5 kB"]) / 100e6 for case in ("vivace", "cubic")}
    return Measured(found["vivace"], found)


def deep(runs: Runs) -> Measured:
    """Vivace's mean queue over a buffer of one BDP, with CUBIC's."""
    found = {case: _bbr.link(runs[f"{case} 375 kB"])["queue"] / BUFFER for case in ("vivace", "cubic")}
    return Measured(found["vivace"], found)


def lossy(case: str) -> Measure:
    """Goodput over what the link can deliver, with every case's."""

    def measure(runs: Runs) -> Measured:
        found = {name: _bbr.of_delivered(results, float(name.split()[1])) for name, results in runs.items()}
        return Measured(found[case], found)

    return measure


def away(case: str, published: float) -> Measure:
    """The distance of a run from the published value, over what the link can deliver."""

    def measure(runs: Runs) -> Measured:
        value = _bbr.of_delivered(runs[case], float(case.split()[1]))
        return Measured(abs(value - published), {"of what the link can deliver": value})

    return measure


# ---- C14, C15, C18, C19 ----------------------------------------------------------------------------------------------


def second(case: str) -> Measure:
    """The second flow's share."""
    return lambda runs: Measured(1 - _bbr.share(runs[case]))


def first(case: str) -> Measure:
    """The first flow's share."""
    return lambda runs: Measured(_bbr.share(runs[case]))


def wait(case: str) -> Measure:
    """Mean wait, with the use of the link."""
    return lambda runs: Measured(wait_ms(runs[case]), {"use of the link": _bbr.link(runs[case])["utilization"]})


def reno_over_vegas(runs: Runs) -> dict[str, float]:
    """Return Reno's goodput over Vegas' by buffer."""
    return {case: _bbr.goodput(results, "other") / _bbr.goodput(results, "one") for case, results in runs.items()}


def vegas(case: str, over: str | None = None) -> Measure:
    """The ratio of Reno's goodput to Vegas' with one buffer, or divided by the ratio with another."""

    def measure(runs: Runs) -> Measured:
        found = reno_over_vegas(runs)
        value = found[case] / (found[over] if over else 1.0)
        return Measured(value, {f"{name} packets": ratio for name, ratio in found.items()})

    return measure


def fast_queue(runs: Runs) -> Measured:
    """FAST's mean queue over what four flows keep."""
    return Measured(_bbr.link(runs["fast"])["queue"] / (4 * ALPHA))


def fast_fairness(runs: Runs) -> Measured:
    """Jain's index of FAST flows."""
    return Measured(_bbr.jain(_bbr.goodputs(runs["fast"])))


def swift_delay(runs: Runs) -> Measured:
    """The median over flows' median RTTs over the target, with 100 flows."""
    found = {}
    for case, results in runs.items():
        medians = sorted(float(rtt["p50"]) for flow in results.summary["flows"] if (rtt := flow["rtt_ms"]) is not None)
        found[case] = medians[len(medians) // 2] / SWIFT_TARGET_MS
    use = {f"use, {case} flows": _bbr.link(results)["utilization"] for case, results in runs.items()}
    return Measured(found["100"], {f"{case} flows": value for case, value in found.items()} | use)


def swift_drops(runs: Runs) -> Measured:
    """Drops over packets delivered, percent."""
    entry = next(entry for entry in runs["100"].summary["links"] if entry["name"] == "bottleneck")
    return Measured(100 * float(entry["drops"]) / float(entry["delivered_packets"]))


# ---- C21: Nimbus -----------------------------------------------------------------------------------------------------


def less_wait(runs: Runs) -> Measured:
    """CUBIC's mean wait beside datagrams less Nimbus'."""
    found = {case: wait_ms(runs[f"{case}, datagrams"]) for case in ("cubic", "nimbus")}
    return Measured(found["cubic"] - found["nimbus"], {f"{case}, ms": value for case, value in found.items()})


def comparable(runs: Runs) -> Measured:
    """Nimbus' goodput beside datagrams over CUBIC's."""
    found = {case: _bbr.goodput(runs[f"{case}, datagrams"]) / 1e6 for case in ("cubic", "nimbus")}
    return Measured(found["nimbus"] / found["cubic"], {f"{case}, Mbit/s": value for case, value in found.items()})


def nimbus_beside_cubic(runs: Runs) -> Measured:
    """Nimbus' share beside CUBIC."""
    return Measured(_bbr.share(runs["nimbus, cubic"]))


MEASURES: dict[str, Measure] = {
    "C7a": fairness("bbr"),
    "C7b": copa_queue,
    "C7c": copa_over_cubic,
    "C7d": copa_beside_cubic,
    "C7e": fairness("cubic"),
    "C8a": shallow,
    "C8b": deep,
    "C8c": lossy("vivace 0.03"),
    "C8d": lossy("allegro 0.01"),
    "C8e": away("allegro 0.02", 0.74),
    "C14a": second("ledbat late"),
    "C14b": second("ledbat++ late"),
    "C14c": first("beside reno"),
    "C14d": wait("ledbat alone"),
    "C14e": wait("ledbat++ alone"),
    "C15a": vegas("50"),
    "C15b": vegas("100", "10"),
    "C15c": vegas("4"),
    "C18a": fast_queue,
    "C18b": fast_fairness,
    "C19a": swift_delay,
    "C19b": swift_drops,
    "C21a": less_wait,
    "C21b": comparable,
    "C21c": nimbus_beside_cubic,
}
