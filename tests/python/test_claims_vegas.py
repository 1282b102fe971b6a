"""Claims of the Vegas study: its page beside what is on record, and measures by hand.

`make -f studies/Makefile record-vegas` records anew: measurements, figures and, with ACKCLOCK_UPDATE_DOCS=1, the
page's tables, of which this file writes `<!-- queues -->`, where all twelve statements hold.
"""

import itertools
import json
import math
import re
import tomllib
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import polars as pl
import pytest

from ackclock.claims import Finding, Folder, Laboratory, load_folders
from ackclock.claims.folder import load_module
from pages import assert_written
from verdicts import Verdicts

PAGE = Path(__file__).parents[2] / "docs" / "explanation" / "claims-vegas.md"
FOLDER = Path(__file__).parents[2] / "studies" / "vegas-1999"
TABLE = re.compile(r"<!-- queues -->\n.*?<!-- end of claims -->", re.DOTALL)
PACKET_BITS = 8 * 540
"""Size of a full segment of the study, bits."""


@pytest.fixture(scope="module")
def folder() -> Folder:
    return next(folder for folder in load_folders() if folder.path.name == "vegas-1999")


@pytest.fixture(scope="module")
def measures(folder: Folder) -> ModuleType:
    return load_module(folder.path / "measure.py")


def on_record(folder: Folder, claim_id: str) -> dict[str, Any]:
    claim = next(claim for claim in folder.claims if claim.id == claim_id)
    assert claim.on_record is not None
    return dict(claim.on_record)


def region(folder: Folder) -> tuple[dict[str, Any], dict[tuple[str, ...], int]]:
    (record,) = json.loads((folder.path / "regions.json").read_text(encoding="utf-8"))["regions"]
    cells = itertools.product(*(choice["options"] for choice in record["choices"]))
    return record, dict(zip(cells, record["held"], strict=True))


def whole(folder: Folder) -> list[tuple[str, ...]]:
    """The cells in which all statements hold."""
    record, held = region(folder)
    return [cell for cell, mask in held.items() if mask == 2 ** len(record["ids"]) - 1]


def other_starts(folder: Folder) -> dict[str, list[bool]]:
    """Whether all hold under each start but the first, by cell."""
    found: dict[str, list[bool]] = {}
    for other in on_record(folder, "V15")["other_choices"]:
        if other["choices"]["starts"] != "1":
            found.setdefault(other["choices"]["place"], []).append(other["verdict"] == "agrees")
    return found


def place(cell: tuple[str, ...]) -> str:
    return f"{cell[0]}; {', '.join(cell[1:])}"


def is_long(cell: tuple[str, ...]) -> bool:
    """Whether a full queue takes longer to drain than a round trip to propagate."""
    _, rate, delay, queue = cell
    return int(queue) * PACKET_BITS / (float(rate.split()[0]) * 1e6) > 2 * float(delay.split()[0]) / 1e3


def of_queues(folder: Folder) -> str:
    """Cells with queues longer than their path, and the others."""
    record, held = region(folder)
    collapses = 1 << record["ids"].index("V3b")
    found, starts = whole(folder), other_starts(folder)
    heads = ("queue", "a full queue drains", "cells", "V3b holds", "all twelve hold", "... and under five other starts")
    rows = [f"| {' | '.join(heads)} |", "|---" * len(heads) + "|"]
    for short, long in itertools.product((False, True), (True, False)):
        cells = [cell for cell in held if (is_long(cell), cell[3] == "10") == (long, short)]
        good = [cell for cell in found if cell in cells]
        collapsed = sum(bool(held[cell] & collapses) for cell in cells)
        sure = sum(all(starts[place(cell)]) for cell in good)
        queue, drains = "10 packets" if short else "25 to 100", "for longer than a round trip" if long else "for less"
        rows.append(f"| {queue} | {drains} | {len(cells)} | {collapsed} | {len(good)} | {sure} |")
    return "\n".join(rows) + "\n"


def test_the_page_has_the_region_on_record(folder: Folder) -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert len(TABLE.findall(text)) == 1
    assert_written(PAGE, TABLE.sub(f"<!-- queues -->\n{of_queues(folder)}<!-- end of claims -->", text))


def test_the_page_names_whatever_differs(folder: Folder) -> None:
    text = re.sub(r"^(<!--|\|).*$", "", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE)
    assert [claim for claim, verdict in folder.recorded.items() if verdict == "differs" and claim not in text] == []


def test_the_record_is_of_commits(folder: Folder) -> None:
    """A record of a tree with changes cannot be made again; the region is of its statements' run."""
    for claim in folder.claims:
        assert claim.made is not None, claim.id
        assert claim.made.commit, claim.id
        assert not claim.made.commit.endswith("-dirty"), claim.id
    region = json.loads((folder.path / "regions.json").read_text(encoding="utf-8"))
    together = {claim.made.as_dict()["commit"] for claim in folder.claims if claim.made and claim.region}
    assert together == {region["made"]["commit"]}


def test_a_second_connections_start_is_drawn_as_the_papers() -> None:
    """Exponential with a mean of 50 ms: the middles of twenty equal parts, -50 ms x ln(1 - (i + 1/2) / 20)."""
    middles = [1 - 0.05 * math.log(1 - (part + 0.5) / 20) for part in range(20)]
    for experiment in (1, 2, 3):
        table = tomllib.loads((FOLDER / f"experiment-{experiment}.toml").read_text(encoding="utf-8"))
        drawn = next(flow["start"]["choice"] for flow in table["flow"] if flow["name"] == "A2")
        assert [float(text.removesuffix(" s")) for text in drawn] == pytest.approx(middles, abs=0.0006)


def test_what_the_page_says_of_the_region(folder: Folder) -> None:
    """Its words: some thirty cells, one in thirteen and half of the long ones."""
    _, held = region(folder)
    found, starts = whole(folder), other_starts(folder)
    long = [cell for cell in held if is_long(cell) and cell[3] != "10"]
    assert 27 <= len(found) <= 33
    assert sum(cell in found for cell in long) / len(long) == pytest.approx(1 / 13, abs=0.005)
    assert 0.45 < sum(held[cell].bit_count() == 11 for cell in long) / len(long) < 0.55
    assert [len({cell[0] for cell in cells}) for cells in (held, found)] == [12, 9]
    runs = [start for cell in starts.values() for start in cell]
    assert sum(runs) / len(runs) == pytest.approx(0.58, abs=0.01)
    assert [name for name, each in starts.items() if all(each)] == ["ns-2, mean, 1 and 3; 4 Mbit/s, 20 ms, 100"]


def test_other_starts_are_tried_wherever_all_statements_hold(folder: Folder) -> None:
    study = next(claim.study for claim in folder.claims if claim.id == "V15")
    assert [option.name for option in study.choices[0].options] == [place(cell) for cell in whole(folder)]


def test_reasons_have_no_counts_of_a_grid(folder: Folder) -> None:
    """A run may change them; they stand in tables that a test holds to the record."""
    count = re.compile(
        r"\b(\d+|one|two|three|four|five|six|seven|ten) (that differ|cells|agree)|\d+ of \d+ (cells|agree)"
    )
    named = [claim.id for claim in folder.claims if count.search(claim.reason)]
    assert named == []


def test_what_timestamps_cost_by_hand(measures: ModuleType) -> None:
    """540 of 552 bytes: 2.2 % less; doubled goodput is a gain of 1: 0.022."""
    rates = {"1 vegas": 1000e3, "1 vegas, timestamps": 1000e3 * 540 / 552, "3 vegas": 400e3, "3 both": 800e3}
    runs = {case: _steady(A1=rate / 2, A2=rate / 2) for case, rate in rates.items()}
    assert measures.overhead(runs).value == pytest.approx(12 / 552)


def test_unfairness_is_the_same_either_way(measures: ModuleType) -> None:
    """Twice and half are as far from 1; the fourth root of 2 is a quarter as far."""
    runs = {"tahoe": _steady(A1=1e6, A2=2e6), "vegas": _steady(A1=2**0.25 * 1e6, A2=1e6)}
    assert measures.unfairness(runs).value == pytest.approx(0.25)


def _steady(**rates: float) -> SimpleNamespace:
    """Results of connections with constant rates in bit/s."""
    rows = [(flow, time / 5, rate) for flow, rate in rates.items() for time in range(1, 151)]
    return SimpleNamespace(flows=pl.DataFrame(rows, schema=["flow", "time_s", "goodput_bps"], orient="row"))


class TestVerdicts(Verdicts):
    """Claims of this study."""


@pytest.mark.long
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


@pytest.mark.long
def test_the_ack_clock_sets_the_rate_where_acks_congest_the_way_back(findings: list[Finding]) -> None:
    """30,000 bit/s carry 93.75 ACKs of 40 bytes a second, each for a segment of 500 bytes: 375 kbit/s."""
    finding = next(finding for finding in findings if finding.claim.id == "V9a")
    assert finding.measured.also["50:1, Vegas kbit/s"] == pytest.approx(375.0, rel=1e-3)


@pytest.mark.long
def test_vegas_statements_hold_together_where_the_record_has_them_so(folder: Folder, findings: list[Finding]) -> None:
    """Each cell of the quick grid has the statements that the record of the whole grid has in it."""
    region = next(finding.region for finding in findings if finding.claim.id == "V1a")
    assert region is not None
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


def test_the_count_of_what_holds_together_has_every_such_claim(folder: Folder) -> None:
    """V15 reads the file by itself: claims that hold together are written out, and take nothing from others."""
    counted = load_module(folder.path / "measure.py")._together()
    (record,) = json.loads((folder.path / "regions.json").read_text())["regions"]
    assert [claim["id"] for claim in counted] == record["ids"]
    assert not any("like" in claim for claim in counted)


@pytest.mark.long
def test_the_tick_bounds_the_rate_as_the_law_says(findings: list[Finding]) -> None:
    """4 segments of 1448 octets a millisecond: 46.3 Mbit/s; 2 of them 23.2; a flow is between, whatever the link."""
    measured = next(finding.measured for finding in findings if finding.claim.id == "V12a").also
    assert all(23.2 < measured[f"{link}, 1 ms: Mbit/s"] < 46.4 for link in ("1 Gbit/s", "100 Mbit/s"))


@pytest.mark.long
def test_a_scenario_that_claims_share_is_simulated_once(laboratory: Laboratory, findings: list[Finding]) -> None:
    """V9n and V14a ask for some of the same queues; what V8b has asked for is not simulated again."""
    studies = {finding.claim.id: finding.claim.study for finding in findings}
    of_both = (laboratory.runs(studies[i], c) for i in ("V9n", "V14a") for c in laboratory.grid(studies[i]))
    asked = [id(results) for runs in of_both for results in runs.values()]
    assert 100 < len(set(asked)) < len(asked)
    before = len(laboratory)
    laboratory.simulate([studies["V8b"]])
    assert len(laboratory) == before
