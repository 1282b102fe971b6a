"""Pictures of claims: their claims, and the functions that draw them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from matplotlib.figure import Figure

from ackclock.claims.folder import Study
from ackclock.claims.ledger import Laboratory
from ackclock.plotting.figures.theme import PAGE

STYLE = PAGE
"""Style of every figure of a page."""


@dataclass(frozen=True, slots=True)
class Picture:
    """Figure with the claims that it belongs to.

    Attributes:
        name: Name of its files.
        claims: Prefix of the claims' ids.
        study: Name of the study that it shows.
        title: Title above it.
        draw: Function that draws it from the simulations.
        shows: Claims, as arguments of `ackclock claims`, whose records or region it shows; it is not drawn if one of
            them is of another scenario.
    """

    name: str
    claims: str
    study: str
    title: str
    draw: Callable[[Laboratory, Study], Figure]
    shows: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Curve:
    """Quantity over time; `halves`, if present, are the half widths of the values' intervals."""

    label: str
    time_s: Sequence[float]
    values: Sequence[float]
    color: str
    dashes: str = "-"
    halves: Sequence[float] = ()
