"""Parsers of untrusted JSON and TOML: every error is a `ValueError`, even excessive nesting and overlong numbers.

JSON may have any length. Long lists are parsed entry by entry, so that signals are handled in between; `json` would
block them until the end.
"""

import json
import re
import tomllib
from collections.abc import Callable
from json import JSONDecodeError
from typing import Any

_SHORT = 1 << 20
"""Length of a text that is parsed in one piece, characters; takes some 10 ms."""

_SPACES = re.compile(r"[ \t\n\r]*")


def decoded(text: str | bytes) -> Any:  # noqa: ANN401
    """Parse JSON like `json.loads`, but refuse numbers that JSON does not have.

    Args:
        text: The JSON; bytes are decoded as UTF-8.

    Raises:
        ValueError: If it is not JSON or too deeply nested; or has NaN, Infinity, a number of thousands of digits, or
            half of a surrogate pair.

    Examples:
        >>> decoded('{"a": [1, 2.5, "b"]}')
        {'a': [1, 2.5, 'b']}
    """
    content = text.decode() if isinstance(text, bytes) else text
    try:
        value = _Decoder(content).document() if len(content) > _SHORT else _WHOLE.decode(content)
        if "\\ud" in content or "\\uD" in content:
            json.dumps(value, ensure_ascii=False).encode()
    except RecursionError as error:
        raise ValueError(_TOO_DEEP) from error
    except UnicodeEncodeError as error:
        raise ValueError("it contains half of a surrogate pair") from error
    return value


def decoded_toml(text: str) -> dict[str, Any]:
    """Parse TOML like `tomllib.loads`.

    Raises:
        ValueError: If it is not TOML, is too deeply nested, or has a number of thousands of digits.

    Examples:
        >>> decoded_toml("a = [1, 2.5]")
        {'a': [1, 2.5]}
    """
    try:
        return tomllib.loads(text)
    except RecursionError as error:
        raise ValueError(_TOO_DEEP) from error


_TOO_DEEP = "lists or tables are nested too deeply"


class _Decoder:
    """Text and the current position in it."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0

    def document(self) -> Any:  # noqa: ANN401
        """Parse the whole text: objects member by member, lists entry by entry, entries in one piece."""
        self._skip()
        value = self._value()
        self._skip()
        if self._at < len(self._text):
            raise self._wrong("Extra data")
        return value

    def _value(self) -> Any:  # noqa: ANN401
        begin = self._text[self._at : self._at + 1]
        if begin == "{":
            members: dict[str, Any] = {}
            self._entries("}", lambda: self._member(members))
            return members
        if begin == "[":
            items: list[Any] = []
            self._entries("]", lambda: items.append(self._whole()))
            return items
        return self._whole()

    def _whole(self) -> Any:  # noqa: ANN401
        value, self._at = _WHOLE.raw_decode(self._text, self._at)
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

    def _member(self, members: dict[str, Any]) -> None:
        if self._text[self._at : self._at + 1] != '"':
            raise self._wrong("Expecting property name enclosed in double quotes")
        name = self._whole()
        self._skip()
        if not self._taken(":"):
            raise self._wrong("Expecting ':' delimiter")
        self._skip()
        members[name] = self._value()

    def _taken(self, sign: str) -> bool:
        """Consume a character if it is next; return whether it was."""
        is_next = self._text.startswith(sign, self._at)
        self._at += is_next
        return is_next

    def _skip(self) -> None:
        if spaces := _SPACES.match(self._text, self._at):
            self._at = spaces.end()

    def _wrong(self, what: str) -> JSONDecodeError:
        return JSONDecodeError(what, self._text, self._at)


def _no_number(text: str) -> None:
    raise ValueError(f"{text} is not a number of JSON")


_WHOLE = json.JSONDecoder(parse_constant=_no_number)
