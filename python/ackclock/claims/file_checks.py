"""Checks of `claims.toml`: required keys are present and unknown ones refused, as a misspelt limit would be no limit.

All mistakes are reported together, with their places, before any simulation.
"""

import itertools
import math
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final, get_type_hints

from ackclock.base import input_files
from ackclock.base.checked_files import mismatch
from ackclock.base.printable import unknown
from ackclock.claims import reasons
from ackclock.claims.file_types import CaseTable, ChoiceTable, ClaimsTable, ClaimTable, StudyTable, completed
from ackclock.experiments.grid import MOST_RUNS
from ackclock.scenario.mistakes import Mistakes, read_toml
from ackclock.scenario.toml_places import Key, spots

FILE: Final = "claims.toml"

_FORMS: Final[Mapping[str, Any]] = {
    "": ClaimsTable, "choice": ChoiceTable, "study": StudyTable, "case": CaseTable, "claim": ClaimTable,
}  # fmt: skip
"""Required and optional keys of each kind of table."""

Table = Mapping[str, Any]


def read(folder: Path) -> tuple[Table, Mistakes]:
    """Read a folder's claims.

    Returns:
        The table, and a collector for mistakes that are found once its measures are known.

    Raises:
        ackclock.ScenarioError: If there are mistakes; it has all of them, with their places.
        OSError: If it cannot be read.
    """
    path = folder / FILE
    text = input_files.text(path, remedy="`ackclock claims new DIR` writes a folder that has one")
    table, mistakes = read_toml(text, path), Mistakes(str(path), spots(text))
    _check_keys("", (), table, mistakes)
    mistakes.check()
    table = completed(table)
    for kind in ("choice", "study", "claim"):
        for place, entry in enumerate(table.get(kind, ())):
            _check_keys(kind, (kind, place), entry, mistakes)
    mistakes.check()
    for place, study in enumerate(table["study"]):
        for nested, case in enumerate(study["case"]):
            _check_keys("case", ("study", place, "case", nested), case, mistakes)
    mistakes.check()
    choices = {entry["name"]: entry for entry in table.get("choice", ())}
    studies = {entry["name"] for entry in table["study"]}
    for place, choice in enumerate(table.get("choice", ())):
        _check_choice(("choice", place), choice, mistakes)
    for place, study in enumerate(table["study"]):
        _check_study(folder, ("study", place), study, choices, mistakes)
    for place, claim in enumerate(table["claim"]):
        _check_claim(("claim", place), claim, studies, mistakes)
    for kind, name in (("choice", "name"), ("study", "name"), ("claim", "id")):
        _check_unique(kind, name, table, mistakes)
    mistakes.check()
    return table, mistakes


def check_measures(table: Table, measures: Mapping[str, Any], mistakes: Mistakes) -> None:
    """Refuse claims without a measure in `measure.py`.

    Raises:
        ackclock.ScenarioError: If a measure is missing, or is not a function.
    """
    for place, claim in enumerate(table["claim"]):
        if claim["id"] not in measures:
            remedy = "give MEASURES in measure.py an entry of this id"
            mistakes.add(("claim", place, "id"), "has no measure", remedy, claim["id"])
        elif not callable(measures[claim["id"]]):
            remedy = "write one in MEASURES in measure.py: it takes runs and returns a Measured"
            mistakes.add(("claim", place, "id"), "has a measure that is not a function", remedy, claim["id"])
    mistakes.check()


def with_reasons(table: Table, record: Mapping[str, Mapping[str, Any]], mistakes: Mistakes) -> list[dict[str, Any]]:
    """Return the claims with the numbers of their reasons filled in from the record.

    Raises:
        ackclock.ScenarioError: If a reason names an unknown claim or quantity.
    """
    ids = [claim["id"] for claim in table["claim"]]
    entries = []
    for place, claim in enumerate(table["claim"]):
        text = claim.get("reason", "")
        try:
            if strange := next((name for name in reasons.cited(text, claim["id"]) if name not in ids), None):
                raise LookupError(unknown("claim", strange, ids, lists=False))
            entries.append({**claim, "wording": text, "reason": reasons.filled(text, claim["id"], record)})
        except (LookupError, ValueError) as error:
            remedy = "write a number on record like {ID}, or {ID:quantity|.1f}"
            mistakes.add(("claim", place, "reason"), f"names what is not on record: {error.args[0]}", remedy, text)
    mistakes.check()
    return entries


def _check_keys(kind: str, key: Key, entry: Table, mistakes: Mistakes) -> None:
    """Check a table's keys and the types of their values."""
    form = _FORMS[kind]
    hints = get_type_hints(form)
    for name in hints:
        if name not in entry:
            if name in form.__required_keys__:
                mistakes.add((*key, name), "is missing", "add it")
        elif wrong := mismatch(hints[name], entry[name]):
            said = wrong.removeprefix("the whole ").partition(", and is ")[0]
            mistakes.add((*key, name), said, "correct the value", entry[name])
    if isinstance(entry.get("like"), str):  # it names none, or the entry would be complete
        mistakes.add((*key, "like"), f"must name a {kind} above it", "correct the name", entry["like"])
    for name in entry:
        if name not in hints:
            mistakes.unknown((*key, name), list(hints))


def _check_unique(kind: str, name: str, table: Table, mistakes: Mistakes) -> None:
    seen: set[str] = set()
    for place, entry in enumerate(table.get(kind, ())):
        if entry[name] in seen:
            mistakes.add((kind, place, name), "is there twice", "rename one of them", entry[name])
        seen.add(entry[name])


def _check_choice(key: Key, choice: Table, mistakes: Mistakes) -> None:
    if not choice.get("options") and "seeds" not in choice:
        mistakes.add((*key, "options"), "is missing", "list options, or say how many seeds")
    if "options" in choice and "seeds" in choice:
        mistakes.add((*key, "seeds"), "and options must not be combined", "make a choice of each", choice["seeds"])
    _check_count(key, "seeds", choice, 1, mistakes)
    _check_count(key, "quick", choice, 1, mistakes)
    for place, option in enumerate(choice.get("options", ())):
        _check_count((*key, "options", place), "seeds", option, 1, mistakes)


def _check_count(key: Key, name: str, table: Table, least: int, mistakes: Mistakes) -> None:
    if not least <= table.get(name, least) <= MOST_RUNS:
        what = f"must be from {least} to {MOST_RUNS:,}"
        mistakes.add((*key, name), what, "write such a number", table[name])


def _check_study(folder: Path, key: Key, study: Table, choices: Mapping[str, Table], mistakes: Mistakes) -> None:
    named = study.get("choices", ())
    for name in named:
        if name not in choices:
            known = ", ".join(sorted(choices)) or "none"
            mistakes.add((*key, "choices"), "must name choices", f"there are {known}", name)
    if not study["case"]:
        mistakes.add((*key, "case"), "must have a case at least", 'write it like case = [{ name = "one" }]')
    _check_count(key, "runs", study, 0, mistakes)
    for place, case in enumerate(study["case"]):
        at = (*key, "case", place)
        _check_count(at, "runs", case, 0, mistakes)
        scenario = case.get("scenario", study["scenario"])
        if not (folder / scenario).is_file():
            where = at if "scenario" in case else key
            mistakes.add((*where, "scenario"), "must be a file", f"write it into the folder of {FILE}", scenario)
    sizes = [_size(choices[name]) for name in named if name in choices]
    runs = sum(max(case.get("runs", study.get("runs", 0)), 1) for case in study["case"])
    if (size := math.prod(itertools.chain((runs,), sizes))) > MOST_RUNS:
        mistakes.add(key, f"has {size:,} runs", f"leave out runs, seeds or options: at most {MOST_RUNS:,}")


def _size(choice: Table) -> int:
    return int(choice["seeds"]) if "seeds" in choice else len(choice.get("options", ()))


def _check_claim(key: Key, claim: Table, studies: Iterable[str], mistakes: Mistakes) -> None:
    if claim["study"] not in studies:
        mistakes.add((*key, "study"), "must name a study", f"there are {', '.join(sorted(studies))}", claim["study"])
    if "low" not in claim and "high" not in claim:
        mistakes.add((*key, "low"), "is missing, as is high: anything would agree", "give one of them, or both")
    low, high, sign = claim.get("low", -math.inf), claim.get("high", math.inf), claim.get("sign", 0)
    if sign not in (-1, 0, 1):
        mistakes.add((*key, "sign"), "must be 1, -1 or 0", "write 1 for above, -1 for below", sign)
    if low > high:
        mistakes.add((*key, "low"), f"must be at most high, which is {high:g}", "swap them: no value would agree", low)
    elif (sign > 0 and high < 0) or (sign < 0 and low > 0):
        name = "high" if sign > 0 else "low"
        mistakes.add((*key, name), "leaves no value of the claim's sign", "correct it, or sign", claim[name])
    if not 0 < claim.get("share", 1) <= 1:
        mistakes.add((*key, "share"), "must be above 0 and at most 1", "write a share, as 0.6", claim["share"])
