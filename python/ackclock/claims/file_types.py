"""Types of a claims folder's files, key by key: `claims.toml` and the records of `--full` runs."""

from collections.abc import Mapping
from typing import Any, Final, Literal, NotRequired, TypedDict

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
    like: NotRequired[str]
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
    like: NotRequired[str]
    low: NotRequired[float]
    high: NotRequired[float]
    origin: NotRequired[Literal["source", "reading", "ours"]]
    reason: NotRequired[str]
    elsewhere: NotRequired[list[str]]
    region: NotRequired[str]
    share: NotRequired[float]
    sign: NotRequired[int]


_NAMED_BY: Final = {"study": "name", "claim": "id"}
_ITS_OWN: Final = ("reason", "elsewhere")
"""Keys besides its name that are never those of another entry."""


def completed(table: Mapping[str, Any]) -> dict[str, Any]:
    """Return the content of `claims.toml` with all keys of its studies and claims.

    One that is `like` another above it has the keys of that one where it has none of its own.

    Args:
        table: The content as written. An entry whose `like` names none above it keeps that key.

    Examples:
        >>> claims = [{"id": "A", "unit": "s", "reason": "r"}, {"id": "B", "like": "A"}, {"id": "C", "like": "D"}]
        >>> completed({"claim": claims})["claim"][1:]
        [{'unit': 's', 'id': 'B'}, {'id': 'C', 'like': 'D'}]
        >>> completed({"claim": [{"unit": "s"}, {"id": "A"}, {"like": "A"}]})["claim"]
        [{'unit': 's'}, {'id': 'A'}, {}]
    """
    found = dict(table)
    for kind, name in _NAMED_BY.items():
        above: dict[str, dict[str, Any]] = {}
        found[kind] = []
        for entry in table.get(kind, ()):
            like = entry.get("like")
            model = above.get(like) if isinstance(like, str) else None
            known = entry if model is None else {**model, **{key: of for key, of in entry.items() if key != "like"}}
            found[kind].append(known)
            if isinstance(own := known.get(name), str):
                above[own] = {key: of for key, of in known.items() if key not in (name, *_ITS_OWN)}
    return found


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
