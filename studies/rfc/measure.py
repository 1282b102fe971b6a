"""Mean windows under regular loss beside the laws of RFCs and papers."""

import math
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path

from ackclock._core import Scenario, mean_window
from ackclock.claims.measured import Measured, Runs
from ackclock.results import Results

MSS_BYTES = 1448
RTT_S = 0.1
CYCLES = 20
PACKET_LEVEL = ("1e-3", "1e-4", "1e-5")

HIGHSPEED = {1e-3: 38, 1e-4: 263, 1e-5: 1795, 1e-6: 12279, 1e-7: 83981, 1e-8: 574356, 1e-9: 3928088, 1e-10: 26864653}
"""RFC 3649 section 5: loss rate and window, segments."""
CUBIC = {1e-3: 38, 1e-4: 187, 1e-5: 1054, 1e-6: 5926, 1e-7: 33325, 1e-8: 187400}
"""RFC 9438 section 5.1, table 1: loss rate and average window with C = 0.4, segments."""

Law = Callable[[float], float]


def aimd(a: float, b: float) -> Law:
    """Return the mean window of AIMD(a, b) over the loss rate."""
    return lambda p: math.sqrt(a * (2 - b) / (2 * b) / p)


def scalable(p: float) -> float:
    """Return the mean window of Scalable TCP.

    A segment gains a, so that a cycle from W(1 - b) to W takes b W / a segments. 1/p segments a cycle
    make W = a / (b p); the cycle lasts ln(1 / (1 - b)) / a round trips.
    """
    a, b = 0.01, 0.125
    return a / (p * math.log(1 / (1 - b)))


def htcp(p: float) -> float:
    """Return the mean window of H-TCP by integrating its growth over a cycle.

    On a path whose round trip never changes, beta is 0.8. alpha is 2 (1 - beta) = 0.4 segments a round trip at first,
    and after a second 0.4 (1 + 10 (D - 1) + 0.25 (D - 1)^2). The cycle's length is sought in which the growth makes up
    for the fall and 1/p segments are sent.
    """
    low, high = 1e-3, 1e5
    for _ in range(200):
        length = math.sqrt(low * high)
        segments, _ = _htcp_cycle(length)
        low, high = (length, high) if segments < 1 / p else (low, length)
    segments, length = _htcp_cycle(low)
    return segments * RTT_S / length


def _htcp_cycle(length: float, steps: int = 4000) -> tuple[float, float]:
    step = length / steps
    gains = [0.4 * (1 + 10 * d + 0.25 * d * d) * step / RTT_S for d in _beyond(length, steps)]
    window = 0.8 * sum(gains) / 0.2
    segments = 0.0
    for gain in gains:
        segments += (window + gain / 2) * step / RTT_S
        window += gain
    return segments, length


def _beyond(length: float, steps: int) -> list[float]:
    return [max(0.0, (number + 0.5) * length / steps - 1.0) for number in range(steps)]


def bic(p: float) -> float:
    """Return the mean window of BIC, by the phases of its paper's section IV.

    A cycle falls from W to (1 - beta) W, adds S_max a round trip until 2 S_max below W, then halves what is left until
    that is S_min. Its segments are 1/p.
    """
    low, high = 1.0, 1e9
    for _ in range(200):
        top = math.sqrt(low * high)
        segments, _ = _bic_cycle(top)
        low, high = (top, high) if segments < 1 / p else (low, top)
    segments, rounds = _bic_cycle(low)
    return segments / rounds


def _bic_cycle(top: float) -> tuple[float, float]:
    s_max, s_min, beta = 32.0, 0.01, 0.125
    linear = max(0.0, (beta * top - 2 * s_max) / s_max)
    begins = top * (1 - beta)
    distance = min(beta * top, 2 * s_max)
    halvings = math.log2(max(distance / (2 * s_min), 1.0)) + 1
    segments = linear * (begins + linear * s_max / 2) + halvings * top - 2 * distance
    return segments, linear + halvings


def _table(values: Mapping[float, float]) -> Law:
    return lambda p: values[p]


RANGES = {
    "Reno": (1e-3, 1e-7),
    "AIMD(0.2, 0.125)": (1e-3, 1e-7),
    "CUBIC": (1e-3, 1e-8),
    "HighSpeed": (1e-3, 1e-7),
    "HighSpeed, table": (1e-3, 1e-7),
    "Scalable": (1e-3, 1e-7),
    "H-TCP": (1e-3, 1e-7),
    "BIC": (1e-3, 1e-8),
}
"""Loss rates with the controller alone: the greatest and the least."""
LAWS: dict[str, Law] = {
    "Reno": aimd(1.0, 0.5),
    "AIMD(0.2, 0.125)": aimd(0.2, 0.125),
    "CUBIC": _table(CUBIC),
    "HighSpeed": _table(HIGHSPEED),
    "HighSpeed, table": _table(HIGHSPEED),
    "Scalable": scalable,
    "H-TCP": htcp,
    "BIC": bic,
}


def tolerance(p: float) -> float:
    """Return the relative error that agrees: the continuous laws are off where windows are small."""
    return 0.1 if p > 5e-4 else 0.05


def window_of(results: Results) -> float:
    """Return the mean window of a packet-level run, segments: what arrived in each round trip."""
    return float(results.flow("flow")["goodput_bps"]) * RTT_S / (8 * MSS_BYTES)


def loss_rates(name: str) -> list[float]:
    """Return the loss rates at which a controller is driven alone, greatest first."""
    greatest, least = RANGES[name]
    decades = round(math.log10(greatest / least))
    return [float(f"1e{-3 - decade}") for decade in range(decades + 1)]


@cache
def alone(name: str, p: float) -> float:
    """Return the mean window of a controller alone, segments."""
    return mean_window(_scenario(name), RTT_S, round(1 / p), CYCLES)


def _scenario(name: str) -> Scenario:
    kinds = {"Reno": "reno", "AIMD(0.2, 0.125)": "aimd", "HighSpeed, table": "highspeed", "H-TCP": "htcp"}
    parameters = {"AIMD(0.2, 0.125)": ", a = 0.2, b = 0.125", "HighSpeed, table": ', response = "table"'}
    kind = kinds.get(name, name.lower())
    override = f'flow.flow.controller={{ kind = "{kind}"{parameters.get(name, "")} }}'
    return Scenario.load(str(Path(__file__).parent / "response.toml"), [override])


def _judged(name: str, windows: Mapping[float, float]) -> Measured:
    errors = {p: abs(window / LAWS[name](p) - 1) / tolerance(p) for p, window in windows.items()}
    also: dict[str, float] = {}
    for p, window in windows.items():
        also |= {f"W at {p:.0e}": window, f"law at {p:.0e}": LAWS[name](p)}
    return Measured(max(errors.values()), also)


def packet_by_packet(name: str) -> Callable[[Runs], Measured]:
    """Compare packet-level runs with the law; random loss of the same share is shown beside."""

    def measure(runs: Runs) -> Measured:
        found = _judged(name, {float(p): window_of(runs[f"{name} {p}"]) for p in PACKET_LEVEL})
        return Measured(found.value, {**found.also, "W at 1e-04 at random": window_of(runs[f"{name} at random 1e-4"])})

    return measure


def by_itself(name: str) -> Callable[[Runs], Measured]:
    """Compare the controller alone with the law."""

    def measure(_: Runs) -> Measured:
        return _judged(name, {p: alone(name, p) for p in loss_rates(name)})

    return measure


MEASURES = {f"R{number}a": packet_by_packet(name) for number, name in enumerate(LAWS, 1)} | {
    f"R{number}b": by_itself(name) for number, name in enumerate(LAWS, 1)
}
