"""Decisions of a stack's profile are reported: in its list, above a run's results, in warnings."""

import json
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest

from ackclock import Scenario, ScenarioError, _core, run
from ackclock.scenario.dumbbells import dumbbell, rate_text
from ackclock.scenario.example_files import FOLDER as SCENARIOS
from ackclock.scenario.stacks import stacks
from ackclock.stats.capacity import constant_bps
from conftest import Cli

OPNET = (SCENARIOS / "opnet.toml").read_text(encoding="utf-8")


def test_a_profile_is_listed_with_its_controller_and_what_comes_with_a_switch(cli: Cli) -> None:
    """The notes on OPNET: Window Scaling comes with larger buffers and a very large initial ssthresh."""
    shown = " ".join(cli("list", "profiles", "opnet-17").stdout.split())
    assert "with window_scaling = true: receive_buffer unlimited" in shown
    assert "controller reno" in shown


def test_what_a_profile_brought_stands_above_the_results(cli: Cli, tmp_path: Path) -> None:
    run = cli("run", str(SCENARIOS / "opnet.toml"), "--set", "duration=1 s", "-o", str(tmp_path / "on"))
    shown = " ".join(run.stdout.split())
    assert (
        "TCP as in opnet-17 (default controller: reno; window_scaling brings receive_buffer = unlimited, "
        "send_buffer = unlimited, initial_ssthresh = 1073.72544 MB)" in shown
    ), shown


@pytest.mark.parametrize(
    ("scenario", "shown"),
    [
        ({"flow": [{"controller": "reno"}], "tcp": {}}, "opnet-17"),
        ({"flow": [{"protocol": {"kind": "udp"}}]}, "opnet-17"),
        ({"flow": [{"protocol": {"kind": "quic"}}]}, "opnet-17"),
        ({"flow": [{}, {"controller": "vegas"}]}, "opnet-17 (default controller: reno)"),
        (
            {
                "flow": [{"controller": "reno", "tcp": {"window_scaling": True, "initial_ssthresh": "1 MB"}}],
                "host": [{"tcp": {"receive_buffer": "2 MB"}}],
            },
            "opnet-17 (window_scaling brings send_buffer = unlimited)",
        ),
    ],
)
def test_only_what_nobody_wrote_is_a_profiles(scenario: dict[str, object], shown: str) -> None:
    assert stacks(scenario, ["opnet-17"]) == shown


def test_window_scaling_that_changes_nothing_is_warned_of(cli: Cli) -> None:
    """RFC 7323 section 2: a window of up to 65,535 octets needs no scaling."""
    small = ["--set", 'tcp.receive_buffer="65535 B"', "--set", "duration=10 ms"]
    told = cli("validate", str(SCENARIOS / "opnet.toml"), *small[:2])
    assert "warning: ftp: window_scaling = true changes nothing" in told.stdout
    assert "changes nothing" not in cli("validate", str(SCENARIOS / "opnet.toml")).stdout
    assert "changes nothing" in cli("run", str(SCENARIOS / "opnet.toml"), *small).stderr


def test_a_line_is_a_rate_on_the_command_line_too() -> None:
    """ITU-T G.702: the third level is of 44,736 kbit/s; access links are a hundred times as fast as the bottleneck."""
    assert [rate_text(name) for name in ("DS3", " OC-3", "OC3")] == ["44.736 Mbit/s", "155.52 Mbit/s", "155.52 Mbit/s"]
    assert dumbbell(bottleneck="DS3").to_json() == dumbbell(bottleneck="44.736 Mbit/s").to_json()
    assert set(_core.line_rates()) >= {"DS1", "DS3", "E1", "OC-48"}
    assert constant_bps({"topology": {"bottleneck": {"rate": rate_text("DS1")}}}) == 1_544_000


def test_the_controller_of_a_flow_that_names_none_is_its_profiles() -> None:
    assert Scenario.parse(OPNET).controller_names == ["reno"]


@pytest.mark.parametrize(
    ("profile", "controller"),
    [
        ("bsd-4.3", "reno"), ("ns2", "tahoe"), ("opnet-17", "reno"), ("linux-2.4", "reno"), ("ns3-3.4x", "cubic"),
        ("rfc", "cubic"), ("linux-6.x", "cubic"), ("windows-11", "cubic"), ("macos-15", "cubic"),
        ("freebsd-14", "cubic"),
    ],
)  # fmt: skip
def test_each_stack_has_the_controller_of_its_time(profile: str, controller: str) -> None:
    """4.3BSD-Reno; ns-2's Agent/TCP is Tahoe; Linux 2.4.0 has Reno alone; ns-3 has CUBIC since 3.34 (CHANGES)."""
    named = [f"tcp.profile={profile}", "tcp.window_scaling=false"]
    assert Scenario.parse(OPNET, "opnet.toml", named).controller_names == [controller]
    assert Scenario.parse(OPNET, "opnet.toml", [*named, "flow.ftp.controller=vegas"]).controller_names == ["vegas"]


def test_a_stacks_own_controller_does_not_outrank_what_is_written() -> None:
    with pytest.raises(ScenarioError, match=r"tcp\.loss_recovery must not contradict"):
        Scenario.parse(OPNET, "opnet.toml", ["tcp.profile=ns2", "tcp.loss_recovery=newreno"])


def _attributes() -> dict[str, tuple[str, Any]]:
    """The table of the page on OPNET: for each attribute the field here, and its value in the profile."""
    page = (Path(__file__).parents[2] / "docs/how-to/opnet.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| ([A-Z][^|`]+) \| `([^`]+)` \| `([^`]+)`.* \|$", page, re.MULTILINE)
    return {attribute: (field, tomllib.loads(f"value = {value}")["value"]) for attribute, field, value in rows}


def test_the_page_has_the_timer_of_opnets_sheet() -> None:
    """The eight attributes as the notes quote them."""
    sheet = {
        "Initial RTO": ("rto.initial", "3 s"), "Minimum RTO": ("rto.min", "1 s"), "Maximum RTO": ("rto.max", "64 s"),
        "RTT Gain": ("rto.rtt_gain", 0.125), "Deviation Gain": ("rto.deviation_gain", 0.25),
        "RTT Deviation Coefficient": ("rto.deviation_weight", 4), "Timer Granularity": ("rto.granularity", "500 ms"),
        "Karn's Algorithm": ("rto.karn", True),
    }  # fmt: skip
    assert sheet.items() <= _attributes().items()


def test_opnets_attributes_lead_to_the_fields_here(cli: Cli) -> None:
    """Each row of the page: the value is the profile's, and a key with OPNET's name is told which field it is."""
    listed = json.loads(cli("list", "profiles", "opnet-17", "--json").stdout)["switches"]
    switches = {each["name"]: each["value"] for each in listed}
    assert len(_attributes()) == 19
    for attribute, (field, value) in _attributes().items():
        table, _, inner = field.rpartition(".")
        found = switches[table][inner] if table else switches[field]
        assert (value.items() <= found.items()) if isinstance(value, dict) else value == found, attribute
        for key in {attribute, attribute.replace("'", "").replace(" ", "_").lower()} - {field}:
            document = json.loads(Scenario.parse(OPNET).to_json()) | {"tcp": {key: 1}}
            with pytest.raises(ScenarioError) as caught:
                Scenario.parse(json.dumps(document))
            [said] = caught.value.diagnostics
            written = f"write {table} = {{ {inner} = ... }}" if table else f"write {field} = ..."
            assert said["remedy"].split(", which is")[0] in (written, f'did you mean "{field}"?'), key


@pytest.mark.parametrize(
    ("line", "remedy"),
    [
        ('size = "50 MB"', 'write app = { kind = "file", size = ... }, or '),
        ("mss = 536", "write tcp = { mss = ... }, or sender_tcp = { mss = ... }, or receiver_tcp = { mss = ... }"),
        ("tcp.initial_rto = 1", "write rto = { initial = ... }, which is OPNET's Initial RTO"),
        ('tcp."Fast Recovery" = 1', "write loss_recovery = ..., which is OPNET's Fast Recovery"),
        ("tcp.own_link = 1", "use one of "),
    ],
)
def test_a_field_of_a_table_within_leads_there(line: str, remedy: str) -> None:
    with pytest.raises(ScenarioError) as caught:
        Scenario.parse(f"{OPNET}\n{line}\n")
    assert caught.value.diagnostics[0]["remedy"].startswith(remedy)


def test_half_a_window_is_of_whole_segments_in_opnet() -> None:
    """Session 1508 (2010), lab 2: of 23 segments of 536 octets 11 are left, 5,896, and not 6,164."""
    override = [
        "duration=20 s", "tcp.mss=536", "tcp.window_scaling=false", 'tcp.receive_buffer="12328 B"',
        'trace.flows=["ssthresh"]', 'topology.nodes[1].discard=[{ kind = "nth", n = 500, of = "data" }]',
        'trace.per="event"',
    ]  # fmt: skip
    flows = run(Scenario.parse(OPNET, "opnet.toml", override)).flows
    assert set(flows["ssthresh_bytes"]) == {65_535, 11 * 536}
