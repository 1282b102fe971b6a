"""Safe display of untrusted names: authors of scenarios and results choose them freely."""

import unicodedata
from collections.abc import Iterable, Mapping
from types import MappingProxyType

from ackclock import _core

_HIDDEN = frozenset({"Cc", "Cs", "Zl", "Zp"})
"""Unicode categories of characters that move a cursor, start a line or cannot be encoded as UTF-8."""

_TURNS = frozenset("\u200e\u200f\u061c\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
"""Bidirectional controls, which reorder the surrounding text."""


def plain(text: object) -> str:
    r"""Return a text with control characters escaped, safe for a terminal or a page.

    Args:
        text: Any value; it is converted to a string.

    Examples:
        >>> plain("\x1b[2Jred\n"), plain("größer"), plain(7)
        ('\\x1b[2Jred\\n', 'größer', '7')
    """
    said = str(text)
    if said.isascii() and said.isprintable():
        return said
    return "".join(_written_out(sign) if _is_obeyed(sign) else sign for sign in said)


def plain_lines(text: str) -> str:
    """Escape a text of several lines, except for its line ends and tabs."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(_written_out(sign) if sign not in "\n\t" and _is_obeyed(sign) else sign for sign in text)


def _is_obeyed(sign: str) -> bool:
    return sign in _TURNS or unicodedata.category(sign) in _HIDDEN


def _written_out(sign: str) -> str:
    return sign.encode("unicode_escape").decode("ascii")


def for_matplotlib(text: object) -> str:
    r"""Escape a text for Matplotlib, where a dollar sign starts a formula and a leading underscore hides a line.

    Examples:
        >>> for_matplotlib("_a$b")
        ' _a\\$b'
    """
    said = plain(text).replace("$", r"\$")
    return f" {said}" if said.startswith("_") else said


def amount(count: int, noun: str) -> str:
    """Return a number with its noun, which takes an s in the plural.

    Examples:
        >>> amount(1, "flow"), amount(20_000, "flow")
        ('1 flow', '20,000 flows')
    """
    return f"{count:,} {noun}{'s' if count != 1 else ''}"


def meant(given: str, names: Iterable[str], said: Mapping[str, str] = MappingProxyType({})) -> str:
    """Return a "did you mean" question for an unknown name: same words, containing words, or the most similar name.

    Case, punctuation and word order are ignored, since papers write DQN-CUBIC and DropTail.

    Examples:
        >>> known = ["cubic", "dqn_cubic", "vegas_modified", "drop_tail", "hpcc", "pcc_allegro", "pcc_vivace"]
        >>> meant("CUBIC", known), meant("DQN-CUBIC", known)
        ('did you mean "cubic"?', 'did you mean "dqn_cubic"?')
        >>> meant("modified vegas", known), meant("DropTail", known)
        ('did you mean "vegas_modified"?', 'did you mean "drop_tail"?')
        >>> meant("PCC", known), meant("cubics", known), meant("xyz", known)
        ('did you mean "pcc_allegro" or "pcc_vivace"?', 'did you mean "cubic"?', '')
    """
    found = _core.meant(plain(given), [(plain(name), said.get(name, "")) for name in names])
    listed = " or ".join(f'"{name}"' for name in found)
    return f"did you mean {listed}?" if found else ""


def unknown(
    what: str, given: str, known: Iterable[str], *, lists: bool = True, said: Mapping[str, str] = MappingProxyType({})
) -> str:
    """Return the message for an unknown name, with the most similar name and all known ones.

    Args:
        what: Kind of the name.
        given: The unknown name.
        known: The known names.
        lists: Whether to list all known names; too long for hundreds.
        said: Notes on some of the known names.

    Examples:
        >>> unknown("figure", "shares", ["share", "rtt"])
        'unknown figure "shares"; did you mean "share"? known: share, rtt'
        >>> unknown("claim", "x", ["A1", "A2"], lists=False)
        'unknown claim "x"'
    """
    names = list(known)
    hint = meant(given, names, said)
    told = " ".join(part for part in (hint, f"known: {', '.join(names)}" if lists else "") if part)
    return f'unknown {what} "{plain(given)}"' + (f"; {told}" if told else "")
