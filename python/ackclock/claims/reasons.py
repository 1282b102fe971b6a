"""Reasons with numbers filled in from the record, so that they never outlive the measurement.

`{H4a1}` is the recorded number of a claim, `{H4a1:bounded mean ms}` another recorded quantity of it, and
`{:bounded mean ms}` one of the reason's own claim. `±` names half of the interval. `{H4a1 where 1 BDP; Linux}` selects
the combination with these options, `{H4a1|.1f}` a Python format. Without a format, the digits are those of a table.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from ackclock.base.printable import unknown
from ackclock.claims.measured import number

if TYPE_CHECKING:
    from ackclock.claims.folder import Claim
    from ackclock.claims.ledger import Finding

PLACE: Final = re.compile(
    r"\{(?P<id>[\w-]*)(?: where (?P<where>[^{}:|]+))?(?::(?P<name>[^{}|]+))?(?:\|(?P<form>[^{}]+))?\}"
)


def filled(text: str, own: str, record: Mapping[str, Mapping[str, Any]]) -> str:
    """Return a reason with its numbers filled in; a dash for a claim without a record.

    Args:
        text: Text in `claims.toml`.
        own: Id of the reason's claim.
        record: Recorded entries of the folder, by claim id.

    Raises:
        LookupError: If an entry lacks the quantity or combination; the message lists the existing ones.
        ValueError: If a format is not valid.

    Examples:
        >>> entry = {"measured": 1.25, "interval": [1.0, 1.5], "also": {"ms": 12.0}, "other_choices": []}
        >>> filled("{A1|.1f} ± {A1:±}, after {:ms|.0f} ms", "A1", {"A1": entry})
        '1.2 ± 0.250, after 12 ms'
    """
    return PLACE.sub(lambda found: _written(found, own, record), text)


def renewed(findings: Sequence["Finding"], record: Mapping[str, Mapping[str, Any]]) -> list["Finding"]:
    """Return the findings of a full run, with its numbers in their reasons.

    A reason that names a combination which this run left out keeps the recorded numbers. One that was withheld, since
    it cites an edited claim, stays so unless that claim was simulated.
    """
    made = {each.claim.id: each.as_dict() for each in findings if each.simulated}
    return [_renewed(each, {**record, **made}) if _may_cite(each.claim, made) else each for each in findings]


def _may_cite(claim: "Claim", made: Mapping[str, object]) -> bool:
    return bool(claim.reason) or all(other.id in made for other in claim.cites)


def _renewed(finding: "Finding", found: Mapping[str, Mapping[str, Any]]) -> "Finding":
    claim = finding.claim
    try:
        return replace(finding, claim=replace(claim, reason=filled(claim.wording, claim.id, found)))
    except LookupError:
        return finding


def cited(text: str, own: str) -> list[str]:
    """Return the claims whose recorded numbers a reason gives."""
    return [found["id"] or own for found in PLACE.finditer(text)]


def _written(found: re.Match[str], own: str, record: Mapping[str, Mapping[str, Any]]) -> str:
    entry = record.get(found["id"] or own)
    if entry is None:
        return number(None)
    value = _value(_cell(entry, found["where"] or ""), found["name"])
    return number(value) if found["form"] is None or value is None else format(value, found["form"])


def _cell(entry: Mapping[str, Any], where: str) -> Mapping[str, Any]:
    wanted = {name.strip() for name in where.split(";") if name.strip()}
    cells = [entry] if not wanted else [e for e in entry["other_choices"] if wanted <= set(e["choices"].values())]
    if not cells:
        names = dict.fromkeys(name for each in entry["other_choices"] for name in each["choices"].values())
        raise LookupError(unknown("option", where, names))
    cell: Mapping[str, Any] = cells[0]
    return cell


def _value(cell: Mapping[str, Any], name: str | None) -> float | None:
    value: float | None
    if name is None:
        value = cell["measured"]
    elif name == "±":
        value = None if cell.get("interval") is None else (cell["interval"][1] - cell["interval"][0]) / 2
    elif name in cell["also"]:
        value = cell["also"][name]
    else:
        raise LookupError(unknown("quantity", name, ["±", *cell["also"]]))
    return value
