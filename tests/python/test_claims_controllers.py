"""Claims about known results of controllers: their arithmetic by hand, and the page beside what is on record.

`make -f studies/Makefile record-controllers` records anew: measurements, figures and the page's tables.
Verdicts that changed are for a person.
"""

import re
from pathlib import Path
from types import ModuleType, SimpleNamespace

import polars as pl
import pytest

from ackclock.claims import Folder, load_folders
from ackclock.claims.folder import load_module
from verdicts import Verdicts

PAGE = Path(__file__).parents[2] / "docs" / "explanation" / "claims-controllers.md"


@pytest.fixture(scope="module")
def folder() -> Folder:
    return next(folder for folder in load_folders() if folder.path.name == "controllers")


@pytest.fixture(scope="module")
def bbr(folder: Folder) -> ModuleType:
    return load_module(folder.path / "measure_bbr.py")


def test_the_page_explains_whatever_differs(folder: Folder) -> None:
    text = re.sub(r"^(<!--|\|).*$", "", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE)
    assert [claim for claim, verdict in folder.recorded.items() if verdict == "differs" and claim not in text] == []


def test_the_verdicts_on_record_are_those_of_the_record(folder: Folder) -> None:
    assert {claim.id: claim.on_record["verdict"] for claim in folder.claims if claim.on_record} == folder.recorded


def test_each_statement_says_whether_its_source_was_read(folder: Folder) -> None:
    """A number from memory is not a number that was read."""
    silent = [
        c.id for c in folder.claims if not re.search(r"\((memory|checked|derived)[^)]*\)", c.statement + c.section)
    ]
    assert silent == []


def test_the_model_of_ware_by_hand(bbr: ModuleType) -> None:
    """10 Mbit/s x 40 ms = 33.3 packets. X = 4: p = 1/2 - 1/8 - 4/133.3 = 0.345; ProbeRTT: 0.4 of 10 s."""
    assert bbr.model(4, 10e6) == pytest.approx(0.655 * 0.96)
    assert bbr.model(1, 10e6) == pytest.approx(1 - 0.028), "p is below 0: all of the link"
    assert bbr.probe_time(2.56, 0.04) == pytest.approx(0.28)


def test_what_bbr_takes_for_the_path_by_hand(bbr: ModuleType) -> None:
    """Half in flight is CUBIC's, 2 of 4 BDP (66.7 packets) wait: 0.5 x 4 + 1 = 3 by the model, 0.5 x (2 + 1) alone."""
    samples = {"time_s": [101.0, 102.0, 113.0], "rtt_sample_s": [0.08, 0.06, 0.1], "cwnd_bytes": [100_000] * 3}
    one = pl.DataFrame({"flow": ["one"] * 3, "flight_size_bytes": [30_000] * 3, **samples})
    both = pl.concat([one, one.with_columns(flow=pl.lit("other"))])
    link = {"name": "bottleneck", "utilization": 1.0, "drops": 0, "queue_packets": {"mean": 200 / 3}}
    results = SimpleNamespace(flows=both, summary={"links": [link]})
    assert bbr.left_by_cubic(results, 4) == pytest.approx((3.0, 1.5))
    assert bbr.taken_for_path(results, 10.0) == pytest.approx((0.06 + 0.1) / 2 / 0.04)


def test_a_probe_is_where_the_window_falls_to_four_segments(bbr: ModuleType) -> None:
    full, small = 80 * 1448, 4 * 1448
    flows = pl.DataFrame({"time_s": [1.5, 2.0, 2.1, 3.0, 12.2], "cwnd_bytes": [full, small, small, full, small]})
    assert bbr.probes(SimpleNamespace(flows=flows)) == [2.0, 12.2]


def test_what_a_link_can_deliver(bbr: ModuleType) -> None:
    """100 Mbit/s with 5 % lost: 95 of packets, 91.7 of payload."""
    results = SimpleNamespace(flow=lambda _: {"goodput_bps": 91.7e6})
    assert bbr.of_delivered(results, 0.05) == pytest.approx(1.0, abs=1e-3)


def test_jain_by_hand(bbr: ModuleType) -> None:
    """(3 + 1)^2 / (2 x (9 + 1)) = 0.8."""
    assert bbr.jain([3.0, 1.0]) == pytest.approx(0.8)


def test_dctcps_sawtooth_by_hand(folder: Folder) -> None:
    """Two flows, 80 packets of path and 20 of threshold: sqrt(2 x 2 x 100) / 2 = 10."""
    marks = load_module(folder.path / "measure_marks.py")
    assert marks.amplitude(2, 20, 80.0) == pytest.approx(10.0)
    assert pytest.approx(83.5) == marks.PATH_PACKETS, "1 Gbit/s x 1.002 ms in packets of 1500 octets"


def test_the_exponent_of_round_trips_by_hand(folder: Folder) -> None:
    """Four times as much over half the round trip: 2."""
    loss = load_module(folder.path / "measure_loss.py")
    flows = [
        {"name": "near.1", "goodput_bps": 3e6, "rtt_ms": {"mean": 40.0}},
        {"name": "near.2", "goodput_bps": 5e6, "rtt_ms": {"mean": 60.0}},
        {"name": "far.1", "goodput_bps": 2e6, "rtt_ms": {"mean": 100.0}},
    ]
    ratio, rtts = loss.near_over_far(SimpleNamespace(summary={"flows": flows}))
    assert (ratio, rtts) == (4.0, 2.0)
    assert loss.exponent_of(ratio, rtts) == pytest.approx(2.0)


def test_what_servers_take_by_hand(folder: Folder) -> None:
    """Two servers' 256 kB each in 8.192 ms are 500 Mbit/s of 1 Gbit/s; one that is not done counts to the run's end."""
    marks = load_module(folder.path / "measure_marks.py")
    done, missing = {"completion_s": 8.192e-3}, {"completion_s": None}
    runs = {
        "a": SimpleNamespace(summary={"flows": [done, done]}),
        "b": SimpleNamespace(summary={"flows": [done, missing]}),
    }
    found = marks.taken("a")(runs)
    assert found.value == pytest.approx(0.5)
    assert found.also["b"] == pytest.approx(4.096e6 / 6.0 / 1e9)


def test_prague_is_as_uneven_either_way(folder: Folder) -> None:
    """A half and 1.5 times: the greater is 2."""
    marks = load_module(folder.path / "measure_marks.py")

    def of(one: float, other: float) -> SimpleNamespace:
        rates = {"one": {"goodput_bps": one}, "other": {"goodput_bps": other}}
        return SimpleNamespace(flow=rates.__getitem__)

    assert marks.unevenness({"4 Mbit/s 20 ms": of(1.0, 2.0), "8 Mbit/s 20 ms": of(3.0, 2.0)}).value == 2.0


class TestVerdicts(Verdicts):
    """Claims of this study."""
