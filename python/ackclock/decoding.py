"""JSON of any length: a signal is heard between the entries of long lists, as it is not while `json` reads a text."""

import json
import re
from collections.abc import Callable
from json import JSONDecodeError
from typing import Any

_SHORT = 1 << 20
"""Signs that are read in one piece: some 10 ms."""

_DEPTH = 3
"""Levels that are read entry by entry: a sweep's point has a summary, which has flows."""

_SPACES = re.compile(r"[ \t\n\r]*")


def decoded(text: str | bytes) -> Any:  # noqa: ANN401
    """Return what a JSON text says, as `json.loads` does, but for numbers that JSON has not.

    Args:
        text: UTF-8 if it is bytes.

    Raises:
        ValueError: If it is no JSON; or NaN or an infinity is in it.
        RecursionError: If it is too deep.

    Examples:
        >>> decoded('{"a": [1, 2.5, "b"]}')
        {'a': [1, 2.5, 'b']}
    """
    content = text.decode() if isinstance(text, bytes) else text
    return _Decoder(content).document(_DEPTH if len(content) > _SHORT else 0)


class _Decoder:
    """A text, and the place in it that is read next."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self._whole = json.JSONDecoder(parse_constant=_no_number).raw_decode

    def document(self, levels: int) -> Any:  # noqa: ANN401
        """Read all of the text, whose outermost levels are read entry by entry."""
        self._skip()
        value = self._value(levels)
        self._skip()
        if self._at < len(self._text):
            raise self._wrong("Extra data")
        return value

    def _value(self, levels: int) -> Any:  # noqa: ANN401
        begin = self._text[self._at : self._at + 1]
        if levels > 0 and begin == "{":
            entries: dict[str, Any] = {}
            self._entries("}", lambda: self._member(entries, levels - 1))
            return entries
        if levels > 0 and begin == "[":
            items: list[Any] = []
            self._entries("]", lambda: items.append(self._value(levels - 1)))
            return items
        value, self._at = self._whole(self._text, self._at)
        return value

    def _entries(self, end: str, read: Callable[[], None]) -> None:
        self._at += 1
        self._skip()
        if self._taken(end):
            return
        while True:
            read()
            self._skip()
            if self._taken(end):
                return
            if not self._taken(","):
                raise self._wrong("Expecting ',' delimiter")
            self._skip()

    def _member(self, entries: dict[str, Any], levels: int) -> None:
        if self._text[self._at : self._at + 1] != '"':
            raise self._wrong("Expecting property name enclosed in double quotes")
        name = self._value(0)
        self._skip()
        if not self._taken(":"):
            raise self._wrong("Expecting ':' delimiter")
        self._skip()
        entries[name] = self._value(levels)

    def _taken(self, sign: str) -> bool:
        """Whether a sign is next, which then is passed."""
        is_next = self._text.startswith(sign, self._at)
        self._at += is_next
        return is_next

    def _skip(self) -> None:
        if spaces := _SPACES.match(self._text, self._at):
            self._at = spaces.end()

    def _wrong(self, what: str) -> JSONDecodeError:
        return JSONDecodeError(what, self._text, self._at)


def _no_number(text: str) -> None:
    raise ValueError(f"{text} is no number")
