"""Claims of the OPNET notes: the table of their results from a run, and what a terminal shows of them.

ACKCLOCK_UPDATE_DOCS=1 writes the table that `<!-- claims: O -->` opens.
"""

import re
from pathlib import Path
from typing import Any

import pytest
from record_tables import statements

from ackclock.claims import Finding, Folder, judge, load_folders
from ackclock.claims.ledger import Laboratory
from conftest import Cli
from pages import assert_written
from verdicts import Verdicts

pytestmark = pytest.mark.long  # all of its grid: some 15 s of CPU

PAGE = next(each.path for each in load_folders() if each.path.name == "opnet-17") / "RESULTS.md"
TABLE = re.compile(r"<!-- claims: O -->\n.*?<!-- end of claims -->", re.DOTALL)


@pytest.fixture(scope="module")
def folder() -> Folder:
    return next(folder for folder in load_folders() if folder.path.name == "opnet-17")


@pytest.fixture(scope="module")
def findings(folder: Folder) -> list[Finding]:
    return judge(folder.claims, Laboratory(full=True), folder.recorded)


def test_the_page_has_the_numbers_of_a_run(findings: list[Finding]) -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert len(TABLE.findall(text)) == 1
    assert_written(PAGE, TABLE.sub(f"<!-- claims: O -->\n{statements(findings)}<!-- end of claims -->", text))


@pytest.mark.parametrize(("claim", "serialisations"), [("O7d", 3), ("O7h", 2)])
def test_a_window_in_whole_segments_by_hand(findings: list[Finding], claim: str, serialisations: int) -> None:
    """64 segments leave in a round trip, since an ACK answers two of the 65 that fit into 96,188 bytes.

    A segment has 1460 + 48 bytes and takes 7.813 ms at 1.544 Mbit/s, its ACK of 48 bytes 0.249 ms.
    """
    finding = next(finding for finding in findings if finding.claim.id == claim)
    assert finding.measured.value == pytest.approx(64 * 1460 * 8 / 0.513 / 1e6, rel=0.001), "513 ms with serialisation"
    hops_s = serialisations * (1508 + 48) * 8 / 1.544e6
    outside = next(found for chosen, found, _ in finding.others if chosen[-1].name == "propagation")
    assert outside.value == pytest.approx(64 * 1460 * 8 / (0.513 + hops_s) / 1e6, rel=0.002)
    assert finding.claim.verdict(outside.value) == "differs"


def test_a_segment_less_fills_ds1_by_hand(findings: list[Finding]) -> None:
    """68 segments in 513 ms would be 1.548 Mbit/s, more than DS1 carries: 1460 of 1508 bytes of its 1.544 Mbit/s."""
    finding = next(finding for finding in findings if finding.claim.id == "O7i")
    assert finding.measured.value == pytest.approx(1.544 * 1460 / 1508, rel=0.001)


def test_a_terminal_begins_with_the_answer_and_has_each_claim_in_one_place(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At 80 columns a claim's verdict stands beside its id, and no second table goes on with further columns."""
    monkeypatch.setenv("COLUMNS", "80")
    lines = cli("claims", "O", "-o", tmp_path / "out").stdout.splitlines()
    assert lines[0] == "simulated now: 19 statements of the source: 18 agree, 1 differs"
    begin = next(place for place, line in enumerate(lines) if line.startswith("claim "))
    table = lines[begin : lines.index("", begin)]
    rows = [line.split() for line in table if line.startswith("O")]
    assert len({row[0] for row in rows}) == len(rows) == 26
    assert {row[1] for row in rows} == {"agrees", "differs"}
    assert max(map(len, table)) <= 80


def test_a_terminal_shows_no_column_that_would_be_empty(cli: Cli, tmp_path: Path) -> None:
    """Without seeds there is no interval, and what is simulated now does not say where it is from."""

    def titles(claim: str) -> list[str]:
        lines = cli("claims", claim, "-o", tmp_path / "out").stdout.splitlines()
        head = next(line for line in lines if line.startswith("claim "))
        return [title.strip() for title in head.split("  ") if title.strip()]

    assert titles("O2") == ["claim", "verdict", "agreeing", "measured", "paper", "quantity"]
    page = (tmp_path / "out" / "index.html").read_text()
    assert ">unit<" in page
    assert ">95 %<" not in page
    assert ">from<" not in page
    assert "from" in titles("V12c"), "it is on record"


class TestVerdicts(Verdicts):
    """Claims of this study."""


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


def test_other_choices_are_named(findings: list[Finding]) -> None:
    entry: dict[str, Any] = next(finding for finding in findings if finding.claim.id == "O4a").as_dict()
    grown = [other for other in entry["other_choices"] if other["choices"]["growth"] == "yes"]
    assert grown
    assert all(other["verdict"] == "differs" and other["measured"] > 200 for other in grown)
    assert (entry["choices_agreeing"], entry["choices_tried"]) == (12, 24), "half of the grid: where nothing grows"
