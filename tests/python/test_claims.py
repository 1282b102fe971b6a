"""The ledger of claims: its verdicts, its numbers, and what the command does with wrong input."""

import itertools
import json
import re
import tomllib
from pathlib import Path

import pytest

from ackclock import ScenarioError
from ackclock.claims import load_folders
from ackclock.claims.folder import Option, load_folder, select
from ackclock.claims.measured import number
from conftest import Cli

FOLDERS = load_folders()

pytestmark = pytest.mark.long


def test_the_verdicts_of_every_study_are_tested() -> None:
    files = [
        text for file in Path(__file__).parent.glob("test_claims_*.py") if "(Verdicts)" in (text := file.read_text())
    ]
    assert [f.path.name for f in FOLDERS if not any(f'"{f.path.name}"' in text for text in files)] == []


def test_every_claim_of_the_notes_is_there() -> None:
    families = {re.match(r"[A-Z]+\d+", claim.id)[0] for folder in FOLDERS for claim in folder.claims}  # type: ignore[index]
    assert {f"O{number}" for number in range(1, 8)} <= families
    assert {f"D{number}" for number in range(1, 5)} <= families
    assert {f"H{number}" for number in (1, 2, 3, 4, 6)} <= families


@pytest.mark.parametrize(
    ("value", "verdict"), [(9.4, "differs"), (9.5, "agrees"), (10.5, "agrees"), (10.6, "differs"), (None, "open")]
)
def test_a_verdict_is_whether_the_value_is_in_the_range(value: float | None, verdict: str) -> None:
    (claim,) = select(FOLDERS, ["O2a"])
    assert claim.verdict(value) == verdict


def test_a_prefix_selects() -> None:
    assert [claim.id for claim in select(FOLDERS, ["o2"])] == ["O2a", "O2b", "O2c"]
    with pytest.raises(LookupError, match=r'unknown claim "O9"; .*opnet-17'):
        select(FOLDERS, ["O2", "O9"])


def test_a_wrong_choice_of_a_claim_is_found_when_the_folder_is_read(tmp_path: Path) -> None:
    source = next(folder.path for folder in FOLDERS if folder.path.name == "opnet-17")
    for file in source.iterdir():
        if file.is_file():
            (tmp_path / file.name).write_text(file.read_text())
    claims = (tmp_path / "claims.toml").read_text()
    (tmp_path / "claims.toml").write_text(claims.replace('study = "lfn"', 'study = "missing"', 1))
    with pytest.raises(ScenarioError, match=r"claim\[\d+\].study must name a study"):
        load_folder(tmp_path)


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        (("\nhigh = ", "\nhihg = "), 'did you mean "high"?'),
        (("\nhigh = 0.97", ""), "anything would agree"),
        (("\nunit = ", "\n# unit = "), "claim[0].unit is missing"),
        (("\nunit = ", '\nlike = "Mine2"\nunit = '), "like must name a claim above it"),
        (("[[study]]\n", "[[study]]\nlike = 1\n"), "like must be a string"),
        (('choices = ["acks"]', 'choices = ["axe"]'), "must name choices"),
        (('id = "Mine1"', 'id = "Mine9"'), "has no measure"),
        (("[[study]]", "[[study"), "it is not TOML"),
    ],
)
def test_a_mistake_in_claims_of_ones_own_is_told_with_its_place(
    cli: Cli, tmp_path: Path, wrong: tuple[str, str], says: str
) -> None:
    cli("claims", "new", "./mine")
    file = tmp_path / "mine" / "claims.toml"
    assert wrong[0] in file.read_text()
    file.write_text(file.read_text().replace(*wrong, 1))
    failed = cli("claims", "./mine")
    assert failed.returncode == 2
    assert says in failed.stderr
    assert "claims.toml" in failed.stderr


def test_a_claim_like_another_has_its_keys_and_not_its_reason(cli: Cli, tmp_path: Path) -> None:
    cli("claims", "new", "./mine")
    file = tmp_path / "mine" / "claims.toml"
    table = tomllib.loads(file.read_text())
    first, second = table["claim"][:2]
    more = f'\n[[claim]]\nid = "Mine9"\nlike = "{first["id"]}"\nhigh = 7.0\nstatement = "Another."\n'
    file.write_text(file.read_text() + more)
    measure = tmp_path / "mine" / "measure.py"
    measure.write_text(measure.read_text() + f'\nMEASURES["Mine9"] = MEASURES["{second["id"]}"]\n')
    claims = {claim.id: claim for claim in load_folder(tmp_path / "mine").claims}
    model, made = claims[first["id"]], claims["Mine9"]
    assert (made.study, made.unit, made.why, made.low) == (model.study, model.unit, model.why, model.low)
    assert (made.high, made.statement, made.reason) == (7.0, "Another.", "")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("claims") / "out"


def test_table_json_and_page_have_the_same_numbers(cli: Cli, folder: Path) -> None:
    shown = cli("claims", "O2", "-o", folder)
    assert shown.returncode == 0, shown.stderr
    assert shown.stdout.rstrip().endswith(str(folder / "index.html"))
    printed = json.loads(cli("claims", "O2", "--json", "-o", folder).stdout)
    assert printed == json.loads((folder / "claims.json").read_text())
    page = (folder / "index.html").read_text()
    for claim in printed["claims"]:
        row = next(line for line in shown.stdout.splitlines() if line.startswith(claim["id"]))
        assert f" {number(claim['measured'])} " in row
        assert claim["verdict"] in row
        assert f">{number(claim['measured'])}<" in page
    assert [claim["id"] for claim in printed["claims"]] == ["O2a", "O2b", "O2c"]
    _check_page(page, folder)


def _check_page(page: str, folder: Path) -> None:
    assert "http" not in page, "the page needs nothing from elsewhere"
    assert page.count("data:image/png;base64,") == 1
    assert sorted(path.name for path in (folder / "figures").iterdir()) == [
        "throughput-50ms.png",
        "throughput-50ms.svg",
    ]


def test_an_unknown_id_is_wrong_input(cli: Cli, tmp_path: Path) -> None:
    failed = cli("claims", "O99")
    assert failed.returncode == 2
    assert 'unknown claim "O99"; ' in failed.stderr and "opnet-17" in failed.stderr
    assert len(failed.stderr) < 400, "not every id there is"
    for mistyped in ("opnet17", "opnet-18"):
        assert 'did you mean "opnet-17"?' in cli("claims", mistyped).stderr
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_is_not_of_claims_is_left_alone(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("years of work")
    failed = cli("claims", "O2", "-o", "mine")
    assert failed.returncode == 2
    assert "mine exists already and is not a folder of claims" in failed.stderr
    assert [path.name for path in (tmp_path / "mine").iterdir()] == ["thesis.txt"]


def test_the_name_of_a_folder_selects_its_claims() -> None:
    assert {claim.id[0] for claim in select(FOLDERS, ["rfc"])} == {"R"}
    assert {claim.id[0] for claim in select(FOLDERS, ["rfc", "O1"])} == {"R", "O"}


def test_a_reason_names_other_claims_that_there_are() -> None:
    wrong = []
    for folder in load_folders():
        ids = {claim.id for claim in folder.claims}
        for claim in folder.claims:
            found = re.findall(r"\b(?:As|see|See) ([A-Z]\d[\w-]*)|\(([A-Z]\d[\w-]*)\)", claim.reason)
            named = set(filter(None, itertools.chain(*found)))
            known = {name for name in named if any(other.startswith(name) for other in ids)} - {claim.id}
            wrong += [(claim.id, name) for name in named - known]
    assert not wrong


def test_an_override_may_hold_only_where_its_flow_or_appliance_is(tmp_path: Path) -> None:
    scenario = tmp_path / "scenario.toml"
    scenario.write_text('[[flow]]\nname = "B"\n[[flow]]\n[[appliance]]\nname = "box"\n')
    there = ("?flow.B.start=1", "?appliance.box.node=1", "seed=2")
    assert Option("", (*there, "?flow.box.start=1", "?appliance.B.node=1")).on(scenario) == [
        "flow.B.start=1",
        "appliance.box.node=1",
        "seed=2",
    ]


def test_an_override_may_hold_for_every_entry_of_a_list(tmp_path: Path) -> None:
    """One for each link, in their order; a list that is not there stays for the scenario to refuse."""
    scenario = tmp_path / "scenario.toml"
    scenario.write_text('topology = { link = [{ from = "A" }, { from = "B" }] }\n[[flow]]\nname = "B"\n')
    written = ("topology.link[*].rate=1", "?flow.B.note=[*]", "topology.hop[*].rate=1", "flow[*].start=1")
    assert Option("", written).on(scenario) == [
        "topology.link[0].rate=1",
        "topology.link[1].rate=1",
        "flow.B.note=[*]",
        "topology.hop[*].rate=1",
        "flow[0].start=1",
    ]
