"""Lesson 3: queues that are too long, and what to do about them; two CUBIC flows on 10 Mbit/s and 40 ms."""

from collections.abc import Mapping
from typing import Any

from ackclock._core import ScenarioError
from ackclock.lessons import theory
from ackclock.lessons.exercise import Exercise, function, near, word
from ackclock.results import Results
from ackclock.running import run as simulated
from ackclock.scenario.dumbbells import dumbbell

RATE, RTT = "10 Mbit/s", "40 ms"
LONGEST_MS, LEAST_USE = 20.0, 0.95
"""Goals for the learner's queue: 95th percentile of the queueing delay in ms, and utilization of the link."""


def run(queue: str | Mapping[str, Any]) -> Results:
    """Return a run of the lesson's two flows through a queue.

    Raises:
        ackclock.ScenarioError: If the queue is unknown.
    """
    what = queue if isinstance(queue, str) else dict(queue)
    return simulated(
        dumbbell(
            bottleneck=RATE,
            rtt=RTT,
            flows="cubic*2",
            queue=what,
            duration="60 s",
            overrides=["measure.from=10 s"],
        )
    )


def _keeps(answer: Any) -> str | None:
    if not isinstance(answer, str | Mapping):
        return f'A queue is asked for, such as "codel" or a table, not {answer!r}.'
    try:
        link = run(answer).link("bottleneck")
    except (ScenarioError, TypeError, ValueError) as mistake:
        return f"That is not a queue: {mistake}."
    waits_ms, use = link["queueing_delay_ms"]["p95"], link["utilization"]
    if waits_ms <= LONGEST_MS and use >= LEAST_USE:
        return None
    return f"95 % of packets wait up to {waits_ms:.1f} ms, and {100 * use:.1f} % of the link is used."


EXERCISES = (
    Exercise(
        near(1.2, 0.02, "s"),
        "a packet that finds 1000 others waits until all have left: 1500 octets each, at 10 Mbit/s.",
        "1000 x 1500 x 8 bit / 10 Mbit/s = 1.2 s. RFC 7567 says why nobody wants that.",
    ),
    Exercise(
        word("loss", ["loss", "delay", "the receiver"]),
        "which sign makes CUBIC's window smaller? And when does a DropTail queue give it?",
        "CUBIC answers loss (RFC 9438), and DropTail loses nothing before it is full: it is nearly full always.",
    ),
    Exercise(
        function(theory.codel_drop_s, [(1,), (2,), (4,), (100,)], 1e-3),
        "interval over the square root of the number of drops so far; the interval is 100 ms.",
        "interval / sqrt(count) (RFC 8289): a rate of drops that makes a TCP flow's window fall steadily.",
    ),
    Exercise(
        near(0.5, 0.02),
        "FQ-CoDel serves the queues of flows in turn, octet by octet.",
        "RFC 8290: flows that both have packets waiting get the same, whatever their round-trip times are.",
    ),
    Exercise(
        _keeps,
        "a queue that goes by delay needs no size. Or how long may DropTail's be for 20 ms, and what does that cost?",
        f"95 % of packets wait {LONGEST_MS:g} ms at most, and {100 * LEAST_USE:g} % of the link is used.",
    ),
)
"""Exercises of the lesson."""
