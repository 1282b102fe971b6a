"""Records are consistent: no mean outside its values, no interval beside its mean, no cell twice."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ackclock.base.checked_files import DamagedError
from ackclock.claims import load_folder
from ackclock.scenario.templates import write

CELL = {"measured": 2.0, "interval": [1.0, 3.0], "seeds": 2, "values": [1.5, 2.5], "also": {}}
OTHER = {**CELL, "choices": {"acks": "no"}}


def _folder(path: Path, *entries: dict[str, Any]) -> Path:
    write("claims", "mine", path, lang="python")
    (path / "recorded.json").write_text(json.dumps({"claims": entries}))
    return path


def _entry(cell: dict[str, Any], **more: object) -> dict[str, Any]:
    return {"id": "Mine1", **CELL, "other_choices": [], **cell, **more}


@pytest.mark.parametrize(
    ("entry", "said"),
    [
        (_entry({"interval": [3.0, 1.0]}), "must have its mean"),
        (_entry({"interval": [10.0, 12.0]}), "must have its mean"),
        (_entry({"interval": [2.0]}), "must have two ends"),
        (_entry({"interval": []}), "must have two ends"),
        (_entry({"seeds": 1, "values": [2.0]}), "two seeds or more"),
        (_entry({"seeds": 0}), "0 seeds"),
        (_entry({"seeds": 1000}), "1,000 seeds and 2 values"),
        (_entry({"values": [1.5, 2.5, 2.0]}), "2 seeds and 3 values"),
        (_entry({"measured": 9.0, "interval": [8.0, 10.0]}), "is not among its values"),
        (_entry({"measured": None}), "has no mean"),
        (_entry({}, other_choices=[OTHER, OTHER]), "twice"),
        (_entry({}, other_choices=[{**OTHER, "interval": [5.0, 6.0]}]), 'Mine1 under {"acks": "no"}'),
    ],
)
def test_a_record_that_cannot_be_is_refused(tmp_path: Path, entry: dict[str, Any], said: str) -> None:
    with pytest.raises(DamagedError, match=said):
        load_folder(_folder(tmp_path / "mine", entry))


@pytest.mark.parametrize(
    "entry",
    [
        _entry({}, other_choices=[OTHER]),
        _entry({"seeds": 1, "values": [2.0], "interval": None}),
        _entry({"measured": None, "seeds": 1, "values": [], "interval": None}),
        {"id": "Mine1", "measured": 2.0, "also": {"seeds": 2.0, "deviation": 1.0}, "other_choices": []},
        _entry({"id": "Else"}),
    ],
)
def test_what_a_run_writes_is_read(tmp_path: Path, entry: dict[str, Any]) -> None:
    claims = {claim.id: claim.on_record for claim in load_folder(_folder(tmp_path / "mine", entry)).claims}
    assert claims["Mine1"] == (entry if entry["id"] == "Mine1" else None)


@pytest.mark.parametrize(
    "damage",
    [lambda text: text[: len(text) // 2], lambda _: "", lambda _: "[]", lambda text: text.replace("2.0", "NaN")],
    ids=["half a file", "empty", "a list", "NaN"],
)
def test_a_damaged_file_is_refused(tmp_path: Path, damage: Callable[[str], str]) -> None:
    file = _folder(tmp_path / "mine", _entry({})) / "recorded.json"
    file.write_text(damage(file.read_text()))
    with pytest.raises(DamagedError):
        load_folder(file.parent)
