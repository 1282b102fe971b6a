"""JSON that is read entry by entry says what the standard library says of it."""

import gc
import json
import sys
from itertools import pairwise
from types import FrameType, SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ackclock.base import decoding
from ackclock.base.decoding import decoded

_PLAIN = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()
_VALUES = st.recursive(_PLAIN, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=30)
_LONG = " " * (1 << 20)
"""Makes a text one that is read in parts."""


@given(_VALUES, st.sampled_from([None, 1]), st.booleans())
def test_it_says_what_the_library_says(value: Any, indent: int | None, is_long: bool) -> None:
    text = json.dumps(value, indent=indent) + (_LONG if is_long else "")
    assert decoded(text) == json.loads(text)
    assert decoded(text.encode()) == json.loads(text)


@given(_VALUES, st.data())
def test_what_is_no_json_is_refused_as_by_the_library(value: Any, data: st.DataObject) -> None:
    text = json.dumps(value)
    place = data.draw(st.integers(0, len(text)))
    other = data.draw(st.sampled_from(["", ",", "}", "]", '"', ":", "1", " ", "{"]))
    changed = text[:place] + other + text[place + 1 :]
    try:
        expected = json.loads(changed)
        json.dumps(expected, ensure_ascii=False).encode()  # half of a surrogate pair has no octets (RFC 3629 section 3)
    except ValueError:
        with pytest.raises(ValueError, match=r"line|column|Exceeds|surrogate"):
            decoded(changed + _LONG)
    else:
        assert decoded(changed + _LONG) == expected


@pytest.mark.parametrize(
    "text", ["", "{", "[1,", "[1,]", '{"a":1,}', "{1:2}", "[1] 2", "[NaN]", "[-Infinity]", "\x00", r'["\ud800"]']
)
@pytest.mark.parametrize("after", ["", _LONG])
def test_these_are_refused(text: str, after: str) -> None:
    with pytest.raises(ValueError, match=r"line 1|is not a number|surrogate"):
        decoded(text + after)


def _calls(entry: object) -> int:
    """Count the calls that reading a thousand of these takes."""
    text, seen = json.dumps([entry] * 1_000) + _LONG, 0

    def see(_frame: FrameType, event: str, _of: object) -> None:
        nonlocal seen
        seen += event in ("call", "c_call")

    was_on = gc.isenabled()
    gc.disable()  # what a library hangs into the collector of garbage is called as well, and as often as it likes
    sys.setprofile(see)
    try:
        decoded(text)
    finally:
        sys.setprofile(None)
        if was_on:
            gc.enable()
    return seen


def test_an_entry_takes_as_many_calls_whatever_it_holds() -> None:
    small, large = ({f"number {place}": place / 7 for place in range(count)} for count in (1, 100))
    assert _calls(small) > 1_000
    assert _calls(large) < 1.1 * _calls(small)


def test_no_piece_of_a_long_text_is_long(monkeypatch: pytest.MonkeyPatch) -> None:
    """docs.python.org, signal: a handler waits for the end of a C function, and json.loads is one for a whole text."""
    flow = {f"number {place}": place / 7 for place in range(100)}
    text = json.dumps({"summary": {"flows": [flow] * 1_000}})
    ends = [0]

    def raw_decode(text: str, at: int) -> tuple[object, int]:
        value, end = json.JSONDecoder().raw_decode(text, at)
        ends.append(end)
        return value, end

    monkeypatch.setattr(decoding, "_WHOLE", SimpleNamespace(raw_decode=raw_decode))
    assert decoded(text) == json.loads(text)
    assert max(after - before for before, after in pairwise(ends)) < 1.01 * len(json.dumps(flow))
