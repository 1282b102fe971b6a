"""Words of commands that emulate a link, and the fields of links that they make."""

import re
import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from ackclock.recording.streams import RecordingError

VALUE: Final = re.compile(r"(\d+(?:\.\d+)?|\.\d+)([a-z]*)", re.IGNORECASE)
"""Number with or without a unit."""


@dataclass(slots=True)
class Way:
    """One direction of a path, as fields of a scenario's link."""

    fields: dict[str, Any] = field(default_factory=dict)
    delay_ms: float = 0.0


def uniform_jitter(delay_ms: float, spread_ms: float) -> tuple[float, dict[str, Any]]:
    """Return the least delay of netem's `delay DELAY SPREAD`, and the fields of a link for what it adds.

    Examples:
        >>> uniform_jitter(5, 1)
        (4, {'jitter': {'kind': 'uniform', 'max': '2 ms'}, 'keep_order': False})
    """
    least_ms = max(0.0, delay_ms - spread_ms)
    most = f"{delay_ms + spread_ms - least_ms:g} ms"
    return least_ms, {"jitter": {"kind": "uniform", "max": most}, "keep_order": False}


class Words:
    """Words of a command, read from left to right."""

    def __init__(self, line: str, place: str) -> None:
        """Begin at the first word of a line, as a shell reads it; `place` begins messages."""
        self.place = place
        try:
            self._words = shlex.split(line, comments=True)
        except ValueError as error:
            raise RecordingError(f"{place}: must be a command ({error}); mend the quotes") from error

    def __bool__(self) -> bool:
        """Return whether words are left."""
        return bool(self._words)

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
