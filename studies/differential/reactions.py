"""Reactions of a kernel and of the simulated endpoint to segments: known differences, and records of a kernel.

A record has one paragraph for each state and reaction: both on one line, and the segments that cause it on the next.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum

from ackclock.script.simulated_host import SimulatedHost

from .states import Probe, react

PROFILE = "linux-6.x"
_TIMES_ASKED = 4


@dataclass(frozen=True, slots=True)
class Departure:
    """Known difference between the endpoint and Linux.

    Attributes:
        states: Pattern of the states.
        segments: Pattern of the segments, as `Probe` writes them behind the state.
        why: Reason for the difference: Linux's behaviour, and why the endpoint differs.
    """

    states: str
    segments: str
    why: str


_SYNCHRONIZED = "ESTABLISHED.*|FIN-WAIT-1.*|FIN-WAIT-2|CLOSE-WAIT|CLOSING|LAST-ACK"
_AFTER_FIN = "CLOSE-WAIT|CLOSING|LAST-ACK"

DEPARTURES: tuple[Departure, ...] = (
    Departure(
        _SYNCHRONIZED,
        r"(-|F) (left|right)\(.*",
        "Linux looks for an ACK before it looks at the window; RFC 9293 section 3.10.7.4 answers what lies outside it",
    ),
    Departure(
        "ESTABLISHED.*|FIN-WAIT-1.*|FIN-WAIT-2",
        r"(P\.|F\.|FP\.) .* ack (far|old)",
        "Linux takes nothing of a segment whose ACK is too old (requirement rfc5961-5.2-old-ack-data)",
    ),
    Departure(
        "SYN-RECEIVED by both",
        r".* ack una",
        "Linux opens a connection with an ACK that does not acknowledge its SYN; RFC 9293 section 3.10.7.4 resets it",
    ),
    Departure(
        "FIN-WAIT-2 closed",
        r".*",
        "Linux keeps no more of such a connection than of TIME-WAIT; RFC 9293 knows no such state",
    ),
    Departure(
        _AFTER_FIN,
        r"R\.? before\(.*",
        "Linux takes a reset with the number of the peer's FIN; RFC 5961 section 3.2 wants the next one",
    ),
    Departure(
        _AFTER_FIN,
        r"(P\.|F\.|FP\.) (before|edge)\(.*",
        "Linux resets for data in the place of the peer's FIN, and drops data at the window's very edge with its ACK; "
        "RFC 9293 section 3.10.7.4 ignores text behind a FIN",
    ),
    Departure(
        "TIME-WAIT", r"\. next\(0\) ack (far|unsent)", "Linux looks at no ACK in TIME-WAIT; RFC 5961 section 5.2 does"
    ),
)
"""Known differences with their reasons; any other is a defect."""


class Kind(StrEnum):
    """Outcome for a segment."""

    ALIKE = "alike"
    DECLARED = "declared"
    """Different, as listed in `DEPARTURES`."""
    UNSETTLED = "unsettled"
    """Different in each repetition on the kernel."""
    DIFFERENT = "different"


@dataclass(frozen=True, slots=True)
class Found:
    """Segment, with both reactions.

    Attributes:
        probe: The segment.
        ours: Reaction of the endpoint.
        theirs: Reaction of the kernel.
        kind: Outcome.
    """

    probe: Probe
    ours: str
    theirs: str
    kind: Kind


def departure_of(probe: Probe) -> Departure | None:
    """Return the known difference that covers a segment, if any."""
    segment = str(probe).partition(": ")[2]
    matching = (one for one in DEPARTURES if re.fullmatch(one.states, probe.state))
    return next((one for one in matching if re.fullmatch(one.segments, segment)), None)


def of_the_endpoint(probe: Probe) -> str:
    """Return the reaction of the simulated endpoint to a segment, as text."""
    return str(react(probe, SimulatedHost(PROFILE)))


def on_this_kernel(probe: Probe) -> str | None:
    """Return the reaction of this machine's kernel, asked twice; None if it varies.

    Raises:
        KernelError: If no kernel is available.
    """
    from ackclock.script.kernel_host import KernelHost
    from ackclock.script.namespace import in_real_time

    seen: set[str] = set()
    for _ in range(_TIMES_ASKED):
        with in_real_time():
            reaction = str(react(probe, KernelHost(least_wait_s=0.0)))
        if reaction in seen:
            return reaction
        seen.add(reaction)
    return None


def compare(probe: Probe, theirs: Callable[[Probe], str | None] = on_this_kernel) -> Found:
    """Compare the endpoint with a kernel.

    Args:
        probe: The segment.
        theirs: Reaction of the kernel.
    """
    ours, reaction = of_the_endpoint(probe), theirs(probe)
    if reaction is None:
        return Found(probe, ours, "", Kind.UNSETTLED)
    differs = Kind.DECLARED if departure_of(probe) else Kind.DIFFERENT
    return Found(probe, ours, reaction, Kind.ALIKE if ours == reaction else differs)


def record(reactions: Mapping[str, str]) -> str:
    """Return a record of reactions.

    Args:
        reactions: Reactions by segment, both as text.
    """
    grouped: dict[str, list[str]] = {}
    for probe, reaction in reactions.items():
        state, _, segment = probe.partition(": ")
        grouped.setdefault(f"{state}: {reaction}", []).append(segment)
    return "".join(f"{head}\n    {'; '.join(segments)}\n" for head, segments in grouped.items())


def read(text: str) -> Iterator[tuple[str, str]]:
    """Yield the segments and reactions of a record."""
    lines = [line for line in text.splitlines() if not line.startswith("#")]
    for head, segments in zip(lines[::2], lines[1::2], strict=True):
        state, _, reaction = head.partition(": ")
        yield from ((f"{state}: {segment}", reaction) for segment in segments.strip().split("; "))
