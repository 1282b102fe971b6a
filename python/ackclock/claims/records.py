"""Reader of records: the `claims.json` of `--full` runs, kept in a folder as `recorded*.json`.

Numbers are checked against each other, so that an edited or damaged record is refused and not judged.
"""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from ackclock.base import input_files
from ackclock.base.checked_files import DamagedError, document
from ackclock.base.printable import amount
from ackclock.claims.file_types import Record
from ackclock.claims.origin import Made
from ackclock.stats.estimates import rounding

_REMEDY: Final = "restore it, or write it anew with `ackclock claims FOLDER --full`"


def read(folder: Path) -> tuple[dict[str, dict[str, Any]], dict[str, Made]]:
    """Return the recorded entry of each claim, and its origin.

    An entry may state its origin, since a run shows records beside new measurements; else its file does.

    Raises:
        ackclock.base.checked_files.DamagedError: If a record could not come from a run.
    """
    measured: dict[str, dict[str, Any]] = {}
    made: dict[str, Made] = {}
    for file in sorted(folder.glob("recorded*.json")):
        content: Mapping[str, Any] = document(input_files.octets(file, remedy=_REMEDY), file, Record, _REMEDY)
        for entry in content["claims"]:
            if wrong := next(_mistakes(entry), None):
                raise DamagedError(file, wrong, _REMEDY)
            if entry["id"] in measured:
                raise DamagedError(
                    file, f"{entry['id']} is recorded twice, here or in another file", "keep one of them"
                )
            measured[entry["id"]] = entry
            made[entry["id"]] = Made.of(entry.get("made") or content.get("made") or {})
    return measured, made


def _mistakes(entry: Mapping[str, Any]) -> Iterator[str]:
    """Yield impossibilities: a mean must lie among its values, and in the middle of its interval."""
    seen: set[str] = set()
    for cell in (entry, *entry["other_choices"]):
        choices = json.dumps(cell.get("choices"), sort_keys=True, ensure_ascii=False)
        at = entry["id"] if cell is entry else f"{entry['id']} under {choices}"
        if choices in seen:
            yield f"{at} is recorded twice"
        seen.add(choices)
        mean, values, ends = cell["measured"], cell.get("values") or [], cell.get("interval")
        count = cell.get("seeds", 1)
        if count < 1 or (values and len(values) != count):
            yield f"{at} has {amount(count, 'seed')} and {amount(len(values), 'value')}"
        if mean is None and (values or ends is not None):
            yield f"{at} has no mean, but values or an interval"
        if values and not min(values) <= mean + rounding(values) <= max(values) + 2 * rounding(values):
            yield f"the mean of {at}, {mean:g}, is not among its values"
        if ends is not None and (len(ends) != 2 or count < 2):
            yield f"the interval of {at} must have two ends, and two seeds or more"
        if ends is not None and not (ends[0] <= ends[1] and abs(mean - sum(ends) / 2) <= rounding((mean, *ends))):
            yield f"the interval of {at}, {ends[0]:g} to {ends[1]:g}, must have its mean, {mean:g}, in the middle"
