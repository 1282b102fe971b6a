"""Where all statements of a source hold at once: what can be said of one whose settings are lost.

A source that ran one network and lost its rates, delays and constants says that *one* combination of them gave all its
numbers. So its statements are judged together: they agree if there are combinations under which every one of them
does, and the region of those is the answer. A share of a grid would be a property of the grid.
Departures: none. What a region is worth is said beside it: how many combinations would be expected in it if the
statements had nothing to do with each other, each holding as often as it does.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ackclock.claims.file_types import Verdict
from ackclock.claims.folder import Option

Cell = tuple[Option, ...]
"""A combination: an option of each open choice of the study."""


@dataclass(frozen=True, slots=True)
class Region:
    """How a source's statements hold over a grid.

    Attributes:
        name: As `region` of their tables in `claims.toml`.
        ids: Of the statements.
        cells: The verdict on each, under each combination that was tried.
    """

    name: str
    ids: tuple[str, ...]
    cells: Mapping[Cell, tuple[Verdict, ...]]

    @property
    def held(self) -> dict[Cell, int]:
        """How many of the statements hold under each combination."""
        return {cell: verdicts.count("agrees") for cell, verdicts in self.cells.items()}

    @property
    def whole(self) -> list[Cell]:
        """The combinations under which all hold."""
        return [cell for cell, count in self.held.items() if count == len(self.ids)]

    @property
    def by_chance(self) -> float:
        """How many combinations would have all, were the statements independent of each other."""
        shares = [
            sum(verdicts[index] == "agrees" for verdicts in self.cells.values()) / len(self.cells)
            for index in range(len(self.ids))
        ]
        return len(self.cells) * math.prod(shares)

    @property
    def verdict(self) -> Verdict:
        """Of all statements together; a combination under which one of their questions does not arise judges none."""
        if self.whole:
            return "agrees"
        judged = [verdicts for verdicts in self.cells.values() if "open" not in verdicts]
        if not judged:
            return "open"
        return "undecided" if any("differs" not in verdicts for verdicts in judged) else "differs"

    def as_dict(self, titles: Sequence[str]) -> dict[str, Any]:
        """Return it as it is kept: for each combination a number whose bit i is whether statement i holds."""
        masks = [sum((verdict == "agrees") << i for i, verdict in enumerate(v)) for v in self.cells.values()]
        options = [list(dict.fromkeys(cell[place].name for cell in self.cells)) for place in range(len(titles))]
        return {
            "name": self.name,
            "ids": list(self.ids),
            "choices": [{"title": title, "options": names} for title, names in zip(titles, options, strict=True)],
            "held": masks,
        }

    def __str__(self) -> str:
        """Say it in a sentence."""
        count, first = len(self.whole), next(iter(self.cells))
        among = "the first among them" if first in self.whole else f"the first has {self.held[first]} of them"
        return (
            f"all {len(self.ids)} statements ({self.ids[0]} to {self.ids[-1]}) hold at once under {count} of "
            f"{len(self.cells)} combinations, {among}; it would be {self.by_chance:.2g} if they had nothing to do with "
            "each other"
        )
