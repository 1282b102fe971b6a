"""The values of all observations at a decision, and the rewards that functions make of them."""

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Protocol, final

from ackclock import _core

_CATALOGUE = json.loads(_core.agents())


class Read(Protocol):
    """Whatever tells the value of an observation of an agent by its name."""

    def read(self, agent: int, observation: str, /) -> float:
        """Return it."""
        ...


@final
class Values(Mapping[str, float]):
    """Every observation of the catalogue, by name and in its unit, as it is at a decision; for rewards of one's own.

    Values are worked out when they are asked for. They hold until the next step.
    """

    __slots__ = ("_agent", "_core")

    def __init__(self, core: Read, agent: int = 0) -> None:
        """Look at an agent of an environment."""
        self._core: Read = core
        self._agent = agent

    def __getitem__(self, name: str) -> float:
        """Return the value of an observation, or raise KeyError."""
        return self._core.read(self._agent, name)

    def __iter__(self) -> Iterator[str]:
        """Iterate over the names of all observations."""
        return (row["name"] for row in _CATALOGUE["observations"])

    def __len__(self) -> int:
        """Return how many observations there are."""
        return len(_CATALOGUE["observations"])


Reward = Callable[[Values], float]
