"""Update of the subjects in records: `python -m ackclock.claims.adoption DIR...`.

It is for records of an earlier form, and for changes known to leave every measurement as it was. It assumes that the
recorded numbers were measured with the present content of the folder, and simulates nothing.
"""

import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ackclock._core import ScenarioError
from ackclock.base.input_files import InputFileError
from ackclock.claims.folder import VERDICTS, Claim, Folder, load_folder
from ackclock.claims.subjects import first_subject, region_subject, subject_of

_TABLE = "\n# What each verdict without a record is of, as `python -m ackclock.claims.adoption` writes it.\n[subject]\n"


def adopt(folder: Folder) -> list[Path]:
    """Update the subjects of a folder's records and verdicts.

    Returns:
        The files that changed.
    """
    claims = {claim.id: claim for claim in folder.claims}
    records = sorted(folder.path.glob("recorded*.json"))
    changes = {file: _record(file.read_text(encoding="utf-8"), claims) for file in records}
    if (regions := folder.path / "regions.json").exists():
        changes[regions] = _regions(regions.read_text(encoding="utf-8"), folder.claims)
    if (verdicts := folder.path / VERDICTS).exists():
        changes[verdicts] = _verdicts(verdicts.read_text(encoding="utf-8"), folder)
    changed = [file for file, text in changes.items() if text != file.read_text(encoding="utf-8")]
    for file in changed:
        file.write_text(changes[file], encoding="utf-8")
    return changed


def line_each(content: Mapping[str, Any]) -> str:
    """Return a record with one line per claim."""
    lines = ",\n".join(json.dumps(entry, ensure_ascii=False) for entry in content["claims"])
    head = json.dumps({**content, "claims": []}, ensure_ascii=False).removesuffix("[]}")
    return f"{head}[\n{lines}\n]}}\n"


def _record(text: str, claims: Mapping[str, Claim]) -> str:
    """Return a record with the subject of each measurement."""
    content = json.loads(text)
    entries = [_entry(entry, claims[entry["id"]]) if entry["id"] in claims else entry for entry in content["claims"]]
    return line_each({**content, "claims": entries})


def _entry(entry: dict[str, Any], claim: Claim) -> dict[str, Any]:
    subject = subject_of(claim)
    others = [_with(other, subject(claim.study.combination(other["choices"]))) for other in entry["other_choices"]]
    return _with(entry, subject(claim.study.combination({}))) | {"other_choices": others}


def _with(entry: dict[str, Any], subject: str) -> dict[str, Any]:
    """Return an entry with its subject at the place where a run writes it, before the measured value."""
    found: dict[str, Any] = {}
    for name, value in entry.items():
        found |= {"subject": subject} if name == "measured" else {}
        found |= {} if name == "subject" else {name: value}
    return found


def _regions(text: str, claims: Sequence[Claim]) -> str:
    content = json.loads(text)
    for region in content["regions"]:
        region["subject"] = region_subject([claim for claim in claims if claim.region == region["name"]])
    return json.dumps(content, ensure_ascii=False) + "\n"


def _verdicts(text: str, folder: Folder) -> str:
    """Return the verdicts with the subjects of those without a record; records have their own."""
    bare = [claim for claim in folder.claims if claim.on_record is None and claim.id in folder.recorded]
    lines = [f'{claim.id} = "{first_subject(claim)}"\n' for claim in bare]
    return text.partition(_TABLE)[0] + (_TABLE + "".join(lines) if lines else "")


def main(folders: Sequence[str]) -> None:
    """Update each of these folders."""
    if not folders:
        raise SystemExit("name folders of claims: python -m ackclock.claims.adoption ./mine")
    try:
        for path in folders:
            for file in adopt(load_folder(Path(path))):
                print(file)
    except (ScenarioError, InputFileError, OSError) as error:
        raise SystemExit(f"error: {error}") from error


if __name__ == "__main__":
    main(sys.argv[1:])
