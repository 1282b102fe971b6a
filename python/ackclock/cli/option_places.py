"""Options that a mistake comes from, where options define a scenario or a study."""

from collections.abc import Collection, Mapping, Sequence
from typing import Final

from ackclock._core import ScenarioError

SCENARIO: Final[Mapping[str, Sequence[str]]] = {
    "topology.bottleneck.rate": ("trace", "bottleneck"),
    "topology.bottleneck.delay": ("rtt",),
    "topology.bottleneck.queue": ("buffer", "queue"),
    "topology.bottleneck.loss": ("loss",),
    "flow[": ("flows",),
    "duration": ("duration",),
    "tcp.profile": ("profile",),
}
"""Options by the place in a scenario that they fill."""

STUDY: Final[Mapping[str, Sequence[str]]] = {
    "path.rate": ("bottleneck",),
    "path.trace": ("trace",),
    "path.rtt": ("rtt",),
    "path.queue": ("queue",),
    "path.buffer": ("buffer", "queue"),
    "path.loss": ("loss",),
    "controllers": ("flows",),
    "line_ups": ("flows",),
    "duration": ("duration",),
    "profile": ("profile",),
    "set": ("set",),
}
"""Options by the place in a study that they fill."""


def at_options(error: ScenarioError, places: Mapping[str, Sequence[str]], given: Collection[str]) -> ScenarioError:
    """Return the error with the option of each mistake as its file.

    Args:
        error: The mistakes.
        places: `SCENARIO` or `STUDY`.
        given: Names of the options that were given.
    """
    for mistake in error.diagnostics:
        options = (name for place, names in places.items() if mistake["field"].startswith(place) for name in names)
        option = next((name for name in options if name in given), None)
        mistake["file"] = mistake["file"] if option is None else f"--{option}"
    return error
