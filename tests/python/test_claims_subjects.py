"""The record of one scenario decides nothing about another: a folder that was copied and edited.

The head of `ackclock.claims.subjects` and how-to/own-claims.md say what makes another subject, and what does not.
"""

import json
import re
import shutil
from pathlib import Path

import pytest

from ackclock.claims import Finding, Folder, judge, load_folder, load_folders
from ackclock.claims.adoption import adopt, line_each, main
from ackclock.claims.claims_page import _is_of_another, as_json
from ackclock.claims.folder import select
from ackclock.claims.ledger import Laboratory, decisive
from ackclock.claims.readings import read_as
from ackclock.claims.subjects import first_subject, is_edited, subject_of
from ackclock.claims.words import counts, reason, record, verdict
from ackclock.scenario.templates import write
from conftest import Cli

SHIPPED = load_folders()
STUDIES = Path(__file__).parents[2] / "studies"

MEASURE = '''\
"""Two measures, of which one uses the other's module."""

from collections.abc import Callable
from pathlib import Path

from ackclock.claims.folder import load_module
from ackclock.claims.measured import Measured, Runs

_more = load_module(Path(__file__).parent / "more.py")
SCALE = 1.0
SEEN: dict[str, float] = {}


def busiest(case: str) -> Callable[[Runs], Measured]:
    """The busiest link."""

    def measure(runs: Runs) -> Measured:
        SEEN[case] = SCALE * _more.utilization(runs[case])
        return Measured(SEEN[case])

    return measure


MEASURES = {"Mine1": busiest("one BDP"), "Mine2": lambda runs: Measured(_more.utilization(runs["a fifth"]))}
'''
MORE = """\
def utilization(results):
    return max(link["utilization"] for link in results.summary["links"])


def unused():
    return 1
"""


@pytest.fixture
def mine(recorded: Path, tmp_path: Path) -> Path:
    return shutil.copytree(recorded, tmp_path / "mine")


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The template, three seconds long, with what a `--full` run measured on record."""
    folder = tmp_path_factory.mktemp("claims") / "mine"
    write("claims", "mine", folder, lang="python")
    (folder / "measure.py").write_text(MEASURE)
    (folder / "more.py").write_text(MORE)
    _edit(folder, "scenario.toml", 'duration = "60 s"', 'duration = "3 s"')
    _edit(folder, "scenario.toml", 'from = "20 s"', 'from = "1 s"')
    _edit(folder, "claims.toml", 'settings = "rate', 'reason = "As it was."\nsettings = "rate')
    findings = judge(load_folder(folder).claims, Laboratory(full=True), {})
    (folder / "recorded.json").write_text(json.dumps(as_json(findings, full=True), indent=2))
    _edit(folder, "claims.toml", 'name = "buffers"', 'name = "buffers"\ncostly = true')
    return folder


def _edit(folder: Path, name: str, old: str, new: str) -> None:
    text = (folder / name).read_text()
    assert old in text
    (folder / name).write_text(text.replace(old, new))


def _judged(folder: Path) -> list[Finding]:
    loaded = load_folder(folder)
    return judge(loaded.claims, Laboratory(), loaded.recorded)


SAME: dict[str, tuple[str, str, str]] = {
    "a comment in the scenario": ("scenario.toml", "duration =", "# so long\nduration  =  "),
    "the scenario's name": ("scenario.toml", 'name = "mine"', 'name = "yours"'),
    "whitespace of an override": ("claims.toml", 'limit="0.2 bdp"', 'limit =  "0.2 bdp"'),
    "another limit of agreement": ("claims.toml", "low = 0.98", "low = 0.5"),
    "a study more": ("claims.toml", "[[claim]]", "@STUDY@[[claim]]"),
    "an option more": ("claims.toml", "delayed_ack=false", 'delayed_ack=false"] }, { name = "m", set = ["tcp.mss=500'),
    "a comment in the measure": ("measure.py", "return measure\n", "return measure  # the inner one\n\n"),
    "a docstring": ("measure.py", "The busiest link.", "How busy the busiest is."),
    "a line break": ("measure.py", "Measured(SEEN[case])", "Measured(\n            SEEN[case]\n        )"),
    "code that is not used": ("more.py", "return 1", "return 2"),
    "a measure more": ("measure.py", "MEASURES = {", "OTHER = 3\nMEASURES = {"),
}
STUDY = '[[study]]\nname = "more"\ntitle = ""\nscenario = "scenario.toml"\nchoices = []\ncase = [{ name = "a" }]\n\n'


@pytest.mark.parametrize(("name", "old", "new"), SAME.values(), ids=SAME)
def test_what_leaves_a_scenario_as_it_was_leaves_its_record(mine: Path, name: str, old: str, new: str) -> None:
    text = (mine / name).read_text()
    (mine / name).write_text(text.replace(old, new.replace("@STUDY@", STUDY), 1))
    assert (mine / name).read_text() != text
    findings = _judged(mine)
    assert [finding.is_on_record for finding in findings] == [True, True]
    assert [len(finding.others) for finding in findings] == [1, 1]


REPEATS = """
[[choice]]
name = "again"
title = ""
why = ""
repeats = true
options = [{ name = "a", set = ["tcp.mss=500"] }]

"""
OTHER: dict[str, tuple[str, str, str, list[bool]]] = {
    "a number": ("scenario.toml", "10 Mbit/s", "11 Mbit/s", [True, True]),
    "an override of a case": ("claims.toml", '"0.2 bdp"', '"0.3 bdp"', [True, True]),
    "the first option": ("claims.toml", "delayed_ack=true", "delayed_ack=3", [True, True]),
    "the order of options": ("claims.toml", 'name = "yes"', 'name = "none", set = [] }, { name = "yes"', [True, True]),
    "a case's name": ("claims.toml", 'name = "a fifth"', 'name = "a  fifth"', [True, True]),
    "code": ("measure.py", "SCALE *", "SCALE +", [True, False]),
    "a constant": ("measure.py", "SCALE = 1.0", "SCALE = 1.5", [True, False]),
    "what a function closes over": ("measure.py", 'busiest("one BDP")', 'busiest("a fifth")', [True, False]),
    "another lambda": ("measure.py", 'runs["a fifth"]', 'runs["one BDP"]', [False, True]),
    "code of a module beside": ("more.py", "max(", "min(", [True, True]),
    "what a repeated option sets": ("claims.toml", "[[study]]", "@REPEATS@[[study]]", [True, True]),
}


@pytest.mark.parametrize(("name", "old", "new", "edited"), OTHER.values(), ids=OTHER)
def test_a_record_of_another_scenario_decides_nothing(
    mine: Path, name: str, old: str, new: str, edited: list[bool]
) -> None:
    _edit(mine, name, old, new.replace("@REPEATS@", REPEATS))
    if "REPEATS" in new:
        _edit(mine, name, 'choices = ["acks"]', 'choices = ["acks", "again"]')
    findings = _judged(mine)
    assert [finding.is_edited for finding in findings] == edited
    for finding in (each for each in findings if each.is_edited):
        assert (finding.verdict, finding.measured.value, finding.recorded, reason(finding)) == ("open", None, None, "")
        assert "on another scenario, and does not count; not simulated" in record(finding)
        assert finding.as_dict()["subject"] is None
    assert any(line.startswith("neither simulated nor on record: ") for line in counts(findings))


def test_seeds_on_record_do_not_decide_what_an_edited_folder_simulates(mine: Path, tmp_path: Path) -> None:
    """The record rests on five seeds and the run on one: in an edited copy, the run alone counts."""
    _edit(mine, "claims.toml", "\ncostly = true", "")
    _edit(mine, "claims.toml", 'choices = ["acks"]', 'choices = ["seed"]')
    choice = '[[choice]]\nname = "seed"\ntitle = "seed"\nwhy = "chance"\nseeds = 5\n\n[[study]]'
    _edit(mine, "claims.toml", "[[study]]", choice)
    findings = judge(load_folder(mine).claims, Laboratory(full=True), {})
    (mine / "recorded.json").write_text(json.dumps(as_json(findings, full=True)))
    edited = shutil.copytree(mine, tmp_path / "edited")
    _edit(edited, "scenario.toml", "10 Mbit/s", "11 Mbit/s")
    for folder, seeds in ((mine, 5), (edited, 1)):
        loaded = load_folder(folder)
        for finding in judge(loaded.claims, Laboratory(seeds=1), loaded.recorded):
            assert (decisive(finding).seeds, finding.seeds) == (seeds, 1)
            assert ("these" in verdict(finding)) == (seeds == 5 and finding.verdict != decisive(finding).verdict)


def test_a_record_that_does_not_say_its_scenario_decides_nothing_until_it_is_adopted(mine: Path) -> None:
    content = json.loads((mine / "recorded.json").read_text())
    written = line_each(content)
    for entry in content["claims"]:
        del entry["subject"]
        for other in entry["other_choices"]:
            del other["subject"]
    (mine / "recorded.json").write_text(json.dumps(content, indent=2, ensure_ascii=False) + "\n")
    assert all("does not name its scenario" in record(finding) for finding in _judged(mine))
    assert adopt(load_folder(mine)) == [mine / "recorded.json"]
    assert (mine / "recorded.json").read_text() == written, "what adopts is what writes"
    assert [finding.is_on_record for finding in _judged(mine)] == [True, True]
    assert adopt(load_folder(mine)) == []


def test_what_cannot_be_adopted_is_said(tmp_path: Path) -> None:
    for folders, said in (([], "name folders of claims"), ([str(tmp_path / "nowhere")], r"error: .*claims\.toml")):
        with pytest.raises(SystemExit, match=said):
            main(folders)


def test_a_verdict_without_a_record_is_of_its_scenario_as_well(mine: Path) -> None:
    (mine / "recorded.json").unlink()
    assert adopt(load_folder(mine)) == [mine / "verdicts.toml"]
    assert adopt(load_folder(mine)) == []
    _edit(mine, "claims.toml", "\ncostly = true", "")
    assert [(each.is_edited, each.recorded) for each in _judged(mine)] == [(False, "agrees")] * 2
    _edit(mine, "scenario.toml", "23 ms", "24 ms")
    findings = _judged(mine)
    assert [(each.is_edited, each.recorded, each.reason) for each in findings] == [(True, None, "")] * 2
    said = "the verdict on record was measured on another scenario, and does not count"
    assert said in {record(each) for each in findings}


@pytest.mark.parametrize("folder", SHIPPED, ids=lambda folder: folder.path.name)
def test_every_record_that_ships_is_of_what_ships(folder: Folder) -> None:
    """Else measure it anew; `python -m ackclock.claims.adoption` where the edit is known to change no result."""
    assert [claim.id for claim in folder.claims if claim.id in folder.recorded and claim.subject is None] == []
    assert [claim.id for claim in folder.claims if is_edited(claim)] == []
    for claim in folder.claims:
        subject = subject_of(claim)
        kept = claim.on_record or {"other_choices": []}
        options = {choice.name: {o.name for o in choice.options} for choice in claim.study.open_choices}
        for cell in kept["other_choices"]:
            assert all(cell["choices"].get(name) in (None, *known) for name, known in options.items()), claim.id
            assert cell["subject"] == subject(claim.study.combination(cell["choices"])), claim.id
        assert len(subject([choice.options[0] for choice in claim.study.open_choices])) == 12


def test_a_copy_elsewhere_is_the_same_and_the_regions_picture_goes_with_its_grid(tmp_path: Path) -> None:
    copy = shutil.copytree(STUDIES / "vegas-1999", tmp_path / "copy")
    before = {claim.id: first_subject(claim) for folder in SHIPPED for claim in folder.claims if claim.id[0] == "V"}
    folder = load_folder(copy)
    assert {claim.id: first_subject(claim) for claim in folder.claims} == before
    assert folder.pictures is not None
    (picture,) = (each for each in folder.pictures.PICTURES if each.name == "region")
    assert not _is_of_another(picture, folder)
    text = (copy / "claims.toml").read_text()
    for old, new in (
        ('="100 packets"', '="101 packets"'),
        ('{ name = "6", set = ["seed=6"] }', '{ name = "6", set = ["seed=7"] }'),
    ):
        edited = text.replace(old, new, 1)
        (copy / "claims.toml").write_text(edited)
        assert edited != text
        assert _is_of_another(picture, load_folder(copy))


def test_a_reason_goes_with_the_numbers_that_it_cites(mine: Path) -> None:
    """Mine1 is as it was, and its reason gives numbers of Mine2 and of another option."""
    text = (mine / "claims.toml").read_text()
    for said, old, new in (
        ("Mine2 has {Mine2}.", 'runs["a fifth"]', 'runs["one BDP"]'),
        ("Without it has {Mine1 where no}.", "delayed_ack=false", "delayed_ack=4"),
    ):
        (mine / "claims.toml").write_text(text.replace("As it was.", said, 1))
        before = _judged(mine)[0]
        assert (before.is_edited, before.reason[:4], "{" in before.reason) == (False, said[:4], False)
        _edit(mine, "measure.py" if "runs" in old else "claims.toml", old, new)
        after = _judged(mine)[0]
        assert (after.is_edited, after.measured.value, after.reason) == (False, before.measured.value, "")


def test_a_measurement_is_of_the_files_that_it_was_made_with(mine: Path) -> None:
    """A scenario that is edited while a run of hours goes on: what it measured is of the one that it read."""
    claims = load_folder(mine).claims
    before = [first_subject(claim) for claim in claims]
    laboratory = Laboratory(full=True, on_done=lambda *_: _meanwhile(mine))
    found = as_json(judge(claims, laboratory, {}), full=True)["claims"]
    assert [entry["subject"] for entry in found] == before
    assert [first_subject(claim) for claim in load_folder(mine).claims] != before


def _meanwhile(folder: Path) -> None:
    text = (folder / "scenario.toml").read_text()
    (folder / "scenario.toml").write_text(text.replace("10 Mbit/s", "11 Mbit/s"))


NAMED: dict[str, tuple[str, str, str]] = {
    "a file without a suffix": ('rate = "10 Mbit/s"', 'rate = { trace = "wan" }', "wan"),
    "a module": ("duration =", 'use = ["plugin"]\nduration =', "plugin.py"),
    "what a module imports": ("duration =", 'use = ["plugin"]\nduration =', "helper.py"),
    "a class": ('controller = "reno"', 'controller = "python:plugin:Mine"', "plugin.py"),
    "what a class imports": ('controller = "reno"', 'controller = "python:plugin:Mine"', "helper.py"),
    "what it imports inside": ('controller = "reno"', 'controller = "python:plugin:Mine"', "package/inner.py"),
    "a file that it names": ('controller = "reno"', 'controller = "python:plugin:Mine"', "weights.json"),
}


@pytest.mark.parametrize(("old", "new", "file"), NAMED.values(), ids=NAMED)
def test_what_a_named_file_says_is_part_of_the_scenario(mine: Path, old: str, new: str, file: str) -> None:
    (mine / "package").mkdir()
    for name in ("wan", "helper.py", "package/inner.py", "weights.json"):
        (mine / name).write_text("1\n")
    code = "import helper\nWEIGHTS = 'weights.json'\ndef Mine():\n    from package import inner\n"
    (mine / "plugin.py").write_text(code)
    _edit(mine, "scenario.toml", old, new)
    before = [first_subject(claim) for claim in load_folder(mine).claims]
    if file.endswith(".py"):
        (mine / file).write_text(f"# a comment\n{(mine / file).read_text()}")
    (mine / "nobody.py").write_text("2\n")
    assert [first_subject(claim) for claim in load_folder(mine).claims] == before
    (mine / file).write_text(f"{(mine / file).read_text()}3\n")
    assert all(one != other for one, other in zip(before, map(first_subject, load_folder(mine).claims), strict=True))


def test_a_file_that_a_scenario_names_is_part_of_it(tmp_path: Path) -> None:
    copy = shutil.copytree(STUDIES / "learned", tmp_path / "copy")
    with (copy / "policy.onnx").open("ab") as file:
        file.write(b" ")
    assert any(map(is_edited, load_folder(copy).claims))
    assert [each.id for each in load_folder(copy).claims if not is_edited(each)] == []


def test_a_statement_about_all_choices_is_open_where_the_first_was_edited(mine: Path) -> None:
    """The other choice is as it was, and would agree by itself: of half a grid nothing follows."""
    _edit(mine, "claims.toml", "low = 0.98", "low = 0.5\nshare = 0.5")
    assert _judged(mine)[0].verdict == "agrees"
    _edit(mine, "claims.toml", "delayed_ack=true", "delayed_ack=3")
    finding = _judged(mine)[0]
    assert (finding.is_edited, finding.verdict, decisive(finding).verdict) == (True, "open", "open")
    assert [judged for _, _, judged in finding.others] == ["agrees"]


def test_another_choice_that_was_edited_is_left_out_and_said(mine: Path) -> None:
    _edit(mine, "claims.toml", "delayed_ack=false", "delayed_ack=4")
    for finding in _judged(mine):
        assert (finding.is_on_record, finding.others) == (True, ())
        assert record(finding).endswith("; other choices were measured on another scenario, and are left out: 1")


def test_statements_on_record_are_judged_together_as_when_they_were_simulated(mine: Path, tmp_path: Path) -> None:
    """Both hold without delayed ACKs alone; two folders may each have a region of that name."""
    without = {
        c["id"]: c["other_choices"][0]["measured"] for c in json.loads((mine / "recorded.json").read_text())["claims"]
    }
    (_, first), (_, second) = [(c.id, c.on_record["measured"]) for c in load_folder(mine).claims if c.on_record]
    assert second < without["Mine2"]
    middle = (second + without["Mine2"]) / 2
    text = (mine / "claims.toml").read_text().replace("high = 0.97", f'low = {middle}\nregion = "both"')
    (mine / "claims.toml").write_text(
        text.replace("low = 0.98", f'low = {min(first, without["Mine1"])}\nregion = "both"')
    )
    findings = _judged(mine)
    assert [(each.first_verdict, each.verdict) for each in findings] == [("agrees", "agrees"), ("differs", "agrees")]
    other = shutil.copytree(mine, tmp_path / "other")
    for file in ("claims.toml", "measure.py", "verdicts.toml", "recorded.json"):
        (other / file).write_text((other / file).read_text().replace("Mine", "Other"))
    adopt(load_folder(other))
    _edit(other, "claims.toml", f"low = {middle}", "low = 2.0")
    claims = [*load_folder(mine).claims, *load_folder(other).claims]
    found = judge(claims, Laboratory(), {})
    assert [each.verdict for each in found] == ["agrees", "agrees", "differs", "differs"]
    _edit(mine, "claims.toml", "delayed_ack=false", "delayed_ack=4")
    assert [each.verdict for each in _judged(mine)] == ["open", "open"]


@pytest.mark.parametrize("folder", SHIPPED, ids=lambda folder: folder.path.name)
def test_a_picture_of_a_file_says_whose_record_it_is(folder: Folder) -> None:
    """Else it is drawn in a copy whose scenario is another."""
    code = "".join(file.read_text(encoding="utf-8") for file in folder.path.glob("pictures*.py"))
    files = [file for file in folder.path.glob("*.json") if file.name in code]
    assert not files or any(picture.shows for picture in folder.pictures.PICTURES if folder.pictures)


def test_pictures_of_a_copy_are_drawn_by_its_own_measures() -> None:
    named = [
        file for each in SHIPPED for file in each.path.glob("*.py") if "locations" in file.read_text(encoding="utf-8")
    ]
    assert named == []


def test_one_reading_is_judged_by_what_is_on_record_of_it() -> None:
    """D1b3 is on record with several testbeds: of the second, nothing that is said of the first holds."""
    claims = select(SHIPPED, ["D1b3"])
    (before,) = claims
    option = before.study.open_choices[0].options[1]
    (read,) = read_as(claims, {"testbed": option.name})
    assert before.on_record is not None and read.on_record is not None
    (cell,) = (each for each in before.on_record["other_choices"] if each["choices"]["testbed"] == option.name)
    assert read.on_record["measured"] == cell["measured"]
    assert (read.reason, is_edited(read)) == ("", False)
    assert read_as(claims, {"testbed": before.study.open_choices[0].options[0].name})[0].reason == before.reason


@pytest.mark.parametrize(
    ("choice", "option", "said"),
    [
        ("aks", "no", 'unknown choice "aks"; did you mean "acks"? known: acks'),
        ("acks", "noo", 'unknown option "noo"; did you mean "no"? known: yes, no'),
    ],
)
def test_an_unknown_reading_says_which_there_are(mine: Path, choice: str, option: str, said: str) -> None:
    with pytest.raises(LookupError, match=re.escape(said)):
        read_as(load_folder(mine).claims, {choice: option})


@pytest.mark.usefixtures("mine")
def test_the_command_says_it_too(cli: Cli) -> None:
    done = cli("claims", "./mine", "--choice", "aks=no")
    assert (done.returncode, 'unknown choice "aks"' in " ".join(done.stderr.split())) == (2, True), done.stderr


def test_a_reading_is_simulated_alone(mine: Path) -> None:
    claims = read_as(load_folder(mine).claims, {"acks": "no"})
    kept = {each["id"]: each for each in json.loads((mine / "recorded.json").read_text())["claims"]}
    for entry in as_json(judge(claims, Laboratory(full=True), {}), full=True)["claims"]:
        (other,) = kept[entry["id"]]["other_choices"]
        assert (entry["subject"], entry["measured"]) == (other["subject"], other["measured"])
        assert (entry["choices_tried"], entry["other_choices"], entry["recorded_verdict"]) == (1, [], None)


CONTROLLER = """\
from ackclock import CongestionController
class Mine(CongestionController):
    def on_ack(self, ack):
        self.cwnd_bytes = {}
    def on_congestion(self, event): pass
"""


def test_results_that_are_kept_are_of_the_code_that_the_scenario_brings(cli: Cli, mine: Path) -> None:
    """Two segments a round trip fill less of the link than twenty, whatever an earlier class did."""
    _edit(mine, "scenario.toml", '"reno"\ncontroller = "reno"', '"reno"\ncontroller = "python:own:Mine"')
    found = []
    for window in (3_000, 30_000):
        (mine / "own.py").write_text(CONTROLLER.format(window))
        done = cli("claims", "./mine", "Mine1", "--full", "--json", "--keep", "kept")
        assert done.returncode == 0, done.stderr
        found.append(json.loads(done.stdout)["claims"][0])
    assert found[1]["measured"] > 3 * found[0]["measured"]
    assert found[0]["subject"] != found[1]["subject"]
