"""What a wrong scenario is told: the entries of `ackclock.ScenarioError.diagnostics`."""

from typing import TypedDict


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
