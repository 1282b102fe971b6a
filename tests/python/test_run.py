"""`ackclock run`: what it prints, what it writes, and what it leaves behind when it cannot."""

import json
import os
import resource
import signal
import subprocess
from pathlib import Path

import polars as pl
import pytest

import ackclock
from conftest import SCENARIO, Cli, command, wait_for_handler, wait_until

LONG = "duration='8784 h'"
"""Simulated for long enough that no machine is done before the test stops it."""


def test_prints_flows_and_links_and_writes_nothing(cli: Cli, scenario_file: Path) -> None:
    done = cli("run", scenario_file)
    assert done.returncode == 0, done.stderr
    assert "two flows: 2 s, seed 7" in done.stdout
    assert {"new", "old", "cubic", "reno"} <= set(done.stdout.split())
    assert "goodput" in done.stdout
    assert "bottleneck" in done.stdout
    assert done.stderr == "", "no progress bar where nobody watches"
    assert [path.name for path in scenario_file.parent.iterdir()] == ["two.toml"]


def test_a_crowd_of_flows_is_cut_to_the_extremes(cli: Cli) -> None:
    done = cli("run", "--flows", ",".join(["cubic"] * 40), "--duration", "1 s", "--bottleneck", "1 Gbit/s")
    assert done.returncode == 0, done.stderr
    assert len([line for line in done.stdout.splitlines() if line.startswith("cubic-") and " cubic " in line]) == 24
    assert "and 16 more flows" in done.stdout
    assert "more links" in done.stdout


def test_json_is_the_summary_file_and_nothing_else(cli: Cli, scenario_file: Path, tmp_path: Path) -> None:
    done = cli("run", scenario_file, "--json", "-o", "out")
    assert done.stdout == (tmp_path / "out" / "summary.json").read_text()
    summary = json.loads(done.stdout)
    assert list(summary)[:4] == ["scenario", "seed", "duration_s", "jain_index"]
    assert [flow["name"] for flow in summary["flows"]] == ["new", "old"]
    assert 0 < sum(flow["goodput_bps"] for flow in summary["flows"]) < 10e6


def test_quiet_prints_nothing(cli: Cli, scenario_file: Path) -> None:
    done = cli("run", scenario_file, "--quiet")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_result_folder_has_every_file_and_nothing_beside_it(cli: Cli, scenario_file: Path, tmp_path: Path) -> None:
    assert cli("run", scenario_file, "-o", "deep/er/out").returncode == 0
    out = tmp_path / "deep" / "er" / "out"
    assert sorted(path.name for path in out.iterdir()) == [
        "episodes.parquet", "flows.parquet", "links.parquet", "manifest.json", "summary.json",
    ]  # fmt: skip
    assert [path.name for path in out.parent.iterdir()] == ["out"]


def test_manifest_says_where_the_numbers_come_from(cli: Cli, scenario_file: Path, tmp_path: Path) -> None:
    cli("run", scenario_file, "-o", "out", "--seed", 3)
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text())
    scenario = ackclock.Scenario.load(str(scenario_file)).with_seed(3)
    assert manifest["scenario_hash"] == scenario.hash
    assert manifest["scenario"] == json.loads(scenario.to_json())
    assert manifest["seed"] == 3
    assert manifest["versions"]["ackclock"] == ackclock.__version__
    engine = manifest["engine"]
    assert list(engine) == ["events", "packets_delivered", "wall_s", "cpu_s", "packets_per_cpu_s", "partition"]
    assert (engine["partition"]["parts"], engine["partition"]["threads"]) == (1, 1)
    # 10 Mbit/s for 2 s is 2.5 MB, 1726 segments of 1448 octets at the very most.
    assert 500 < engine["packets_delivered"] < 1727


def test_the_manifest_reproduces_the_run(cli: Cli, scenario_file: Path, tmp_path: Path) -> None:
    cli("run", scenario_file, "-o", "out")
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text())
    again = ackclock.run(ackclock.Scenario.from_json(json.dumps(manifest["scenario"])))
    assert again.summary == json.loads((tmp_path / "out" / "summary.json").read_text())


def test_same_scenario_same_bytes(cli: Cli, scenario_file: Path, tmp_path: Path) -> None:
    for name in ("one", "two"):
        assert cli("run", scenario_file, "-o", name).returncode == 0
    for file in ("summary.json", "flows.parquet", "links.parquet", "episodes.parquet"):
        assert (tmp_path / "one" / file).read_bytes() == (tmp_path / "two" / file).read_bytes(), file


def test_set_changes_a_value(cli: Cli, scenario_file: Path) -> None:
    done = cli("run", scenario_file, "--json", "--set", "duration='1 s'", "--set", "seed=11")
    summary = json.loads(done.stdout)
    assert (summary["duration_s"], summary["seed"]) == (1.0, 11)


def test_without_a_file_it_runs_a_dumbbell(cli: Cli) -> None:
    options = ("--bottleneck", "20 Mbit/s", "--rtt", "40 ms", "--flows", "cubic,reno,cubic", "--duration", "3 s")
    done = cli("run", *options, "--json")
    assert done.returncode == 0, done.stderr
    summary = json.loads(done.stdout)
    assert [flow["name"] for flow in summary["flows"]] == ["cubic-1", "reno", "cubic-2"]
    assert all(flow["rtt_ms"]["min"] >= 40 for flow in summary["flows"])
    assert all(flow["rtt_ms"]["min"] < 42 for flow in summary["flows"])
    assert summary["duration_s"] == 3.0


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((), "--flows cubic,reno"),
        (("--flows", ","), "flows must name at least one controller"),
        (("--rtt", "fast"), '"60 ms"'),
        (("--flows", "qubic"), "qubic"),
        (("--bottleneck", "wide"), "wide"),
        (("none.toml",), "none.toml: file not found"),
        (("two.toml", "--flows", "cubic"), "--flows"),
        (("two.toml", "--set", "durations='1 s'"), "durations"),
        (("two.toml", "--set", "duration"), "duration"),
        ((".",), "is a folder"),
        (("two.toml", "--bogus"), "bogus"),
    ],
)
def test_wrong_input_is_exit_code_2_with_a_remedy(
    cli: Cli, scenario_file: Path, arguments: tuple[str, ...], said: str
) -> None:
    done = cli("run", *arguments)
    assert done.returncode == 2, done.stdout + done.stderr
    assert said in done.stderr
    assert "Traceback" not in done.stderr
    assert done.stdout == ""
    assert [path.name for path in scenario_file.parent.iterdir()] == ["two.toml"]


def test_every_mistake_is_reported_with_its_line(cli: Cli, tmp_path: Path) -> None:
    text = (
        'name = "wrong"\nduration = "2 parsecs"\n[topology]\nkind = "dumbbell"\n'
        'access = { rate = "1 Gbit/s", delay = "1 ms" }\nbottleneck = { rate = "1 Mbit/s", delay = "1 ms" }\n'
        '[[flow]]\nname = "f"\ncontroller = "qubic"\n'
    )
    (tmp_path / "wrong.toml").write_text(text)
    done = cli("run", "wrong.toml", "-o", "out")
    assert done.returncode == 2
    assert "wrong.toml:2" in done.stderr
    assert "2 parsecs" in done.stderr
    assert "wrong.toml:9" in done.stderr
    assert "qubic" in done.stderr
    assert "2 mistakes" in done.stderr
    assert not (tmp_path / "out").exists()


def test_text_that_is_not_utf8_is_wrong_input(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "latin.toml").write_bytes(b'name = "\xe9"\n')
    done = cli("run", "latin.toml")
    assert done.returncode == 2
    assert "Traceback" not in done.stderr


def test_existing_folder_is_refused_then_replaced_with_force(cli: Cli, scenario_file: Path, tmp_path: Path) -> None:
    assert cli("run", scenario_file, "-o", "out").returncode == 0
    before = (tmp_path / "out" / "summary.json").read_bytes()
    refused = cli("run", scenario_file, "-o", "out", "--seed", 9)
    assert refused.returncode == 2
    assert "--force" in refused.stderr
    assert (tmp_path / "out" / "summary.json").read_bytes() == before
    assert cli("run", scenario_file, "-o", "out", "--seed", 9, "--force").returncode == 0
    assert json.loads((tmp_path / "out" / "summary.json").read_text())["seed"] == 9
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out", "two.toml"]


def test_force_does_not_replace_what_is_no_result(cli: Cli, scenario_file: Path, tmp_path: Path) -> None:
    (tmp_path / "thesis").mkdir()
    (tmp_path / "thesis" / "chapter.tex").write_text("precious")
    done = cli("run", scenario_file, "-o", "thesis", "--force")
    assert done.returncode == 2
    assert (tmp_path / "thesis" / "chapter.tex").read_text() == "precious"


def test_force_keeps_what_a_user_put_into_results(cli: Cli, scenario_file: Path, tmp_path: Path) -> None:
    assert cli("run", scenario_file, "-o", "out").returncode == 0
    before = (tmp_path / "out" / "summary.json").read_bytes()
    (tmp_path / "out" / "thesis.txt").write_text("precious")
    done = cli("run", scenario_file, "-o", "out", "--seed", 9, "--force")
    assert done.returncode == 2
    assert "thesis.txt" in done.stderr
    assert (tmp_path / "out" / "thesis.txt").read_text() == "precious"
    assert (tmp_path / "out" / "summary.json").read_bytes() == before


@pytest.mark.alone
@pytest.mark.parametrize("place", ["two.toml/out", "/proc/nowhere/out"])
def test_unwritable_place_is_found_before_simulating(cli: Cli, scenario_file: Path, place: str) -> None:
    done = cli("run", scenario_file, "--set", LONG, "-o", place)
    assert done.returncode == 1
    assert "no results were written" in done.stderr


def _small_files_only() -> None:
    """A disk that is full after 512 octets, without needing a disk.

    Bytecode that Python writes to it is cut off, and whoever imports it later fails.
    """
    os.environ["PYTHONDONTWRITEBYTECODE"] = "1"
    resource.setrlimit(resource.RLIMIT_FSIZE, (512, 512))


def test_full_disk_leaves_nothing(cli: Cli, scenario_file: Path, tmp_path: Path) -> None:
    done = cli("run", scenario_file, "-o", "out", preexec_fn=_small_files_only)
    assert done.returncode == 1
    assert "too large" in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert [path.name for path in tmp_path.iterdir()] == ["two.toml"]


def test_full_disk_keeps_the_old_results_under_force(cli: Cli, scenario_file: Path, tmp_path: Path) -> None:
    cli("run", scenario_file, "-o", "out")
    before = {path.name: path.read_bytes() for path in (tmp_path / "out").iterdir()}
    done = cli("run", scenario_file, "-o", "out", "--force", preexec_fn=_small_files_only)
    assert done.returncode == 1
    assert {path.name: path.read_bytes() for path in (tmp_path / "out").iterdir()} == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out", "two.toml"]


@pytest.mark.alone
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_interruption_is_130_and_leaves_nothing(scenario_file: Path, tmp_path: Path, number: signal.Signals) -> None:
    process = subprocess.Popen(
        command("run", scenario_file, "--set", LONG, "-o", "new/out"),
        cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    wait_for_handler(process.pid)
    wait_until(lambda: _cpu_seconds(process.pid) > 1.0, "the program is at work")
    process.send_signal(number)
    _output, said = process.communicate(timeout=60)
    assert process.returncode == 130
    assert said.strip() == "interrupted; no results were written"
    assert [path.name for path in tmp_path.iterdir()] == ["two.toml"]


def _cpu_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def test_a_reader_that_leaves_is_no_failure(scenario_file: Path, tmp_path: Path) -> None:
    process = subprocess.Popen(
        command("run", scenario_file, "--json"), cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.close()
    said = process.stderr.read()
    process.stderr.close()
    assert process.wait(timeout=60) == 0
    assert said == b""


def test_progress_is_shown_on_a_terminal(scenario_file: Path, tmp_path: Path) -> None:
    shown = tmp_path / "typescript"
    line = " ".join(f"'{part}'" for part in command("run", "two.toml", "--set", 'duration="300 s"'))
    done = subprocess.run(
        ["script", "-qec", line, str(shown)], cwd=tmp_path, capture_output=True, check=False, timeout=120
    )
    assert done.returncode == 0
    assert "s simulated" in shown.read_text()


def test_captures_are_written_under_safe_names(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "capture.toml").write_text(
        SCENARIO.replace('limit = "20 packets" } }', 'limit = "20 packets" }, capture = true }')
    )
    done = cli("run", "capture.toml", "-o", "out")
    assert done.returncode == 0, done.stderr
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text())
    assert manifest["captures"]
    for file in manifest["captures"].values():
        # A pcapng file begins with a Section Header Block, whose type reads the same in both byte orders.
        assert (tmp_path / "out" / file).read_bytes()[:4] == b"\x0a\x0d\x0d\x0a"


def test_parquet_tables_have_units_in_their_names(cli: Cli, scenario_file: Path, tmp_path: Path) -> None:
    cli("run", scenario_file, "-o", "out")
    flows = pl.read_parquet(tmp_path / "out" / "flows.parquet")
    assert flows.columns[:2] == ["time_s", "flow"]
    assert flows.height > 0
    assert set(flows["flow"].unique()) == {"new", "old"}


def test_an_override_of_every_flow_is_one_of_each(cli: Cli, scenario_file: Path, tmp_path: Path) -> None:
    methods = "    def on_ack(self, ack, state): ...\n    def on_congestion(self, event, state): ...\n"
    source = f"import ackclock\nclass Mine(ackclock.CongestionController):\n{methods}open('imported', 'w')\n"
    (tmp_path / "mine.py").write_text(source)
    done = cli("run", scenario_file, "--set", "flow[*].controller=tahoe", "--set", "duration=1 s", "--json")
    assert [flow["controller"] for flow in json.loads(done.stdout)["flows"]] == ["tahoe", "tahoe"]
    code = cli("run", scenario_file, "--set", 'flow[*].controller={ kind = "python", class = "mine:Mine" }')
    assert code.returncode == 2 and "mine.py" in code.stderr and "add --trust" in code.stderr
    assert not (tmp_path / "imported").exists()
    none = cli("validate", scenario_file, "--set", "host[*].tcp.mss=536")
    assert none.returncode == 2 and 'has "*" where an index' in none.stderr
