"""Environments in other processes: what is pickled of one are the arguments that it was made of."""

from collections.abc import Callable
from functools import partial
from typing import Any, Self, TypeVar

_T = TypeVar("_T")


class Remade:
    """An environment that is pickled as the call that made it (Gymnasium's `EzPickle`); its episode stays here."""

    _made_of: tuple[tuple[Any, ...], dict[str, Any]]

    def __new__(cls, *args: Any, **kwargs: Any) -> Self:
        """Keep the arguments; `__init__` takes them."""
        made = super().__new__(cls)
        made._made_of = (args, kwargs)
        return made

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...], dict[str, Any]]:
        """Return the call that makes an environment of the same arguments, in which no episode has begun."""
        args, kwargs = self._made_of
        spec = getattr(self, "spec", None)  # as Gymnasium's `make` has set it
        return partial(type(self), **kwargs), args, {} if spec is None else {"spec": spec}


def twin_of(environment: _T) -> _T:
    """Return an object that has what another has, made without a call of its class.

    Args:
        environment: The other.
    """
    twin = object.__new__(type(environment))
    twin.__dict__.update(environment.__dict__)
    return twin


def check_options(options: dict[str, Any] | None, known: tuple[str, ...] = ()) -> None:
    """Find out whether `reset` understands its options.

    Args:
        options: As given.
        known: Names that it takes.

    Raises:
        ValueError: If it does not understand one; the message names it.
    """
    for name in options or {}:
        if name not in known:
            there = f"; there is {', '.join(known)}" if known else "; reset takes none here"
            raise ValueError(f"options: unknown {name!r}{there}")
