"""Places of keys in a TOML text, for messages; Python's parser reports places of syntax errors only."""

import re
from dataclasses import dataclass
from typing import Final

_HEAD: Final = re.compile(r"\s*(?P<open>\[\[?)\s*(?P<name>[^\]]+?)\s*\]\]?\s*(#.*)?$")
_ENTRY: Final = re.compile(
    r"\s*(?P<key>(?:[\w-]+|\"[^\"]*\"|'[^']*')(?:\s*\.\s*(?:[\w-]+|\"[^\"]*\"|'[^']*'))*)\s*=\s*"
)
_PART: Final = re.compile(r"[\w-]+|\"[^\"]*\"|'[^']*'")
_TEXT: Final = re.compile(r"\"\"\".*?\"\"\"|'''.*?'''|\"(?:\\.|[^\"\\])*\"|'[^']*'|#.*")

Key = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class Spot:
    """Place in a text.

    Attributes:
        line: Line, from 1 on.
        column: Column at which the value begins, from 1 on.
        source: Text of the line.
    """

    line: int
    column: int
    source: str


def spots(text: str) -> dict[Key, Spot]:
    r"""Return where the value of each key begins, by table and key; tables of a list have their index in between.

    Args:
        text: Valid TOML. Keys within an inline table have no place of their own.

    Examples:
        >>> found = spots('seeds = 3\n[[path]]\nrtt = "5 ms"\n')
        >>> found["seeds",].line, found["path", 0, "rtt"].column
        (1, 7)
    """
    found: dict[Key, Spot] = {}
    counts: dict[Key, int] = {}
    table: Key = ()
    depth = 0
    for number, line in enumerate(text.splitlines(), 1):
        if depth == 0 and (head := _HEAD.match(line)):
            table = _key(head["name"])
            if head["open"] == "[[":
                counts[table] = counts.get(table, -1) + 1
                table = (*table, counts[table])
            found[table] = Spot(number, line.index("[") + 1, line)
        elif depth == 0 and (entry := _ENTRY.match(line)):
            found[(*table, *_key(entry["key"]))] = Spot(number, entry.end() + 1, line)
        bare = _TEXT.sub("", line)
        if depth or not _HEAD.match(line):
            depth = max(0, depth + sum(bare.count(sign) for sign in "[{") - sum(bare.count(sign) for sign in "]}"))
    return found


def _key(text: str) -> Key:
    return tuple(part.strip("\"'") for part in _PART.findall(text))
