"""Tests of the comparison of Linux's modules with the controllers of the same names, and with recordings of Linux."""

from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

import ackclock

pytest.importorskip("studies.linux.modules")

from studies.linux import module_recordings, modules, receiver_recording

RECORDINGS = sorted(module_recordings.FOLDER.glob("*.json"))


def side(windows: list[float], *, retransmitted: int = 0, lost_at: int | None = None) -> modules.Side:
    """Return a run with a sample each 10 ms, and a segment of 1448 octets with each."""
    times = [round(0.01 * number, 3) for number in range(1, len(windows) + 1)]
    sent = [1448 * number for number in range(len(windows))]
    if lost_at is not None:
        sent[lost_at] = 0
    series = pl.DataFrame(
        {"time_s": times, "cwnd": windows, "ssthresh": pl.Series([None] * len(windows), dtype=pl.Float64)}
    )
    return modules.Side(series, pl.DataFrame({"time_s": times, "seq": sent}), 1e6, retransmitted)


def test_runs_of_equal_windows_and_segments_are_equal() -> None:
    found = modules.compare("reno", 1, side([10.0] * 100), side([10.0] * 100))
    assert (found.verdict, found.first_s, found.most) == ("equal", {}, 0.0)


def test_a_sample_between_an_ack_and_its_twin_is_no_difference() -> None:
    late = [10.0] * 100
    late[50] = 11.0
    assert modules.compare("reno", 1, side([10.0] * 100), side(late)).verdict == "equal"


def test_a_lasting_segment_of_window_is_told_with_its_first_instant() -> None:
    found = modules.compare("reno", 1, side([100.0] * 100), side([100.0] * 60 + [101.0] * 40))
    # The first sample that differs is the 61st, at 0.61 s; the means are 100 and 100.4 segments.
    assert found.first_s == {"cwnd": 0.61}
    assert (found.most, found.verdict) == (1.0, "1 segment")
    assert found.figures["window"] == (pytest.approx(100.0), pytest.approx(100.4))


@pytest.mark.parametrize(("retransmitted", "verdict"), [(102, "2 %"), (103, "differs")])
def test_two_percent_of_100_retransmissions_are_two(retransmitted: int, verdict: str) -> None:
    ours, theirs = (
        side([10.0] * 100, retransmitted=retransmitted, lost_at=30),
        side([10.0] * 90 + [13.0] * 10, retransmitted=100),
    )
    # 13 for 10 in a tenth of the run is 3 % of the mean, so that only a longer run is within 2 %.
    longer = side([10.0] * 190 + [13.0] * 10, retransmitted=100)
    found = modules.compare("reno", 1, side([10.0] * 200, retransmitted=retransmitted, lost_at=30), longer)
    assert found.verdict == verdict
    assert found.first_s["sent"] == 0.31
    assert modules.compare("reno", 1, ours, theirs).verdict == "differs"


def test_an_unknown_module_is_refused(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.argv", ["modules", "renno", "--keep", "unused"])
    with pytest.raises(SystemExit):
        modules.main()
    assert "unknown module 'renno'; Linux's are reno, cubic" in capsys.readouterr().err


def test_every_module_that_equals_linux_is_recorded() -> None:
    assert [file.stem for file in RECORDINGS] == sorted(module_recordings.SEEDS)


@pytest.mark.parametrize("file", RECORDINGS, ids=lambda file: file.stem)
def test_windows_and_segments_are_those_of_linux(file: Path) -> None:
    """Recorded on a kernel in virtual time by `make -f studies/Makefile record-modules`."""
    recording = module_recordings.Recording.read(file)
    assert module_recordings.SEEDS[recording.module] == recording.seed
    assert recording.difference(module_recordings.simulated(recording.module, recording.seed, recording.linux)) is None


@pytest.mark.parametrize(
    ("module", "seed", "offset", "left_ms"),
    [
        pytest.param("bbr", 9001, 16616, 180.842, id="a retransmission is not delivered by an older echo"),
        pytest.param("reno", 9008, 17152, 254.117, id="the timer of an older ACK ends the wait of one above a hole"),
        pytest.param("illinois", 9005, 95408, 1167.498, id="222.5 ms have as many ticks as 221.4"),
        pytest.param("westwood", 9002, 10184, 108.151, id="a recovery begins with the window that the last one left"),
        pytest.param("veno", 9002, 8576, 96.145, id="the round trip of the SYN is a sample"),
        pytest.param("illinois", 9008, 205824, 2892.191, id="what SACK reports takes the memory of one buffer"),
        pytest.param("yeah", 9004, 272288, 3970.275, id="a writer that goes on sends a burst at once"),
    ],
)
def test_a_segment_leaves_when_it_left_on_linux(module: str, seed: int, offset: int, left_ms: float) -> None:
    """By runs of Linux 6.12 in virtual time."""
    scenario = modules.scenario(modules.SIMULATED.get(module, module), seed, modules.HOST)
    sent = modules.side(ackclock.run(scenario)).sent
    first = sent.filter(pl.col("seq") == offset)["time_s"][0]
    assert 1e3 * first == pytest.approx(left_ms, abs=0.05)


def test_a_recording_is_read_as_it_was_written_and_tells_the_first_difference(tmp_path: Path) -> None:
    ran = side([10.0, 10.0, 11.0, 8.0], retransmitted=1, lost_at=2)
    recording = module_recordings.Recording.of("reno", 3, "6.12", replace(ran, sent=segments(0, 536, 536, 804)))
    assert recording.windows == ((0.01, 10.0, None), (0.03, 11.0, None), (0.04, 8.0, None))
    recording.write(tmp_path / "reno.json")
    assert '"sent": "0-536 536 804"' in (tmp_path / "reno.json").read_text(encoding="utf-8")
    found = module_recordings.Recording.read(tmp_path / "reno.json")
    assert found == recording
    assert found.difference(replace(ran, sent=segments(0, 536, 536, 804))) is None
    assert found.difference(replace(ran, sent=segments(0, 536, 804, 536))) == "segment 2 begins at octet 804 for 536"
    assert found.difference(replace(ran, sent=segments(0, 536, 536))) == "3 segments for 4"
    other = found.difference(side([10.0, 11.0, 11.0, 8.0]))
    assert other == "from 0.02 s: (0.02, 11.0, None) for (0.03, 11.0, None) (seconds, cwnd, ssthresh)"


def segments(*octets: int) -> pl.DataFrame:
    """Return segments of 536 octets that leave one after another."""
    return pl.DataFrame({"time_s": [0.01 * number for number in range(len(octets))], "seq": list(octets)})


def test_a_receiver_acknowledges_what_linux_acknowledges_and_offers_the_same_window() -> None:
    """Recorded on Linux 7.3 by `make -f studies/Makefile record-receiver`: slow start into a full buffer."""
    simulated, recorded = receiver_recording.simulated(), receiver_recording.read()
    octets = [first for _, first, _ in recorded["data"]]
    assert sum(octets[place] < max(octets[: place + 1]) for place in range(len(octets))) > 50, "segments sent again"
    for kind in ("data", "ack"):
        assert simulated[kind] == recorded[kind]
