"""One run on several threads: the same results, and what is said of it."""

import copy
import json
from pathlib import Path

import pytest

import ackclock
from ackclock import Scenario
from ackclock._core import Simulation
from ackclock.base import system
from conftest import Cli
from networks import dumbbell

DUMBBELL = f"""
duration = "1 s"
{dumbbell('rate = "100 Mbit/s", delay = "10 ms"', "0 ms")}
[[flow]]
name = "bulk"
controller = "CONTROLLER"
count = 3
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "dumbbell.toml"
    path.write_text(DUMBBELL.replace("CONTROLLER", "cubic"))
    return path


def test_threads_change_nothing_but_the_time(cli: Cli, file: Path, tmp_path: Path) -> None:
    for threads in (1, 2):
        assert cli("run", file, "--threads", threads, "-o", f"on-{threads}", "--quiet").returncode == 0
    for name in ("summary.json", "flows.parquet", "links.parquet", "episodes.parquet"):
        assert (tmp_path / "on-1" / name).read_bytes() == (tmp_path / "on-2" / name).read_bytes()
    engine = json.loads((tmp_path / "on-2" / "manifest.json").read_text())["engine"]
    partition = engine["partition"]
    assert (partition["parts"], partition["threads"], partition["lookahead_s"]) == (2, 2, 0.01)
    assert engine["events"] == json.loads((tmp_path / "on-1" / "manifest.json").read_text())["engine"]["events"]


def test_a_browser_says_that_it_used_one_thread(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Pyodide cannot start threads."""
    monkeypatch.setattr(system, "HAS_THREADS", False)
    partition = ackclock.run(ackclock.Scenario.load(file), threads=2).engine["partition"]
    assert (partition["parts"], partition["threads"]) == (1, 1)


def test_the_last_line_says_on_how_many_threads_and_why_not_on_more(cli: Cli, file: Path) -> None:
    lines = [cli("run", file, "--threads", threads).stdout.splitlines()[-1] for threads in (1, 2, 5)]
    assert "thread" not in lines[0]
    assert lines[1].endswith(" s on 2 threads")
    assert lines[2].endswith(" s on 2 threads (links without delay keep nodes together)")


def test_no_thread_is_a_mistake(cli: Cli, file: Path) -> None:
    done = cli("run", file, "--threads", 0)
    assert done.returncode == 2
    assert "--threads" in done.stderr
    with pytest.raises(ValueError, match="at least 1 thread"):
        Simulation(Scenario.load(str(file)), 0)


def test_a_copy_under_way_goes_on_alike(file: Path) -> None:
    simulation = Simulation(Scenario.load(str(file)), 2)
    simulation.run_until(0.3)
    other = copy.copy(simulation)
    assert other.now_s == 0.3
    assert other.finish().summary_json() == simulation.finish().summary_json()


def test_a_controller_in_python_keeps_its_flow_in_one_part(tmp_path: Path) -> None:
    (tmp_path / "half.py").write_text(
        "from ackclock import CongestionController\n"
        "class Half(CongestionController):\n"
        "    def on_ack(self, ack):\n"
        "        self.cwnd_bytes += ack.newly_acked_bytes // 2\n"
        "    def on_congestion(self, event):\n"
        "        self.cwnd_bytes = 2 * self.mss_bytes\n"
    )
    text = DUMBBELL.replace("CONTROLLER", "python:half:Half")
    text += '[[flow]]\nname = "other"\nreverse = true\n'
    path = tmp_path / "own.toml"
    path.write_text(text)
    scenario = Scenario.load(str(path))
    one, two = ackclock.run(scenario), ackclock.run(scenario, threads=2)
    assert one.summary == two.summary
    assert two.engine["partition"]["parts"] == 1
    assert "controllers, queues, effects or sources from outside" in two.engine["partition"]["ties"]
