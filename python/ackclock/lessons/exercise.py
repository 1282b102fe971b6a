"""Exercises: the checks of answers, and the verdicts on them."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

from ackclock.base.printable import amount
from ackclock.base.user_code import said

Judge = Callable[[Any], str | None]
"""Check of an answer; returns None if it is right, or else what is wrong with it, without revealing the solution."""

_UNANSWERED = "Put it in place of the dots."
"""Verdict on an answer, or on a function's value, that is still `...`."""

_COLOURS = {True: "#009e73", False: "#d55e00", None: "#7f7f7f"}
_WORDS = {True: "Right", False: "Not yet", None: "No answer yet"}


@dataclass(frozen=True, slots=True)
class Verdict:
    """Verdict on an answer; a notebook shows it in colour.

    Attributes:
        is_right: Whether the answer is right; None without an answer.
        text: Reason, or a hint.
    """

    is_right: bool | None
    text: str

    def __bool__(self) -> bool:
        """Return whether the answer is right."""
        return self.is_right is True

    def __repr__(self) -> str:
        """Return the verdict in words."""
        return f"{_WORDS[self.is_right]}. {self.text}"

    def _repr_html_(self) -> str:
        word, colour = _WORDS[self.is_right], _COLOURS[self.is_right]
        style = f"border-left: 4px solid {colour}; padding: .2rem .7rem"
        return f'<div style="{style}"><b style="color: {colour}">{word}.</b> {escape(self.text)}</div>'


@dataclass(frozen=True, slots=True)
class Exercise:
    """Question with a check of its answer.

    Attributes:
        judge: Check of the answer.
        hint: Hint after a wrong answer.
        reason: Origin of the expected value, shown after a right answer.
    """

    judge: Judge
    hint: str
    reason: str

    def check(self, answer: object) -> Verdict:
        """Judge an answer."""
        wrong = _UNANSWERED if answer is ... else self.judge(answer)
        if wrong is _UNANSWERED:
            return Verdict(None, f"{wrong} Hint: {self.hint}")
        return Verdict(True, self.reason) if wrong is None else Verdict(False, f"{wrong} Hint: {self.hint}")


@dataclass(frozen=True, slots=True, repr=False)
class Lesson:
    """Exercises of a lesson, numbered from 1 on.

    Attributes:
        name: Name in `ackclock.lessons.load`.
        exercises: Exercises in order.
    """

    name: str
    exercises: Sequence[Exercise]

    def __repr__(self) -> str:
        """Return name and number of exercises."""
        return f'<Lesson "{self.name}": {amount(len(self.exercises), "exercise")}>'

    def check(self, number: int, answer: object) -> Verdict:
        """Check an answer, and give a hint if it is wrong.

        Args:
            number: Number of the exercise, from 1 on.
            answer: The answer; `...` stands for none.

        Raises:
            ValueError: If the exercise is unknown.
        """
        return self._exercise(number).check(answer)

    def hint(self, number: int) -> str:
        """Return the hint of an exercise.

        Args:
            number: Number of the exercise, from 1 on.

        Raises:
            ValueError: If the exercise is unknown.
        """
        return self._exercise(number).hint

    def _exercise(self, number: int) -> Exercise:
        if number not in range(1, len(self.exercises) + 1):
            raise ValueError(f"unknown exercise {number!r}; known: 1 to {len(self.exercises)}")
        return self.exercises[number - 1]


def near(expected: float, tolerance: float, unit: str = "") -> Judge:
    """Return a check for a number within a tolerance.

    Args:
        expected: Expected value, in `unit`.
        tolerance: Largest relative error.
        unit: Unit in messages.

    Examples:
        >>> judge = near(100, 0.02, "segments")
        >>> judge(101), judge(0.1)
        (None, '0.1 segments is too small, by a factor of 1000.')
    """

    def judge(value: float) -> str | None:
        return None if abs(value - expected) <= tolerance * abs(expected) else _off(value, expected)

    return _of_number(judge, unit)


def _of_number(off: Callable[[float], str | None], unit: str) -> Judge:
    def judge(answer: Any) -> str | None:
        value = _number(answer)
        if value is None:
            return f"A number is asked for, in {unit or 'no unit'}, not {answer!r}."
        wrong = off(value)
        return None if wrong is None else f"{value:g} {unit}".rstrip() + f" is too {wrong}."

    return judge


def _number(answer: Any) -> float | None:
    try:
        value = float(answer)
    except (TypeError, ValueError, OverflowError):
        return None
    return value if math.isfinite(value) else None


def _off(value: float, expected: float) -> str:
    word = "small" if value < expected else "large"
    ratio = expected / value if value and value * expected > 0 else math.inf
    factor = max(ratio, 1 / ratio) if 0 < ratio < math.inf else math.inf
    return f"{word}, by a factor of {factor:.0f}" if 8 <= factor < math.inf else word


def between(low: float, high: float, unit: str = "") -> Judge:
    """Return a check for a number in a range.

    Args:
        low: Least right value.
        high: Greatest right value.
        unit: Unit in messages.

    Examples:
        >>> judge = between(2, 4, "segments")
        >>> judge(3), judge(5)
        (None, '5 segments is too large.')
    """

    def judge(value: float) -> str | None:
        return None if low <= value <= high else "small" if value < low else "large"

    return _of_number(judge, unit)


def word(expected: str, choices: Sequence[str]) -> Judge:
    """Return a check for one of several words.

    Examples:
        >>> judge = word("cubic", ["cubic", "bbr"])
        >>> judge("CUBIC"), judge("bbr"), judge("reno")
        (None, 'It is not bbr.', "Choose of cubic, bbr, not 'reno'.")
    """

    def judge(answer: Any) -> str | None:
        given = str(answer).strip().lower()
        if given not in choices:
            return f"Choose of {', '.join(choices)}, not {answer!r}."
        return None if given == expected else f"It is not {given}."

    return judge


def function(expected: Callable[..., float], cases: Sequence[tuple[float, ...]], tolerance: float = 1e-6) -> Judge:
    """Return a check for a function that equals the law on all test cases.

    Args:
        expected: The law.
        cases: Arguments to test with.
        tolerance: Largest relative error of a result.

    Examples:
        >>> judge = function(lambda x: 2 * x, [(1,), (3,)])
        >>> judge(lambda x: x + x), judge(lambda x: x + 1), judge(7)
        (None, 'With (3) it returns 4, which is too small.', 'A function is asked for, not 7.')
    """

    def judge(answer: Any) -> str | None:
        if not callable(answer):
            return f"A function is asked for, not {answer!r}."
        for case in cases:
            shown = ", ".join(f"{value:g}" for value in case)
            try:
                answered = answer(*case)
                got = _number(answered)
            except (Exception, SystemExit) as failure:
                return f"With ({shown}) it fails: {said(failure)}."
            wanted = expected(*case)
            if answered is ...:
                return _UNANSWERED
            if got is None:
                return f"With ({shown}) it does not return a number."
            if abs(got - wanted) > tolerance * abs(wanted):
                return f"With ({shown}) it returns {got:g}, which is too {_off(got, wanted)}."
        return None

    return judge
