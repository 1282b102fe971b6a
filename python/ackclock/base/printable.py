"""Names as they are shown: whoever wrote a scenario or a folder of results chose them, and they may hold anything."""

import unicodedata
from collections.abc import Iterable, Mapping
from types import MappingProxyType

from ackclock import _core

_HIDDEN = frozenset({"Cc", "Cs", "Zl", "Zp"})
"""Categories of Unicode of what moves a cursor, begins a line or cannot be written as UTF-8."""

_TURNS = frozenset("\u200e\u200f\u061c\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
"""Marks that turn the direction of the text around them, so that it reads as what it is not."""


def plain(text: object) -> str:
    r"""Return a text with everything in it that a terminal or a page obeys instead of showing written out.

    Args:
        text: Any; what is no text is turned into one.

    Examples:
        >>> plain("\x1b[2Jred\n"), plain("größer"), plain(7)
        ('\\x1b[2Jred\\n', 'größer', '7')
    """
    said = str(text)
    if said.isascii() and said.isprintable():
        return said
    return "".join(_written_out(sign) if _is_obeyed(sign) else sign for sign in said)


def plain_lines(text: str) -> str:
    """Return a text of several lines in the same way, its ends of lines and tabs left as they are."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(_written_out(sign) if sign not in "\n\t" and _is_obeyed(sign) else sign for sign in text)


def _is_obeyed(sign: str) -> bool:
    return sign in _TURNS or unicodedata.category(sign) in _HIDDEN


def _written_out(sign: str) -> str:
    return sign.encode("unicode_escape").decode("ascii")


def for_matplotlib(text: object) -> str:
    r"""Return a text as a Matplotlib figure shows it: a dollar would begin a formula, an underscore hide the line.

    Examples:
        >>> for_matplotlib("_a$b")
        ' _a\\$b'
    """
    said = plain(text).replace("$", r"\$")
    return f" {said}" if said.startswith("_") else said


def meant(given: str, names: Iterable[str], said: Mapping[str, str] = MappingProxyType({})) -> str:
    """Return the question whether a name was meant: of the same words, or with these among its words, or the nearest.

    Case, signs between words and the order of words do not count: papers write DQN-CUBIC and DropTail.

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
    """Return the message that a name is unknown: the nearest that there is, and all.

    Args:
        what: Names are of.
        given: The name.
        known: Those that there are.
        lists: Whether they are listed: of hundreds nobody reads any.
        said: What is said of some of them.

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
