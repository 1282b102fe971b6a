"""Commands that look things up: list, schema, validate, doctor, bench, help."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ackclock import _core
from ackclock.claims import locations
from ackclock.cli.app import app
from ackclock.cli.catalogs import KINDS
from ackclock.cli.commands import COMMANDS, FORMER
from ackclock.cli.failures import InputError
from ackclock.plotting.terminal import si
from conftest import Cli

SPEED = locations.tool("speed")
ratios = locations.tool("speed.command").ratios


def catalogue(kind: str) -> list[dict[str, Any]]:
    """The engine's entries of a kind; those of agents, tables by the plural of what is in them, one after the other."""
    found: Any = json.loads(getattr(_core, kind.replace("-", "_"))())
    if isinstance(found, list):
        return found
    return [{"kind": table[:-1], **row} for table, rows in found.items() for row in rows]


Listed = Callable[..., str]


@pytest.fixture
def listed(capsys: pytest.CaptureFixture[str]) -> Listed:
    """Call `ackclock list` within this process and return what it prints."""

    def call(*words: str) -> str:
        app(["list", *words], standalone_mode=False)
        return capsys.readouterr().out

    return call


def test_the_kinds_are_listed_with_their_counts(listed: Listed) -> None:
    kinds = json.loads(listed("--json"))
    assert {kind["name"]: kind["entries"] for kind in kinds} == {kind: len(catalogue(kind)) for kind in KINDS}
    shown = listed()
    assert all(kind["summary"] in shown for kind in kinds)


@pytest.mark.parametrize("kind", KINDS)
def test_a_kind_is_listed_and_each_entry_explained(listed: Listed, kind: str) -> None:
    entries, shown = catalogue(kind), listed(kind)
    assert json.loads(listed(kind, "--json")) == entries
    for name in (entry["name"] for entry in entries):
        assert f"\n{name} " in shown
        same = [entry for entry in entries if entry["name"] == name]
        assert json.loads(listed(kind, name, "--json")) == (same if kind == "agents" else same[0])
        detail = listed(kind, name)
        assert all(parameter["name"] in detail for entry in same for parameter in entry.get("parameters", []))


def test_a_list_that_is_piped_is_as_wide_as_columns_says(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without it an entry has a line, so that `grep` finds the whole of it."""
    assert max(map(len, cli("list", "agents").stdout.splitlines())) > 100
    monkeypatch.setenv("COLUMNS", "80")
    assert max(map(len, cli("list", "agents").stdout.splitlines())) <= 80


def test_brackets_in_a_catalogue_are_text(listed: Listed) -> None:
    """A table of tables in TOML has two; a terminal's markup would have one."""
    assert "[[topology.node]] name, kind" in listed("topologies", "explicit")


def test_a_name_that_one_kind_has_needs_no_kind(listed: Listed) -> None:
    assert listed("bbr3") == listed("controllers", "bbr3")
    with pytest.raises(InputError, match="write `ackclock list controllers abc` or `ackclock list queues abc`"):
        listed("abc")


@pytest.mark.parametrize(
    ("words", "meant"),
    [("controllers cubik", "cubic"), ("agents orka", "orca"), ("cubik", "cubic"), ("queue", "queues")],
)
def test_an_unknown_kind_or_name_is_answered_with_the_nearest(listed: Listed, words: str, meant: str) -> None:
    with pytest.raises(InputError, match=f'did you mean "{meant}"\\?'):
        listed(*words.split())


def test_former_commands_are_understood_and_not_listed(cli: Cli) -> None:
    former, now = cli("disciplines", "ece_red", "--json"), cli("list", "buffer-policies", "ece_red", "--json")
    assert (former.returncode, former.stdout, former.stderr) == (0, now.stdout, "")
    assert not FORMER.keys() & COMMANDS.keys()
    assert {words[0] for words in FORMER.values()} == {"list"}
    assert {words[1] for words in FORMER.values()} == set(KINDS)


@pytest.mark.parametrize(("typed", "completed"), [("que", "queues"), ("queues dr", "drop_tail drr")])
def test_the_shell_completes_kinds_and_names(typed: str, completed: str) -> None:
    words = f"ackclock list {typed}"
    asked = {"_ACKCLOCK_COMPLETE": "complete_bash", "COMP_WORDS": words, "COMP_CWORD": str(words.count(" "))}
    done = subprocess.run(
        [sys.executable, "-c", "from ackclock.cli.app import app; app(prog_name='ackclock')"],
        env=os.environ | asked, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert done.stdout.split() == completed.split()


def test_schema_is_json_schema(cli: Cli) -> None:
    schema = json.loads(cli("schema").stdout)
    assert "topology" in schema["properties"]


def test_validate_reports_every_file(cli: Cli, scenario_file: Path, tmp_path: Path) -> None:
    assert cli("validate", scenario_file).returncode == 0
    (tmp_path / "wrong.toml").write_text('name = "x"\nduration = 5\n')
    done = cli("validate", "wrong.toml", "none.toml", scenario_file)
    assert done.returncode == 2
    assert "wrong.toml:2" in done.stderr
    assert "none.toml" in done.stderr
    assert "two.toml: ok" in done.stdout


def test_doctor_says_what_is_there_and_how_to_get_the_rest(cli: Cli) -> None:
    findings = json.loads(cli("doctor", "--json").stdout)
    names = {finding["name"] for finding in findings}
    assert {"processor", "memory", "Python", "ackclock core", "ns-3", "tshark", "GPU", "eBPF struct_ops"} <= names
    assert all(finding["remedy"] for finding in findings if not finding["ok"])
    assert cli("doctor").returncode == 0


def _bench(cli: Cli, case: str, min_cpu_s: float) -> dict[str, Any]:
    done = cli("bench", case, "--min-cpu", min_cpu_s, "--json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.alone
def test_bench_measures_and_prints_json(cli: Cli) -> None:
    figures = _bench(cli, "a", min_cpu_s=0)
    plain, traced = figures["cases"]
    assert (plain["name"], traced["name"]) == ("a", "a-traced")
    # 100 Mbit/s for 50 s is 416,667 packets of 1500 octets; CUBIC over a queue of one BDP fills nearly all of it.
    assert 390_000 < plain["packets_delivered"] < 416_667
    assert plain["packets_delivered"] == traced["packets_delivered"], "watching changes nothing"
    assert figures["memory_a_bytes"]["before"] <= figures["memory_a_bytes"]["peak"]
    assert figures["ratios"]["a_traced"] == pytest.approx(traced["ns_per_packet"] / plain["ns_per_packet"])


@pytest.mark.parametrize("case", SPEED.CASES, ids=lambda case: case.name)
def test_every_bench_scenario_is_valid(case: Any) -> None:
    scenario = case.scenario()
    assert scenario.duration_s > 0
    # Short flows are not on the scenario's list.
    assert len(scenario.flow_names) == {"b": 100, "c": 1000, "fq-codel": 1000, "short-flows": 0}.get(case.group, 1)


@pytest.mark.alone
def test_a_call_of_a_python_controller_is_measured(cli: Cli) -> None:
    figures = _bench(cli, "python-controller", min_cpu_s=0.5)
    built_in, in_python = figures["cases"]
    runs = (built_in["runs"], in_python["runs"])
    assert built_in["packets_delivered"] / runs[0] == in_python["packets_delivered"] / runs[1], "the same algorithm"
    call = figures["python_call"]
    # An ACK for every second packet, and for each that arrives beside a gap.
    assert 0.5 < call["calls"] / (built_in["packets_delivered"] / runs[0]) < 0.6
    # How long either takes, and that the body is a part of the call, is the machine's: they are measured apart.
    assert call["call_ns"] > 0 and call["body_ns"] > 0


@pytest.mark.alone
def test_the_bench_of_learning_counts_decisions(cli: Cli) -> None:
    costs = _bench(cli, "learn", min_cpu_s=0.2)["learning"]
    assert [cost["controller"] for cost in costs] == ["dqn_newreno", "dqn_cubic"]
    for cost in costs:
        assert cost["decisions"] >= 2_000
        assert cost["decisions_per_cpu_s"] == pytest.approx(cost["decisions"] / cost["cpu_s"])
    said = cli("bench", "learn", "--min-cpu", 0).stdout
    assert "dqn_cubic" in said
    assert "decisions per CPU second" in said


def test_unknown_bench_is_wrong_input(cli: Cli) -> None:
    done = cli("bench", "q")
    assert done.returncode == 2
    assert "a, b, c, d" in done.stderr
    assert "python benches/engine/cost.py" in cli("bench", "cost").stderr


def test_ratios_compare_the_cost_of_a_packet() -> None:
    def result(name: str, packets: int, cpu_s: float) -> Any:
        case = next(case for case in SPEED.CASES if case.name == name)
        return SPEED.Measurement(case, 1, packets, 5 * packets, cpu_s)

    # 200 ns a packet at the small window, 250 ns at the large one.
    assert ratios([result("d10", 1_000_000, 0.2), result("d100000", 2_000_000, 0.5)]) == {
        "d_window": pytest.approx(1.25)
    }
    # 500 ns a packet through DropTail, 1 us through FQ-CoDel.
    assert ratios([result("c", 1_000_000, 0.5), result("fq-codel", 500_000, 0.5)]) == {"fq_codel": pytest.approx(2)}


@pytest.mark.parametrize(("value", "text"), [(5_123_000, "5.12 M"), (999_700, "1 M"), (1234, "1.23 k"), (12, "12")])
def test_numbers_get_a_prefix(value: float, text: str) -> None:
    assert si(value) == text


def test_help_and_version(cli: Cli) -> None:
    assert cli("--version").stdout.startswith("ackclock ")
    shown = cli("--help").stdout
    for name in ("run", "sweep", "report", "compare", "claims", "validate", "schema", "list", "bench", "doctor"):
        assert f" {name} " in shown


@pytest.mark.alone
def test_the_bench_of_environments_counts_steps(cli: Cli) -> None:
    done = cli("bench", "gym", "--min-cpu", 0.05, "--json")
    assert done.returncode == 0, done.stderr
    paces = {pace["name"]: pace for pace in json.loads(done.stdout)["environments"]}
    assert set(paces) == {"ack", "interval", "vector-1", "vector"}
    # A decision on each ACK is hundreds of times less work than one for a tenth of a second at 100 Mbit/s.
    assert paces["ack"]["steps_per_cpu_s"] > 10 * paces["interval"]["steps_per_cpu_s"]
    assert all(pace["steps"] > 0 and pace["cpu_s"] > 0 for pace in paces.values())


@pytest.mark.parametrize(
    ("command", "written", "meant"),
    [
        ("controllers", "DQN-CUBIC", '"dqn_cubic"'),
        ("controllers", "CUBIC", '"cubic"'),
        ("controllers", "modified Vegas", '"vegas_modified"'),
        ("controllers", "PCC", '"pcc_allegro" or "pcc_vivace"'),
        ("controllers", "hstcp", '"highspeed"'),
        ("queues", "DropTail", '"drop_tail"'),
        ("queues", "pfifo", '"drop_tail"'),
        ("traffic", "FTP", '"bulk"'),
        ("profiles", "ns-3", '"ns3-3.4x"'),
    ],
)
def test_a_name_as_papers_write_it_leads_to_ours(cli: Cli, command: str, written: str, meant: str) -> None:
    assert f"did you mean {meant}?" in cli(command, written).stderr
