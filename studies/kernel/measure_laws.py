"""Mean windows under random loss beside the laws, and what window scaling and deep buffers do, on the kernel.

Laws: HighSpeed W = 0.12 / p^0.835 (RFC 3649 section 5); AIMD(a, b) W = sqrt(a (2 - b) / (2 b p));
Scalable W = a / (b p), which is 0.08 / p (Kelly 2003).
"""

import math
from collections.abc import Callable
from pathlib import Path

from ackclock.claims.folder import load_module
from ackclock.claims.measured import Measured, Runs
from ackclock.results import Results

_bbr = load_module(Path(__file__).parents[1] / "controllers" / "measure_bbr.py")
_vegas = load_module(Path(__file__).parent / "measure_vegas.py")

Measure = Callable[[Callable[[str], Results]], dict[str, float]]

MSS_BITS = 8 * 1448
RTT_S = 0.06
"""Propagation there and back; nothing else is on the way."""
LOSSES = {"3e-3": 3e-3, "1e-3": 1e-3, "3e-4": 3e-4}
LAWS: dict[str, Callable[[float], float]] = {
    "HighSpeed": lambda p: 0.12 / p**0.835,
    "Scalable": lambda p: 0.08 / p,
    "AIMD(0.2, 0.125)": lambda p: math.sqrt(0.2 * (2 - 0.125) / (2 * 0.125) / p),
}


def window(results: Results) -> float:
    """Return the mean window, segments: what arrived in each round trip."""
    return float(results.flow("flow")["goodput_bps"]) * RTT_S / MSS_BITS


def follows(name: str, loss: str) -> Measure:
    """Compare the mean window with the law's."""

    def measure(case: Callable[[str], Results]) -> dict[str, float]:
        found, law = window(case(f"{name}, {loss}")), LAWS[name](LOSSES[loss])
        return {"of the law's": found / law, "segments": found, "by the law": law}

    return measure


def rate(name: str) -> Measure:
    """The goodput of a case in Mbit/s."""
    return lambda case: {"Mbit/s": float(case(name).flow("ftp")["goodput_bps"]) / 1e6}


def flight(results: Results) -> float:
    """Return the largest flight size, kB."""
    return float(results.flows["flight_size_bytes"].drop_nulls().drop_nans().max()) / 1e3  # type: ignore[arg-type]


def largest_flight(case: Callable[[str], Results]) -> dict[str, float]:
    """The largest flight size without scaling."""
    return {"kB": flight(case("DS3 off"))}


def flight_with_scaling(case: Callable[[str], Results]) -> dict[str, float]:
    """The largest flight size with scaling over that without."""
    return {"times": flight(case("DS3 on")) / flight(case("DS3 off"))}


def share(results: Results) -> float:
    """Return BBR's share of the goodput."""
    rates = [float(results.flow(name)["goodput_bps"]) for name in ("bbr", "cubic")]
    return rates[0] / sum(rates)


def shares(depth: str) -> Measure:
    """BBR's share over that of the model, by the depth of the buffer in BDP."""

    def measure(case: Callable[[str], Results]) -> dict[str, float]:
        found, law = share(case(f"{depth} BDP")), _bbr.model(float(depth), DEPTHS_RATE_BPS, DEPTHS_RTT_S)
        return {"of the model's": found / law, "share": found, "by the model": law}

    return measure


def same_share(depth: str) -> Callable[[Runs], Measured]:
    """BBR's share on the kernel less that in simulation, by the depth of the buffer in BDP."""
    measured = _vegas.on_both(lambda case: {"share": share(case(f"{depth} BDP"))})

    def less(runs: Runs) -> Measured:
        found = measured(runs)
        return Measured(None if found.value is None else found.value - found.also["share, simulator"], found.also)

    return less


DEPTHS = ("0.5", "1", "2", "4", "8", "16")
DEPTHS_RATE_BPS, DEPTHS_RTT_S = 20e6, 0.01

_MEASURES: dict[str, Measure] = {
    "K3a": follows("HighSpeed", "1e-3"),
    "K3b": follows("HighSpeed", "3e-4"),
    "K3c": follows("Scalable", "1e-3"),
    "K3d": follows("AIMD(0.2, 0.125)", "1e-3"),
    "K3e": follows("AIMD(0.2, 0.125)", "3e-3"),
    "K4-O2a": rate("DS3 off"),
    "K4-O2b": rate("DS3 on"),
    "K4-O3a": largest_flight,
    "K4-O3b": flight_with_scaling,
    "K4-O7a": rate("DS1 off"),
    "K4-O7b": rate("DS1 on"),
} | {f"K7{letter}": shares(depth) for letter, depth in zip("abcdef", DEPTHS, strict=True)}

MEASURES: dict[str, Callable[[Runs], Measured]] = {
    claim: _vegas.on_both(measure) for claim, measure in _MEASURES.items()
} | {f"K7{letter}": same_share(depth) for letter, depth in zip("ghijkl", DEPTHS, strict=True)}
