"""Mistakes of a file, collected and reported together, like those of a scenario."""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final

from ackclock._core import ScenarioError
from ackclock.base.decoding import decoded_toml
from ackclock.base.printable import meant
from ackclock.scenario.diagnostics import MOST, Diagnostic
from ackclock.scenario.toml_places import Key, Spot

_LONGEST: Final = 120


class Mistakes:
    """Collector of the mistakes of a study."""

    def __init__(self, file: str, spots: Mapping[Key, Spot]) -> None:
        """Begin without mistakes.

        Args:
            file: Name of the file in messages.
            spots: Places of its keys; empty for a study that is not a text.
        """
        self._file = file
        self._spots = spots
        self._found: list[Diagnostic] = []
        self._keys: list[Key] = []
        self._read: tuple[Key, ...] = ()
        self.has_more = False

    @property
    def are_none(self) -> bool:
        """Whether no mistake was found so far."""
        return not self._found

    @property
    def are_enough(self) -> bool:
        """Whether there are as many mistakes as are reported."""
        return len(self._found) >= MOST

    def end_reading(self) -> None:
        """Count further mistakes as those of the generated scenarios."""
        self._read = tuple(self._keys)

    def was_wrong(self, key: Key) -> bool:
        """Return whether a mistake was found while reading, at a place or around it."""
        return any(known[: len(key)] == key or key[: len(known)] == known for known in self._read)

    def add(self, key: Key, message: str, remedy: str, value: Any = None) -> None:  # noqa: ANN401
        """Add a mistake, unless it is known already.

        Args:
            key: Place: keys from the outermost on, including indices of lists.
            message: Description of the mistake, following the name of the place.
            remedy: Instruction what to write instead.
            value: Value at the place.
        """
        spot = self._spot(key)
        entry: Diagnostic = {
            "file": self._file,
            "line": spot.line if spot else None,
            "column": spot.column if spot else None,
            "field": name_of(key),
            "value": None if value is None else _written(value),
            "message": message,
            "remedy": remedy,
            "source_line": spot.source if spot and len(spot.source) <= _LONGEST else None,
            "marks": " " * (spot.column - 1) + "^" if spot and len(spot.source) <= _LONGEST else None,
            "unseen_value": None if value is None or (spot and _is_seen(value, spot)) else _written(value),
        }
        if any((one["field"], one["message"]) == (entry["field"], message) for one in self._found):
            return
        if self.are_enough:
            self.has_more = True
        else:
            self._found.append(entry)
            self._keys.append(key)

    def _spot(self, key: Key) -> Spot | None:
        """Return the innermost enclosing place with a known line."""
        for length in range(len(key), 0, -1):
            if key[:length] in self._spots:
                return self._spots[key[:length]]
        return None

    def unknown(self, key: Key, known: Iterable[str]) -> None:
        """Report an unknown key."""
        names = list(known)
        said = " ".join(part for part in (meant(str(key[-1]), names), f"known: {', '.join(names)}") if part)
        self.add(key, "is not known here", said)

    def check(self) -> None:
        """Raise the mistakes found, if any.

        Raises:
            ScenarioError: If there are mistakes; it has all of them.
        """
        if self.are_none:
            return
        self._found.sort(key=lambda entry: entry["line"] or 0)
        text = "\n".join(f"{entry['file']}: {entry['field']} {entry['message']}" for entry in self._found)
        error = ScenarioError(text)
        error.diagnostics = self._found
        error.has_more = self.has_more
        raise error


def read_toml(text: str, path: Path) -> dict[str, Any]:
    """Read TOML.

    Raises:
        ScenarioError: If it is not TOML, with the place of the error.
    """
    try:
        return decoded_toml(text)
    except ValueError as error:
        mistakes = Mistakes(str(path), {})
        mistakes.add((), f"it is not TOML: {error}", "correct that line")
        mistakes.check()
        raise


def name_of(key: Key) -> str:
    """Write a place as in messages.

    Examples:
        >>> name_of(("path", 0, "rtt")), name_of(("set", "tcp.mss"))
        ('path[0].rtt', 'set."tcp.mss"')
    """
    parts = [f"[{part}]" if isinstance(part, int) else f'."{part}"' if "." in part else f".{part}" for part in key]
    return "".join(parts).removeprefix(".")


def _written(value: Any) -> str:  # noqa: ANN401
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."


def _is_seen(value: Any, spot: Spot) -> bool:  # noqa: ANN401
    return len(spot.source) <= _LONGEST and _written(value) in spot.source
