"""Types of a claims folder's files, key by key: `claims.toml` and the records of `--full` runs."""

from typing import Any, Literal, NotRequired, TypedDict

Verdict = Literal["agrees", "differs", "undecided", "open"]
"""Verdict. Undecided: the interval of the mean contains a limit of agreement. Open: nothing was measured."""

On = Literal["simulator", "kernel", "both"]


class ClaimsTable(TypedDict):
    """Content of `claims.toml`."""

    title: str
    source: str
    about: str
    study: list[dict[str, Any]]
    claim: list[dict[str, Any]]
    choice: NotRequired[list[dict[str, Any]]]


class OptionTable(TypedDict):
    """Option of a choice."""

    name: str
    set: NotRequired[list[str]]
    seeds: NotRequired[int]


class ChoiceTable(TypedDict):
    """A `[[choice]]`."""

    name: str
    title: str
    why: str
    options: NotRequired[list[OptionTable]]
    quick: NotRequired[int | bool]
    repeats: NotRequired[bool]
    seeds: NotRequired[int]


class StudyTable(TypedDict):
    """A `[[study]]`."""

    name: str
    title: str
    scenario: str
    case: list[dict[str, Any]]
    choices: NotRequired[list[str]]
    costly: NotRequired[bool]
    needs: NotRequired[list[str]]
    on: NotRequired[On]
    runs: NotRequired[int]
    set_simulated: NotRequired[list[str]]


class CaseTable(TypedDict):
    """A `case` of a study."""

    name: str
    scenario: NotRequired[str]
    set: NotRequired[list[str]]
    on: NotRequired[On]
    runs: NotRequired[int]


class ClaimTable(TypedDict):
    """A `[[claim]]`."""

    id: str
    section: str
    study: str
    statement: str
    quantity: str
    unit: str
    published: str
    why: str
    settings: str
    low: NotRequired[float]
    high: NotRequired[float]
    origin: NotRequired[Literal["source", "reading", "ours"]]
    reason: NotRequired[str]
    elsewhere: NotRequired[list[str]]
    region: NotRequired[str]
    share: NotRequired[float]
    sign: NotRequired[int]


class _MeasuredRecord(TypedDict):
    measured: float | None
    also: dict[str, float]
    subject: NotRequired[str | None]
    interval: NotRequired[list[float] | None]
    seeds: NotRequired[int]
    values: NotRequired[list[float]]


class OtherRecord(_MeasuredRecord):
    """Measurement under other choices."""

    choices: dict[str, str]


class ClaimRecord(_MeasuredRecord):
    """Entry of a claim in `claims.json`, as far as it is read again."""

    id: str
    other_choices: list[OtherRecord]
    made: NotRequired[dict[str, Any] | None]


class Record(TypedDict):
    """Content of `claims.json`, kept in a folder as `recorded*.json`."""

    claims: list[ClaimRecord]
    made: NotRequired[dict[str, Any] | None]
