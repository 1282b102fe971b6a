"""Tables of pages are those of the records; ACKCLOCK_UPDATE_DOCS=1 writes them."""

import json
import math
import re
from pathlib import Path
from typing import Any

import departures
import pytest
import search_tables
import twin
from record_tables import cell, on_record, renewed

from ackclock.claims import Interval, Measured, load_folder, load_folders
from ackclock.claims.subjects import scenario_subjects
from ackclock.scenario.templates import write
from pages import assert_written

FOLDERS = load_folders()
PATHS = [folder.path for folder in FOLDERS]
EXPLANATION = Path(__file__).parents[2] / "docs" / "explanation"
RESULTS = [path / "RESULTS.md" for path in PATHS if (path / "RESULTS.md").exists()]
PAGES = [*sorted(EXPLANATION.glob("claims-*.md")), *RESULTS]
EVERY_PAGE = [*sorted(EXPLANATION.parent.glob("[er]*/*.md")), *RESULTS]
MARK = "<!-- departures: "
MARKED = [page for page in PAGES if "<!-- record" in page.read_text(encoding="utf-8")]


def _name(page: Path) -> str:
    return page.parent.name if page in RESULTS else page.stem


@pytest.mark.parametrize("page", MARKED, ids=_name)
def test_a_page_has_the_numbers_on_record(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    written = search_tables.renewed(twin.renewed(renewed(text, FOLDERS), PATHS), PATHS)
    assert_written(page, written)


def test_some_pages_have_such_tables() -> None:
    assert {page.stem for page in MARKED} >= {"claims-dqn", "claims-highspeed"}


def test_a_cell_says_what_its_claim_says() -> None:
    """D2a1 agrees from 5.2 to 15.6; ten seeds with an error of 1 have 2.262 either way."""
    claim = next(each for folder in FOLDERS for each in folder.claims if each.id == "D2a1")
    written = [cell(claim, Measured(v, interval=Interval(v, 1.0, 9))) for v in (10.41, 16.0, 20.0)]
    assert written == ["10.41 ± 2.262", "16.00 ± 2.262 ?", "*20.00 ± 2.262*"]


def test_what_is_not_on_record_is_not_written() -> None:
    opnet = next(folder for folder in FOLDERS if folder.path.name == "opnet-17")
    with pytest.raises(LookupError, match="O2a is not on record"):
        on_record(opnet, "O2a")
    with pytest.raises(LookupError, match="names no folder"):
        renewed("<!-- record: nowhere X1 -->\n<!-- end of record -->", FOLDERS)


def test_a_table_by_option_has_a_row_for_each() -> None:
    dqn = next(folder for folder in FOLDERS if folder.path.name == "dqn-2023")
    text = renewed("<!-- record by option: dqn-2023 D3h1 | D3h1:flow 1 -->\n<!-- end of record -->", FOLDERS)
    finding = on_record(dqn, "D3h1")
    rows = [line for line in text.splitlines() if line.startswith("| by action")]
    assert len(rows) == 1 + len(finding.others)
    assert finding.claim.id == "D3h1"


def test_statements_have_what_their_verdicts_rest_on() -> None:
    """All of one record: its first combination, how many agree, and the verdict."""
    text = renewed("<!-- record statements: highspeed-2005 H3e -->\n<!-- end of record -->", FOLDERS)
    (row,) = [line.split(" | ") for line in text.splitlines() if line.startswith("| H3e")]
    highspeed = next(folder for folder in FOLDERS if folder.path.name == "highspeed-2005")
    entry = on_record(highspeed, "H3e").claim.on_record
    assert entry is not None
    assert row[1] == entry["statement"]
    assert row[3].startswith(("at least ", "at most ")) or " to " in row[3]
    assert row[5:] == [f"{entry['choices_agreeing']} of {entry['choices_tried']}", f"{entry['verdict']} |"]


def test_verdicts_are_counted_by_whose_statements_they_are_on() -> None:
    text = renewed("<!-- record verdicts: highspeed-2005 H7 -->\n<!-- end of record -->", FOLDERS)
    rows = [line for line in text.splitlines() if "statements of" in line]
    assert rows == ["| statements of the source | 2 | 0 | 0 | 0 |", "| statements of ours | 1 | 0 | 0 | 0 |"]
    text = renewed("<!-- record verdicts: highspeed-2005 -->\n<!-- end of record -->", FOLDERS)
    highspeed = next(folder for folder in FOLDERS if folder.path.name == "highspeed-2005")
    counted = sum(int(count) for count in re.findall(r"\b\d+\b", text.replace(highspeed.path.name, "")))
    assert counted == len([claim for claim in highspeed.claims if claim.on_record is not None])


def test_a_tally_counts_what_the_record_decides_of_a_sources_statements() -> None:
    dqn = next(folder for folder in FOLDERS if folder.path.name == "dqn-2023")
    text = renewed("<!-- record tally: dqn-2023 D2 D4 -->\n<!-- end of record -->", FOLDERS)
    (row,) = [line.split(" | ") for line in text.splitlines() if line.startswith("| FQ-CoDel over device ")]
    record = json.loads((dqn.path / "recorded.json").read_text(encoding="utf-8"))["claims"]
    entries = [each for each in record if each["id"].startswith(("D2", "D4")) and each["origin"] == "source"]
    verdicts = [entry["verdict_of_these"] for entry in entries]
    assert row[1:4] == [str(verdicts.count(each)) for each in ("agrees", "differs", "undecided")]
    inside = [entry for entry in entries if holds(entry, entry["values"][1::2])]
    assert row[6].rstrip(" |") == str(len(inside))


def holds(entry: dict[str, Any], values: list[float]) -> bool:
    """The range of the record, and the side of 0 on which the source has it."""
    low, high = (math.inf * side if entry[name] is None else entry[name] for name, side in (("low", -1), ("high", 1)))
    mean = sum(values) / len(values)
    return low <= mean <= high and entry["sign"] * mean >= 0


def test_the_interval_of_a_difference_is_welchs() -> None:
    """1, 2, 3 and 4, 6, 8: variances 1 and 4 of three values, error sqrt(5/3) = 1.291.

    Freedom (5/3)^2 / (1/9 / 2 + 16/9 / 2) = 2.94, so 2, where t is 4.303 (any table).
    """
    assert twin.welch([1.0, 2.0, 3.0], [4.0, 6.0, 8.0]) == pytest.approx(4.303 * (5 / 3) ** 0.5, rel=1e-3)
    assert twin.welch([1.0], [4.0, 6.0]) is None


def test_a_table_of_two_simulators_marks_what_chance_does_not_explain(tmp_path: Path) -> None:
    """Means 2 and 6 differ by less than the 5.55 above, and 2 and 60 by more."""
    folder = tmp_path / "paper"
    folder.mkdir()
    entry = {"table": "T1", "row": "a", "quantity": "rate", "unit": "Mbit/s", "source": 5.0, "ns-3": [1.0, 2.0, 3.0]}
    rows = [entry | {"ackclock": [4.0, 6.0, 8.0]}, entry | {"ackclock": [58.0, 60.0, 62.0]}]
    (folder / "twin.json").write_text(json.dumps({"rows": rows}))
    text = twin.renewed("<!-- twin: paper T1 -->\n<!-- end of twin -->", [folder])
    # t of 2 degrees of freedom is 4.303, times 1 / sqrt(3): 2.484; times 2: 4.968
    assert "| a | rate, Mbit/s | 5 | 2.000 ± 2.484 | 6.000 ± 4.968 | 3 and 3 |" in text
    assert "| a | rate, Mbit/s | 5 | *2.000 ± 2.484* | 60.00 ± 4.968 | 3 and 3 |" in text
    assert twin.renewed(text, [folder]) == text
    (folder / "a.toml").write_text('duration = "1 s"')
    scenarios = scenario_subjects(folder, ["a.toml"])
    (folder / "twin.json").write_text(json.dumps({"rows": rows, "scenarios": scenarios}))
    (folder / "a.toml").write_text('duration =  "1 s"  # as before')
    assert len(twin.read(folder)) == 2
    (folder / "a.toml").write_text('duration = "2 s"')
    with pytest.raises(LookupError, match=r"of other scenarios than the folder has: a\.toml"):
        twin.read(folder)
    (folder / "twin.json").write_text(json.dumps({"rows": rows}))
    with pytest.raises(LookupError, match="does not have"):
        twin.renewed("<!-- twin: paper T2 -->\n<!-- end of twin -->", [folder])
    entry |= {"table": "T1-536", "row": "b", "quantity": "throughput"}
    (folder / "twin.json").write_text(json.dumps({"rows": [*rows, entry | {"ns-3": [9.0], "ackclock": []}]}))
    text = twin.renewed("<!-- twin throughput: paper T1-536 -->\n<!-- end of twin -->", [folder])
    assert text.splitlines()[1:-1] == [
        "| throughput, Mbit/s | b |",
        "| --- | --- |",
        "| T1-536, ns-3 | 9.000 |",
        "| T1-536, ackclock |  |",
    ]
    text = twin.renewed("<!-- twin: paper T1-536 -->\n<!-- end of twin -->", [folder])
    assert text.splitlines()[-2] == "| b | throughput, Mbit/s | 5 | 9.000 |  | 1 and 0 |"
    with pytest.raises(LookupError, match=r"twin.json is missing"):
        twin.read(tmp_path)


def test_a_level_is_compared_with_draws_of_the_same_queue(tmp_path: Path) -> None:
    """Both draws with dropout, 4 and 6, have the better queue, which has 6 and 4 without it, too; the other has 0."""
    folder = tmp_path / "paper"
    folder.mkdir()

    def entry(count: int, queue: str, dropout: str, learning: str = "action") -> dict[str, Any]:
        draw = {"learning": learning, "queue": queue, "segment": "536", "dropout": dropout}
        return {"draw": draw, "seeds": [1], "held": {str(at): at < count for at in range(7)}}

    drawn = [entry(count, "fair", dropout) for count, dropout in ((4, "yes"), (6, "yes"), (6, "no"), (4, "no"))]
    drawn += [entry(0, "fifo", "no"), entry(0, "fifo", "no")]
    chosen = [entry(5, "fifo", "yes"), *drawn, entry(7, "fifo", "yes", "tuple"), entry(1, "fair", "yes", "tuple")]
    judged = [entry(3, "fifo", "yes"), entry(2, "fifo", "yes", "tuple")]
    record = {"made": {"subjects": {}}, "chosen": chosen, "judged": judged}
    (folder / "search.json").write_text(json.dumps(record))

    def table(name: str) -> list[str]:
        written = search_tables.renewed(f"<!-- search: paper {name} -->\n<!-- end of search -->", [folder])
        return written.splitlines()[3:-1]

    # t of one degree of freedom is 12.71, and the error of 4 and 6 is 1
    assert "| dropout | yes | 5.0 ± 12.7 | 0.0 ± 12.7 | 2 |" in table("factors")
    assert any(row.startswith("| dropout | no | 2.5 ± 4.8 | 0.0 ± ") for row in table("factors"))
    assert table("map") == ["| fifo | 0.0, at most 0 (2) |", "| fair | 5.0, at most 6 (4) |"]
    assert table("best") == [
        "| as on record | action | 5 | 3 | 1 to 1 | 7 |",
        "| as on record | tuple | 7 | 2 | 1 to 1 | 7 |",
        "| queue fair | tuple | 1 |  |  | 7 |",
    ]


@pytest.mark.parametrize("page", [page for page in EVERY_PAGE if MARK in page.read_text("utf-8")], ids=_name)
def test_a_page_says_where_scenarios_depart_from_their_profile(page: Path) -> None:
    assert_written(page, departures.renewed(page.read_text(encoding="utf-8"), FOLDERS))


def test_every_folder_that_departs_has_its_table_on_a_page() -> None:
    text = "".join(page.read_text(encoding="utf-8") for page in EVERY_PAGE)
    missing = {
        each.path.name for each in FOLDERS if departures.table(each) and f"{MARK}{each.path.name} -->" not in text
    }
    assert not missing


def test_a_value_of_the_profile_is_no_departure(tmp_path: Path) -> None:
    """The profile ns3-3.4x has ns-3's SegmentSize of 536, SACK, PRR, and a minimum RTO of 1 s."""
    folder = tmp_path / "mine"
    write("claims", "mine", folder, lang="python")
    scenario = (folder / "scenario.toml").read_text()
    assert departures.table(load_folder(folder)) == ""
    tcp = 'tcp = { profile = "ns3-3.4x", mss = 1448, prr = true, rto = { min = "1 s", max = "30 s" } }\n'
    (folder / "scenario.toml").write_text(tcp + scenario)
    claims = (
        (folder / "claims.toml").read_text().replace('name = "one BDP"', 'name = "one BDP", set = ["tcp.sack=false"]')
    )
    (folder / "claims.toml").write_text(claims)
    assert departures.table(load_folder(folder)).splitlines()[2:] == [
        "| `ns3-3.4x` | `mss` 1448 (536), `sack` false (true), `rto.max` 30 s (60 s) | scenario.toml |",
        "| `ns3-3.4x` | `mss` 1448 (536), `rto.max` 30 s (60 s) | scenario.toml |",
    ]
