"""A `claims.toml` that has every key that it needs and no unknown one: a limit with its key misspelt is no limit.

All mistakes are told at once, with their places, before anything is simulated.
"""

from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from ackclock.studies.mistakes import Mistakes, read_toml
from ackclock.studies.places import Key, spots

FILE: Final = "claims.toml"

_KEYS: Final[dict[str, tuple[tuple[str, ...], tuple[str, ...]]]] = {
    "": (("title", "source", "about", "study", "claim"), ("choice",)),
    "choice": (("name", "title", "why"), ("options", "quick", "repeats", "seeds")),
    "study": (("name", "title", "scenario", "choices", "case"), ("costly", "needs", "on", "runs", "set_simulated")),
    "case": (("name",), ("scenario", "set", "on", "runs")),
    "claim": (
        ("id", "section", "study", "statement", "quantity", "unit", "published", "why", "settings"),
        ("low", "high", "origin", "reason", "region", "share", "sign"),
    ),
}
"""What each kind of table must have, and what it may have."""

Table = Mapping[str, Any]


def read(folder: Path) -> tuple[Table, Mistakes]:
    """Read a folder's claims.

    Args:
        folder: Where they are.

    Returns:
        The table, and the place for mistakes that are found once its measures are known.

    Raises:
        ackclock.ScenarioError: If it has mistakes: all of them, with their places.
        OSError: If it cannot be read.
    """
    path = folder / FILE
    text = path.read_text(encoding="utf-8")
    table, mistakes = read_toml(text, path), Mistakes(str(path), spots(text))
    for kind, key, entry in _entries(table):
        _check_keys(kind, key, entry, mistakes)
    mistakes.check()
    choices, studies = ({entry["name"] for entry in table.get(kind, ())} for kind in ("choice", "study"))
    for place, study in enumerate(table["study"]):
        _check_study(folder, ("study", place), study, choices, mistakes)
    for place, claim in enumerate(table["claim"]):
        _check_claim(("claim", place), claim, studies, mistakes)
    mistakes.check()
    return table, mistakes


def check_measures(table: Table, measures: Collection[str], mistakes: Mistakes) -> None:
    """Refuse claims that `measure.py` has no measure of.

    Args:
        table: As it was read.
        measures: The ids that it has one of.
        mistakes: Of `read`.

    Raises:
        ackclock.ScenarioError: If one lacks.
    """
    for place, claim in enumerate(table["claim"]):
        if claim["id"] not in measures:
            remedy = "give MEASURES in measure.py an entry of this id"
            mistakes.add(("claim", place, "id"), "has no measure", remedy, claim["id"])
    mistakes.check()


def _entries(table: Table) -> Iterator[tuple[str, Key, Table]]:
    yield "", (), table
    for kind in ("choice", "study", "claim"):
        for place, entry in enumerate(table.get(kind, ())):
            yield kind, (kind, place), entry
            for nested, case in enumerate(entry.get("case", ()) if kind == "study" else ()):
                yield "case", (kind, place, "case", nested), case


def _check_keys(kind: str, key: Key, entry: Table, mistakes: Mistakes) -> None:
    needed, allowed = _KEYS[kind]
    for name in needed:
        if name not in entry:
            mistakes.add((*key, name), "is missing", "add it")
    for name in entry:
        if name not in needed + allowed:
            mistakes.unknown((*key, name), needed + allowed)
    if kind == "choice" and not entry.get("options") and "seeds" not in entry:
        mistakes.add((*key, "options"), "is missing", "list options, or say how many seeds")


def _check_study(folder: Path, key: Key, study: Table, choices: Collection[str], mistakes: Mistakes) -> None:
    for name in study["choices"]:
        if name not in choices:
            mistakes.add((*key, "choices"), "names no choice", f"there are {', '.join(sorted(choices))}", name)
    for case in study["case"]:
        scenario = case.get("scenario", study["scenario"])
        if not (folder / scenario).is_file():
            mistakes.add((*key, "scenario"), "is no file", f"write it, beside {FILE}", scenario)


def _check_claim(key: Key, claim: Table, studies: Collection[str], mistakes: Mistakes) -> None:
    if claim["study"] not in studies:
        mistakes.add((*key, "study"), "names no study", f"there are {', '.join(sorted(studies))}", claim["study"])
    if "low" not in claim and "high" not in claim:
        mistakes.add((*key, "low"), "is missing, as is high: anything would agree", "give one of them, or both")
