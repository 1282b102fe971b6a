"""Events of a run as files for other programs: qlog, and a trace that Perfetto's own messages read."""

import json
import re
from itertools import groupby
from pathlib import Path

import polars as pl
import pytest
from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import Trace, TrackEvent

import ackclock
from ackclock.results import PERFETTO
from conftest import SCENARIO, Cli

LOSSY = SCENARIO.replace('"20 packets"', '"8 packets"')


@pytest.fixture(scope="module")
def watched() -> ackclock.Results:
    return ackclock.run(ackclock.Scenario.parse(LOSSY), events="all")


def _read_qlog(path: Path) -> tuple[dict, list[dict]]:
    header, *events = (json.loads(text) for text in path.read_text().split("\x1e")[1:])
    return header, events


def test_a_log_says_what_the_table_says(watched: ackclock.Results, tmp_path: Path) -> None:
    files = watched.write_qlog(tmp_path)
    assert {path.name for path in files} == {path.name for path in tmp_path.iterdir()}
    header, events = _read_qlog(tmp_path / "flow_old.sqlog")
    assert header["file_schema"] == "urn:ietf:params:qlog:file:sequential"
    assert header["trace"]["vantage_point"]["type"] == "client"
    table = watched.events.filter(source="old", kind="segment_sent")
    sent = [event for event in events if event["name"] == "ackclock-tcp:segment_sent"]
    assert [event["data"]["offset"] for event in sent] == table["offset_bytes"].to_list()
    assert [event["time"] / 1e3 for event in sent] == pytest.approx(table["time_s"].to_list())
    _, on_link = _read_qlog(tmp_path / "bottleneck.sqlog")
    drops = [event for event in on_link if event["name"] == "ackclock-tcp:packet_dropped"]
    assert len(drops) == watched.events.filter(source="bottleneck", kind="packet_dropped").height > 0


def test_a_source_without_events_has_no_log(tmp_path: Path) -> None:
    results = ackclock.run(ackclock.Scenario.parse(LOSSY), events=["packet_dropped"])
    assert [path.name for path in results.write_qlog(tmp_path)] == ["bottleneck.sqlog"]
    quiet = ackclock.run(ackclock.Scenario.parse(LOSSY), events=["relay_held"])
    assert quiet.write_qlog(tmp_path) == []


def test_a_flow_and_a_link_of_one_name_have_a_log_each(tmp_path: Path) -> None:
    text = LOSSY.replace('name = "old"', 'name = "bottleneck"')
    files = ackclock.run(ackclock.Scenario.parse(text), events="all").write_qlog(tmp_path)
    titles = {path.name: _read_qlog(path)[0]["trace"]["vantage_point"]["type"] for path in files}
    assert titles["flow_bottleneck.sqlog"] == "client"
    assert titles["bottleneck.sqlog"] == "network"


def _tracks(trace: Trace) -> dict[int, str]:
    described = [packet.track_descriptor for packet in trace.packet if packet.HasField("track_descriptor")]
    names = {track.uuid: track.name for track in described}
    return {track.uuid: "/".join(filter(None, [names.get(track.parent_uuid), track.name])) for track in described}


def test_perfetto_reads_the_trace(watched: ackclock.Results, tmp_path: Path) -> None:
    trace = Trace()
    trace.ParseFromString(watched.write_perfetto(tmp_path / "run.perfetto-trace").read_bytes())
    tracks = _tracks(trace)
    flow = next(uuid for uuid, name in tracks.items() if re.fullmatch(r"flow old \(reno\)", name))
    counter = next(uuid for uuid, name in tracks.items() if name == "flow old (reno)/cwnd")
    events = [packet for packet in trace.packet if packet.HasField("track_event")]
    table = watched.events.filter(source="old")

    def of(track: int, kind: int) -> list[int]:
        chosen = [p for p in events if p.track_event.track_uuid == track and p.track_event.type == kind]
        return [packet.timestamp for packet in chosen]

    def times_ns(kind: str) -> list[int]:
        return (table.filter(kind=kind)["time_s"] * 1e9).round().cast(pl.Int64).to_list()

    assert of(flow, TrackEvent.TYPE_SLICE_BEGIN) == times_ns("recovery_entered") != []
    windows = [p.track_event.counter_value for p in events if p.track_event.track_uuid == counter]
    told = table.filter(pl.col("cwnd_bytes").is_not_null())["cwnd_bytes"].to_list()
    assert windows == [window for window, _ in groupby(told)], "a value is told when it changes"


def test_the_command_line_writes_both_into_the_folder(cli: Cli, scenario_file: Path, tmp_path: Path) -> None:
    done = cli("run", scenario_file, "--events", "all", "--qlog", "--perfetto", "-o", "out")
    assert done.returncode == 0, done.stderr
    names = {path.name for path in (tmp_path / "out").iterdir()}
    assert {PERFETTO, "flow_new.sqlog", "flow_old.sqlog", "bottleneck.sqlog", "events.parquet"} <= names
    again = cli("run", scenario_file, "--events", "all", "--qlog", "-o", "out", "--force")
    assert again.returncode == 0, again.stderr
    assert not (tmp_path / "out" / PERFETTO).exists(), "the folder is the new run's"


@pytest.mark.parametrize(
    ("arguments", "remedy"),
    [(["--qlog", "-o", "out"], "--events all"), (["--events", "all", "--perfetto"], "name it with -o")],
)
def test_what_is_missing_is_told_before_the_run(
    cli: Cli, scenario_file: Path, tmp_path: Path, arguments: list[str], remedy: str
) -> None:
    done = cli("run", scenario_file, *arguments)
    assert done.returncode == 2
    assert remedy in done.stderr
    assert not (tmp_path / "out").exists()


def test_results_without_records_say_why_they_write_none(watched: ackclock.Results, tmp_path: Path) -> None:
    loaded = ackclock.Results.load(watched.save(tmp_path / "out"))
    with pytest.raises(ValueError, match="write traces after the run"):
        loaded.write_qlog(tmp_path)
    with pytest.raises(ValueError, match='events="all"'):
        ackclock.run(ackclock.Scenario.parse(LOSSY)).save(tmp_path / "none", perfetto=True)
    assert not (tmp_path / "none").exists()
