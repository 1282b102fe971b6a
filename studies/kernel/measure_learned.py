"""Statements of the DQN study of a policy that it learned, frozen and in whole numbers, on the kernel and simulated."""

import math
from collections.abc import Callable
from pathlib import Path

from ackclock.claims.folder import load_module
from ackclock.claims.measured import Measured, Runs
from ackclock.results import Results

_dqn = load_module(Path(__file__).parents[1] / "dqn-2023" / "measure.py")
_vegas = load_module(Path(__file__).parent / "measure_vegas.py")

Measure = Callable[[Callable[[str], Results]], dict[str, float]]

LEARNED = "DQN-NewReno"
WITH_HEADERS = 1500 / 1448
"""A full segment's bytes with headers to its payload, on the kernel and where it is simulated."""


def throughput(results: Results, flow: str = "1") -> float:
    """Return a flow's average over its life in Mbit/s, with headers as the study has them."""
    return WITH_HEADERS * float(_dqn.goodput(results, flow))


def above(other: str) -> Measure:
    """The lead of the policy's flow over a classic one, in Mbit/s."""

    def measure(case: Callable[[str], Results]) -> dict[str, float]:
        rates = {name: throughput(case(name)) for name in (LEARNED, other)}
        return {"above, Mbit/s": rates[LEARNED] - rates[other]} | {
            f"{name}, Mbit/s": rate for name, rate in rates.items()
        }

    return measure


def variation(windows: list[float]) -> float:
    """Return the coefficient of variation.

    Examples:
        >>> variation([90.0, 110.0])
        0.1
    """
    mean = math.fsum(windows) / len(windows)
    return math.sqrt(math.fsum((window - mean) ** 2 for window in windows) / len(windows)) / mean


def level(case: Callable[[str], Results]) -> dict[str, float]:
    """The variation of the policy's window divided by that of Reno's."""
    found = {name: variation(_windows(case(name))) for name in (LEARNED, "Reno")}
    return {"quotient": found[LEARNED] / found["Reno"]} | {f"variation, {name}": one for name, one in found.items()}


def _windows(results: Results) -> list[float]:
    begin_s = 10.0
    rows = results.flows.filter((results.flows["time_s"] > begin_s) & (results.flows["flow"] == "1"))
    return [float(value) for value in rows["cwnd_bytes"]]


def _both(results: Results) -> tuple[float, float]:
    return throughput(results, "1"), throughput(results, "2")


def jain(name: str) -> Measure:
    """Jain's index of the two flows."""

    def measure(case: Callable[[str], Results]) -> dict[str, float]:
        first, second = _both(case(name))
        return {"Jain's index": float(_dqn.jain(first, second)), "40 ms, Mbit/s": first, "60 ms, Mbit/s": second}

    return measure


def apart(case: Callable[[str], Results]) -> dict[str, float]:
    """The lead of the policy's flow of 40 ms over the one of 60 ms."""
    first, second = _both(case(LEARNED))
    return {"above, Mbit/s": first - second, "40 ms, Mbit/s": first, "60 ms, Mbit/s": second}


_MEASURES: dict[str, Measure] = {
    "K6-D1b1": above("Reno"),
    "K6-D1b2": above("CUBIC"),
    "K6-D1d1": level,
    "K6-D3a2": jain("Reno"),
    "K6-D3b2": jain("CUBIC"),
    "K6-D3c1": apart,
    "K6-D3c2": jain(LEARNED),
}

MEASURES: dict[str, Callable[[Runs], Measured]] = {
    claim: _vegas.on_both(measure) for claim, measure in _MEASURES.items()
}
