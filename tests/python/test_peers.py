"""The comparison with ns-3: its statistics, the rounds it keeps, what its agent learns. ns-3 itself is not needed."""

import shutil
import subprocess
from pathlib import Path

import dqn_cases
import dqn_twin
import ns3_builds
import peer_figures
import peer_rounds
import pytest
from peer_cases import CASES

ROOT = Path(__file__).parents[2]


def _side(cpu_s: float, packets: int = 1_000) -> peer_rounds.Side:
    return peer_rounds.Side(cpu_s, packets, 1e6, 2, 3)


def _round(ratio: float) -> peer_rounds.Round:
    return {"ackclock": _side(1.0), "debian": _side(ratio)}


def test_the_interval_is_students_of_the_logarithms() -> None:
    # Logarithms to base 2 are 4, 5, 6: mean 5, deviation 1; t for 2 degrees of freedom and 95 % is 4.303 (any table),
    # so that the half width is 4.303 / sqrt(3) = 2.484.
    found = peer_figures.interval([16.0, 32.0, 64.0])
    assert found["mean"] == pytest.approx(32.0)
    assert found["low"] == pytest.approx(2 ** (5 - 2.484), rel=1e-3)
    assert found["high"] == pytest.approx(2 ** (5 + 2.484), rel=1e-3)
    assert (found["min"], found["max"]) == (16.0, 64.0)


def test_one_round_has_no_interval() -> None:
    assert peer_figures.interval([7.0]) == {
        "mean": pytest.approx(7.0),
        "low": None,
        "high": None,
        "min": 7.0,
        "max": 7.0,
    }


def test_a_ratio_is_of_cpu_time_for_each_packet() -> None:
    # ns-3 takes 30 s for 500 packets and ackclock 1 s for 1,000: 60 ms and 1 ms a packet.
    rounds = [{"ackclock": _side(1.0, 1_000), "debian": _side(30.0, 500)}]
    figures = peer_figures.report(CASES[0], rounds)
    assert figures["cpu_time_of_a_packet_to_ackclock"]["debian"]["mean"] == pytest.approx(60.0)
    assert figures["packets_per_cpu_s"]["ackclock"] == pytest.approx(1_000)


def test_rounds_outlast_the_process_and_a_torn_line_costs_one(tmp_path: Path) -> None:
    file, settings = tmp_path / "kept" / "rounds.jsonl", {"processor": "x"}
    journal = peer_rounds.Journal(file, settings)
    journal.add("a", _round(50.0))
    journal.add("c", _round(30.0))
    with file.open("a", encoding="utf-8") as opened:
        opened.write('{"case": "c", "sides": {"ackcl')
    again = peer_rounds.Journal(file, settings)
    assert again.rounds("a") == [_round(50.0)]
    assert again.rounds("c") == [_round(30.0)]
    assert again.rounds("b") == []
    again.add("b", _round(40.0))
    assert peer_rounds.Journal(file, settings).rounds("b") == [_round(40.0)]


def test_rounds_of_another_setting_are_not_taken_up(tmp_path: Path) -> None:
    file = tmp_path / "rounds.jsonl"
    peer_rounds.Journal(file, {"processor": "x"}).add("a", _round(50.0))
    assert peer_rounds.Journal(file, {"processor": "y"}).rounds("a") == []


def test_what_is_missing_is_told_with_the_line_that_installs_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ns3_builds.Ns3Missing, match=r"apt-get install g\+\+ pkg-config libns3-dev"):
        ns3_builds.debian()


@pytest.mark.skipif(shutil.which("g++") is None, reason="g++ is not installed, which compiles the agent")
def test_the_agent_in_plain_cpp_learns_what_is_known_by_hand(tmp_path: Path) -> None:
    """Gradients, a network, Adam and a world of two places, all in benches/peers/dqn_agent_check.cc."""
    program = tmp_path / "check"
    source = ROOT / "benches" / "peers" / "dqn_agent_check.cc"
    subprocess.run(["g++", "-std=c++17", "-O2", "-Wall", "-Wextra", "-Werror", source, "-o", program], check=True)
    done = subprocess.run([program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


def test_rows_are_the_papers() -> None:
    """Jain's index and the sum of 53.60 and 43.19 are printed there: 0.9886 and 96 %."""
    row = next(row for row in dqn_cases.ROWS if row.name == "DQN-NewReno / NewReno")
    entries = {entry["quantity"]: entry["source"] for entry in dqn_twin.table(row, 536, 0)}
    assert entries["Jain's index"] == pytest.approx(0.9886, abs=5e-5)
    assert entries["both"] == pytest.approx(96.79)


def test_averages_are_of_the_period_asked_for() -> None:
    """Half-second bins of 1, then 3, then 5 Mbit/s for 50 s each."""
    found = {"flows": [{"mbps": [1.0] * 100 + [3.0] * 100 + [5.0] * 100}]}
    assert [dqn_twin.average(found, 0, begin, begin + 50) for begin in (0, 50, 100)] == [1.0, 3.0, 5.0]
    assert dqn_twin.average(found, 0, 0.0, 150.0) == 3.0


def test_a_record_keeps_runs_that_are_not_made_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    """It has a run of each simulator, and ackclock has run twice since; another table is run no more."""
    entry = {"table": "D1-536", "row": "a", "quantity": "throughput", "ns-3": [], "ackclock": [2.0, 3.0]}
    monkeypatch.setattr(dqn_twin, "ROWS", dqn_cases.ROWS[:1])
    monkeypatch.setattr(dqn_twin, "SEGMENTS_BYTES", (536,))
    monkeypatch.setattr(dqn_twin, "table", lambda *_: [dict(entry)])
    monkeypatch.setattr(ns3_builds, "debian", lambda: ns3_builds.Ns3Build("debian", "3.37", "a package", ()))
    earlier = [entry | {"table": "D1", "ackclock": [7.0]}, entry | {"ns-3": [1.0], "ackclock": [9.0]}]
    found = dqn_twin.record({"rows": earlier, "made": {"date": "2026-11-28"}})
    assert found["rows"] == [earlier[0], entry | {"ns-3": [1.0]}]
    assert found["kept_from"] == [{"date": "2026-11-28"}]
    assert dqn_twin.record(found)["kept_from"] == [{"date": "2026-11-28"}], "recording again does not make it newer"
    assert dqn_twin.record({})["kept_from"] == []
