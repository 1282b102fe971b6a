"""Subject of a measurement: a hash of the scenarios and of the code that a number was measured with.

A record stores it beside each number, so that in a copied and edited folder, numbers of another scenario decide
nothing. It covers the names and places of the study's cases, the scenario files as documents, and the files that these
name. It also covers every override in order, options that repeat a setting, and the measure with its id
(`ackclock.claims.own_code`). A Python module counts with its imports and the files that its texts name. It leaves out
comments, whitespace and a scenario's `name`, limits of agreement, other studies and options, and the number of seeds.
It also leaves out the engine, whose differences are found by measuring again (`ackclock.claims.reference`).
Departures: files that environment variables name are not read, since a record is shown where these are not set.
"""

import hashlib
import json
import re
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

from ackclock.base import input_files
from ackclock.claims import own_code
from ackclock.claims.folder import Case, Claim, Option, Study
from ackclock.claims.named_files import contents, document, look_anew

DIGITS: Final = 12
"""Length of a subject, hexadecimal digits."""

_SEED: Final = re.compile(r"\s*seed\s*=\s*\d+\s*")


def subject_of(claim: Claim) -> Callable[[Sequence[Option]], str]:
    """Return a function that gives the subject of a claim's measurement, under an option of each open choice.

    It is computed once for a claim, so that measurements are not attributed to files that were edited meanwhile.
    """
    key = claim.id, id(claim.study), id(claim.measure)
    if key not in _known:
        _known[key] = claim.study, claim.measure, _subject_of(claim)
    return _known[key][2]


_known: dict[tuple[str, int, int], tuple[Study, Callable[..., object], Callable[[Sequence[Option]], str]]] = {}
"""Subjects of claims seen; study and measure are stored, so that their ids stay unique."""


def _subject_of(claim: Claim) -> Callable[[Sequence[Option]], str]:
    study = claim.study
    look_anew()
    common = [own_code.parts(study.folder, claim.id), _repeated(study)]
    cases = [(case, [case.name, case.on, *_scenario(case.scenario)]) for case in study.cases]

    def subject(chosen: Sequence[Option]) -> str:
        return _digest([common, [[*said, _overrides(case, chosen)] for case, said in cases]])

    return subject


def first_subject(claim: Claim) -> str:
    """Return the subject of the measurement on which a claim's verdict rests."""
    return subject_of(claim)([choice.options[0] for choice in claim.study.open_choices])


def is_edited(claim: Claim) -> bool:
    """Return whether a claim's record is of another scenario, or does not state its subject."""
    return claim.subject not in (None, first_subject(claim))


def has_edited(claim: Claim) -> bool:
    """Return whether any record of a claim is of another scenario, under whichever options."""
    subject, others = subject_of(claim), (claim.on_record or {}).get("other_choices", ())
    there = (cell for cell in others if claim.study.has(cell["choices"]))
    cells = ((cell.get("subject"), claim.study.combination(cell["choices"])) for cell in there)
    return is_edited(claim) or any(said != subject(chosen) for said, chosen in cells)


def region_subject(claims: Iterable[Claim]) -> str:
    """Return the subject of claims that are judged together over all options of their study's choices."""
    grids = [[[option.name, option.overrides] for option in each.options] for each in _open(claims)]
    return _digest([grids, [first_subject(claim) for claim in claims]])


def scenario_subjects(folder: Path, names: Iterable[str]) -> dict[str, str]:
    """Return the subjects of scenario files, for records of other things than claims."""
    return {name: _digest(_scenario(folder / name)) for name in sorted(set(names)) if (folder / name).is_file()}


def _open(claims: Iterable[Claim]) -> list[Any]:
    return [choice for claim in claims for choice in claim.study.open_choices]


def _digest(content: object) -> str:
    text = json.dumps(content, sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:DIGITS]


def _repeated(study: Study) -> list[list[Any]]:
    """Return the changes, other than of the seed, that options which repeat a setting make."""
    options = [option for choice in study.choices if choice.repeats for option in choice.options]
    changed = [[text for text in option.overrides if not _SEED.fullmatch(text)] for option in options]
    folders = sorted({case.scenario.parent for case in study.cases})
    return [[_changes(texts, folder) for folder in folders] for texts in changed if texts]


def _scenario(file: Path) -> tuple[str, list[Any]]:
    said, texts = _document(input_files.text(file, remedy="write it: a study names it"))
    return said, list(contents(texts, file.parent))


def _overrides(case: Case, chosen: Sequence[Option]) -> list[tuple[str, list[Any]]]:
    texts = (*(text for option in chosen for text in option.on(case.scenario)), *case.overrides)
    return _changes(texts, case.scenario.parent)


def _changes(texts: Iterable[str], folder: Path) -> list[tuple[str, list[Any]]]:
    return [(said, list(contents(named, folder))) for said, named in map(_override, texts)]


@lru_cache(maxsize=1024)
def _override(text: str) -> tuple[str, tuple[str, ...]]:
    """Return an override with its value as a document, and the texts in it."""
    path, sign, value = text.partition("=")
    return document(f"value={value}", f"{path.strip()}{sign}")


@lru_cache(maxsize=256)
def _document(text: str) -> tuple[str, tuple[str, ...]]:
    """Return a scenario file as a document, and the texts in it."""
    return document(text)
