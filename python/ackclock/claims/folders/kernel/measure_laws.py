"""Mean windows under random loss beside the laws, and what window scaling and deep buffers do, on the kernel.

Laws: HighSpeed W = 0.12 / p^0.835 (RFC 3649 section 5); AIMD(a, b) W = sqrt(a (2 - b) / (2 b p)); Scalable W = a / (b p), which is
0.08 / p (Kelly 2003).
"""

import math
from collections.abc import Callable
from pathlib import Path

from ackclock.claims.folder import load_module
from ackclock.claims.measured import Measured, Runs
from ackclock.results import Results

_bbr = load_module(Path(__file__).parents[1] / "controllers" / "measure_bbr.py")
_vegas = load_module(Path(__file__).parent / "measure_vegas.py")

MSS_BITS = 8 * 1448
RTT_S = 0.06
"""Propagation there and back; nothing else is on the way."""
LOSSES = {"1e-3": 1e-3, "3e-4": 3e-4}
LAWS: dict[str, Callable[[float], float]] = {
    "HighSpeed": lambda p: 0.12 / p**0.835,
    "Scalable": lambda p: 0.08 / p,
    "AIMD(0.2, 0.125)": lambda p: math.sqrt(0.2 * (2 - 0.125) / (2 * 0.125) / p),
}


def window(results: Results) -> float:
    """Return the mean window, segments: what arrived in each round trip."""
    return float(results.flow("flow")["goodput_bps"]) * RTT_S / MSS_BITS


def follows(name: str, loss: str) -> Callable[[Runs], Measured]:
    """Compare the kernel's mean window with the law."""

    def measure(runs: Runs) -> Measured:
        law = LAWS[name](LOSSES[loss])
        windows = {place: window(runs[f"{name}, {loss}, {place}"]) for place in _vegas.PLACES}
        also = {"law, segments": law} | {f"{place}, segments": value for place, value in windows.items()}
        return Measured(windows["kernel"] / law, also | _vegas.late(runs))

    return measure


def rate(case: str) -> Callable[[Runs], Measured]:
    """The goodput of a case in Mbit/s, on the kernel."""

    def measure(runs: Runs) -> Measured:
        rates = {place: float(runs[f"{case}, {place}"].flow("ftp")["goodput_bps"]) / 1e6 for place in _vegas.PLACES}
        also = {f"{place}, Mbit/s": value for place, value in rates.items()}
        return Measured(rates["kernel"], also | _vegas.late(runs))

    return measure


def flight(results: Results) -> float:
    """Return the largest flight size, kB."""
    return float(results.flows["flight_size_bytes"].drop_nulls().drop_nans().max()) / 1e3  # type: ignore[arg-type]


def largest_flight(runs: Runs) -> Measured:
    """The largest flight size without scaling."""
    values = {place: flight(runs[f"DS3 off, {place}"]) for place in _vegas.PLACES}
    return Measured(values["kernel"], {f"{place}, kB": value for place, value in values.items()})


def flight_with_scaling(runs: Runs) -> Measured:
    """The largest flight size with scaling over that without."""
    values = {
        place: flight(runs[f"DS3 on, {place}"]) / flight(runs[f"DS3 off, {place}"]) for place in _vegas.PLACES
    }
    return Measured(values["kernel"], {f"{place}, times": value for place, value in values.items()})


def share(results: Results) -> float:
    """Return BBR's share of the goodput."""
    rates = [float(results.flow(name)["goodput_bps"]) for name in ("bbr", "cubic")]
    return rates[0] / sum(rates)


def shares(depth: str) -> Callable[[Runs], Measured]:
    """BBR's share on the kernel over that of the model, by the depth of the buffer in BDP."""

    def measure(runs: Runs) -> Measured:
        found = {place: share(runs[f"{depth} BDP, {place}"]) for place in _vegas.PLACES}
        law = _bbr.model(float(depth), 20e6)
        also = {"model": law} | {f"share, {place}": value for place, value in found.items()}
        return Measured(found["kernel"] / law, also | _vegas.late(runs))

    return measure


DEPTHS = ("0.5", "1", "2", "4", "8", "16")

MEASURES: dict[str, Callable[[Runs], Measured]] = {
    "K3a": follows("HighSpeed", "1e-3"),
    "K3b": follows("HighSpeed", "3e-4"),
    "K3c": follows("Scalable", "1e-3"),
    "K3d": follows("Scalable", "3e-4"),
    "K3e": follows("AIMD(0.2, 0.125)", "1e-3"),
    "K3f": follows("AIMD(0.2, 0.125)", "3e-4"),
    "K4-O2a": rate("DS3 off"),
    "K4-O2b": rate("DS3 on"),
    "K4-O3a": largest_flight,
    "K4-O3b": flight_with_scaling,
    "K4-O7a": rate("DS1 off"),
    "K4-O7b": rate("DS1 on"),
} | {f"K7-{depth}": shares(depth) for depth in DEPTHS}
