"""Estimate of a run's cost, from a short beginning of it."""

import time
from dataclasses import dataclass, replace
from typing import Final

from ackclock._core import Scenario, Simulation, check_often
from ackclock.base.system import resident_bytes

_SLICES: Final = 40
"""Number of slices of the beginning, so that the rate can be measured where it is steady."""

_FIRST_SLICES: Final = 1_000_000_000

_LATE_FACTOR: Final = 3.0
"""Multiple of the intended wall time after which the beginning is cut off, as a slice may take longer than planned."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """Rough estimate of a run's cost; later parts of a run may cost more or less than its beginning.

    Attributes:
        duration_s: Simulated time of the whole run.
        simulated_s: Simulated time of the beginning.
        took_s: Wall time of the beginning, including the setup of the simulation.
        is_whole: Whether the beginning covered the whole run.
        wall_s: Wall time of the whole run on one thread; None if no simulated time has passed.
        events: Events of the whole run; None likewise.
        packets: Data packets delivered in the whole run; None likewise.
        memory_bytes: Memory of the whole run, without writing its results.
    """

    duration_s: float
    simulated_s: float
    took_s: float
    is_whole: bool
    wall_s: float | None
    events: float | None
    packets: float | None
    memory_bytes: int


@dataclass(frozen=True, slots=True)
class _Seen:
    """State of a simulation at one moment."""

    at_s: float
    now_s: float
    events: int
    packets: int
    resident: int


def estimate(scenario: Scenario, *, wall_s: float = 1.0) -> Estimate:
    """Simulate a short beginning of a scenario, and extrapolate the cost of the whole run.

    The rate is measured in the later half of the beginning, after most handshakes and slow starts. Flows that start
    later do not count. No results are kept.

    Args:
        scenario: Scenario to estimate.
        wall_s: Wall time for the beginning, without the setup of the simulation.
    """
    begun = time.perf_counter()
    simulation = Simulation(scenario)
    seen = [_look(simulation)]
    try:
        _begin(simulation, scenario.duration_s, wall_s, seen)
        middle_s = (seen[0].at_s + seen[-1].at_s) / 2
        middle = min(seen, key=lambda one: abs(one.at_s - middle_s))
    except _LateError:  # in a piece of which nothing is known but that it is long
        seen.append(replace(seen[-1], at_s=time.perf_counter(), resident=resident_bytes()))
        middle = seen[0]
    return _extrapolated((seen[0], middle, seen[-1]), scenario, time.perf_counter() - begun)


class _LateError(Exception):
    """Interruption: the beginning takes too long."""


def _begin(simulation: Simulation, duration_s: float, wall_s: float, seen: list[_Seen]) -> None:
    begun = time.perf_counter()

    def check() -> None:
        if time.perf_counter() - begun > _LATE_FACTOR * wall_s:
            raise _LateError

    check_often(check)
    try:
        step = duration_s / _FIRST_SLICES
        while not simulation.is_finished and time.perf_counter() - begun < wall_s:
            before = time.perf_counter()
            simulation.run_until(min(max(simulation.now_s + step, simulation.now_s + 1e-9), duration_s))
            took = time.perf_counter() - before
            step *= min(4.0, max(0.25, wall_s / _SLICES / took))
            seen.append(_look(simulation))
    finally:
        check_often(None)


def _look(simulation: Simulation) -> _Seen:
    counts = simulation.events, simulation.packets_delivered
    return _Seen(time.perf_counter(), simulation.now_s, *counts, resident_bytes())


def _extrapolated(seen: tuple[_Seen, _Seen, _Seen], scenario: Scenario, took_s: float) -> Estimate:
    first, middle, last = seen
    passed, left = last.now_s - middle.now_s, scenario.duration_s - last.now_s
    more = left / passed if passed > 0 else None

    def whole(at_middle: float, at_last: float) -> float | None:
        return at_last if left <= 0 else None if more is None else at_last + more * (at_last - at_middle)

    # In slow start memory grows with windows, and not for ever: a growth counts only where something is kept over time.
    growth = max(0, last.resident - middle.resident) if scenario.keeps_over_time else 0
    return Estimate(
        duration_s=scenario.duration_s,
        simulated_s=last.now_s,
        took_s=took_s,
        is_whole=left <= 0,
        wall_s=whole(middle.at_s - first.at_s, last.at_s - first.at_s),
        events=whole(middle.events, last.events),
        packets=whole(middle.packets, last.packets),
        memory_bytes=max(int(last.resident + (more or 0) * growth), scenario.memory_bytes),
    )
