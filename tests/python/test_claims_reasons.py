"""Numbers in reasons are those on record, or said to be from elsewhere."""

import json
import re
import tomllib
from pathlib import Path

import pytest

from ackclock import ScenarioError
from ackclock.claims import locations
from ackclock.claims.folder import load_folder
from ackclock.claims.reasons import PLACE, filled
from ackclock.scenario.templates import write
from conftest import Cli

NUMBER = re.compile(r"(?<![\w.,])(?<!\w-)-?\d+(?:[.,]\d+)*(?![\w-])")

FOLDERS = {folder.name: folder for folder in locations.found()}
RECORDED = [name for name, folder in FOLDERS.items() if (folder / "recorded.json").exists()]

ENTRY = {
    "measured": 2.0,
    "interval": [1.5, 2.5],
    "also": {"Reno, Mbit/s": 91.04, "50:1, kbit/s": 7.0},
    "other_choices": [
        {"choices": {"queue": "FQ", "seed": "a"}, "measured": 3.0, "interval": None, "also": {}},
        {"choices": {"queue": "FQ", "seed": "b"}, "measured": 4.0, "interval": None, "also": {}},
    ],
}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{A1} and {A1|.0f}", "2.000 and 2"),
        ("{:Reno, Mbit/s|.1f} of {A1:Reno, Mbit/s}", "91.0 of 91.04"),
        ("{:50:1, kbit/s|.0f}", "7"),
        ("2 ± {:±}", "2 ± 0.500"),
        ("{A1 where FQ; b}, {A1 where FQ|.1f}", "4.000, 3.0"),
        ("{A1 where FQ:±}", "-"),
        ("{A2}", "-"),
        ("no number", "no number"),
    ],
)
def test_a_reason_has_the_numbers_of_the_record(text: str, said: str) -> None:
    assert filled(text, "A1", {"A1": ENTRY}) == said


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{:Renoo, Mbit/s}", 'unknown quantity "Renoo, Mbit/s"; did you mean "Reno, Mbit/s"?'),
        ("{A1 where DropTail}", 'unknown option "DropTail"; known: FQ, a, b'),
        ("{A1|.2z}", "format"),
    ],
)
def test_what_is_not_on_record_is_refused(text: str, said: str) -> None:
    with pytest.raises((LookupError, ValueError), match=re.escape(said).replace("format", ".*format")):
        filled(text, "A1", {"A1": ENTRY})


def test_a_reason_that_names_an_unknown_claim_is_a_mistake(tmp_path: Path) -> None:
    folder = tmp_path / "mine"
    write("claims", "mine", folder, lang="python")
    text = (folder / "claims.toml").read_text()
    (folder / "claims.toml").write_text(text.replace("high = 0.97", 'high = 0.97\nreason = "{Mine3} is less."'))
    with pytest.raises(ScenarioError, match=r'reason names what is not on record: unknown claim "Mine3"; did you mean'):
        load_folder(folder)


def test_a_run_of_all_has_the_numbers_that_came_out_in_it(cli: Cli, tmp_path: Path) -> None:
    """The numbers of a reason are never those of an earlier record, as the how-to on claims says."""
    write("claims", "mine", tmp_path / "mine", lang="python")
    file = tmp_path / "mine" / "claims.toml"
    file.write_text(
        file.read_text().replace("high = 0.97", 'high = 0.97\nreason = "{|.4f}, and {Mine1 where no|.4f}."')
    )
    first, second = json.loads(cli("claims", "./mine", "--full", "--json").stdout)["claims"]
    (other,) = first["other_choices"]
    assert second["reason"] == f"{second['measured']:.4f}, and {other['measured']:.4f}."


def test_a_number_below_zero_is_one_and_a_name_is_none() -> None:
    assert NUMBER.findall("K6-D1: -90 to -0.5 % of 1,000 by RFC-793bis, 8-bit") == ["-90", "-0.5", "1,000"]


@pytest.mark.parametrize("name", RECORDED)
def test_numbers_in_reasons_are_on_record_or_said_to_be_from_elsewhere(name: str) -> None:
    """Write `{ID:quantity}` for what the record has, and list what it has not in the claim's `elsewhere`."""
    table = tomllib.loads((FOLDERS[name] / "claims.toml").read_text(encoding="utf-8"))
    bare = []
    for claim in table["claim"]:
        numbers = NUMBER.findall(PLACE.sub("", claim.get("reason", "")))
        bare += [f"{claim['id']}: {number}" for number in numbers if number not in claim.get("elsewhere", ())]
    assert not bare


def test_what_is_from_elsewhere_is_in_its_reason() -> None:
    for folder in FOLDERS.values():
        for claim in tomllib.loads((folder / "claims.toml").read_text(encoding="utf-8"))["claim"]:
            numbers = NUMBER.findall(PLACE.sub("", claim.get("reason", "")))
            assert set(claim.get("elsewhere", ())) <= set(numbers), claim["id"]
