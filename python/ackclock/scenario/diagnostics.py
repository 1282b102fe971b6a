"""Diagnostics of a wrong scenario: the entries of `ackclock.ScenarioError.diagnostics`."""

from collections.abc import Iterable
from typing import Final, TypedDict

from ackclock._core import ScenarioError

MOST: Final = 50
"""Largest number of mistakes reported at once."""


class Diagnostic(TypedDict):
    """One mistake of a scenario: its place, its value, and what to write instead."""

    file: str
    """Name of the file, `<text>` or `<json>`, or `--set` for an override."""

    line: int | None
    """Line of the file, from 1 on; None without a text to point at."""

    column: int | None
    """Column of the line, in characters from 1 on; None without a text to point at."""

    field: str
    """Field of the scenario, such as `flow[1].controller.beta`; empty for the whole scenario."""

    value: str | None
    """Value as written; None if it is missing."""

    message: str
    """Message: what is wrong."""

    remedy: str
    """Remedy: what to write instead."""

    source_line: str | None
    """Line of the file, or a part of a long one; None without a text."""

    marks: str | None
    """Spaces and carets to print below `source_line`, marking the value."""

    unseen_value: str | None
    """Value, if `source_line` does not show it."""


def joined(errors: Iterable[ScenarioError]) -> ScenarioError:
    """Merge the errors of several scenarios: each mistake once, up to `MOST`.

    Args:
        errors: At least one error; consumed only as far as needed.
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
    """Return the remedy for a list that is an axis, where a field's own list must be nested in a list.

    Args:
        diagnostic: Diagnostic of a scenario of a sweep or study.
        axes: Fields that are axes.
    """
    if diagnostic["field"] in axes and diagnostic["message"].startswith("must be a list"):
        return "write [[ ... ]]: a list here is an axis, and one value that is a list stands in a list"
    return diagnostic["remedy"]


def _identity(diagnostic: Diagnostic) -> str:
    """Return the key by which mistakes are merged; for an unknown field its value does not count."""
    is_of_its_value = diagnostic["message"] != "is not a known field"
    value = diagnostic["value"] if is_of_its_value else ""
    return f"{diagnostic['file']}:{diagnostic['line']}: {diagnostic['field']} {diagnostic['message']}: {value}"
