"""`ackclock run --estimate`, and the warnings before a run."""

import re
from pathlib import Path

import pytest

import ackclock
from ackclock.cli import forecast
from ackclock.running.run_cost import Estimate, estimate
from conftest import SCENARIO, Cli

WINDOWS = """\
duration = "2 s"
tcp = { receive_buffer = "unlimited", send_buffer = "unlimited" }
[topology]
kind = "dumbbell"
access = { rate = "1 Gbit/s", delay = "1 ms", queue = { kind = "drop_tail", limit = "LIMIT" } }
bottleneck = { rate = "1 Gbit/s", delay = "10 ms" }
[[flow]]
name = "f"
controller = { kind = "fixed", window = "100000000 segments" }
count = 10
"""

NANOSECONDS = """\
duration = "10 min"
[topology]
kind = "dumbbell"
access = { rate = "1 Gbit/s", delay = "1 ms" }
[topology.bottleneck]
rate = { schedule = [{ at = "0 s", rate = "10 Mbit/s" }, { at = "1 ns", rate = "0 bit/s" }], repeat = "2 ns" }
delay = "10 ms"
[[flow]]
name = "f"
controller = "cubic"
"""


def test_a_run_shorter_than_the_beginning_is_told_as_it_was() -> None:
    scenario = ackclock.Scenario.parse(SCENARIO)
    found = estimate(scenario, wall_s=60.0)
    engine = ackclock.run(scenario).engine
    assert found.is_whole
    assert (found.events, found.packets) == (engine["events"], engine["packets_delivered"])


def test_a_steady_run_is_told_from_its_beginning() -> None:
    """A bottleneck of 10 Mbit/s carries 10^7 / (8 * 1,500) = 833 full packets a second, 83 million in 100,000 s."""
    scenario = ackclock.Scenario.parse(SCENARIO.replace('duration = "2 s"', 'duration = "100000 s"'))
    found = estimate(scenario, wall_s=0.3)
    assert not found.is_whole
    assert found.packets == pytest.approx(83.3e6, rel=0.1)
    assert found.wall_s is not None
    assert found.wall_s > found.took_s


def test_hardly_any_simulated_time_is_said_to_be_long() -> None:
    found = estimate(ackclock.Scenario.parse(NANOSECONDS), wall_s=0.2)
    assert found.simulated_s < 10.0
    assert found.wall_s is not None
    assert found.wall_s > 60.0


def test_the_command_leaves_nothing(cli: Cli, scenario_file: Path) -> None:
    done = cli("run", scenario_file, "--estimate", "-o", "out", "--set", "duration='100000 s'")
    assert done.returncode == 0, done.stderr
    assert re.search(r"of 28 hours of simulated time in .*: the whole run would take ", done.stdout)
    assert re.search(r"^memory: [\d.]+ [MG]B", done.stdout, re.MULTILINE)
    assert [path.name for path in scenario_file.parent.iterdir()] == ["two.toml"]


def test_no_time_that_has_passed_is_said_to_be_none() -> None:
    found = Estimate(1.0, 0.0, 3.0, is_whole=False, wall_s=None, events=None, packets=None, memory_bytes=2_500_000_000)
    assert forecast.lines(found) == [
        "no simulated time passed in 3 s: too much happens at its start",
        "memory: 2.5 GB without writing the results",
    ]


def test_windows_that_fill_unlimited_queues_are_warned_of(cli: Cli, tmp_path: Path) -> None:
    """A window of 2^30 bytes, the largest there is, is 741,455 segments of 1,448 bytes; ten of them, of 700 each."""
    (tmp_path / "large.toml").write_text(WINDOWS.replace("LIMIT", "unlimited"))
    (tmp_path / "small.toml").write_text(WINDOWS.replace("LIMIT", "1000 packets"))
    assert "some 5.2 GB of memory" in cli("validate", "large.toml").stdout
    assert "warning" not in cli("validate", "small.toml").stdout


def test_series_that_grow_are_counted() -> None:
    """Ten million samples of two flows and one link: of a flow 12 bytes and 8 for each of one column."""
    text = SCENARIO.replace('"2 s"', '"100000 s"') + '\n[trace]\ninterval = "10 ms"\nflows = ["cwnd"]\nlinks = "none"\n'
    assert ackclock.Scenario.parse(text).memory_bytes == 2 * 10_000 + 10_000_000 * 2 * 20


def test_flows_in_step_with_a_queue_are_warned_of(cli: Cli, tmp_path: Path) -> None:
    """Both links have 1 Gbit/s: without noise a host that sends without a gap fills each place that comes free."""
    in_step = WINDOWS.replace("LIMIT", "1000 packets").replace("tcp = {", 'tcp = { profile = "rfc",')
    (tmp_path / "in-step.toml").write_text(in_step)
    told = cli("validate", "in-step.toml")
    assert told.returncode == 0
    assert "warning: bottleneck: a host sends at just the rate of this link" in told.stdout
    for cure in ('tcp.host_noise="10 us"', 'topology.access.rate="2 Gbit/s"'):
        assert "warning" not in cli("validate", "in-step.toml", "--set", cure).stdout
