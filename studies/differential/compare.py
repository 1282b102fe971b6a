"""Comparison of two plays of a case: where they diverge, and whether the kernel reproduces its own."""

import gzip
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cache
from itertools import combinations, product
from pathlib import Path

from ackclock.script.simulated_host import SimulatedHost

from .cases import Case
from .play import COMPARED, HORIZON_US, Moment, Play, play, replay

PROFILE = "linux-6.x"
_CONFIGURATION = Path("/proc/config.gz")
_LEAST_TIMER_TICKS = (1.5, 1.0, 2.0)
"""Minimum delays of RACK and its probes on a kernel in ticks, `TCP_TIMEOUT_MIN`: two, less the part of the first past.

The profile has two milliseconds, as with a thousand ticks a second. How much of the first tick has passed is chance,
and does not count as a difference.
"""
_TICKS_PER_S = 250
"""Ticks a second of the profile's clock, by which CUBIC grows; its phase is chance and no difference."""
_TICKING = ("bic", "cubic", "htcp", "nv", "westwood")
"""Controllers whose clock is that of the kernel's ticks."""
_RELEASED = ("unacked", "retrans")
"""Counts that timers move segment by segment."""
_PHASES = 8
_SEEDS = tuple(f"seed={seed}" for seed in range(16))
"""Seeds with which BBR draws each of the seven phases in which its ProbeBW may begin, which a kernel draws, too."""
_INFINITE = 0x7FFFFFFF
"""The initial `snd_ssthresh`, `TCP_INFINITE_SSTHRESH`."""
_MOST_OVERTAKEN = 24
"""Number of ACKs of a play that may overtake a pacing timer due just before them, as happens on a kernel."""
_LATE, _LATE_AT_LEAST_US = 1 / 8, 8_000
"""Lateness allowed for a kernel's timer: a share of its wait, and a minimum.

Source: from memory, the levels of the wheel in Linux's kernel/time/timer.c, each with an eighth of its waits as its
step; with 250 ticks a second two are 8 ms. On Linux 6.18 a timer of 398 ms was 28 ms late, twice of two times.
"""
TIMES_ASKED = 3
"""Largest number of times that the kernel plays a case before a difference counts."""


_Clocks = tuple[list[str], int]
"""Overrides of the endpoint, and the offset of its clock in microseconds."""


class Kind(StrEnum):
    """Outcome of a case."""

    ALIKE = "alike"
    UNSETTLED = "unsettled"
    UNREPEATED = "unrepeated"
    """Different each time: the kernel's own plays diverge from each other no later than the endpoint's does."""
    DIFFERENT = "different"


@dataclass(frozen=True, slots=True)
class Parting:
    """Divergence: first difference between the endpoint and the kernel.

    Attributes:
        moment: Index of the ACK after which they differ; the number of ACKs if only the data sent differs.
        message: Description of the difference, in one line.
    """

    moment: int
    message: str


@dataclass(frozen=True, slots=True)
class Comparison:
    """Comparison of a case.

    Attributes:
        case: The case.
        kind: Outcome.
        parting: Divergence, if any.
        ours: Play of the endpoint.
        theirs: Last play of the kernel.
    """

    case: Case
    kind: Kind
    parting: Parting | None
    ours: Play
    theirs: Play


def parting(ours: Play, theirs: Play) -> Parting | None:
    """Return the divergence of two plays, ignoring times."""
    for index, (one, other) in enumerate(zip(ours.moments, theirs.moments, strict=False)):
        if one.answer != other.answer:
            return Parting(index, f"another segment arrives: ACK {one.answer.ack} for {other.answer.ack}")
        found = [name for name in COMPARED if not _may_be_read(name, other.state[name], one)]
        if found:
            values = ", ".join(f"{name} {one.state[name]} for {other.state[name]}" for name in found)
            return Parting(index, f"ACK {index} ({one.answer.ack}): {values}")
    if len(ours.moments) != len(theirs.moments):
        shorter = min(len(ours.moments), len(theirs.moments))
        return Parting(shorter, f"{len(ours.moments)} ACKs for {len(theirs.moments)}")
    sent = [[(one.start, one.time) for one in each.departures] for each in (ours, theirs)]
    if len(sent[0]) > len(sent[1]) and _may_come_too_late(ours, theirs):
        del sent[0][len(sent[1]) :]
    return Parting(len(ours.moments), "what is sent, or its order") if sent[0] != sent[1] else None


def _may_be_read(name: str, value: int, ours: Moment) -> bool:
    """Return whether a kernel may report the value while the endpoint moves on: counts of segments amid a release."""
    first, last = ours.state[name], ours.soon[name]
    return min(first, last) <= value <= max(first, last) if name in _RELEASED else value in (first, last)


def _may_come_too_late(ours: Play, theirs: Play) -> bool:
    """Return whether the kernel's play may have ended before a timer releases the endpoint's next segment."""
    number = len(theirs.departures)
    wait_us = ours.departures[number].at_us - _last_us(ours, number)
    return _last_us(theirs, number) + wait_us * (1 + _LATE) + _LATE_AT_LEAST_US >= HORIZON_US


def _last_us(played: Play, number: int) -> int:
    """Return the time of the last ACK, or of the last of this number of segments."""
    acks = [moment.at_us for moment in played.moments[-1:]]
    return max([*acks, *(sent.at_us for sent in played.departures[:number][-1:])], default=0)


def compare(
    case: Case, kernel: Callable[[Case], Play], times: int = TIMES_ASKED, ticks_per_s: int | None = None
) -> Comparison:
    """Play a case on a kernel, and replay its ACKs at the same times to the endpoint.

    Args:
        case: The case.
        kernel: Function that plays a case on a kernel.
        times: Largest number of plays, while the endpoint differs; one is enough in virtual time.
        ticks_per_s: Timer ticks of the kernel; as this machine's kernel was built by default.
    """
    found: list[Comparison] = []
    ticks = _ticks_here() if ticks_per_s is None else ticks_per_s
    for _ in range(times):
        theirs = kernel(case)
        ours, part = _ours(case, theirs, ticks)
        found.append(Comparison(case, Kind.DIFFERENT if part else Kind.ALIKE, part, ours, theirs))
        if part is None:
            break
    if found[-1].parting is None and len(found) > 1:
        return replace(found[0], kind=Kind.UNSETTLED)
    if found[-1].parting is not None and _is_unrepeated(found):
        return replace(found[-1], kind=Kind.UNREPEATED)
    return found[-1]


def _is_unrepeated(found: list[Comparison]) -> bool:
    """Return whether two of the kernel's plays diverge no later than the endpoint does from each of them."""
    pairs = (parting(one.theirs, other.theirs) for one, other in combinations(found, 2))
    earliest = min((part.moment for part in pairs if part), default=None)
    return earliest is not None and earliest <= min(each.parting.moment for each in found if each.parting)


def _ours(case: Case, theirs: Play, ticks_per_s: int | None) -> tuple[Play, Parting | None]:
    """Replay the kernel's ACKs to the endpoint, at the clock phases that match or diverge latest."""
    tried = []
    tick_us = 1_000_000 // (ticks_per_s or _TICKS_PER_S)
    draws = _SEEDS if case.controller == "bbr" and _left_startup(theirs) else _SEEDS[:1]
    for seed, least, phase in product(draws, _LEAST_TIMER_TICKS, range(_PHASES)):
        clocks = [*_as_built(case.controller, least, ticks_per_s), seed], phase * tick_us // _PHASES
        ours, part = _at(case, theirs, clocks)
        if part is None:
            return ours, None
        tried.append((part.moment, clocks, ours, part))
    _, clocks, ours, part = max(tried, key=lambda one: one[0])
    return _with_late_timers(case, theirs, clocks, (ours, part))


def _left_startup(played: Play) -> bool:
    """Return whether BBR has found what it takes for the full bandwidth, with which it sets its threshold."""
    return any(moment.state["snd_ssthresh"] < _INFINITE for moment in played.moments)


def _at(
    case: Case, theirs: Play, clocks: _Clocks, late_at: frozenset[int] = frozenset()
) -> tuple[Play, Parting | None]:
    overrides, later_us = clocks
    host = SimulatedHost(PROFILE, overrides)
    ours = replay(case, theirs, host, later_us, late_at)
    return ours, parting(ours, theirs)


def _with_late_timers(
    case: Case, theirs: Play, clocks: _Clocks, found: tuple[Play, Parting]
) -> tuple[Play, Parting | None]:
    """Retry with ACKs overtaking a timer due just before the divergence, and keep that if they diverge later."""
    (ours, part), late_at = found, frozenset[int]()
    while len(late_at) < _MOST_OVERTAKEN:
        later = [late_at | {part.moment - back} for back in (0, 1) if part.moment - back not in late_at]
        tried = [(late, *_at(case, theirs, clocks, late)) for late in later]
        alike = next((one for _, one, other in tried if other is None), None)
        if alike is not None:
            return alike, None
        better = [(late, one, other) for late, one, other in tried if other is not None and other.moment > part.moment]
        if not better:
            break
        late_at, ours, part = max(better, key=lambda one: one[2].moment)
    return ours, part


def _as_built(controller: str, least_timer_ticks: float, ticks_per_s: int | None) -> list[str]:
    """Return overrides for the build options of a kernel that differ from the profile; none if they are unknown."""
    if ticks_per_s is None:
        return []
    tick_ms = 1000 / ticks_per_s
    tick = [f"controller.tick={tick_ms:g} ms"] if controller in _TICKING else []
    return [f"tcp.rack_tlp_slack={least_timer_ticks * tick_ms:g} ms", *tick]


@cache
def _ticks_here() -> int | None:
    """Return the timer ticks of this machine's kernel a second; None if unknown."""
    try:
        text = gzip.decompress(_CONFIGURATION.read_bytes()).decode()
    except OSError:
        return None
    found = re.search(r"^CONFIG_HZ=(\d+)$", text, re.MULTILINE)
    return int(found[1]) if found else None


def on_this_kernel(case: Case) -> Play:
    """Play a case on this machine's kernel.

    Raises:
        KernelError: If that is not possible.
    """
    from ackclock.script.kernel_host import KernelHost
    from ackclock.script.namespace import in_real_time

    with in_real_time():
        return play(case, KernelHost(least_wait_s=0.0))
