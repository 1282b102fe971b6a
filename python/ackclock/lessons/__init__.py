"""Exercises of the lessons, with answers that are checked.

    from ackclock import lessons

    lesson = lessons.load("sawtooth")
    lesson.check(1, 100)  # right, or a hint

The expected answer comes from the laws of `ackclock.lessons.theory`, each with its source, or from a run of what the
learner gave; never from a number that the simulator printed before. The texts of the lessons are in `pages`.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Final

from ackclock.base.printable import unknown
from ackclock.lessons.exercise import Exercise, Lesson, Verdict

if TYPE_CHECKING:
    from ackclock.lessons.own_path import Variant
    from ackclock.results import Results

NAMES: Final = ("sawtooth", "rtt_fairness", "bufferbloat", "cubic_and_bbr", "vegas", "train", "own_path")
"""Lessons in teaching order."""

__all__ = ["NAMES", "Exercise", "Lesson", "Verdict", "digest", "load", "variant"]


def load(name: str) -> Lesson:
    """Return a lesson's exercises.

    Raises:
        KeyError: If the lesson is unknown; the message lists the known ones.

    Examples:
        >>> load("sawtooth")
        <Lesson "sawtooth": 5 exercises>
    """
    if name not in NAMES:
        raise KeyError(unknown("lesson", name, NAMES))
    exercises: tuple[Exercise, ...] = import_module(f"{__name__}.{name}").EXERCISES
    return Lesson(name, exercises)


def variant(student: str) -> "Variant":
    """Return the exercises of lesson 7 for a student, on the path that a hash of the number draws.

    Args:
        student: Any text; spaces around it and capitals do not matter.
    """
    from ackclock.lessons import own_path

    return own_path.variant(student)


def digest(results: "Results") -> str:
    """Return the digest of a run: 12 digits that depend on every number of its flows and links."""
    from ackclock.lessons import own_path

    return own_path.digest(results)
