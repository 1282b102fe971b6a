"""Claims of the OPNET notes: the page's tables from a run, and what a terminal shows of them.

ACKCLOCK_UPDATE_DOCS=1 writes the tables. A line `<!-- claims: O2 O3 -->` opens a table of the claims whose ids begin
so; `<!-- claims by trip: O7a | O7c:link Mbit/s -->` opens one with a row for each option of that choice, and the first
of each other; behind a colon stands what was measured beside.
"""

import re
from pathlib import Path

import pytest

from ackclock.claims import Claim, Finding, Measured, judge, load_folders
from ackclock.claims.ledger import Laboratory
from ackclock.claims.markdown import cell
from ackclock.claims.measured import number
from conftest import Cli
from pages import assert_written

pytestmark = pytest.mark.timeout(600)  # all of its grid: some 15 s of CPU

PAGE = Path(__file__).parents[2] / "docs" / "explanation" / "claims-opnet.md"
TABLE = re.compile(r"(<!-- claims(?: by (\w+))?: ([^>]+) -->\n).*?(<!-- end of claims -->)", re.DOTALL)


@pytest.fixture(scope="module")
def findings() -> list[Finding]:
    folder = next(folder for folder in load_folders() if folder.path.name == "opnet-17")
    return judge(folder.claims, Laboratory(full=True), folder.recorded)


def table(findings: list[Finding], prefixes: list[str]) -> str:
    """A row for each claim: what verdicts rest on, and how many of the choices tried agree."""
    rows = ["| | quantity | notes | measured | choices that agree | verdict |", "|---|---|---|---|---|---|"]
    for finding in findings:
        claim = finding.claim
        if claim.id.startswith(tuple(prefixes)):
            name = f"{claim.id} (ours)" if claim.origin == "ours" else claim.id
            measured = f"{number(finding.measured.value)} {claim.unit}".strip()
            choices = f"{finding.agreeing} of {finding.tried}"
            cells = (name, claim.quantity, claim.published, measured, choices, finding.verdict)
            rows.append(f"| {' | '.join(cells)} |")
    return "\n".join(rows) + "\n"


def by_option(findings: list[Finding], choice: str, parts: list[str]) -> str:
    """A row for each option of a choice."""
    ids = [part.split(":")[0] for part in parts]
    found = [next(finding for finding in findings if finding.claim.id == claim_id) for claim_id in ids]
    choices = found[0].claim.study.open_choices
    (place,) = [place for place, each in enumerate(choices) if each.name == choice]
    first = tuple(each.options[0] for each in choices)
    heads = [_head(part, finding) for part, finding in zip(parts, found, strict=True)]
    rows = [f"| {' | '.join([choices[place].title, *heads])} |", "|---" * (len(found) + 1) + "|"]
    for option in choices[place].options:
        wanted = (*first[:place], option, *first[place + 1 :])
        measured = [dict([(first, f.measured), *((other[0], other[1]) for other in f.others)])[wanted] for f in found]
        cells = [_cell(part, f.claim, each) for part, f, each in zip(parts, found, measured, strict=True)]
        rows.append(f"| {' | '.join([option.name, *cells])} |")
    return "\n".join(rows) + "\n"


def _head(part: str, finding: Finding) -> str:
    claim_id, _, beside = part.partition(":")
    return beside or f"{claim_id}: {finding.claim.quantity} {finding.claim.unit and f'({finding.claim.unit})'}".strip()


def _cell(part: str, claim: Claim, measured: Measured) -> str:
    beside = part.partition(":")[2]
    return number(measured.also[beside]) if beside else cell(claim, measured)


def test_the_page_has_the_numbers_of_a_run(findings: list[Finding]) -> None:
    def written(found: re.Match[str]) -> str:
        if found[2] is None:
            return found[1] + table(findings, found[3].split()) + found[4]
        return found[1] + by_option(findings, found[2], [part.strip() for part in found[3].split("|")]) + found[4]

    text = PAGE.read_text(encoding="utf-8")
    renewed = TABLE.sub(written, text)
    text = assert_written(PAGE, renewed)
    shown = {word for _, choice, words, _ in TABLE.findall(text) if not choice for word in words.split()}
    assert [f.claim.id for f in findings if not f.claim.id.startswith(tuple(shown))] == []


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


def test_a_terminal_shows_no_column_that_would_be_empty(cli: Cli, tmp_path: Path) -> None:
    """Without seeds there is no interval, and what is simulated now does not say where it is from."""
    shown = cli("claims", "O2", "-o", tmp_path / "out")
    head = shown.stdout.splitlines()[0].split("  ")
    titles = [title.strip() for title in head if title.strip()]
    assert titles == ["claim", "quantity", "paper", "measured", "unit", "verdict", "choices that agree"]
    page = (tmp_path / "out" / "index.html").read_text()
    assert ">unit<" in page
    assert ">95 %<" not in page
    assert ">from<" not in page
    some = cli("claims", "V12c", "-o", tmp_path / "out")
    titles = [title.strip() for title in some.stdout.splitlines()[0].split("  ") if title.strip()]
    assert "from" in titles, "it is on record"
    assert "unit" not in titles, "a ratio has none"
