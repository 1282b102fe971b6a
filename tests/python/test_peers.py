"""The comparison with ns-3 and htsim: its statistics, its rounds, its programs, what ns-3's agent learns.

Neither simulator is needed.
"""

import json
import shutil
import subprocess
from pathlib import Path

import dqn_cases
import dqn_twin
import htsim_build
import ns3_builds
import peer_figures
import peer_programs
import peer_rounds
import pytest
import run as peers
from peer_cases import CASES

ROOT = Path(__file__).parents[2]


_BUILD = peer_programs.PeerBuild("debian", "ns-3", "3.37", "a package", (), ())


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


def test_a_build_is_set_beside_ackclock_with_its_tcp_too() -> None:
    # 2 ms a packet, where ackclock takes 1 ms, and 4 ms with the other's TCP.
    sides = {"ackclock": _side(1.0), "ackclock with htsim's TCP": _side(4.0), "htsim": _side(2.0)}
    figures = peer_figures.report(CASES[0], [sides])
    assert figures["cpu_time_of_a_packet_to_ackclock"]["htsim"]["mean"] == pytest.approx(2.0)
    same_tcp = figures["cpu_time_of_a_packet_to_the_same_tcp"]
    assert list(same_tcp) == ["htsim"]
    assert same_tcp["htsim"]["mean"] == pytest.approx(0.5)


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
    with pytest.raises(peer_programs.PeerMissing, match=r"apt-get install g\+\+ pkg-config libns3-dev"):
        ns3_builds.debian()


@pytest.mark.parametrize(
    ("arguments", "builds"),
    [
        ([], ["optimised", "debian"]),
        (["--htsim", "copy"], ["optimised", "debian", "htsim"]),
        (["--htsim", "copy", "--builds", "htsim"], ["htsim"]),
        (["--builds", "htsim"], ["htsim"]),
    ],
)
def test_htsim_is_measured_where_there_is_a_copy(arguments: list[str], builds: list[str]) -> None:
    assert peers.parse_arguments(arguments).builds == builds


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--htsim", "copy", "--builds", "debian"], "--htsim is given, but --builds does not name htsim"),
        (["--builds", "ns4"], "unknown ns4; use some of optimised, debian, htsim"),
    ],
)
def test_arguments_that_contradict_are_refused(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        peers.parse_arguments(arguments)
    assert message in capsys.readouterr().err


def test_without_a_copy_of_htsim_the_error_says_where_to_get_one(tmp_path: Path) -> None:
    remedy = r"give --htsim DIR \(make: HTSIM=DIR\) with DIR a checkout of https://github.com/Broadcom/csg-htsim"
    with pytest.raises(peer_programs.PeerMissing, match=f"no copy of htsim to measure: {remedy}"):
        htsim_build.htsim(None)
    copy = _stand_in(tmp_path)
    (copy / "sim" / "pipe.cpp").unlink()
    with pytest.raises(peer_programs.PeerMissing, match=rf"sim lacks pipe\.cpp: {remedy}"):
        htsim_build.htsim(copy)


def test_another_text_of_htsim_is_another_version(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Else rounds of one copy would be taken up with another, and its program run."""
    monkeypatch.setattr(shutil, "which", lambda _: "/usr/bin/g++")
    copy = _stand_in(tmp_path)
    before = htsim_build.htsim(copy)
    assert htsim_build.htsim(copy) == before
    (copy / "sim" / "tcp.h").write_text("// changed\n", encoding="utf-8")
    after = htsim_build.htsim(copy)
    assert after.version != before.version
    assert after.program != before.program


def test_what_a_program_prints_is_read() -> None:
    # Two flows of 1,000 octets in 4 s are 4,000 bit/s.
    flow = {"delivered_bytes": 1_000, "retransmitted_segments": 3}
    printed = {"cpu_s": 0.5, "max_rss_kib": 2, "duration_s": 4, "delivered_packets": 7, "drops": 1, "episodes": []}
    found = peer_programs.read(json.dumps(printed | {"flows": [flow, flow]}))
    assert found == peer_programs.PeerFigures(0.5, 7, 4_000.0, 6, 1, 2_048, [])


@pytest.mark.skipif(shutil.which("g++") is None, reason="g++ is not installed, which compiles the program")
def test_a_copy_that_does_not_compile_is_an_error_and_not_a_figure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(peer_programs, "FOLDER", tmp_path / "made")
    build = htsim_build.htsim(_stand_in(tmp_path))
    with pytest.raises(peer_programs.PeerMissing, match=rf"does not compile against htsim {build.version}"):
        peer_programs.run(build, flows=1)


def _stand_in(folder: Path) -> Path:
    """Return a folder with empty files by the names of htsim's sources."""
    copy = folder / "copy"
    (copy / "sim").mkdir(parents=True)
    for name in htsim_build.CORE:
        (copy / "sim" / f"{name}.cpp").touch()
    return copy


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
    monkeypatch.setattr(ns3_builds, "debian", lambda: _BUILD)
    earlier = [entry | {"table": "D1", "ackclock": [7.0]}, entry | {"ns-3": [1.0], "ackclock": [9.0]}]
    found = dqn_twin.record({"rows": earlier, "made": {"date": "2026-11-28"}})
    assert found["rows"] == [earlier[0], entry | {"ns-3": [1.0]}]
    assert found["kept_from"] == [{"date": "2026-11-28"}]
    assert dqn_twin.record(found)["kept_from"] == [{"date": "2026-11-28"}], "recording again does not make it newer"
    assert dqn_twin.record({})["kept_from"] == []
