"""Reading of a source: claims with one option of a choice, instead of all."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from ackclock.base.printable import unknown
from ackclock.claims.folder import Choice, Claim, Option


def read_as(claims: Sequence[Claim], chosen: Mapping[str, str]) -> list[Claim]:
    """Return claims that are simulated with these options alone, on which verdicts then rest.

    Recorded measurements with these options remain. Reasons refer to the first options, and are dropped if these
    change.

    Args:
        claims: Claims, each of which leaves these choices open.
        chosen: Option of each choice, by name; for seeds one, or a range such as `4..6`.

    Raises:
        LookupError: If a claim has no such choice, or the choice no such option; the message lists the existing ones.
    """
    for name, option in chosen.items():
        claims = [_read(claim, name, option) for claim in claims]
    return list(claims)


def _read(claim: Claim, name: str, option: str) -> Claim:
    read = _alone(claim, name, option)
    return replace(read, beside=tuple(_alone(other, name, option) for other in claim.beside))


def _alone(claim: Claim, name: str, option: str) -> Claim:
    study = claim.study
    old = _choice(claim, name)
    are_seeds = all(each == _seed(each.name) for each in old.options)
    kept = tuple(each for each in old.options if each.name == option) or (_seeds(option) if are_seeds else ())
    if not kept and are_seeds:
        raise LookupError(f'choice {name} of {claim.id}: "{option}" is not a seed; write one, or a range such as 4..6')
    if not kept:
        raise LookupError(f"choice {name} of {claim.id}: {unknown('option', option, [o.name for o in old.options])}")
    new = replace(old, options=kept, quick=len(kept))
    if old.repeats:  # what is on record rests on others
        others = {each: _at_most(each, len(kept)) for each in study.choices}
        choices = tuple(new if each is old else others[each] for each in study.choices)
        return replace(claim, study=replace(study, choices=choices), on_record=None)
    read = replace(claim, study=replace(study, choices=tuple(new if each is old else each for each in study.choices)))
    if old.options[0].name == option:
        return read
    entry = _entry(read, name, option)
    return replace(
        read, reason="", wording="", on_record=entry, subject=None if entry is None else entry.get("subject") or ""
    )


def _seeds(text: str) -> tuple[Option, ...]:
    """Return the named seeds, whether or not the folder lists them: one, or a range including both ends."""
    found = re.fullmatch(r"([0-9]{1,6})(?:\.\.([0-9]{1,6}))?", text)
    first, last = (int(found[1]), int(found[2] or found[1])) if found else (1, 0)
    return tuple(_seed(str(seed)) for seed in range(first, last + 1))


def _seed(name: str) -> Option:
    return Option(name, (f"seed={name}",))


def _at_most(choice: Choice, seeds: int) -> Choice:
    """Return a choice whose options are repeated as often as seeds are requested."""
    options = tuple(replace(each, seeds=each.seeds and seeds) for each in choice.options)
    return replace(choice, options=options)


def _choice(claim: Claim, name: str) -> Choice:
    choices = {choice.name: choice for choice in claim.study.choices}
    if name not in choices:
        raise LookupError(f"{claim.id}: {unknown('choice', name, choices)}")
    return choices[name]


def _entry(claim: Claim, name: str, option: str) -> dict[str, Any] | None:
    """Return the entry of a record as if the option had been the first; None if it was not measured."""
    if claim.on_record is None:
        return None
    cells = [cell for cell in claim.on_record["other_choices"] if cell["choices"].get(name) == option]
    firsts = claim.study.combination({})
    mine = next((cell for cell in cells if claim.study.combination(cell["choices"]) == firsts), None)
    return None if mine is None else {**claim.on_record, **mine, "other_choices": cells}
