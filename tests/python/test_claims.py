"""The ledger of claims: its verdicts, its numbers, and what the command does with wrong input."""

import itertools
import json
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest

from ackclock import ScenarioError
from ackclock.claims import Finding, judge, load_folders
from ackclock.claims.folder import Option, load_folder, load_module, select
from ackclock.claims.ledger import Laboratory, decisive
from ackclock.claims.measured import number
from conftest import Cli

FOLDERS = load_folders()

pytestmark = [
    pytest.mark.long,
    pytest.mark.timeout(1200),
]  # every claim in its short form: some three minutes of CPU on one core


@pytest.fixture(scope="module")
def laboratory() -> Laboratory:
    """Two seeds of each: a record that rests on more decides, and begins with theirs."""
    return Laboratory(seeds=2)


@pytest.fixture(scope="module")
def findings(laboratory: Laboratory) -> list[Finding]:
    recorded = {claim: verdict for folder in FOLDERS for claim, verdict in folder.recorded.items()}
    return judge([claim for folder in FOLDERS for claim in folder.claims], laboratory, recorded)


def test_verdicts_are_those_on_record(findings: list[Finding]) -> None:
    recorded = {claim: verdict for folder in FOLDERS for claim, verdict in folder.recorded.items()}
    assert {finding.claim.id: decisive(finding).verdict for finding in findings} == recorded


def test_what_is_on_record_comes_out_again(findings: list[Finding]) -> None:
    """The seeds simulated here are the first of a record: where they measure otherwise, it is to be made anew."""
    found = [f for f in findings if f.simulated and f.claim.on_record is not None]
    pairs = {f.claim.id: (f.measured.values, f.claim.on_record["values"]) for f in found}  # type: ignore[index]
    assert len(pairs) > 100
    stale = [claim for claim, (now, known) in pairs.items() if pytest.approx(now, rel=1e-6) != tuple(known[: len(now)])]
    assert stale == []


def test_whatever_differs_has_a_reason(findings: list[Finding]) -> None:
    assert [f.claim.id for f in findings if decisive(f).verdict == "differs" and not f.claim.reason] == []


def test_every_claim_of_the_notes_is_there() -> None:
    families = {re.match(r"[A-Z]+\d+", claim.id)[0] for folder in FOLDERS for claim in folder.claims}  # type: ignore[index]
    assert {f"O{number}" for number in range(1, 8)} <= families
    assert {f"D{number}" for number in range(1, 5)} <= families
    assert {f"H{number}" for number in (1, 2, 3, 4, 6)} <= families


@pytest.mark.parametrize(("claim", "most"), [("V7a", 0.0), ("V10", 20.0)])
def test_what_must_be_exact_is_so_over_the_whole_grid(findings: list[Finding], claim: str, most: float) -> None:
    """An offset of whole ticks cancels in the paper's equations; V10 leaves two ticks of 10 us for rounding."""
    finding = next(finding for finding in findings if finding.claim.id == claim)
    measured = [finding.measured, *(other for _, other, _ in finding.others)]
    assert [m.value for m in measured if m.value is None or m.value > most] == []
    cells = {"V7a": 3 * 2, "V10": 3 * 3 * 3 * 2}
    assert len(measured) == cells[claim], "delays and queues of the quick grid, and for V10 constants and rates"
    if claim == "V7a":
        assert all(min(m.also.values()) > 1000 for m in measured), "bins are compared, not none"


def test_the_ack_clock_sets_the_rate_where_acks_congest_the_way_back(findings: list[Finding]) -> None:
    """30,000 bit/s carry 93.75 ACKs of 40 bytes a second, each for a segment of 500 bytes: 375 kbit/s."""
    finding = next(finding for finding in findings if finding.claim.id == "V9a")
    assert finding.measured.also["50:1, Vegas kbit/s"] == pytest.approx(375.0, rel=1e-3)


def test_measured_windows_and_rates_agree_with_arithmetic(findings: list[Finding]) -> None:
    measured = {finding.claim.id: finding.measured for finding in findings}
    assert measured["O3a"].value == pytest.approx(44 * 1460 / 1000), "whole segments of a window of 65,535 bytes"
    rtt_s = measured["O7a"].also["mean RTT ms"] / 1000
    assert measured["O7a"].value == pytest.approx(44 * 1508 * 8 / rtt_s / 1e6, rel=0.01)
    assert measured["O2b"].value == pytest.approx(44.736, rel=1e-3)


def test_no_measured_rate_is_above_the_link(findings: list[Finding]) -> None:
    limits = {"lfn": 44.736, "lan": 44.736, "satellite": 1.544}
    for finding in findings:
        if finding.claim.study.name in limits and finding.claim.unit == "Mbit/s":
            values = [finding.measured.value, *(measured.value for _, measured, _ in finding.others)]
            assert max(values) <= limits[finding.claim.study.name] * 1.001, finding.claim.id


def test_vegas_statements_hold_together_where_the_record_has_them_so(findings: list[Finding]) -> None:
    """Each cell of the quick grid has the statements that the record of the whole grid has in it."""
    region = next(finding.region for finding in findings if finding.claim.id == "V1a")
    assert region is not None
    folder = next(folder for folder in FOLDERS if folder.path.name == "vegas-1999")
    (record,) = json.loads((folder.path / "regions.json").read_text())["regions"]
    cells = itertools.product(*(choice["options"] for choice in record["choices"]))
    held = dict(zip(cells, record["held"], strict=True))
    ours = {
        tuple(option.name for option in cell): sum((verdict == "agrees") << i for i, verdict in enumerate(verdicts))
        for cell, verdicts in region.cells.items()
    }
    assert record["ids"] == list(region.ids)
    assert len(ours) == 3 * 3 * 3 * 2
    assert ours == {cell: held[cell] for cell in ours}
    first = dict(zip(region.ids, next(iter(region.cells.values())), strict=True))
    assert [claim for claim, verdict in first.items() if verdict != "agrees"] == ["V2a"]


def test_the_count_of_what_holds_together_has_every_such_claim() -> None:
    """V15 reads the file by itself: claims that hold together are written out, and take nothing from others."""
    folder = next(folder for folder in FOLDERS if folder.path.name == "vegas-1999")
    counted = load_module(folder.path / "measure.py")._together()
    (record,) = json.loads((folder.path / "regions.json").read_text())["regions"]
    assert [claim["id"] for claim in counted] == record["ids"]
    assert not any("like" in claim for claim in counted)


def test_the_tick_bounds_the_rate_as_the_law_says(findings: list[Finding]) -> None:
    """4 segments of 1448 octets a millisecond: 46.3 Mbit/s; 2 of them 23.2; a flow is between, whatever the link."""
    measured = next(finding.measured for finding in findings if finding.claim.id == "V12a").also
    assert all(23.2 < measured[f"{link}, 1 ms: Mbit/s"] < 46.4 for link in ("1 Gbit/s", "100 Mbit/s"))


def test_a_scenario_that_claims_share_is_simulated_once(laboratory: Laboratory, findings: list[Finding]) -> None:
    of_vegas = (f.claim.study for f in findings if f.simulated and f.claim.id.startswith("V"))
    studies = {study.key: study for study in of_vegas}.values()
    asked = [
        id(results)
        for study in studies
        for choices in laboratory.grid(study)
        for results in laboratory.runs(study, choices).values()
    ]
    assert 100 < len(set(asked)) < min(len(asked), len(laboratory))
    before = len(laboratory)
    laboratory.simulate(studies)
    assert len(laboratory) == before


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


def test_other_choices_are_named(findings: list[Finding]) -> None:
    entry: dict[str, Any] = next(finding for finding in findings if finding.claim.id == "O4a").as_dict()
    grown = [other for other in entry["other_choices"] if other["choices"]["growth"] == "yes"]
    assert grown
    assert all(other["verdict"] == "differs" and other["measured"] > 300 for other in grown)
    assert (entry["choices_agreeing"], entry["choices_tried"]) == (2, 4)


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
