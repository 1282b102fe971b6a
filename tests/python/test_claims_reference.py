"""The reference of a record: it distinguishes an engine that measures the same from one that does not."""

import json
import os
from dataclasses import replace

from ackclock import _core
from ackclock._core import Scenario, Simulation
from ackclock.claims import Made, load_folders, reference
from ackclock.claims.ledger import Laboratory, judge
from ackclock.claims.origin import engine, now
from ackclock.claims.words import record

UPDATE = "ACKCLOCK_UPDATE_DOCS"
"""Set to 1, the file is written anew: results have changed, and were meant to."""


def test_the_runs_on_record_are_what_this_engine_gives() -> None:
    if os.environ.get(UPDATE) == "1":
        reference.FILE.write_text(reference.written(), encoding="utf-8")
    before = reference.on_record()["runs"]
    changed = [name for name, found in reference.measured().items() if before.get(name) != found]
    assert changed == [], f"other results than on record: say so in the changelog, and test with {UPDATE}=1"
    assert reference.FILE.read_text(encoding="utf-8") == reference.written()


def test_every_controller_and_queue_and_stack_has_a_run() -> None:
    names = set(reference.scenarios())
    outside = {"external", "policy", "python"}
    controllers = {each["name"] for each in json.loads(_core.controllers())} - outside
    assert {f"{name}, {stack}" for name in controllers for stack in ("rfc", "linux-6.x")} <= names
    assert {f"queue {each['name']}" for each in json.loads(_core.queues())} <= names
    assert {each["name"] for each in json.loads(_core.profiles())} == {"rfc", "linux-6.x"} | {
        name.removeprefix("stack ") for name in names if name.startswith("stack ")
    }


def test_each_run_has_traffic_in_it() -> None:
    for name in ("video", "QUIC", "newreno, rfc", "queue priority", "an appliance"):
        text = json.dumps(reference.scenarios()[name])
        summary = json.loads(Simulation(Scenario.parse(text)).finish().summary_json())
        assert all(flow["goodput_bps"] > 0 for flow in summary["flows"]), name


def test_another_window_is_another_result() -> None:
    """An initial window of nine segments in the place of ten is told from those of the reference run."""
    scenario = reference.scenarios()["newreno, rfc"]
    assert reference.hash_of(scenario) == reference.measured()["newreno, rfc"]
    changed = scenario | {"tcp": {"profile": "rfc", "initial_window": "9 segments"}}
    assert reference.hash_of(changed) != reference.measured()["newreno, rfc"]


def test_results_keep_their_name_until_one_of_them_changes() -> None:
    before = {"name": "as it was", "runs": {"one": "1", "two": "2"}}
    assert reference.named(before, {"one": "1", "two": "2"}) == "as it was"
    assert reference.named(before, {"one": "1", "two": "2", "new": "3"}) == "as it was"
    assert reference.named(before, {"one": "1"}) != "as it was", "one is gone"
    assert reference.named(before, {"one": "1", "two": "0"}) != "as it was"


def test_of_earlier_results_it_is_known_which_runs_have_changed_since() -> None:
    first = {"name": "a", "runs": {"one": "1", "two": "2", "three": "3"}}
    second = {"name": "b", "runs": {"one": "9", "two": "2", "three": "3"}}
    second["earlier"] = reference.earlier(first, second["runs"])
    assert second["earlier"] == {"a": {"one": "1"}}
    third = reference.earlier(second, {"one": "9", "two": "8", "three": "3"})
    assert third == {"a": {"one": "1", "two": "2"}, "b": {"two": "2"}}
    as_at_first = reference.earlier(second, first["runs"])
    assert as_at_first == {"b": {"one": "9"}}, "results that are as they were then"


def test_a_record_says_where_results_have_changed_since() -> None:
    earlier = reference.on_record()["earlier"]
    name, others = next(iter(earlier.items()))
    assert reference.changed_since(name) == list(others)
    assert reference.changed_since(reference.results()) == []
    assert reference.changed_since("0" * 16) is None


def test_a_record_says_whether_results_have_changed_since() -> None:
    costly = next(each for folder in load_folders() for each in folder.claims if each.on_record and each.made)

    def said(made: Made) -> str:
        study = replace(costly.study, costly=True)
        return record(judge([replace(costly, study=study, made=made)], Laboratory(), {})[0])

    ours = now()
    assert ours.results == reference.on_record()["name"]
    assert "since" not in said(ours)
    other = replace(ours, engine="0" * 64)
    assert "its sources have changed since, the results of" in said(other)
    before, changed = next(iter(reference.on_record()["earlier"].items()))
    assert f"the results of {len(changed)} of" in said(replace(other, results=before))
    assert "results have changed since, or may have" in said(replace(other, results="0" * 16))
    assert "results have changed since, or may have" in said(replace(other, results="")), "not noted"
    assert Made(engine=engine()).has_these_results
