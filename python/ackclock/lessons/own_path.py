"""Lesson 7: a path of your own, drawn from a student's number, so that no two students have the same answers.

Two answers are judged by running the path again: a run has the same bytes everywhere, and only a run of this path
gives them.
"""

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

from ackclock.base.checked_files import digest as whole_digest
from ackclock.lessons import theory
from ackclock.lessons.exercise import Exercise, Judge, Lesson, near
from ackclock.results import Results
from ackclock.running import run
from ackclock.scenario.dumbbells import dumbbell

OTHER_QUEUE: Final = "codel"
_DIGITS: Final = 12


@dataclass(frozen=True, slots=True, repr=False)
class Variant(Lesson):
    """Exercises of one student.

    Attributes:
        path: Arguments of `ackclock.dumbbell`.
    """

    path: Mapping[str, Any]


def digest(results: Results) -> str:
    """Return the digest of a run: 12 digits that depend on every number of its flows and links, and on nothing else.

    Examples:
        >>> path = variant("1234567").path
        >>> digest(run(dumbbell(**path))) == digest(run(dumbbell(name="mine", **path)))
        True
    """
    return whole_digest({key: results.summary[key] for key in ("flows", "links")})[:_DIGITS]


def variant(student: str | int) -> Variant:
    """Return the exercises of a student, on a path that a hash of the number draws.

    Args:
        student: Number or name; spaces around it and capitals do not matter. 7 and "7" are one student, "07" another.

    Raises:
        TypeError: If it is another type: a table with gaps makes 7.0 of 7.

    Examples:
        >>> dict(variant("1234567").path)["rtt"], dict(variant("1234568").path)["rtt"]
        ('42 ms', '87 ms')
    """
    if not isinstance(student, str | int) or isinstance(student, bool):
        raise TypeError(f"student must be a string or a whole number, not {student!r}; read the column as text")
    drawn = hashlib.sha256(str(student).strip().lower().encode()).digest()
    rate_mbps, rtt_ms = 10 + int.from_bytes(drawn[:4]) % 30_001 / 1e3, 40 + drawn[4] % 61
    path = {
        "bottleneck": f"{rate_mbps:.3f} Mbit/s",
        "rtt": f"{rtt_ms} ms",
        "queue": "1 bdp",
        "flows": "reno",
        "duration": "60 s",
    }
    return Variant("own_path", _exercises(path, theory.bdp_packets(rate_mbps * 1e6, rtt_ms / 1e3), rate_mbps), path)


def _exercises(path: Mapping[str, Any], held: float, rate_mbps: float) -> tuple[Exercise, ...]:
    used = cache(lambda: run(dumbbell(**path)).link("bottleneck")["utilization"])
    of_other_queue = cache(lambda: digest(run(dumbbell(**{**path, "queue": OTHER_QUEUE}))))
    return (
        Exercise(
            near(held, 0.01, "packets"),
            "lesson 1, exercise 1, with the rate and the round-trip time of your path.",
            f"Rate times round-trip time, in packets of 1500 octets: {held:.1f}.",
        ),
        Exercise(
            near(2 * held, 0.05, "segments"),
            "lesson 1, exercise 2: path and queue are both full.",
            f"Path and queue hold {held:.1f} packets each.",
        ),
        Exercise(
            near(theory.reno_period_s(held, 2 * held, rate_mbps * 1e6), 0.1, "s"),
            "lesson 1, exercise 3: one segment more in each round trip, from half of the window to all of it.",
            "The sum of the round trips from half of the window to all of it.",
        ),
        Exercise(
            lambda answer: near(used(), 1e-4)(answer),
            'the key "utilization" of results.link("bottleneck"), to four digits.',
            "Your path, run again, says the same.",
        ),
        Exercise(
            _same(of_other_queue),
            f'lessons.digest(results) of a run of your path in which nothing but the queue is "{OTHER_QUEUE}".',
            "Your path, run again, comes to the same numbers, all of them.",
        ),
    )


def _same(expected: Callable[[], str]) -> Judge:
    def judge(answer: Any) -> str | None:
        return None if str(answer).strip().lower() == expected() else "That is the digest of another run."

    return judge


EXERCISES = variant("0").exercises
"""Exercises of the student 0."""
