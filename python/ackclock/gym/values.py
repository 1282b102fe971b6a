"""Values of all observations at a decision, for user-written rewards."""

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Protocol, final

from ackclock import _core

_CATALOGUE = json.loads(_core.agents())


class Read(Protocol):
    """Source of an agent's observations, by name."""

    def read(self, agent: int, observation: str, /) -> float:
        """Return the value of an observation."""
        ...


@final
class Values(Mapping[str, float]):
    """Mapping of every observation of the catalogue to its value at a decision, by name with unit; for rewards.

    Values are computed on access, and are valid until the next step.
    """

    __slots__ = ("_agent", "_core")

    def __init__(self, core: Read, agent: int = 0) -> None:
        """Refer to an agent of an environment."""
        self._core: Read = core
        self._agent = agent

    def __getitem__(self, name: str) -> float:
        """Return the value of an observation, or raise KeyError."""
        return self._core.read(self._agent, name)

    def __iter__(self) -> Iterator[str]:
        """Iterate over the names of all observations."""
        return (row["name"] for row in _CATALOGUE["observations"])

    def __len__(self) -> int:
        """Return the number of observations."""
        return len(_CATALOGUE["observations"])


Reward = Callable[[Values], float]
