"""Claims that rest on several seeds, or are too costly for every day: means, the record, the papers' own sums."""

import re
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import pytest

from ackclock import Scenario
from ackclock.claims import Measured, judge, load_folders, run_store
from ackclock.claims.folder import Claim, Folder, load_module
from ackclock.claims.ledger import Laboratory, measured_of
from ackclock.claims.measured import mean
from verdicts import Verdicts

pytestmark = pytest.mark.long

FOLDERS = load_folders()
ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "explanation" / "claims-dqn.md"
CHEAP = [f"{rate} {name}" for rate in ("50", "100") for name in ("newreno", "dqn_cubic")]


@pytest.fixture(scope="module")
def folder() -> Folder:
    return next(folder for folder in FOLDERS if folder.path.name == "dqn-2023")


@pytest.fixture(scope="module")
def measure(folder: Folder) -> ModuleType:
    return load_module(folder.path / "measure.py")


def costly(folder: Folder) -> list[Claim]:
    return [claim for claim in folder.claims if claim.study.costly]


def test_the_mean_of_seeds_has_their_spread() -> None:
    """3, 4 and 8: mean 5, squares of the differences 4 + 1 + 9 = 14, of a sample of three 14 / 2, its root 2.6458."""
    found = mean([Measured(3.0, {"x": 1.0}), Measured(4.0, {"x": 2.0}), Measured(8.0, {"x": 6.0})])
    assert found.value == pytest.approx(5.0)
    assert found.also["deviation"] == pytest.approx(7**0.5)
    assert {name: found.also[name] for name in ("x", "least", "greatest", "seeds")} == {
        "x": 3.0, "least": 3.0, "greatest": 8.0, "seeds": 3.0,
    }  # fmt: skip


def test_a_seed_without_an_answer_is_not_counted() -> None:
    found = mean([Measured(3.0), Measured(None), Measured(5.0)])
    assert (found.value, found.also["seeds"]) == (4.0, 2.0)
    assert mean([Measured(None), Measured(None)]).value is None


@pytest.mark.parametrize(
    ("first", "second", "index"),
    [(53.60, 43.19, 0.9886), (48.39, 47.74, 0.9999), (51.14, 43.58, 0.9937), (49.94, 45.58, 0.9979),
     (47.38, 49.22, 0.9996), (80.64, 11.91, 0.6445), (48.53, 48.02, 0.9999)],
)  # fmt: skip
def test_the_papers_averages_give_the_papers_indices(
    measure: ModuleType, first: float, second: float, index: float
) -> None:
    """To the last digit printed."""
    assert measure.jain(first, second) == pytest.approx(index, abs=1e-4)


def test_seeds_are_repetitions_of_each_testbed(folder: Folder) -> None:
    """Twenty where verdicts rest, and as many as an option says elsewhere."""
    study = next(claim.study for claim in costly(folder) if claim.study.name == "rtts")
    settings = Laboratory(full=True).settings(study)
    counts = {setting[0].name: len(repetitions) for setting, repetitions in settings.items()}
    assert (next(iter(counts.items())), counts["by action"]) == (("FQ-CoDel over device", 20), 10)
    assert {len(r) for r in Laboratory(full=True, seeds=2).settings(study).values()} == {2}


def test_what_is_costly_is_on_record_and_not_simulated(folder: Folder) -> None:
    laboratory = Laboratory()
    findings = judge(costly(folder), laboratory, folder.recorded)
    assert len(laboratory) == 0
    assert [finding.claim.id for finding in findings if finding.simulated or finding.measured.value is None] == []
    for finding in findings:
        assert finding.measured.also["seeds"] >= 3, finding.claim.id


def test_the_page_names_whatever_differs(folder: Folder) -> None:
    """In its prose or in the row of a table; the reason is in the folder."""
    texts = (page.read_text(encoding="utf-8") for page in (PAGE, folder.path / "RESULTS.md"))
    text = re.sub(r"^<!--.*$", "", "".join(texts), flags=re.MULTILINE)
    named = set(re.findall(r"\bD\d\w*", text))
    assert [claim for claim, verdict in folder.recorded.items() if verdict == "differs" and claim not in named] == []


def test_the_record_is_of_this_simulator(folder: Folder) -> None:
    """The first seed of the cheapest runs that learn, those of a step with each action."""
    (claim,) = [claim for claim in folder.claims if claim.id == "D1e2"]
    assert claim.on_record is not None
    known = next(each for each in claim.on_record["other_choices"] if "by action" in each["choices"].values())
    testbed, seed = claim.study.choices
    by_action = replace(testbed, options=tuple(each for each in testbed.options if each.name == "by action"))
    cheap = tuple(case for case in claim.study.cases if case.name in CHEAP)
    study = replace(claim.study, cases=cheap, choices=(by_action, replace(seed, options=seed.options[:1])))
    laboratory = Laboratory(full=True)
    laboratory.simulate([study])
    assert measured_of(claim, laboratory.runs(study)).value == pytest.approx(known["values"][0], rel=1e-6)


def test_kept_results_are_not_simulated_again(folder: Folder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    scenario = Scenario.load(str(folder.path / "single.toml"), ['duration="2 s"'])
    first = run_store.run_or_load(scenario, tmp_path / "kept")

    def refuse(_: Scenario) -> None:
        raise AssertionError("simulated again")

    monkeypatch.setattr(run_store, "run", refuse)
    again = run_store.run_or_load(scenario, tmp_path / "kept")
    assert again.summary == first.summary
    assert again.flows.equals(first.flows)
    with pytest.raises(AssertionError, match="simulated again"):
        run_store.run_or_load(Scenario.load(str(folder.path / "single.toml"), ['duration="3 s"']), tmp_path / "kept")


class TestVerdicts(Verdicts):
    """Claims of this study."""
