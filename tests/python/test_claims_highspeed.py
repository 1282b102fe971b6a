"""Claims on the HighSpeed appliance: their sums by hand, the laws that explain them, and what is on record."""

import math
import re
from pathlib import Path
from types import ModuleType, SimpleNamespace

import polars as pl
import pytest

from ackclock import Scenario, run
from ackclock.claims import Finding, Measured, judge, load_folders
from ackclock.claims.folder import Claim, Folder, load_module
from ackclock.claims.ledger import Laboratory
from verdicts import Verdicts

pytestmark = pytest.mark.long

LINK_MBPS = 100 * 1448 / 1538
"""Payload of full segments on 100 Mbit/s: 1448 + 52 octets of headers + 38 of Ethernet."""


@pytest.fixture(scope="module")
def folder() -> Folder:
    return next(folder for folder in load_folders() if folder.path.name == "highspeed-2005")


@pytest.fixture(scope="module")
def shares(folder: Folder) -> ModuleType:
    return load_module(folder.path / "measure_shares.py")


@pytest.fixture(scope="module")
def buffers(folder: Folder) -> ModuleType:
    return load_module(folder.path / "measure_buffers.py")


@pytest.fixture(scope="module")
def measured(findings: list[Finding]) -> dict[str, Measured]:
    return {finding.claim.id: finding.measured for finding in findings}


def costly(folder: Folder) -> list[Claim]:
    return [claim for claim in folder.claims if claim.study.costly]


def test_jains_index_and_wares_harm_by_hand(shares: ModuleType) -> None:
    """(3 + 4 + 5)^2 / (3 x (9 + 16 + 25)) = 144 / 150; 90.9 that become 85 are 5.9 / 90.9 of harm."""
    assert shares.jain([3.0, 4.0, 5.0]) == pytest.approx(0.96)
    assert shares.harm(90.9, 85.0) == pytest.approx(5.9 / 90.9)
    assert shares.harm(80.0, 100.0) == pytest.approx(-0.25), "gain is negative harm"


def test_every_claim_of_the_thesis_is_there(folder: Folder) -> None:
    families = {re.match(r"H\d[ab]?", claim.id)[0] for claim in folder.claims}  # type: ignore[index]
    assert {"H1a", "H1b", "H2a", "H3a", "H3b", "H4a", "H4b", "H6a"} <= families


def test_48_mib_more_in_two_buffers_take_what_the_link_takes_for_them(measured: dict[str, Measured]) -> None:
    """2 x 48 x 2^20 octets at 94.15 Mbit/s are 8.554 s."""
    also = measured["H2a"].also
    expected_s = 2 * 48 * 2**20 * 8 / (LINK_MBPS * 1e6)
    assert (also["64 MiB ms"] - also["16 MiB ms"]) / 1e3 == pytest.approx(expected_s, rel=1e-3)
    assert also["64 MiB Mbit/s"] == pytest.approx(LINK_MBPS, rel=1e-3)


def test_a_buffer_below_the_path_is_sent_once_a_round_trip(measured: dict[str, Measured]) -> None:
    """All of 64 KiB are in flight for 26 ms, and what ACKs wait for: less than 2.5 ms."""
    rate = measured["H2b"].also["64 KiB Mbit/s"]
    assert 65536 * 8 / 28.5e-3 / 1e6 < rate < 65536 * 8 / 26e-3 / 1e6


def test_one_loss_takes_reno_half_a_window_of_round_trips(measured: dict[str, Measured]) -> None:
    """A path of 1 Gbit/s and 28 ms holds 2275 frames of 1538 octets; a segment in each round trip makes up for half."""
    window = 1e9 * 28e-3 / 8 / 1538
    assert measured["H7b"].value == pytest.approx(window / 2 * 28e-3, rel=0.01)
    assert measured["H7a"].also["reno %"] == pytest.approx(75.0, abs=1.0), "half to all of it, evenly"


def test_one_loss_takes_highspeed_what_rfc_3649_says(measured: dict[str, Measured]) -> None:
    """Section 5: b from 0.5 at 38 to 0.1 at 83000 segments, p = 0.078 / w^1.2, a = w^2 p 2 b / (2 - b)."""

    def decrease(w: float) -> float:
        return 0.5 - 0.4 * math.log(w / 38) / math.log(83000 / 38)

    window, trips = 2275.0 * (1 - decrease(2275.0)), 0
    while window < 2275.0:
        b = decrease(window)
        window, trips = window + window**2 * 0.078 / window**1.2 * 2 * b / (2 - b), trips + 1
    assert measured["H7c"].value == pytest.approx(trips * 28e-3, abs=0.06), "and a round trip or two of repair"


def test_signals_closer_than_the_law_hold_latency_and_wider_ones_do_not(measured: dict[str, Measured]) -> None:
    """Beyond it the buffers fill: two of 4 MiB, less what is in flight, hold 0.6 to 0.71 s of 94.15 Mbit/s."""
    also = measured["H3c"].also
    for trip in ("2 ms", "6 ms", "14 ms"):
        assert also[f"{trip}, half: mean ms"] < 1.0
        assert 600 < also[f"{trip}, double: mean ms"] < 8 * 2 * 4 * 2**20 / (LINK_MBPS * 1e3)


def test_what_is_costly_is_on_record_and_not_simulated(folder: Folder) -> None:
    laboratory = Laboratory()
    found = judge(costly(folder), laboratory, folder.recorded)
    assert len(laboratory) == 0
    assert [finding.claim.id for finding in found if finding.simulated or not finding.measured.also] == []
    assert {f"H1{letter}" for letter in "abcdefghjklm"} < {finding.claim.id for finding in found}


def test_no_share_on_record_is_more_than_the_link(folder: Folder) -> None:
    """1 Gbit/s carries 941.5 Mbit/s of payload in full segments, 990.0 in packets of 9000 octets with their frames.

    Data behind a hole when measurement begins comes on top: a window of 5 MB in 110 s at most, 0.04 %.
    """
    for claim in costly(folder):
        if claim.id in {"H1a", "H1b", "H1k", "H1l"}:
            assert claim.on_record is not None
            for entry in (claim.on_record, *claim.on_record["other_choices"]):
                also = entry["also"]
                for case in ("without", "with"):
                    total = also[f"old flow {case} Mbit/s"] + 10 * also[f"ten others {case} Mbit/s"]
                    assert 300 < total < 1000 * 8948 / 9038 * 1.0004, (claim.id, entry.get("choices"))


def test_the_record_is_of_this_simulator(folder: Folder, shares: ModuleType) -> None:
    """Half a minute of the first seed is near to the record of whole runs."""
    study = next(claim.study for claim in folder.claims if claim.id == "H1g")
    through = next(case for case in study.cases if case.name == "with")
    option = next(option for option in study.choices[0].options if option.name == "5 packets, 0.2 ms")
    settings = [*option.overrides, 'duration="30 s"', "seed=1"]
    goodput = shares.old(run(Scenario.load(str(through.scenario), settings)))
    record = next(claim.on_record for claim in folder.claims if claim.id == "H1g")
    assert record is not None
    (entry,) = [other for other in record["other_choices"] if other["choices"]["ethernet"] == option.name]
    assert goodput == pytest.approx(entry["measured"], abs=5.0)


def test_cwnd_below_ssthresh_is_slow_start_outside_of_a_recovery_only(buffers: ModuleType) -> None:
    """ssthresh 10; a recovery of a loss from 20.02 to 20.035 s: of 9, 5, 8, 12, 6 only 8 and 6 are slow start."""
    times = [20.01, 20.02, 20.03, 20.04, 20.05, 20.06]
    windows = [12.0, 9.0, 5.0, 8.0, 12.0, 6.0]
    rows = pl.DataFrame({"time_s": times, "cwnd_bytes": windows}).with_columns(
        ssthresh_bytes=pl.lit(10.0), direction=pl.lit("forward")
    )
    episode = {"appliance": "box", "direction": "forward", "cause": "loss", "time_s": 20.02, "duration_s": 0.015}
    results = SimpleNamespace(appliances=rows, episodes=pl.DataFrame([episode]))
    assert sorted(buffers.restarts(results)) == pytest.approx([0.6, 0.8])
    after_a_timeout = SimpleNamespace(appliances=rows, episodes=pl.DataFrame([episode | {"cause": "timeout"}]))
    assert sorted(buffers.restarts(after_a_timeout)) == pytest.approx([0.5, 0.6]), "9, 5 and 8 are one, down to half"


def test_the_page_has_the_regions_on_record(folder: Folder) -> None:
    page = (Path(__file__).parents[2] / "docs" / "explanation" / "claims-highspeed.md").read_text(encoding="utf-8")
    counted = {
        claim.id: re.search(r"under (\d+) of (\d+) combinations", claim.on_record["region"])
        for claim in folder.claims
        if claim.id in {"H3e", "H3a"} and claim.on_record is not None
    }
    said = {"H3e": "both hold under {} of the {} combinations", "H3a": "the region is smaller: {} of {} have both"}
    for name, found in counted.items():
        assert found is not None
        assert said[name].format(*found.groups()) in page
    assert len(counted) == 2


class TestVerdicts(Verdicts):
    """Claims of this study."""
