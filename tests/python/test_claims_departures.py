"""What scenarios of claims set otherwise than their profile stands on a page; ACKCLOCK_UPDATE_DOCS=1 writes it."""

from pathlib import Path

import pytest

from ackclock.claims import load_folder, load_folders
from ackclock.claims.departures import renewed, table
from ackclock.templates import write
from pages import assert_written

FOLDERS = load_folders()
PAGES = sorted((Path(__file__).parents[2] / "docs" / "explanation").glob("*.md"))
MARK = "<!-- departures: "
NOT_YET = {"dqn-2023"}
"""Folders whose page has no such table yet."""


@pytest.mark.parametrize(
    "page", [page for page in PAGES if MARK in page.read_text("utf-8")], ids=lambda page: page.stem
)
def test_a_page_says_where_scenarios_depart_from_their_profile(page: Path) -> None:
    assert_written(page, renewed(page.read_text(encoding="utf-8"), FOLDERS))


def test_every_folder_that_departs_has_its_table_on_a_page() -> None:
    text = "".join(page.read_text(encoding="utf-8") for page in PAGES)
    missing = {each.path.name for each in FOLDERS if table(each) and f"{MARK}{each.path.name} -->" not in text}
    assert missing <= NOT_YET


def test_a_value_of_the_profile_is_no_departure(tmp_path: Path) -> None:
    """The profile ns3-3.4x has ns-3's SegmentSize of 536, SACK, PRR, and a minimum RTO of 1 s."""
    folder = tmp_path / "mine"
    write("claims", "mine", folder, lang="python")
    scenario = (folder / "scenario.toml").read_text()
    assert table(load_folder(folder)) == ""
    tcp = 'tcp = { profile = "ns3-3.4x", mss = 1448, prr = true, rto = { min = "1 s", max = "30 s" } }\n'
    (folder / "scenario.toml").write_text(tcp + scenario)
    claims = (
        (folder / "claims.toml").read_text().replace('name = "one BDP"', 'name = "one BDP", set = ["tcp.sack=false"]')
    )
    (folder / "claims.toml").write_text(claims)
    assert table(load_folder(folder)).splitlines()[2:] == [
        "| `ns3-3.4x` | `mss` 1448 (536), `sack` false (true), `rto.max` 30 s (60 s) | scenario.toml |",
        "| `ns3-3.4x` | `mss` 1448 (536), `rto.max` 30 s (60 s) | scenario.toml |",
    ]
