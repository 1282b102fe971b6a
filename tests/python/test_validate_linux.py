"""Recorded flows of Linux beside simulated ones: the numbers, the scenarios, the verdicts, and the command."""

import gzip
import json
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from ackclock_studies.linux import compared_quantities, linux_recordings, series, simulated_recordings
from ackclock_studies.linux.linux_comparison import CAUSES, Comparison, compare, load_causes
from ackclock_studies.linux.linux_recordings import FOLDER, FlowSettings, PathSettings, RecordedRun, Recording
from ackclock_studies.linux.series import FlowSeries
from ackclock_studies.linux.simulated_recordings import SimulatedRun, Variant
from ackclock_studies.linux.validation_page import markdown

from ackclock.base import input_files
from ackclock.running import run
from conftest import Cli

pytestmark = pytest.mark.long

RECORDINGS = {recording.name: recording for recording in linux_recordings.load(FOLDER)}
SUMMARY = pl.read_csv(FOLDER / "summary.csv")
MEASURE = {quantity.key: quantity.measure for quantity in compared_quantities.QUANTITIES}


def flow(time_s: list[float], *, cwnd: list[float], recovery: str, srtt_ms: float = 100.0) -> FlowSeries:
    """A flow whose recoveries are the `r` of a string with a letter for each sample."""
    size = len(time_s)
    return FlowSeries(
        time_s=np.array(time_s),
        cwnd_segments=np.array(cwnd),
        ssthresh_segments=np.where(np.arange(size) < recovery.find("r"), np.nan, 5.0),
        srtt_ms=np.full(size, srtt_ms),
        in_recovery=np.array([letter == "r" for letter in recovery]),
        acked_bytes=np.linspace(0, 1e6, size),
        secs=time_s[-1],
        retransmitted=0,
    )


# ---- numbers ------------------------------------------------------------------------------------


def test_recoveries_less_than_a_round_trip_apart_are_one_loss_event() -> None:
    # Out of recovery from 1.10 to 1.15, half a round trip of 100 ms; then from 1.20 to 2.00.
    times_s = [0.0, 1.0, 1.10, 1.15, 1.20, 2.0]
    assert series.loss_times_s(flow(times_s, cwnd=[9.0] * 6, recovery="-r-r-r")).tolist() == [1.0, 2.0]


def test_reno_grows_by_half_a_segment_where_it_gains_one_in_two_round_trips() -> None:
    # After the first recovery one segment every 200 ms, two round trips of 100 ms, for 4 s; slow start does not count.
    times_s = [0.0, 0.1, *(0.2 + 0.2 * np.arange(21)).tolist()]
    cwnd = [1.0, 64.0, *(32.0 + np.arange(21)).tolist()]
    measured = series.growth_segments_per_rtt(flow(times_s, cwnd=cwnd, recovery="-r" + "-" * 21))
    assert measured == pytest.approx(0.5)


def test_a_stretch_of_few_round_trips_says_nothing_of_growth() -> None:
    assert series.growth_segments_per_rtt(flow([0.0, 0.5, 1.0, 1.4], cwnd=[9.0] * 4, recovery="-r--")) is None


def test_slow_start_ends_when_ssthresh_is_set() -> None:
    loss = flow([0.0, 1.0, 2.0, 3.0, 4.0], cwnd=[9.0] * 5, recovery="-r--r")
    assert series.slow_start_end_s(loss) == 1.0
    assert list(MEASURE["after_slow_start"](loss)) == [3.0], "the loss that ends slow start is not the next one"
    hystart = replace(loss, ssthresh_segments=np.array([5.0] * 5))
    assert list(MEASURE["after_slow_start"](hystart)) == [1.0]


@pytest.mark.parametrize("name", RECORDINGS)
def test_a_recording_gives_the_numbers_that_were_written_down_when_it_was_made(name: str) -> None:
    # summary.csv was made by the recorder, of all samples, 10 ms apart; here each counts for as long as it holds.
    rows = SUMMARY.filter(pl.col("scenario") == name).sort("rep").to_dicts()
    for one, row in zip(RECORDINGS[name].runs, rows, strict=True):
        (measured,) = one.flows
        assert MEASURE["goodput"](measured)[0] == pytest.approx(row["goodput_mbps"], rel=1e-3)
        assert MEASURE["retransmitted"](measured)[0] == row["retrans_pkts"]
        assert MEASURE["cwnd_max"](measured)[0] == row["max_cwnd_pkts"]
        assert MEASURE["cwnd_mean"](measured)[0] == pytest.approx(row["mean_cwnd_pkts"], rel=2e-3)
        assert MEASURE["srtt_mean"](measured)[0] == pytest.approx(row["mean_srtt_ms"], rel=2e-3)


def test_thinning_twice_is_thinning_once() -> None:
    once = RECORDINGS["a_reno"].runs[0].flows[0]
    assert once.thinned().time_s.tolist() == once.time_s.tolist()


# ---- scenarios ----------------------------------------------------------------------------------


def test_a_scenario_is_built_from_the_settings() -> None:
    settings = FlowSettings(flow=1, cc="cubic", rtt_ms=40.0, hystart=False, window_scaling=False, tso=False)
    recording = Recording("x", PathSettings(8.0, 33, 5.0), (settings, replace(settings, flow=2, rtt_ms=80.0)), (), ())
    scenario = simulated_recordings.scenario(recording, Variant(1.0, (0.0, 1.5)))
    document = json.loads(scenario.to_json())
    bottleneck = document["topology"]["bottleneck"]
    assert (bottleneck["rate"], bottleneck["queue"]["limit"], bottleneck["delay"]) == (
        "8 Mbit/s",
        "33 packets",
        "20 ms",
    )
    first, second = document["flow"]
    assert (second["rtt"], second["start"]) == ("80 ms", "1.5 s")
    assert first["controller"] == {"kind": "cubic", "hystart": "off"} | first["controller"]
    assert {key: first["tcp"][key] for key in ("profile", "window_scaling", "tso")} == {
        "profile": "linux-6.x", "window_scaling": False, "tso": False,
    }  # fmt: skip
    assert scenario.duration_s == 1.5 + 0.08 + 5.0, "the second flow starts last and is looked at for 5 s"


# ---- verdicts -----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def comparisons() -> list[Comparison]:
    return compare(list(RECORDINGS.values()))


def test_whatever_differs_from_linux_has_a_cause_on_record(comparisons: list[Comparison]) -> None:
    rows = [(one.recording.name, row) for one in comparisons for row in one.rows]
    assert [(name, row.quantity.key) for name, row in rows if row.is_unexplained] == []


def test_every_cause_on_record_is_needed(comparisons: list[Comparison]) -> None:
    needed = {row.because for one in comparisons for row in one.rows if row.verdict == "differs"}
    assert {cause.because for cause in load_causes(CAUSES)} <= needed


def test_cubic_is_compared_over_ten_intervals(comparisons: list[Comparison]) -> None:
    rows = {row.quantity.key: row for one in comparisons for row in one.rows if one.recording.name == "a_cubic"}
    assert len(rows["interval"].recorded) >= 10
    assert len(rows["interval"].simulated) >= 10


def test_the_table_for_a_text_has_both_sides_and_marks_what_differs(comparisons: list[Comparison]) -> None:
    lines = markdown(comparisons).splitlines()
    assert len(lines) == 2 + 2 * len(RECORDINGS)
    linux, here = (line.split(" | ") for line in lines[-2:])
    assert (linux[0], linux[3]) == ("| d_reno_ws1: reno, 50 ms", "382")
    rows = {row.quantity.key: row for row in comparisons[-1].rows}
    assert ("**" in here[3]) == (rows["retransmitted"].verdict == "differs")


@pytest.mark.parametrize(
    ("recorded_values", "simulated_values", "runs", "verdict"),
    [
        ([200.0, 400.0], [380.0, 500.0], 2, "agrees"),
        ([200.0, 400.0], [407.0], 2, "agrees"),  # 400 and 2 %
        ([200.0, 400.0], [409.0], 2, "differs"),
        ([400.0], [439.0], 1, "agrees"),  # 400 and 10 %
        ([400.0], [441.0], 1, "differs"),
        ([], [], 1, "open"),
        ([400.0], [], 1, "differs"),
    ],
)
def test_ranges_meet_or_do_not(
    recorded_values: list[float], simulated_values: list[float], runs: int, verdict: str
) -> None:
    (quantity,) = (quantity for quantity in compared_quantities.QUANTITIES if quantity.key == "retransmitted")
    assert quantity.verdict(recorded_values, simulated_values, runs) == verdict


@pytest.mark.parametrize(
    ("recorded_values", "simulated_values", "runs", "by_widening"),
    [
        ([25.0], [20.0, 22.0], 1, True),  # 22 is 12 % less; the square root of 25 allows 20 to 30
        ([25.0], [20.0, 23.0], 1, False),  # 23 is 8 % less
        ([200.0, 400.0], [400.0], 2, False),
        ([200.0, 400.0], [401.0], 2, True),
        ([200.0, 400.0], [199.0, 150.0], 2, True),
        ([200.0, 400.0], [500.0], 2, False),  # it differs all the same
        ([], [25.0], 1, False),
    ],
)
def test_agreement_by_widening_is_told_from_agreement(
    recorded_values: list[float], simulated_values: list[float], runs: int, by_widening: bool
) -> None:
    (quantity,) = (quantity for quantity in compared_quantities.QUANTITIES if quantity.key == "retransmitted")
    assert quantity.is_by_widening(recorded_values, simulated_values, runs) is by_widening


def test_a_loss_at_the_end_of_a_run_may_be_cut_off() -> None:
    by_key = {quantity.key: quantity for quantity in compared_quantities.QUANTITIES}
    assert by_key["losses"].verdict([3.0], [2.0], 1) == "agrees"
    assert by_key["losses"].verdict([3.0], [1.0], 1) == "differs"
    assert by_key["interval"].verdict([14.0], [], 1) == "open"
    assert by_key["first_loss"].verdict([14.0], [], 1) == "differs"


# ---- folders ------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def two_flows(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of recordings of two flows with different round trips, one later than the other, made by simulation."""
    settings = FlowSettings(flow=1, cc="cubic", rtt_ms=40.0, hystart=True, window_scaling=True, tso=True)
    flows = (settings, replace(settings, flow=2, cc="reno", rtt_ms=80.0))
    recording = Recording("two", PathSettings(20.0, 60, 8.0), flows, (), ())
    variant = Variant(1.0, (0.0, 0.5))
    made = simulated_recordings.simulated_run(
        recording, variant, run(simulated_recordings.scenario(recording, variant))
    )
    folder = tmp_path_factory.mktemp("recordings")
    _write(folder, recording, made, up_s=(0.3 + 0.04, 0.3 + 0.5 + 0.08))
    return folder


def _write(folder: Path, recording: Recording, made: SimulatedRun, up_s: tuple[float, float]) -> None:
    (folder / "data").mkdir()
    columns = {"scenario": recording.name, "rep": 1, "rate_mbps": 20, "queue_pkts": 60, "gso1": 0, "secs": 8}
    rows = [
        columns
        | {"flow": one.flow, "cc": one.cc, "rtt_ms": one.rtt_ms, "window_scaling": 1, "hystart": 1}
        | {"flow_t0_minus_emulator_t0_s": up}
        for one, up in zip(recording.flows, up_s, strict=True)
    ]
    pl.DataFrame(rows).write_csv(folder / "summary.csv")
    for one, samples in zip(recording.flows, made.flows, strict=True):
        table = pl.DataFrame(
            {
                "t_s": samples.time_s,
                "cwnd_pkts": samples.cwnd_segments,
                "ssthresh_pkts": np.nan_to_num(samples.ssthresh_segments, nan=2_147_483_647.0),
                "srtt_us": samples.srtt_ms * 1000,
                "ca_state": samples.in_recovery * 3,
                "retrans_total": np.full(samples.time_s.size, samples.retransmitted),
                "bytes_acked": samples.acked_bytes,
            }
        )
        file = folder / "data" / f"two.r1.flow{one.flow}.{one.cc}.csv.gz"
        file.write_bytes(gzip.compress(table.write_csv().encode()))


def test_several_flows_are_read_as_they_were_written(two_flows: Path) -> None:
    (recording,) = linux_recordings.load(two_flows)
    assert [(one.flow, one.cc, one.rtt_ms) for one in recording.flows] == [(1, "cubic", 40.0), (2, "reno", 80.0)]
    assert recording.runs[0].starts_s == pytest.approx((0.0, 0.5)), "when the SYNs left, a round trip before t_s = 0"


def test_a_recording_of_the_simulator_agrees_with_the_simulator(two_flows: Path) -> None:
    (comparison,) = compare(linux_recordings.load(two_flows))
    assert [row.quantity.key for row in comparison.rows if row.verdict == "differs"] == []
    together = {row.quantity.key: row for row in comparison.rows if row.flow is None}
    # At most 1448 of 1500 bytes of 20 Mbit/s are payload, 19.31 Mbit/s; the second flow's 8 s begin 0.54 s after the
    # first's, so that the path had 8.54 s for what both had in 8 s: 20.61 Mbit/s.
    assert 15 < together["goodput_sum"].recorded[0] < 20.61
    assert 0.5 < together["jain_index"].recorded[0] <= 1.0


def test_a_run_without_samples_is_left_out(two_flows: Path, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(two_flows, tmp_path / "copy"))
    table = pl.read_csv(folder / "summary.csv")
    pl.concat([table, table.with_columns(rep=pl.lit(2, pl.Int64))]).write_csv(folder / "summary.csv")
    (recording,) = linux_recordings.load(folder)
    assert ([one.rep for one in recording.runs], recording.without_samples) == ([1], (2,))


def test_an_unknown_controller_is_no_failure() -> None:
    cubic = RECORDINGS["a_cubic"]
    strange = replace(cubic, name="strange", flows=(replace(cubic.flows[0], cc="strange"),))
    (comparison,) = compare([strange])
    assert (comparison.rows, comparison.obstacle) == ((), "unknown controller strange")


def _broken(folder: Path, what: str) -> Path:
    if what == "summary.csv":
        (folder / what).unlink()
    elif what == "rate_mbps":
        pl.read_csv(folder / "summary.csv").drop(what).write_csv(folder / "summary.csv")
    elif what == "the repetitions of two differ":
        table = pl.read_csv(folder / "summary.csv")
        table.with_columns(queue_pkts=pl.Series([60, 61])).write_csv(folder / "summary.csv")
    else:
        (folder / "data" / "two.r1.flow1.cubic.csv.gz").write_bytes(gzip.compress(b"t_s,cwnd_pkts\n0,10\n"))
    return folder


@pytest.mark.parametrize("what", ["summary.csv", "rate_mbps", "ssthresh_pkts", "the repetitions of two differ"])
def test_a_folder_that_is_wrong_is_blamed_by_name(what: str, two_flows: Path, tmp_path: Path) -> None:
    folder = _broken(Path(shutil.copytree(two_flows, tmp_path / "copy")), what)
    with pytest.raises(linux_recordings.RecordingError, match=what):
        linux_recordings.load(folder)


@pytest.mark.parametrize(
    ("column", "cell", "told"),
    [
        ("rtt_ms", "soon", "line 3: rtt_ms is 'soon'; a number above 0"),
        ("rtt_ms", "", "line 3: rtt_ms is empty"),
        ("rate_mbps", "0", "line 3: rate_mbps is 0"),
        ("hystart", "nan", "line 3: hystart is 'nan'; a number is wanted"),
        ("flow", "1", "repetition 1 of two has two rows for flow 1"),
    ],
)
def test_a_wrong_cell_is_blamed_by_line_and_column(
    column: str, cell: str, told: str, two_flows: Path, tmp_path: Path
) -> None:
    folder = Path(shutil.copytree(two_flows, tmp_path / "copy"))
    heads, first, second = (folder / "summary.csv").read_text().splitlines()
    cells = second.split(",")
    cells[heads.split(",").index(column)] = cell
    (folder / "summary.csv").write_text("\n".join([heads, first, ",".join(cells)]) + "\n")
    with pytest.raises(linux_recordings.RecordingError, match=told):
        linux_recordings.load(folder)


def test_a_wrong_sample_is_blamed_by_line_and_column(two_flows: Path, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(two_flows, tmp_path / "copy"))
    file = folder / "data" / "two.r1.flow2.reno.csv.gz"
    lines = gzip.decompress(file.read_bytes()).decode().splitlines()
    lines[200] = "x" + lines[200]  # far behind what a reader of CSV looks at to guess types; t_s comes first
    file.write_bytes(gzip.compress("\n".join(lines).encode()))
    with pytest.raises(linux_recordings.RecordingError, match=r"two\.r1\.flow2\.reno\.csv\.gz, line 201: t_s is 'x"):
        linux_recordings.load(folder)


# ---- the command --------------------------------------------------------------------------------


def test_table_json_and_page_say_the_same(cli: Cli, tmp_path: Path) -> None:
    shown = cli("validate-linux", "--only", "d_reno_ws1", "-o", "beside")
    assert shown.returncode == 0, shown.stderr
    assert "382" in shown.stdout, "retransmitted, as summary.csv has it"
    printed = cli("validate-linux", "--only", "d_reno_ws1", "-o", "beside", "--json").stdout
    assert printed == (tmp_path / "beside" / "validation.json").read_text()
    (scenario,) = json.loads(printed)["scenarios"]
    entry = next(entry for entry in scenario["quantities"] if entry["quantity"] == "retransmitted")
    assert entry["recorded"] == [382.0]
    assert "d_reno_ws1" in (tmp_path / "beside" / "index.html").read_text()
    assert (tmp_path / "beside" / "figures" / "d_reno_ws1.svg").is_file()


def test_what_differs_without_a_cause_fails(cli: Cli, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(FOLDER, tmp_path / "copy"))
    table = pl.read_csv(folder / "summary.csv")
    table.with_columns(rate_mbps=pl.col("rate_mbps") / 2).write_csv(folder / "summary.csv")
    failed = cli("validate-linux", "--data", folder, "--only", "d_reno_ws1")
    assert failed.returncode == 1
    assert "without a cause" in failed.stderr


def test_a_comparison_of_nothing_is_no_success(cli: Cli, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(FOLDER, tmp_path / "copy"))
    for file in (folder / "data").glob("d_reno_ws1.*"):
        file.unlink()
    failed = cli("validate-linux", "--data", folder, "--only", "d_reno_ws1")
    assert failed.returncode == 1
    assert "nothing was compared (d_reno_ws1: its samples are not in data/)" in failed.stderr


def test_wrong_input_is_told(cli: Cli, tmp_path: Path) -> None:
    unknown = cli("validate-linux", "--only", "a_vegas")
    assert unknown.returncode == 2
    assert "a_vegas" in unknown.stderr and "a_reno" in unknown.stderr
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("precious")
    taken = cli("validate-linux", "--only", "d_reno_ws1", "-o", "mine")
    assert taken.returncode == 2
    assert (tmp_path / "mine" / "thesis.txt").read_text() == "precious"


def test_a_decimated_copy_gives_the_same_numbers(tmp_path: Path) -> None:
    from ackclock_studies.linux.decimate import decimate

    decimate(FOLDER, tmp_path / "copy")
    (again,) = linux_recordings.load(tmp_path / "copy", ["a_reno"])
    assert isinstance(again.runs[0], RecordedRun)
    assert again.runs[0].flows[0].cwnd_segments.tolist() == RECORDINGS["a_reno"].runs[0].flows[0].cwnd_segments.tolist()


def test_a_table_that_unpacks_to_more_than_memory_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """RFC 1952: members may follow each other; one of them is of zeros."""
    monkeypatch.setattr(input_files, "MOST", 3 << 20)
    file = tmp_path / "a.csv.gz"
    file.write_bytes(gzip.compress(b"a,b\n") + gzip.compress(b"1,2\n"))
    assert linux_recordings.read_table(file, ("a", "b")).rows() == [(1, 2)]
    file.write_bytes(gzip.compress(b"a,b\n") + gzip.compress(bytes(5 << 20)))
    with pytest.raises(linux_recordings.RecordingError, match="must have at most 3145728 octets unpacked"):
        linux_recordings.read_table(file, ("a", "b"))
    file.write_bytes(gzip.compress(b"a,b\n1,2\n")[:-9])
    with pytest.raises(linux_recordings.RecordingError, match="cannot be unpacked: it was cut"):
        linux_recordings.read_table(file, ("a", "b"))
