"""What a wrong scenario is told: the entries of `ackclock.ScenarioError.diagnostics`."""

from collections.abc import Iterable
from typing import Final, TypedDict

from ackclock._core import ScenarioError

MOST: Final = 50
"""Mistakes that anybody reads at once."""


class Diagnostic(TypedDict):
    """One mistake of a scenario: where it is, what is written there, and what to write instead."""

    file: str
    """The file as it was named, `<text>` or `<json>`, or `--set` for an override."""

    line: int | None
    """Line of the file, from 1 on; None where there is no text to point at."""

    column: int | None
    """Column of the line, in characters from 1 on."""

    field: str
    """The place in the scenario, such as `flow[1].controller.beta`; empty for the whole of it."""

    value: str | None
    """What stands there, as written; None if nothing does."""

    message: str
    """What is wrong."""

    remedy: str
    """What to write instead."""

    source_line: str | None
    """The line of the file, of a long one a part; None where there is no text."""

    marks: str | None
    """Spaces and carets to print below `source_line`: the carets stand under the value."""

    unseen_value: str | None
    """The value, where `source_line` does not show it."""


def joined(errors: Iterable[ScenarioError]) -> ScenarioError:
    """Return what several scenarios are told as one error: each mistake once, up to `MOST`.

    Args:
        errors: At least one; no more are made than are needed.
    """
    found: dict[str, Diagnostic] = {}
    has_more = False
    for error in errors:
        for diagnostic in error.diagnostics:
            found.setdefault(_identity(diagnostic), diagnostic)
        has_more = has_more or error.has_more or len(found) > MOST
        if has_more:
            break
    diagnostics = list(found.values())[:MOST]
    whole = ScenarioError("\n".join(f"{one['file']}: {one['field']} {one['message']}" for one in diagnostics))
    whole.diagnostics, whole.has_more = diagnostics, has_more
    return whole


def remedy(diagnostic: Diagnostic, axes: Iterable[str]) -> str:
    """Return what to write instead, where a list is an axis: there a field's own list stands in a list.

    Args:
        diagnostic: Of a scenario of a sweep or study.
        axes: The fields that are axes.
    """
    if diagnostic["field"] in axes and diagnostic["message"].startswith("must be a list"):
        return "write [[ ... ]]: a list here is an axis, and one value that is a list stands in a list"
    return diagnostic["remedy"]


def _identity(diagnostic: Diagnostic) -> str:
    """What makes a mistake another one; of a field that is not known its value is none."""
    is_of_its_value = diagnostic["message"] != "is not a known field"
    value = diagnostic["value"] if is_of_its_value else ""
    return f"{diagnostic['file']}:{diagnostic['line']}: {diagnostic['field']} {diagnostic['message']}: {value}"
