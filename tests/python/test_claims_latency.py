"""Claims on bounded latency in an appliance: their sums by hand, and what is on record."""

from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from ackclock.claims import Folder, load_folders
from ackclock.claims.folder import load_module


@pytest.fixture(scope="module")
def folder() -> Folder:
    return next(folder for folder in load_folders() if folder.path.name == "highspeed-2005")


@pytest.fixture(scope="module")
def latency(folder: Folder) -> ModuleType:
    return load_module(folder.path / "measure_latency.py")


def _forward(octets: int, p99: float) -> dict[str, Any]:
    return {
        "acknowledged_bytes": octets,
        "added_latency_ms": {"p50": 1.0, "p95": 2.0, "p99": p99},
        "timeouts": 0,
        "fast_recoveries": 0,
        "blocking": {"episodes": 0, "duration_ms": None},
    }


def _run(forwards: list[dict[str, Any]], goodputs: list[float], rate: Any) -> SimpleNamespace:
    names = [f"long.{number}" for number in range(1, len(forwards) + 1)]
    flows = [
        {"name": name, "goodput_bps": goodput, "start_s": 0.0} for name, goodput in zip(names, goodputs, strict=True)
    ]
    taken = [{"flow": name, "forward": forward} for name, forward in zip(names, forwards, strict=True)]
    scenario = {"topology": {"bottleneck": {"rate": rate}}, "flow": [{"count": len(forwards)}]}
    scenario["measure"] = {"from": "2 s"}
    return SimpleNamespace(
        manifest={"scenario": scenario},
        summary={"flows": flows, "duration_s": 10.0},
        appliance=lambda _: {"flows": taken},
    )


def test_what_is_allowed_by_hand(latency: ModuleType) -> None:
    """A packet of 1500 octets takes 1.2 ms at 10 Mbit/s: those of 100 flows 120 ms, half as much again 180 ms."""
    assert latency.allowed_ms(100, 10e6) == pytest.approx(180.0)
    assert latency.allowed_ms(100, 1e9) == latency.TARGET_MS, "100 packets take 1.2 ms at 1 Gbit/s"


def test_percentiles_are_weighted_by_octets(latency: ModuleType) -> None:
    """(3 x 4 ms + 1 x 20 ms) / 4 = 8 ms, of 10 ms allowed; the flow with the greatest has 20 ms."""
    run = _run([_forward(300, 4.0), _forward(100, 20.0)], [3e6, 1e6], "100 Mbit/s")
    measured = latency.latency()({"credit": run, "socket": run})
    assert measured.value == pytest.approx(0.8)
    assert measured.also["of the flow with the greatest ms"] == 20.0


def test_a_flow_that_nothing_was_sent_on_for_has_no_weight(latency: ModuleType) -> None:
    silent = _forward(0, 0.0) | {"added_latency_ms": None}
    run = _run([_forward(300, 4.0), silent], [3e6, 0.0], "100 Mbit/s")
    assert latency.latency()({"credit": run, "socket": run}).value == pytest.approx(0.4)


def test_a_rate_that_changes_is_judged_at_its_least(latency: ModuleType) -> None:
    """Two packets take 24 ms at 1 Mbit/s, half as much again 36 ms."""
    rate = {"schedule": [{"at": "0 s", "rate": "10 Mbit/s"}, {"at": "5 s", "rate": "1 Mbit/s"}]}
    run = _run([_forward(1, 9.0), _forward(1, 9.0)], [1.0, 1.0], rate)
    assert latency.allowed_ms(*latency.cell(run)) == pytest.approx(36.0)


def test_throughput_counts_what_short_flows_brought(latency: ModuleType) -> None:
    """A goodput is that of a flow's own time; 100 kB in 10 s are 0.08 Mbit/s, 6.25 MB are 5; over the whole run."""
    ours, unbounded = (_run([_forward(1, 1.0)], [rate], "10 Mbit/s") for rate in (8e6, 7.5e6))
    ours.summary["flows"][0]["delivered_bytes"] = 6_250_000
    ours.summary["flows"].append(
        {"name": "short.1", "goodput_bps": 1e9, "delivered_bytes": 100_000, "completion_s": None}
    )
    assert latency.throughput(ours) == pytest.approx(5.08)
    assert latency.kept()({"credit": ours, "socket": unbounded}).value == pytest.approx(5.08 / 7.5)


def test_a_flow_that_starts_late_counts_for_the_time_that_it_was_there(latency: ModuleType) -> None:
    """Over 8 s (2 to 10 s), one flow has 3 Mbit/s throughout, one 4 Mbit/s from 6 s on: 3 + 4 x 4/8 = 5 Mbit/s."""
    run = _run([_forward(1, 1.0), _forward(1, 1.0)], [3e6, 4e6], "10 Mbit/s")
    run.summary["flows"][1]["start_s"] = 6.0
    assert latency.throughput(run) == pytest.approx(5.0)


def test_a_discipline_is_preferred_only_if_it_passes_98_percent(latency: ModuleType) -> None:
    found = {
        "socket": (900.0, 10e6),
        "credit": (5.0, 9.9e6),
        "drain_rate": (4.0, 9.9e6),
        "codel_window": (1.0, 9.7e6),
        "not_sent": (6.0, 10e6),
    }
    runs = {name: _run([_forward(1, p99)], [goodput], "10 Mbit/s") for name, (p99, goodput) in found.items()}
    assert latency.rivals(runs).value == 1.0, "drain_rate alone"
    runs["credit"] = _run([_forward(1, 5.0)], [9.7e6], "10 Mbit/s")
    assert latency.rivals(runs).value == 2.0, "drain_rate and not_sent, which pass what credit does not"
    for name in ("drain_rate", "not_sent"):
        runs[name] = runs["credit"]
    assert latency.rivals(runs).value is None


def test_the_whole_grid_is_on_record(folder: Folder) -> None:
    """4 rates, 3 round trips, 3 numbers of flows, 3 losses."""
    claims = [claim for claim in folder.claims if claim.id in {"H5a1", "H5a2"}]
    assert sum((claim.on_record or {})["choices_tried"] for claim in claims) == 4 * 3 * 3 * 3
