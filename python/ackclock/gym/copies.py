"""Copies of environments, also in other processes: they are pickled as their constructor arguments."""

import copy
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Self, TypeVar

import numpy as np
from gymnasium import spaces

from ackclock.base.bounds import whole

_T = TypeVar("_T")


class Remade:
    """Base class of environments pickled as their constructor call (Gymnasium's `EzPickle`), without the episode."""

    _made_of: tuple[tuple[Any, ...], dict[str, Any]]

    def __new__(cls, *args: Any, **kwargs: Any) -> Self:
        """Store the constructor arguments."""
        made = super().__new__(cls)
        made._made_of = (args, kwargs)
        return made

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...], dict[str, Any]]:
        """Return a recipe for a new environment with the same arguments, before its first episode."""
        args, kwargs = self._made_of
        spec = getattr(self, "spec", None)  # as Gymnasium's `make` has set it
        return partial(type(self), **kwargs), args, {} if spec is None else {"spec": spec}

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        """Return an independent environment, as `copy.copy` does."""
        return copy.copy(self)


def twin_of(environment: _T) -> _T:
    """Copy an object without calling its constructor.

    Spaces have random generators, and arrays are reused, so the copy gets its own.
    """
    twin = object.__new__(type(environment))
    twin.__dict__.update({name: _own(value) for name, value in environment.__dict__.items()})
    return twin


def _own(value: Any) -> Any:
    if isinstance(value, spaces.Space):
        space = copy.copy(value)
        space._np_random = copy.deepcopy(value._np_random)
        return space
    if isinstance(value, np.ndarray):
        return value.copy()
    if isinstance(value, dict) and any(isinstance(one, spaces.Space) for one in value.values()):
        return {name: _own(one) for name, one in value.items()}
    return value


_MOST_SEED = (1 << 64) - 1


def check_seed(seed: Any, *, after: int = 0) -> int:
    """Check the seed of a scenario and return it.

    Args:
        seed: Seed as given.
        after: Number of following seeds that must be valid, too.

    Raises:
        ValueError: If it is negative, or has more than 64 bits.
    """
    return whole("seed", seed, 0, _MOST_SEED - after)


def check_options(options: dict[str, Any] | None, known: tuple[str, ...] = ()) -> None:
    """Check the options of `reset`.

    Raises:
        ValueError: If one is unknown; the message names it.
    """
    if options is not None and not isinstance(options, Mapping):
        raise ValueError(f"options = {options!r}: must be a dictionary, or None")
    for name in options or {}:
        if name not in known:
            there = f"; there is {', '.join(known)}" if known else "; reset takes none here"
            raise ValueError(f"options: unknown {name!r}{there}")
