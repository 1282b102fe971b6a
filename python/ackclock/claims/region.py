"""Region of combinations where all statements of a source hold, for a source whose settings are lost.

A source that ran one network and lost its rates, delays and constants states that *one* combination gave all its
numbers. So its statements are judged together: they agree if every one of them holds under some combination, and the
region of these combinations is the answer. A share of a grid would be a property of the grid.
Departures: none. The region's size is compared with its expected size if the statements were independent, each holding
as often as it does.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ackclock.claims.file_types import Verdict
from ackclock.claims.folder import Option

Cell = tuple[Option, ...]
"""Combination: an option of each open choice of the study."""


@dataclass(frozen=True, slots=True)
class Region:
    """Region of a source's statements in a grid.

    Attributes:
        name: Value of `region` in `claims.toml`.
        ids: Ids of the statements.
        cells: Verdict on each statement, under each combination tried.
    """

    name: str
    ids: tuple[str, ...]
    cells: Mapping[Cell, tuple[Verdict, ...]]

    @property
    def held(self) -> dict[Cell, int]:
        """Number of statements that hold under each combination."""
        return {cell: verdicts.count("agrees") for cell, verdicts in self.cells.items()}

    @property
    def whole(self) -> list[Cell]:
        """Combinations under which all statements hold."""
        return [cell for cell, count in self.held.items() if count == len(self.ids)]

    @property
    def by_chance(self) -> float:
        """Expected number of such combinations, if the statements were independent of each other."""
        shares = [
            sum(verdicts[index] == "agrees" for verdicts in self.cells.values()) / len(self.cells)
            for index in range(len(self.ids))
        ]
        return len(self.cells) * math.prod(shares)

    @property
    def verdict(self) -> Verdict:
        """Verdict on all statements together; combinations under which a question does not arise do not count."""
        if self.whole:
            return "agrees"
        judged = [verdicts for verdicts in self.cells.values() if "open" not in verdicts]
        if not judged:
            return "open"
        return "undecided" if any("differs" not in verdicts for verdicts in judged) else "differs"

    def as_dict(self, titles: Sequence[str]) -> dict[str, Any]:
        """Return the region's entry: for each combination a number whose bit i tells whether statement i holds."""
        masks = [sum((verdict == "agrees") << i for i, verdict in enumerate(v)) for v in self.cells.values()]
        options = [list(dict.fromkeys(cell[place].name for cell in self.cells)) for place in range(len(titles))]
        return {
            "name": self.name,
            "ids": list(self.ids),
            "choices": [{"title": title, "options": names} for title, names in zip(titles, options, strict=True)],
            "held": masks,
        }

    def __str__(self) -> str:
        """Describe the region in a sentence."""
        count, first = len(self.whole), next(iter(self.cells))
        among = "the first among them" if first in self.whole else f"the first has {self.held[first]} of them"
        return (
            f"all {len(self.ids)} statements ({self.ids[0]} to {self.ids[-1]}) hold at once under {count} of "
            f"{len(self.cells)} combinations, {among}; it would be {self.by_chance:.2g} if they had nothing to do with "
            "each other"
        )
