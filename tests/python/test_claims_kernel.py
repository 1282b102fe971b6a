"""Claims that run on the kernel: their arithmetic by hand, the page beside the record, and a short form of the first.

`make -f studies/Makefile record-kernel record-ebpf` records anew, in virtual time and in real time, and writes the
tables by this file, with ACKCLOCK_UPDATE_DOCS=1. Verdicts that changed are for a person.
"""

import re
from pathlib import Path
from types import ModuleType

import pytest
from studies.linux import versions

from ackclock import Scenario, run
from ackclock.claims import Folder, Laboratory, load_folders
from ackclock.claims.folder import Study, load_folder, load_module
from ackclock.claims.measured import number
from ackclock.claims.run_store import TRIES
from ackclock.running import kernel
from networks import dumbbell
from pages import assert_written
from verdicts import Verdicts

ROOT = Path(__file__).parents[2]
PAGE, RESULTS = ROOT / "docs" / "explanation" / "truth.md", ROOT / "studies" / "kernel" / "RESULTS.md"
TABLE = re.compile(r"<!-- claims: ([K0-9 ]+) -->\n.*?<!-- end of claims -->", re.DOTALL)

needs_kernel = pytest.mark.skipif(
    bool(kernel.missing()),
    reason=f"needs root and `make kernel` (`ackclock doctor` tells): {kernel.missing()}",
)


@pytest.fixture(scope="module")
def folder() -> Folder:
    return next(folder for folder in load_folders() if folder.path.name == "kernel")


@pytest.fixture(scope="module")
def same(folder: Folder) -> ModuleType:
    return load_module(folder.path / "measure_same.py")


# ---- the page --------------------------------------------------------------------------------------------------------


def of_thirty(folder: Folder, same: ModuleType) -> str:
    """The table of all scenarios: what is simulated over what the kernel did, and half the interval of its mean."""
    rows = [
        f"| | scenario | {' | '.join(same.QUANTITIES)} | |\n",
        "|---|---|---|---|---|---|---|---|\n",
    ]
    for claim in folder.claims:
        entry = claim.on_record
        if not claim.id.startswith("K1") or entry is None:
            continue
        also = entry["also"]
        cells = [_cell(also, name) for name in same.QUANTITIES]
        rows.append(f"| {claim.id} | {claim.study.title} | {' | '.join(cells)} | {entry['verdict']} |\n")
    return "".join(rows)


def _cell(also: dict[str, float], name: str) -> str:
    if f"{name}, kernel" not in also:
        return ""
    ours, theirs, half = (also[f"{name}, {end}"] for end in ("simulator", "kernel", "kernel, ±"))
    return f"{number(ours)}; {number(theirs)} ± {number(half)}"


def of_sources(folder: Folder, families: list[str]) -> str:
    """The rows of statements of others."""
    rows = ["| | statement | published | on the kernel | simulated | |\n", "|---|---|---|---|---|---|\n"]
    for claim in folder.claims:
        entry = claim.on_record
        if entry is None or re.match(r"K\d", claim.id)[0] not in families:  # type: ignore[index]
            continue
        simulated = next(value for name, value in entry["also"].items() if "simulator" in name)
        ours = f"{number(entry['measured'])} ± {number(_half(entry))} {claim.unit}".strip()
        cells = (
            claim.id,
            f"{claim.statement} ({claim.quantity})",
            claim.published,
            ours,
            number(simulated),
            entry["verdict"],
        )
        rows.append(f"| {' | '.join(cells)} |\n")
    return "".join(rows)


def _half(entry: dict[str, list[float]]) -> float:
    low, high = entry["interval"] or [0.0, 0.0]
    return (high - low) / 2


def test_the_page_has_the_numbers_on_record(folder: Folder, same: ModuleType) -> None:
    page = RESULTS.read_text(encoding="utf-8")

    def table(families: list[str]) -> str:
        return of_thirty(folder, same) if families == ["K1"] else of_sources(folder, families)

    written = TABLE.sub(
        lambda found: f"<!-- claims: {found[1]} -->\n{table(found[1].split())}<!-- end of claims -->", page
    )
    page = assert_written(RESULTS, written)
    shown = " ".join(found[1] for found in TABLE.finditer(page)).split()
    assert sorted(shown) == sorted({re.match(r"K\d", claim.id)[0] for claim in folder.claims})  # type: ignore[index]


def test_the_table_of_versions_is_the_record() -> None:
    page = PAGE.read_text(encoding="utf-8")
    begin, end = "<!-- versions -->\n", "<!-- end of versions -->"
    head, rest = page.split(begin)
    assert_written(PAGE, f"{head}{begin}{versions.table(versions.read())}{end}{rest.split(end)[1]}")


@pytest.mark.long
@pytest.mark.parametrize("path", versions.PATHS)
def test_what_is_simulated_as_a_version_comes_out_again(path: str) -> None:
    """Else record it anew: `python -m studies.linux.versions "as linux-7.3" "as linux-6.12"`."""
    row = versions.read()[path]
    for profile in set(versions.KERNELS.values()):
        assert versions.simulated(path, profile) == row[f"as {profile}"]


def test_the_page_explains_whatever_differs(folder: Folder) -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert [claim for claim, verdict in folder.recorded.items() if verdict == "differs" and claim not in text] == []


def test_the_verdicts_on_record_are_those_of_the_record(folder: Folder) -> None:
    of_record = {c.id: c.on_record["verdict"] if c.on_record else "open" for c in folder.claims}
    assert of_record == folder.recorded


# ---- arithmetic ------------------------------------------------------------------------------------------------------


def figures(goodput: float, retransmitted: float) -> dict[str, float]:
    return {"goodput": goodput, "window": 100.0, "SRTT": 50.0, "retransmitted": retransmitted}


def test_goodput_that_is_a_hundredth_less_is_half_of_what_agrees(same: ModuleType) -> None:
    ours, theirs = [figures(100.0, 10.0)] * 3, [figures(99.0, 10.0)] * 3
    found = same.compare(ours, theirs)
    assert found.value == pytest.approx(0.5)  # 1 % of 2 %
    assert found.also["goodput, kernel"] == 99.0
    assert found.also["goodput, difference"] == pytest.approx(0.5)


def test_retransmissions_are_held_by_the_spread_of_the_kernels_runs(same: ModuleType) -> None:
    """The kernel's are 10 to 20, so that 5 off their middle agrees: 12 is 3 off, and 21 is 6 off."""
    theirs = [figures(100.0, count) for count in (10.0, 14.0, 20.0)]
    assert same.compare([figures(100.0, 12.0)] * 3, theirs).value == pytest.approx(0.6)
    assert same.compare([figures(100.0, 21.0)] * 3, theirs).value == pytest.approx(1.2)


def test_chance_leaves_it_undecided_and_certainty_decides(same: ModuleType) -> None:
    """Pairs that differ by -8, 0 and 14 % of goodput: a mean of 2 %, of which nothing is known."""
    theirs = [figures(goodput, 10.0) for goodput in (92.0, 100.0, 114.0)]
    found = same.compare([figures(100.0, 10.0)] * 3, theirs)
    assert found.value == pytest.approx(1.0)
    assert found.interval.low < 1 < found.interval.high
    sure = same.compare([figures(100.0, 20.0)] * 3, theirs)
    assert sure.value == pytest.approx(5.0), "10 segments off, of which 2 agree: certain whatever goodput does"


# ---- running ---------------------------------------------------------------------------------------------------------


def test_a_case_on_both_is_a_run_for_each_seed_and_place(folder: Folder) -> None:
    study = folder.claims[0].study
    assert [(case.name, case.on) for case in study.cases[::5]] == [
        ("run, simulator, 1", "simulator"),
        ("run, kernel, 1", "kernel"),
    ]
    assert study.cases[7].overrides[-1] == "seed=3"
    assert study.is_on_kernel


OWN = """
title = "own"
source = "mine"
about = "one run on the kernel"

[[study]]
name = "one"
title = "one"
scenario = "one.toml"
on = "kernel"
case = [{ name = "one" }]

[[claim]]
id = "Own1"
section = "1"
study = "one"
statement = "It runs."
quantity = "valid"
unit = ""
published = "1"
low = 1
why = "-"
settings = "mine"
"""


@pytest.fixture
def own(tmp_path: Path) -> Study:
    """The study of a user's folder, with one run on the kernel."""
    (tmp_path / "claims.toml").write_text(OWN)
    (tmp_path / "one.toml").write_text(SHORT)
    (tmp_path / "measure.py").write_text("MEASURES = {'Own1': print}")
    return load_folder(tmp_path).claims[0].study


def test_what_is_set_in_simulations_alone_is_not_set_on_the_kernel(own: Study) -> None:
    file = own.folder / "claims.toml"
    both = 'on = "both"\nset_simulated = ["duration=\'2 s\'"]'
    file.write_text(OWN.replace('on = "kernel"', both))
    cases = load_folder(own.folder).claims[0].study.cases
    assert {case.on: list(case.overrides) for case in cases} == {"simulator": ["duration='2 s'"], "kernel": []}


SHORT = f"""
name = "short"
duration = "1 s"
{dumbbell('rate = "20 Mbit/s", delay = "20 ms"', "10 us")}
[[flow]]
name = "one"
controller = "cubic"
"""


def _program(path: Path, text: str) -> str:
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return str(path)


def test_without_a_kernel_to_run_on_it_is_not_run(own: Study, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ACKCLOCK_KERNEL", "/nowhere/ackclock-kernel")
    assert not Laboratory(full=True).simulates(own)


@needs_kernel
def test_a_late_run_is_repeated_and_then_taken_as_it_is_but_not_kept(
    own: Study, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The program is the real one, whose result says that it was late."""
    real, count = kernel.program(), tmp_path / "count"
    late = f'echo run >> {count}; {real} "$@" | sed \'1s/"valid":true/"valid":false/\''
    monkeypatch.setenv("ACKCLOCK_KERNEL", _program(tmp_path / "late", late))
    laboratory = Laboratory(kept=tmp_path / "kept")
    laboratory.simulate([own])
    assert len(count.read_text().splitlines()) == TRIES
    assert laboratory.runs(own)["one"].manifest["kernel"]["valid"] is False
    again = Laboratory(kept=tmp_path / "kept")
    again.simulate([own])
    assert len(count.read_text().splitlines()) == 2 * TRIES, "it says nothing, so that it is tried again"


SHORT_FORMS = {"K1-06": "3 s", "K1-03": "4 s"}
"""Short durations for CUBIC over 20 Mbit/s and BBR over 5 Mbit/s."""


@needs_kernel
@pytest.mark.alone
@pytest.mark.parametrize("claim", SHORT_FORMS)
def test_the_short_form_of_the_first_claim(folder: Folder, same: ModuleType, claim: str) -> None:
    """Goodput within 2 %, window and SRTT within 10 %, of one run; a run that was late says nothing."""
    case = next(each for each in folder.claims if each.id == claim).study.cases[0]
    scenario = Scenario.load(str(case.scenario), [*case.overrides, f'duration="{SHORT_FORMS[claim]}"'])
    on_kernel = kernel.run(scenario)
    if not on_kernel.manifest["kernel"]["valid"]:
        pytest.skip(f"the machine was too busy: {on_kernel.manifest['kernel']['reasons']}")
    ours, theirs = same.figures(run(scenario)), same.figures(on_kernel)
    assert theirs["goodput"] == pytest.approx(ours["goodput"], rel=0.02)
    assert theirs["window"] == pytest.approx(ours["window"], rel=0.1)
    assert theirs["SRTT"] == pytest.approx(ours["SRTT"], rel=0.1)


class TestVerdicts(Verdicts):
    """Claims of this study."""
