"""Names as they are shown: whoever wrote a scenario or a folder of results chose them, and they may hold anything."""

import difflib
import re
import unicodedata
from collections.abc import Iterable

_HIDDEN = frozenset({"Cc", "Cs", "Zl", "Zp"})
"""Categories of Unicode of what moves a cursor, begins a line or cannot be written as UTF-8."""

_TURNS = frozenset("\u200e\u200f\u061c\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
"""Marks that turn the direction of the text around them, so that it reads as what it is not."""

_MOST_MEANT = 3


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


_A_SLIP, _NEAR = 0.9, 0.6
"""How alike two names are (`difflib`) that differ by a letter, and that may be meant for one another."""


def meant(given: str, names: Iterable[str]) -> str:
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
    known = list(names)
    words = _words(given)
    same = [name for name in known if _words(name) == words or "".join(_words(name)) == "".join(words)]
    same = same or [name for name in known if sorted(_words(name)) == sorted(words)]
    says = any(len(word) > 1 for word in words)  # a letter is in too many names
    among = [name for name in known if says and set(words) <= set(_words(name))][:_MOST_MEANT]
    squeezed = {"".join(_words(name)): name for name in reversed(known)}
    close, near = (
        [squeezed[found] for found in difflib.get_close_matches("".join(words), squeezed, 1, cutoff)]
        for cutoff in (_A_SLIP, _NEAR)
    )
    found = " or ".join(f'"{name}"' for name in same[:1] or close or among or near)
    return f"did you mean {found}?" if found else ""


def _words(name: str) -> list[str]:
    return re.findall(r"[^\W_]+", name.casefold())


def unknown(what: str, given: str, known: Iterable[str], *, lists: bool = True) -> str:
    """Return the message that a name is unknown: the nearest that there is, and all.

    Args:
        what: Names are of.
        given: The name.
        known: Those that there are.
        lists: Whether they are listed: of hundreds nobody reads any.

    Examples:
        >>> unknown("figure", "shares", ["share", "rtt"])
        'unknown figure "shares"; did you mean "share"? known: share, rtt'
        >>> unknown("claim", "x", ["A1", "A2"], lists=False)
        'unknown claim "x"'
    """
    names = list(known)
    hint = meant(given, names)
    said = " ".join(part for part in (hint, f"known: {', '.join(names)}" if lists else "") if part)
    return f'unknown {what} "{plain(given)}"' + (f"; {said}" if said else "")
