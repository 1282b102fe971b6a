"""The learned controller's paths are held out, its policy is the one that was learnt, and its claims are of runs.

ACKCLOCK_UPDATE_DOCS=1 writes the page's table.
"""

import itertools
import json
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
import record_tables
from ackclock_studies.learned.evolve import network
from ackclock_studies.learned.outcome import FAMILIES, Figures, Link

from ackclock import Scenario, run
from ackclock.claims import load_folders
from ackclock.claims.folder import Folder, load_module, select
from ackclock.claims.ledger import Laboratory
from ackclock.scenario import example_files
from pages import assert_written
from verdicts import Verdicts

ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.long

FOLDERS = load_folders()
CELLS = ("alone", "lossy", "cubic", "own")
"""Kinds of paths that are drawn from cells."""


@pytest.fixture(scope="module")
def folder() -> Folder:
    return next(folder for folder in FOLDERS if folder.path.name == "learned")


@pytest.fixture(scope="module")
def measure(folder: Folder) -> ModuleType:
    return load_module(folder.path / "measure.py")


def test_the_example_policy_is_that_of_the_study(folder: Folder) -> None:
    assert (example_files.FOLDER / "policy.onnx").read_bytes() == (folder.path / "policy.onnx").read_bytes()


def template(folder: Folder, part: str, family: str) -> dict[str, Any]:
    return tomllib.loads((folder.path / part / f"{family}.toml").read_text(encoding="utf-8"))


def cells(table: dict[str, Any]) -> Iterator[tuple[tuple[float, float], ...]]:
    """Ranges of rate, delay and queue of each cell."""
    for cell in table["topology"]["choice"]:
        bottleneck = cell["bottleneck"]
        drawn = (bottleneck["rate"], bottleneck["delay"], bottleneck["queue"]["limit"])
        yield tuple(tuple(float(end.split()[0]) for end in each["log_uniform"]) for each in drawn)  # type: ignore[misc]


@pytest.mark.parametrize("family", CELLS)
def test_no_cell_of_the_test_was_learnt_on(folder: Folder, family: str) -> None:
    train, test = (list(cells(template(folder, part, family))) for part in ("train", "test"))
    assert (len(train), len(test)) == (18, 9)
    for learnt, held in itertools.product(train, test):
        apart = [one[1] <= other[0] or other[1] <= one[0] for one, other in zip(learnt, held, strict=True)]
        assert any(apart), (learnt, held)


def test_the_test_has_every_rate_every_round_trip_and_every_queue_of_the_goal(folder: Folder) -> None:
    for family in CELLS:
        rates, delays, queues = zip(*cells(template(folder, "test", family)), strict=True)
        assert (min(rates)[0], max(end for _, end in rates)) == (5.0, 500.0)
        # Two-way: twice the bottleneck's delay and 2 ms of access
        assert (2 * min(delays)[0] + 2, 2 * max(end for _, end in delays) + 2) == (10.0, 200.0)
        # A fifth of 5 Mbit/s times 10 ms is less than a packet: the smallest cell begins at a quarter
        assert (min(queues)[0], max(end for _, end in queues)) == (0.2, 4.0)


def test_patterns_and_traces_of_the_test_were_not_learnt_on(folder: Folder) -> None:
    learnt = template(folder, "train", "changing")["topology"]["bottleneck"]["rate"]["schedule"]
    for pattern in template(folder, "test", "changing")["topology"]["bottleneck"]["rate"]["choice"]:
        assert [step["at"] for step in pattern["schedule"]] != [step["at"] for step in learnt]
    traces = [
        set(template(folder, part, "cellular")["topology"]["bottleneck"]["rate"]["trace"]["choice"])
        for part in ("train", "test")
    ]
    assert traces[0].isdisjoint(traces[1])
    assert not any(list(folder.path.rglob("*.down")) + list(folder.path.rglob("*.up"))), "named, not copied"


def test_the_policy_is_the_one_that_was_learnt(folder: Folder) -> None:
    parameters = np.array(json.loads((folder.path / "parameters.json").read_text(encoding="utf-8")))
    assert network.onnx(parameters) == (folder.path / "policy.onnx").read_bytes()


def test_the_policy_runs_the_same_again(folder: Folder) -> None:
    policy = 'flow.learner.controller={ kind = "policy", file = "../policy.onnx" }'
    scenario = Scenario.load(str(folder.path / "test" / "alone.toml"), [policy, "seed=2"])
    first, second = run(scenario), run(scenario)
    assert first.summary == second.summary
    link = Link.of(json.loads(scenario.to_json()), scenario.duration_s)
    assert first.summary["flows"][0]["goodput_bps"] > 0.5 * link.capacity_bps


def figures(goodput: float, delay: float, loss: float) -> Figures:
    return Figures("alone", goodput, 0.0, delay, delay, 0.0, loss, 1.0, goodput)


def test_differences_are_means_over_families(measure: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    """Learned 90 and 80 percent, CUBIC 60 and 100: five above."""
    found = {
        ("alone", "learned"): figures(0.9, 0.1, 0.01),
        ("lossy", "learned"): figures(0.8, 0.3, 0.0),
        ("alone", "cubic"): figures(0.6, 1.0, 0.0),
        ("lossy", "cubic"): figures(1.0, 0.2, 0.0),
    }
    monkeypatch.setattr(measure, "of_family", lambda _, family, name: found[family, name])
    both = ("alone", "lossy")
    gain = measure.above(both, "cubic", measure.goodput)({})
    assert gain.value == pytest.approx(85 - 80)
    assert dict(gain.also) == pytest.approx({"learned": 85.0, "cubic": 80.0})
    assert measure.above(both, "cubic", measure.delay)({}).value == pytest.approx(20 - 60)
    assert measure.above(("alone",), "cubic", measure.loss)({}).value == pytest.approx(1.0)


def test_the_record_has_every_claim_and_is_of_this_policy(folder: Folder, measure: ModuleType) -> None:
    """The mean of all paths on record holds the first one, simulated anew, within its least and greatest."""
    costly = [claim for claim in folder.claims if claim.study.costly]
    assert [claim.id for claim in costly if claim.on_record is None] == []
    (claim,) = select(FOLDERS, ["L1c1"])
    assert claim.on_record is not None
    study = next(claim.study for claim in folder.claims if claim.study.name == "few")
    laboratory = Laboratory()
    laboratory.simulate([study])
    first = claim.measure(laboratory.runs(study))
    assert first.value is not None
    assert claim.on_record["also"]["least"] <= first.value <= claim.on_record["also"]["greatest"]


def test_what_needs_traces_is_on_record_without_them(folder: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    cells_ = next(claim.study for claim in folder.claims if claim.study.name == "cells")
    monkeypatch.delenv("ACKCLOCK_TRACES", raising=False)
    assert not Laboratory(full=True).simulates(cells_)
    monkeypatch.setenv("ACKCLOCK_TRACES", "/somewhere")
    assert Laboratory(full=True).simulates(cells_)
    assert not Laboratory().simulates(cells_), "it is costly"


PAGE = Path(__file__).parents[2] / "docs" / "explanation" / "claims-learned.md"
SIGNS = re.compile(r"<!-- signs -->\n.*?<!-- end of signs -->", re.DOTALL)
SIGN = {"agrees": "+", "differs": "-", "undecided": "0"}


def test_the_page_has_the_verdicts_on_record_as_signs(folder: Folder, measure: ModuleType) -> None:
    """By kind of path and opponent: whether the goal is met in goodput, delay and loss."""
    rows = ["| | CUBIC | BBRv3 | Copa | PCC Vivace |\n|---|---|---|---|---|\n"]
    for kind in range(1, 8):
        found = [[record_tables.on_record(folder, f"L{kind}{each}{n}") for n in "123"] for each in measure.OPPONENTS]
        signs = ["".join(SIGN[finding.verdict] for finding in three) for three in found]
        paths = found[0][0].claim.statement.rstrip(".").split(": ")[1]
        rows.append(f"| {' | '.join([paths, *signs])} |\n")
    page = PAGE.read_text(encoding="utf-8")
    assert len(SIGNS.findall(page)) == 1
    assert_written(PAGE, SIGNS.sub(f"<!-- signs -->\n{''.join(rows)}<!-- end of signs -->", page))


def test_families_have_their_files(folder: Folder) -> None:
    for part in ("train", "test"):
        assert {path.stem for path in (folder.path / part).iterdir()} == set(FAMILIES)


class TestVerdicts(Verdicts):
    """Claims of this study."""
