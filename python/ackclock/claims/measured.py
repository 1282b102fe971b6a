"""What a folder's `measure.py` is written with."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from ackclock.results import Results

Runs = Mapping[str, Results]
"""The results of a study's cases, by the case's name, all under the same choices."""


@dataclass(frozen=True, slots=True)
class Measured:
    """The number that is set beside the published one.

    Attributes:
        value: In the claim's unit; `None` where the choices do not let the question arise.
        also: Other quantities that help to understand it, by a name that includes the unit.
    """

    value: float | None
    also: Mapping[str, float] = field(default_factory=dict)
