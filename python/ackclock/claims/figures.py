"""The figures of claims: which claims each belongs to, and what draws it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from matplotlib.figure import Figure

from ackclock.claims.folder import Study
from ackclock.claims.ledger import Laboratory
from ackclock.plotting.figures.theme import PAGE

STYLE = PAGE
"""How every figure of a page looks."""


@dataclass(frozen=True, slots=True)
class Picture:
    """A figure and the claims that it belongs to.

    Attributes:
        name: Of its files.
        claims: Prefix of their ids.
        study: Name of the study that it shows.
        title: Above it.
        draw: Draws it from the simulations.
        shows: Claims, as `ackclock claims` takes them, whose record it shows, or their region's: it is not drawn where
            one of them is of another scenario.
    """

    name: str
    claims: str
    study: str
    title: str
    draw: Callable[[Laboratory, Study], Figure]
    shows: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Curve:
    """A quantity over time; `halves`, where there are any, say how far each value may be off to either side."""

    label: str
    time_s: Sequence[float]
    values: Sequence[float]
    color: str
    dashes: str = "-"
    halves: Sequence[float] = ()
