"""A run that is watched, in Python and by the command line."""

import dataclasses
from itertools import islice, pairwise
from pathlib import Path

import polars as pl
import pytest

import ackclock
from ackclock.results import EVENTS
from ackclock.running import events
from conftest import Cli
from networks import dumbbell

SCENARIO = f"""
duration = "5 s"
{dumbbell('rate = "10 Mbit/s", delay = "10 ms"', limit="10 packets")}
[[flow]]
name = "new"
[[flow]]
name = "old"
controller = "reno"
"""


@pytest.fixture
def scenario() -> ackclock.Scenario:
    return ackclock.Scenario.parse(SCENARIO)


def test_the_table_of_events_agrees_with_the_summary(scenario: ackclock.Scenario, tmp_path: Path) -> None:
    results = ackclock.run(scenario, events="all")
    assert results.summary == ackclock.run(scenario).summary, "to watch changes nothing"
    table = results.events
    assert table["time_s"].is_sorted()
    for flow in results.summary["flows"]:
        of_flow = table.filter(pl.col("source") == flow["name"])
        kinds = dict(of_flow["kind"].value_counts().iter_rows())
        assert kinds["segment_sent"] == flow["sent_segments"]
        again = of_flow.filter(pl.col("is_retransmission"))
        assert len(again) == flow["retransmitted_segments"] > 0
        begun = of_flow.filter((pl.col("kind") == "recovery_entered") & (pl.col("cause") == "loss"))
        assert len(begun) == flow["fast_recoveries"] > 0
        assert of_flow["lost_bytes"].sum() == 1448 * flow["lost_segments"]
    drops = table.filter(pl.col("kind") == "packet_dropped")
    assert len(drops) == sum(link["drops"] for link in results.summary["links"]) > 0
    assert set(drops["flow"]) <= {"new", "old"}
    assert results.save(tmp_path / "out").joinpath(EVENTS).is_file()
    assert ackclock.Results.load(tmp_path / "out").events.equals(table)


def test_without_events_there_is_no_table(scenario: ackclock.Scenario, tmp_path: Path) -> None:
    results = ackclock.run(scenario)
    assert results.events.is_empty()
    assert not results.save(tmp_path / "out").joinpath(EVENTS).exists()
    assert ackclock.Results.load(tmp_path / "out").events.is_empty()


def test_a_run_is_an_iterator_of_typed_events(scenario: ackclock.Scenario) -> None:
    watch = ackclock.watch(scenario)
    told = list(watch)
    assert all(before.time_s <= after.time_s for before, after in pairwise(told))
    sent = [event for event in told if isinstance(event, events.SegmentSent) and event.source.name == "old"]
    assert (sent[0].offset_bytes, sent[0].size_bytes, sent[0].source.controller) == (1, 1448, "reno")
    assert len(sent) == watch.results.flow("old")["sent_segments"]
    assert watch.results.events.is_empty(), "what was taken is not in the table"
    assert watch.results.summary == ackclock.run(scenario).summary
    with pytest.raises(dataclasses.FrozenInstanceError):
        sent[0].time_s = 0.0  # type: ignore[misc]


def test_events_in_python_are_those_of_the_table(scenario: ackclock.Scenario) -> None:
    rows = ackclock.run(scenario, events="all").events.rows(named=True)
    for event, row in zip(ackclock.watch(scenario), rows, strict=True):
        assert (event.kind, event.time_s, event.source.name) == (row["kind"], row["time_s"], row["source"])
        if isinstance(event, events.AckArrived):
            assert (event.cwnd_bytes, event.srtt_s, event.rto_s) == (row["cwnd_bytes"], row["srtt_s"], row["rto_s"])
        if isinstance(event, events.PacketSent):
            packet = event.packet
            assert (packet.sequence, packet.ecn, event.waited_s) == (row["sequence"], row["ecn"], row["waited_s"])


def test_leaving_the_loop_leaves_the_rest_to_be_run(scenario: ackclock.Scenario) -> None:
    watch = ackclock.watch(scenario, ["packet_dropped", "marked_lost"], seed=3)
    first = list(islice(watch, 3))
    assert {event.kind for event in first} <= {"packet_dropped", "marked_lost"}
    whole = ackclock.run(scenario, seed=3, events=["packet_dropped", "marked_lost"])
    assert watch.results.summary == whole.summary
    assert watch.results.events.equals(whole.events[3:])
    assert list(watch) == []


FAILING = """
import ackclock

class Failing(ackclock.CongestionController):
    def on_ack(self, ack):
        if ack.now_ns > 500_000_000:
            raise ArithmeticError("lost count")

    def on_congestion(self, event):
        pass
"""


def test_a_run_that_failed_is_not_one_that_is_over(scenario_file: Path) -> None:
    """Taking on after an exception, as after Ctrl-C, does not end the loop as the end of the run would."""
    (scenario_file.parent / "failing.py").write_text(FAILING)
    changes = ['flow[0].controller="python:failing:Failing"']
    run = ackclock.watch(ackclock.Scenario.load(scenario_file, changes), "ack_arrived")
    with pytest.raises(ArithmeticError, match="lost count"):
        list(run)
    for _ in range(2):
        with pytest.raises(RuntimeError, match="the simulation is over"):
            next(run)
    with pytest.raises(RuntimeError, match="the simulation is over"):
        _ = run.results


def test_the_sources_are_named(scenario: ackclock.Scenario) -> None:
    sources = ackclock.watch(scenario, "timed_out").sources
    assert [(of.kind, of.name) for of in sources[:3]] == [("flow", "new"), ("flow", "old"), ("link", "bottleneck")]


def test_a_name_of_no_event_is_told(scenario: ackclock.Scenario, cli: Cli, scenario_file: Path) -> None:
    with pytest.raises(ValueError, match=r"no event \"drop\"; known: all, packet_sent"):
        ackclock.watch(scenario, "drop")
    with pytest.raises(ValueError, match=r"no event \"drop\", \"loss\"; known: all"):
        scenario.with_events(["drop", "packet_dropped", "loss"])
    with pytest.raises(ValueError, match="no events are named"):
        ackclock.run(scenario, events=[])
    done = cli("run", scenario_file, "--events", "drop")
    assert done.returncode == 2
    assert "known: all, packet_sent" in done.stderr


def test_the_command_line_keeps_events(cli: Cli, scenario_file: Path, tmp_path: Path) -> None:
    assert cli("run", scenario_file, "--events", "packet_dropped, timed_out", "-o", "out").returncode == 0
    table = ackclock.Results.load(tmp_path / "out").events
    assert set(table["kind"]) <= {"packet_dropped", "timed_out"}


def test_every_event_has_a_class() -> None:
    assert len(events.KINDS) == 16
    assert ackclock.Scenario.parse(SCENARIO).with_events(list(events.KINDS)).to_json().count('"events":"all"') == 1
