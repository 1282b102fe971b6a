"""Words of commands that emulate a link, and the fields of links that they make."""

import itertools
import re
import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from ackclock.recording.streams import RecordingError

VALUE: Final = re.compile(r"(\d+(?:\.\d+)?|\.\d+)([a-z]*)", re.IGNORECASE)
"""Number with or without a unit."""

_OPERATORS: Final = ";&|"


@dataclass(slots=True)
class Way:
    """One direction of a path, as fields of a scenario's link."""

    fields: dict[str, Any] = field(default_factory=dict)
    delay_ms: float = 0.0
    kinds: list[str] = field(default_factory=list)
    """Queueing disciplines of tc that were read."""
    source: str = ""
    """Place and text of the last command that shaped it, for messages."""


def uniform_jitter(delay_ms: float, spread_ms: float) -> tuple[float, dict[str, Any]]:
    """Return the least delay of netem's `delay DELAY SPREAD`, and the fields of a link for what it adds.

    Examples:
        >>> uniform_jitter(5, 1)
        (4, {'jitter': {'kind': 'uniform', 'max': '2 ms'}, 'keep_order': False})
    """
    least_ms = max(0.0, delay_ms - spread_ms)
    most = f"{delay_ms + spread_ms - least_ms:g} ms"
    return least_ms, {"jitter": {"kind": "uniform", "max": most}, "keep_order": False}


def commands(line: str, place: str) -> Iterator[list[str]]:
    """Yield the words of the commands of a line of a shell, between `&&`, `;` and the like.

    Raises:
        RecordingError: If a quote is not closed.

    Examples:
        >>> list(commands("one 'a b' && two; # three", "x.sh"))
        [['one', 'a b'], ['two']]
    """
    lexer = shlex.shlex(line, posix=True, punctuation_chars=_OPERATORS)
    lexer.whitespace_split = True
    try:
        groups = itertools.groupby(lexer, lambda word: set(word) <= set(_OPERATORS))
        yield from (list(words) for is_operator, words in groups if not is_operator)
    except ValueError as error:
        raise RecordingError(f"{place}: must be a command ({error}); mend the quotes") from error


def lines(text: str, name: str) -> Iterator[tuple[str, str]]:
    """Yield the lines of a script, those continued with a backslash as one, each with its place for messages."""
    number = 1
    for joined in re.split(r"(?<!\\)\n", text):
        yield joined.replace("\\\n", "  "), f"{name}, line {number}"
        number += joined.count("\n") + 1


class Words:
    """Words of a command, read from left to right."""

    def __init__(self, words: Iterable[str], place: str) -> None:
        """Begin at the first word; `place` begins messages."""
        self.place = place
        self._words = list(words)

    def __bool__(self) -> bool:
        """Return whether words are left."""
        return bool(self._words)

    def __str__(self) -> str:
        """Return the words that are left, with spaces between them."""
        return " ".join(self._words)

    def next(self) -> str:
        """Take a word."""
        if not self._words:
            raise RecordingError(f"{self.place}: the command ends early; write all of it")
        return self._words.pop(0)

    def has(self, holds: Callable[[str], object]) -> bool:
        """Return whether the next word is so."""
        return bool(self._words) and bool(holds(self._words[0]))

    def value(self, units: Mapping[str, float], example: str) -> float:
        """Take a number with its unit."""
        word = self.next()
        found = VALUE.fullmatch(word)
        if found is None or found[2].lower() not in units:
            raise RecordingError(f'{self.place}: "{word}" must be a value such as {example}; write it out')
        return float(found[1]) * units[found[2].lower()]

    def share(self) -> float:
        """Take a percentage."""
        word = self.next()
        number = word.removesuffix("%")
        if VALUE.fullmatch(number) is None or not number[-1].isdigit():
            raise RecordingError(f'{self.place}: "{word}" must be a percentage such as 1%; write it out')
        return round(float(number) / 100, 12)
