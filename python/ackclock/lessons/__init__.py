"""Exercises of the lessons, with answers that are checked.

    from ackclock import lessons

    lesson = lessons.load("sawtooth")
    lesson.check(1, 100)  # right, or a hint

The expected answer comes from the laws of `ackclock.lessons.theory`, each with its source, or from a run of what the
learner gave; never from a number that the simulator printed before. The lessons are in docs/lessons.
"""

from importlib import import_module
from typing import Final

from ackclock.base.printable import unknown
from ackclock.lessons.exercise import Exercise, Lesson, Verdict

NAMES: Final = ("sawtooth", "rtt_fairness", "bufferbloat", "cubic_and_bbr", "vegas", "train")
"""Lessons in teaching order."""

__all__ = ["NAMES", "Exercise", "Lesson", "Verdict", "load"]


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
