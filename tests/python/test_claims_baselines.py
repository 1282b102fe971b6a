"""The study of the papers on Remy, Indigo and Orca: its measures by hand, and its claims beside what is on record."""

from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import polars as pl
import pytest

from ackclock.claims import Folder, load_folders
from ackclock.claims.folder import load_module
from ackclock.claims.ledger import Laboratory
from verdicts import Verdicts


@pytest.fixture(scope="module")
def folder() -> Folder:
    return next(folder for folder in load_folders() if folder.path.name == "baselines")


@pytest.fixture(scope="module")
def measure(folder: Folder) -> ModuleType:
    return load_module(folder.path / "measure.py")


def results(**summary: Any) -> Any:
    """Results with two transfers of 100 kB, which took 0.55 and 0.95 s."""
    transfers = pl.DataFrame({"size_bytes": [100_000, 100_000], "fct_s": [0.55, 0.95]})
    return SimpleNamespace(completions=transfers, summary={"flows": [], **summary})


def test_throughput_leaves_out_the_handshake_or_the_way_of_the_request(measure: ModuleType) -> None:
    """1.6 Mbit in 0.4 + 0.8 s without a handshake of 0.15 s; in 0.475 + 0.875 s without a request's 0.075 s."""
    assert measure.throughput(results(), 0.15) == pytest.approx(1.6 / 1.2)
    assert measure.throughput(results(flows=[{"exchanges": {}}]), 0.15) == pytest.approx(1.6 / 1.35)


def test_the_equal_share_of_eight_senders_is_the_link_while_any_is_on(measure: ModuleType) -> None:
    """14.52 of 15 Mbit/s are payload, for 255/256 of the time: 14.463 Mbit/s."""
    senders = [{"goodput_bps": 14.463e6 * 0.9 / 8}] * 8
    assert measure.equal_share("case")({"case": results(flows=senders)}).value == pytest.approx(0.9, rel=1e-4)


def test_packets_in_flight_by_littles_law(measure: ModuleType) -> None:
    """11.2 Mbit/s are a packet of 1400 octets a millisecond."""
    flow = {"goodput_bps": 11.2e6, "rtt_ms": {"mean": 40.0}}
    assert measure.in_flight("case")({"case": results(flows=[flow])}).value == pytest.approx(40.0)


def test_steps_are_from_delta_to_delta(measure: ModuleType) -> None:
    """2, 3 and 12 ms: one step is 1.5, the other 4."""
    found = {
        name: results(links=[{"queueing_delay_ms": {"mean": delay}}])
        for name, delay in (("remy 10", 2.0), ("remy 1", 3.0), ("remy 0.1", 12.0))
    }
    assert measure.steps(measure.queueing, "ms")(found).value == pytest.approx(1.5)


def test_it_needs_the_users_copies(folder: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    studies = {claim.study.key: claim.study for claim in folder.claims}.values()
    monkeypatch.delenv("ACKCLOCK_BASELINES", raising=False)
    assert not any(Laboratory(full=True).simulates(study) for study in studies)
    monkeypatch.setenv("ACKCLOCK_BASELINES", "/somewhere")
    monkeypatch.setenv("ACKCLOCK_TRACES", "/somewhere")
    assert all(Laboratory().simulates(study) for study in studies)


def test_every_claim_is_on_record_and_no_table_of_others_lies_here(folder: Folder) -> None:
    assert [claim.id for claim in folder.claims if claim.on_record is None] == []
    kinds = {path.suffix for path in Path(folder.path).iterdir() if path.is_file()}
    assert kinds <= {".toml", ".py", ".json", ".md", ".csv"}


class TestVerdicts(Verdicts):
    """Claims of this study."""
