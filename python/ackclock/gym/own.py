"""User-written observations and actions, beside those of the catalogue."""

import copy
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from ackclock import _core

Row = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Own:
    """User-written observation, used in `observations` beside names of the catalogue.

    Attributes:
        name: Name with its unit, such as `backlog_ms`.
        function: Function from the `Values` at a decision to a number, called once per decision.
        low: Lower bound; smaller values are clipped to it.
        high: Upper bound; larger values are clipped to it. With `scaled` low and high become -1 and 1.
    """

    name: str
    function: Callable[[Mapping[str, float]], float]
    low: float = -np.inf
    high: float = np.inf


@dataclass(frozen=True, slots=True)
class OwnAction:
    """User-written action: any action space, and a function that makes a window and a rate of a member of it.

    Attributes:
        space: Action space.
        function: Function from an action and the `Values` at the decision to the window in segments, and the pacing
            rate in bit/s or None for the stack's; called once per decision.
    """

    space: "spaces.Space[Any]"
    function: Callable[[Any, Mapping[str, float]], tuple[float, float | None]]

    def decision(self, action: Any, values: Mapping[str, float]) -> _core.WindowAndRate:
        """Return an action as a decision for the core.

        Raises:
            ValueError: If the action is not in the space, or the function returns something else.
        """
        if not self.space.contains(action):
            raise ValueError(f"an action must be a member of {self.space}, not {action!r}")
        made = self.function(action, values)
        if not isinstance(made, tuple) or len(made) != 2:
            raise ValueError(f"the action is {made!r}; its function has to return a window and a rate or None")
        window, rate = made
        rate = None if rate is None else number(rate, "the rate of the action")
        return _core.WindowAndRate(number(window, "the window of the action"), rate)


def listed(observations: Any) -> list[Any]:
    """Return observations as a list.

    Raises:
        ValueError: If they are a single name, or not iterable.
    """
    if isinstance(observations, str):
        raise ValueError(f"observations = {observations!r} is one name; give a list, [{observations!r}]")
    if not isinstance(observations, Iterable):
        raise ValueError(f"observations = {observations!r}: must be a list of names")
    return list(observations)


def number(returned: Any, what: str) -> float:
    """Return the result of a user-written function as a number.

    Raises:
        ValueError: If it is not a number.
    """
    try:
        found = float(returned)
    except (TypeError, ValueError, OverflowError):
        found = np.nan
    if np.isnan(found):
        raise ValueError(f"{what} is {returned!r}; its function has to return a number")
    return found


class OwnObservations:
    """User-written observations of an agent, and their positions among all observations."""

    def __init__(self, observations: Sequence[Own | str | Mapping[str, Any]], *, history: int, scaled: bool) -> None:
        """Check the observations.

        Args:
            observations: Names of the catalogue and `Own` objects, in order.
            history: Number of decisions whose observations are shown.
            scaled: Scale observations to [-1, 1].

        Raises:
            ValueError: If there are only `Own` objects, or a range is wrong.
        """
        observations = listed(observations)
        self._own = [one for one in observations if isinstance(one, Own)]
        self.named = tuple(one for one in observations if not isinstance(one, Own))
        self._places = [place for place, one in enumerate(observations) if isinstance(one, Own)]
        self._others = [place for place, one in enumerate(observations) if not isinstance(one, Own)]
        self._scaled = scaled
        if self._own and not self.named:
            raise ValueError("a custom observation needs at least one of the catalogue; name one as well")
        for one in self._own:
            if not one.low < one.high:
                raise ValueError(
                    f"the observation {one.name} has low = {one.low}, which is not below high = {one.high}"
                )
            if scaled and not np.isfinite([one.low, one.high]).all():
                raise ValueError(f"the observation {one.name} is to be scaled: give it low and high")
        self._history = history
        self._rows = np.zeros((0, len(self._own)), np.float32)

    def __bool__(self) -> bool:
        """Return whether there are any."""
        return bool(self._own)

    def space(self, named: "spaces.Box[np.float32]") -> "spaces.Box[np.float32]":
        """Return the space of all observations."""
        if not self._own:
            return named
        low = [-1.0 if self._scaled else one.low for one in self._own]
        high = [1.0 if self._scaled else one.high for one in self._own]
        least = self._joined(named.low, np.array(low, np.float32))
        most = self._joined(named.high, np.array(high, np.float32))
        return spaces.Box(least, most, dtype=np.float32)

    def begin(self) -> None:
        """Discard the history of the last episode."""
        self._rows = np.zeros((self._history, len(self._own)), np.float32)

    def beside(self, named: Row, values: Mapping[str, float]) -> Row:
        """Return all observations of a decision."""
        if not self._own:
            return named
        newest = np.array([[self._value(one, values) for one in self._own]], np.float32)
        self._rows = np.concatenate([self._rows[1:], newest])
        return self._joined(named, self._rows if named.ndim == 2 else self._rows[-1])

    def is_like(self, other: "OwnObservations") -> bool:
        """Return whether another object has the same observations at the same positions."""
        return self._own == other._own and self._places == other._places

    def copy(self) -> Self:
        """Return an independent copy."""
        return copy.copy(self)

    def _value(self, one: Own, values: Mapping[str, float]) -> float:
        value = number(one.function(values), f"the observation {one.name}")
        value = min(max(value, one.low), one.high)
        return 2 * (value - one.low) / (one.high - one.low) - 1 if self._scaled else value

    def _joined(self, named: Row, own: Row) -> Row:
        joined = np.empty((*named.shape[:-1], named.shape[-1] + len(self._own)), np.float32)
        joined[..., self._others], joined[..., self._places] = named, own
        return joined
