"""An exercise, what is right for it, and what is said of an answer."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

from ackclock.base.user_code import said

Judge = Callable[[Any], str | None]
"""Takes an answer; returns None if it is right, or else what is wrong with it, without giving the right one away."""

_COLOURS = {True: "#009e73", False: "#d55e00", None: "#7f7f7f"}
_WORDS = {True: "Right", False: "Not yet", None: "No answer yet"}


@dataclass(frozen=True, slots=True)
class Verdict:
    """What is said of an answer; a notebook shows it in colour.

    Attributes:
        is_right: None if there was no answer.
        text: Why, or a hint.
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
    """A question that an answer can be right for.

    Attributes:
        judge: What is right.
        hint: Said with an answer that is not.
        reason: Said with one that is: where the expected value comes from.
    """

    judge: Judge
    hint: str
    reason: str

    def check(self, answer: object) -> Verdict:
        """Judge an answer."""
        if answer is ...:
            return Verdict(None, f"Put it in place of the dots. Hint: {self.hint}")
        wrong = self.judge(answer)
        return Verdict(True, self.reason) if wrong is None else Verdict(False, f"{wrong} Hint: {self.hint}")


@dataclass(frozen=True, slots=True, repr=False)
class Lesson:
    """The exercises of a lesson, numbered from 1 on.

    Attributes:
        name: As of `ackclock.lessons.load`.
        exercises: In their order.
    """

    name: str
    exercises: Sequence[Exercise]

    def __repr__(self) -> str:
        """Return name and number of exercises."""
        return f'<Lesson "{self.name}": {len(self.exercises)} exercises>'

    def check(self, number: int, answer: object) -> Verdict:
        """Say whether an answer is right, and if not, give a hint.

        Args:
            number: Of the exercise, from 1 on.
            answer: What the exercise asks for; `...` is no answer.

        Raises:
            ValueError: If there is no such exercise.
        """
        return self._exercise(number).check(answer)

    def hint(self, number: int) -> str:
        """Return the hint of an exercise.

        Args:
            number: From 1 on.

        Raises:
            ValueError: If there is no such exercise.
        """
        return self._exercise(number).hint

    def _exercise(self, number: int) -> Exercise:
        if not 1 <= number <= len(self.exercises):
            raise ValueError(f"there is no exercise {number}; there are 1 to {len(self.exercises)}")
        return self.exercises[number - 1]


def near(expected: float, tolerance: float, unit: str = "") -> Judge:
    """Want a number within a fraction of the expected one.

    Args:
        expected: In `unit`.
        tolerance: Fraction of it that an answer may be off by.
        unit: As messages call it.

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
    """Want a number in a range.

    Args:
        low: The least that is right.
        high: The greatest.
        unit: As messages call it.

    Examples:
        >>> judge = between(2, 4, "segments")
        >>> judge(3), judge(5)
        (None, '5 segments is too large.')
    """

    def judge(value: float) -> str | None:
        return None if low <= value <= high else "small" if value < low else "large"

    return _of_number(judge, unit)


def word(expected: str, choices: Sequence[str]) -> Judge:
    """Want one of several words.

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
    """Want a function that comes to the same as the law, whatever it is given.

    Args:
        expected: The law.
        cases: Arguments that it is tried with.
        tolerance: Fraction that a result may be off by.

    Examples:
        >>> judge = function(lambda x: 2 * x, [(1,), (3,)])
        >>> judge(lambda x: x + x), judge(lambda x: x + 1), judge(7)
        (None, 'With (3) it comes to 4, which is too small.', 'A function is asked for, not 7.')
    """

    def judge(answer: Any) -> str | None:
        if not callable(answer):
            return f"A function is asked for, not {answer!r}."
        for case in cases:
            shown = ", ".join(f"{value:g}" for value in case)
            try:
                got = _number(answer(*case))
            except (Exception, SystemExit) as failure:
                return f"With ({shown}) it fails: {said(failure)}."
            wanted = expected(*case)
            if got is None:
                return f"With ({shown}) it comes to no number."
            if abs(got - wanted) > tolerance * abs(wanted):
                return f"With ({shown}) it comes to {got:g}, which is too {_off(got, wanted)}."
        return None

    return judge
