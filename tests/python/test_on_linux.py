"""Sweeps and studies on kernels in virtual time, with a simulation in the place of the kernel's program."""

import json
import os
import pickle
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from ackclock import Scenario
from ackclock.experiments.studies.study_folder import load_study
from ackclock.experiments.sweep.sweep_results import load_sweep
from ackclock.gym import AgentSettings
from ackclock.running import kernel, linux_kernels, run
from ackclock.running.inside import mapped_inside
from ackclock.running.kernel import KernelError
from ackclock.script.syntax import ScriptError
from conftest import Cli
from test_interrupts import command_of
from test_user_mode import OBEYS, PANICS, SLEEPS, Build, build

__all__ = ["build"]  # the fixture

SIMULATES = """
import io, json, sys
from ackclock import Scenario, run
results = run(Scenario.from_json(sys.stdin.read()))
if any(flow["controller"] == "vegas" for flow in results.summary["flows"]):
    print("error: flow[0].controller: this kernel has no vegas", file=sys.stderr)
    sys.exit(2)
tables = {}
for name in ("flows", "links", "episodes"):
    octets = io.BytesIO()
    getattr(results, name).write_ipc(octets)
    tables[name] = octets.getvalue()
late = dict.fromkeys(("packets", "mean", "p50", "p90", "p99", "p999", "max"), 0)
is_valid = not any(flow["controller"] == "bbr" for flow in results.summary["flows"])
kernel = {"release": "6.12.1", "valid": is_valid, "reasons": [] if is_valid else ["3 packets lost"], "late_us": late}
kernel |= {"cpu_s": 1.0, "wall_s": 1.0, "packets_delivered": 1, "foreign_packets": 7}
kernel |= dict.fromkeys(("packets_entered", "packets_under_way", "device_drops"), 0)
kernel |= {"p99_bound_us": 200.0, "p999_bound_us": 2e3, "real_time": False, "emulator_cpu_share": 0.1}
kernel["parameters"] = [{}, {}]
sizes = {name: len(octets) for name, octets in tables.items()}
head = {"tables": sizes, "kernel": kernel, "summary": results.summary, "captures": []}
sys.stdout.buffer.write(json.dumps(head).encode() + b"\\n" + b"".join(tables.values()))
"""

SCENARIO = """
duration = "1 s"
[topology]
kind = "dumbbell"
access = { rate = "1 Gbit/s", delay = "10 us" }
bottleneck = { rate = "5 Mbit/s", delay = "20 ms", queue = { kind = "drop_tail", limit = "20 packets" } }
[[flow]]
name = "one"
controller = "reno"
"""

# The kernel reports the start of the flow's connection, and an ACK of a segment when ten of them are outstanding.
ASKS = """
import socket, struct
channel = socket.socket(socket.AF_UNIX)
channel.connect("agent")
windows = []
for kind, acked in ((2, 0), (0, 1)):
    times = 10, 2**31 - 1, 40000, 40000, 40000
    observation = 10**9 + kind, 0, 1, 40000, *times, 10 - acked, acked, 0, 0, acked, 1000, 1448, 0, 1
    counts = 1448 * acked, 14480, acked, 0, 0, 10, 0, 0, 0, 1
    channel.sendall(struct.pack("=QQ16I", *observation) + struct.pack("=IIQ5Ii3B5x", kind, 4096, *counts))
    windows.append(struct.unpack("=IIIIQQQ", channel.recv(40, socket.MSG_WAITALL))[2])
channel.close()
open(os.environ["TOLD"], "w").write(json.dumps([windows, json.load(open("order.json"))["arguments"]]))
"""

STUDY = """
name = "two"
controllers = ["reno", "cubic"]
line_ups = ["reno, cubic"]
path = { rate = "5 Mbit/s", rtt = "20 ms" }
seeds = 2
duration = "1 s"
keep = 1
"""


@pytest.fixture
def scenario(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A scenario, and a program in the place of `ackclock-kernel` that simulates it."""
    program = tmp_path / "ackclock-kernel"
    program.write_text(f"#!{sys.executable} -P\n{SIMULATES}")
    program.chmod(0o755)
    monkeypatch.setenv("ACKCLOCK_KERNEL", str(program))
    file = tmp_path / "one.toml"
    file.write_text(SCENARIO)
    (tmp_path / "study.toml").write_text(STUDY)
    return file


def _said(text: str) -> str:
    return " ".join(text.split())


def test_the_engines_controller_decides_for_a_connection_of_the_kernel(
    build: Build, scenario: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Reno's window in slow start: ten segments of the kernel, and one more with an ACK (RFC 5681)."""
    monkeypatch.setenv("TOLD", str(tmp_path / "told"))
    asks = build(ASKS + OBEYS, agent=linux_kernels.AGENT_FORM)
    results = kernel.run(Scenario.load(scenario), on=asks)
    assert results.summary["flows"][0]["goodput_bps"] > 0
    windows, arguments = json.loads((tmp_path / "told").read_text())
    assert windows == [10, 11] and "--asks" in arguments


CLOCK = """
duration = "0.5 s"
tcp = { host_noise = "0 ns" }
trace = { flows = ["cwnd"], interval = "2 ms" }
[topology]
kind = "dumbbell"
access = { rate = "1 Gbit/s", delay = "0.5 ms" }
bottleneck = { rate = "100 Mbit/s", delay = "99 ms" }
[[flow]]
controller = { kind = "policy", file = "clock.onnx" }
[[flow]]
controller = { kind = "policy", file = "clock.onnx" }
"""


@pytest.mark.alone
def test_a_policys_clock_runs_in_the_real_stack(tmp_path: Path) -> None:
    """Ten segments more each 20 ms, a tick or two later, from the first ACK after two round trips of 200 ms on."""
    settings = AgentSettings(["cwnd_segments"], decide="20 ms", action="deltas", slow_start="agent", on_loss="agent")
    last = np.zeros((7, 1), np.float32), np.eye(7, dtype=np.float32)[6]
    (tmp_path / "clock.onnx").write_bytes(settings.policy_file("relu", [last]))
    (tmp_path / "clock.toml").write_text(CLOCK)
    scenario = Scenario.load(tmp_path / "clock.toml")
    try:
        on = linux_kernels.find()
        kernel.program()
    except KernelError as error:
        pytest.skip(f"{error}")
    if not on.asks:
        pytest.skip(f"the kernel {on.name} has an older ackclock_agent")
    results = [kernel.run(scenario, on=on) for _ in range(2)]
    flows = results[0].flows.filter(pl.col("flow") == results[0].summary["flows"][0]["name"])
    windows = dict(zip((1e3 * flows["time_s"]).round().cast(int), flows["cwnd_bytes"] / 1448, strict=True))
    # The first ACK, at 401 ms, adds one in slow start, and ten. Four steps of 20 to 22 ms later it is at most 489 ms.
    assert (windows[398], windows[406]) == (10, 21)
    assert windows[492] == 61
    assert results[0].flows.equals(results[1].flows) and results[0].summary == results[1].summary


def test_a_kernel_whose_agent_is_older_is_not_asked(build: Build, scenario: Path) -> None:
    older = build("assert '--asks' not in json.load(open('order.json'))['arguments']" + OBEYS)
    assert kernel.run(Scenario.load(scenario), on=older).summary["flows"][0]["goodput_bps"] > 0


def test_a_sweep_says_where_it_ran_and_is_not_mixed(cli: Cli, build: Build, scenario: Path, tmp_path: Path) -> None:
    build(OBEYS)
    folder = tmp_path / "sweep"
    arguments = ["sweep", str(scenario), "--set", "seed=1..2", "-o", str(folder)]
    done = cli(*arguments, "--on", "linux:6.12")
    assert done.returncode == 0, done.stderr
    assert "on Linux 6.12.1" in done.stdout
    records = [json.loads(file.read_text()) for file in (folder / "points").glob("*.json")]
    assert [record["on"] for record in records] == [{"version": "6.12.1", "sha256": "0" * 64}] * 2
    assert load_sweep(folder).about.endswith("2 seeds; on Linux 6.12.1")
    other = cli(*arguments)
    assert other.returncode == 2
    assert "has runs on Linux 6.12.1, and this command runs in the simulator" in _said(other.stderr)
    again = cli(*arguments, "--on", "linux")
    assert (again.returncode, again.stdout) == (0, done.stdout)


def test_a_sweep_of_the_simulator_is_not_continued_on_a_kernel(
    cli: Cli, build: Build, scenario: Path, tmp_path: Path
) -> None:
    build(OBEYS)
    arguments = ["sweep", str(scenario), "-o", str(tmp_path / "sweep")]
    assert cli(*arguments).returncode == 0
    other = cli(*arguments, "--on", "linux")
    assert other.returncode == 2
    assert "has runs in the simulator, and this command runs on Linux 6.12.1" in _said(other.stderr)


def test_a_sweep_is_not_continued_on_another_build_of_a_kernel(
    cli: Cli, build: Build, scenario: Path, tmp_path: Path
) -> None:
    about = build(OBEYS).path.parent / linux_kernels.ABOUT
    arguments = ["sweep", str(scenario), "-o", str(tmp_path / "sweep"), "--on", "linux"]
    assert cli(*arguments).returncode == 0
    about.write_text(about.read_text().replace("0" * 64, "1" * 64))
    other = cli(*arguments)
    assert other.returncode == 2
    assert "another build of it" in _said(other.stderr)


@pytest.mark.parametrize(
    ("controller", "code", "message"),
    [
        ("vegas", 2, "at seed = 1, flow.one.controller = vegas: error: flow[0].controller: this kernel has no vegas"),
        ("bbr", 1, "at seed = 1, flow.one.controller = bbr: the run on Linux 6.12.1 is not valid: 3 packets lost"),
    ],
)
def test_a_point_that_the_kernel_refuses_is_named(
    cli: Cli, build: Build, scenario: Path, tmp_path: Path, controller: str, code: int, message: str
) -> None:
    build(OBEYS)
    axes = ["--set", "seed=1", "--set", f'flow.one.controller=["reno", "{controller}"]']
    done = cli("sweep", str(scenario), *axes, "--on", "linux", "-o", str(tmp_path / "sweep"))
    assert done.returncode == code
    assert message in _said(done.stderr)


def test_a_kernel_that_stops_is_told_with_its_point(cli: Cli, build: Build, scenario: Path, tmp_path: Path) -> None:
    build(PANICS)
    done = cli("sweep", str(scenario), "--set", "seed=4", "--on", "linux", "-o", str(tmp_path / "sweep"))
    assert done.returncode == 1
    assert "at seed = 4: the kernel 6.12 stopped before the run ended" in _said(done.stderr)


def test_a_study_says_where_it_ran_and_its_kept_runs_are_of_there(
    cli: Cli, build: Build, scenario: Path, tmp_path: Path
) -> None:
    build(OBEYS)
    folder = tmp_path / "study"
    arguments = ["study", str(tmp_path / "study.toml"), "-o", str(folder), "--no-figures"]
    done = cli(*arguments, "--on", "linux")
    assert done.returncode == 0, done.stderr
    assert "on Linux 6.12.1; ackclock" in done.stdout
    assert "on Linux 6.12.1" in (folder / "study.html").read_text()
    study = load_study(folder)
    assert study.only({"line_up": ["reno + cubic"]}).on == study.on == {"version": "6.12.1", "sha256": "0" * 64}
    (kept,) = (folder / "runs").iterdir()
    assert json.loads((kept / "manifest.json").read_text())["kernel"]["foreign_packets"] == 7
    cited = cli("cite", str(folder))
    assert "We ran Reno and CUBIC on Linux 6.12.1 in virtual time" in _said(cited.stdout)
    assert "RFC 9438" not in cited.stdout, "the kernel has an implementation of its own"
    cited = cli("cite", str(kept))
    assert " on Linux 6.12.1 in virtual time, over the network of ackclock" in _said(cited.stdout)
    assert "RFC 9438" not in cited.stdout
    other = cli(*arguments)
    assert other.returncode == 2
    assert "has runs on Linux 6.12.1, and this command runs in the simulator" in _said(other.stderr)


def test_a_simulated_run_is_compared_with_one_of_a_kernel(
    cli: Cli, build: Build, scenario: Path, tmp_path: Path
) -> None:
    """The program in the kernel's place simulates, too: both runs are alike in all."""
    loaded = Scenario.load(scenario)
    kernel.run(loaded, on=build(OBEYS)).save(tmp_path / "real")
    run(loaded).save(tmp_path / "simulated")
    told = cli("compare", str(tmp_path / "real"), str(tmp_path / "simulated"))
    assert told.returncode == 0, told.stderr
    assert re.search(r"figure +Linux 6\.12\.1 +the simulator\n", told.stdout)
    assert re.search(r"goodput \(Mbit/s\) +(\S+) +\1 +1\.000\n", told.stdout)


def test_seeds_of_a_dumbbell_run_on_a_kernel(cli: Cli, build: Build, scenario: Path) -> None:
    build(OBEYS)
    options = ["--flows", "reno", "--bottleneck", "5 Mbit/s", "--rtt", "20 ms", "--duration", "1 s", "--seeds", "2"]
    done = cli("run", *options, "--on", "linux")
    assert done.returncode == 0, done.stderr
    assert "on Linux 6.12.1" in done.stdout


@pytest.mark.parametrize("command", ["sweep", "study"])
def test_a_place_or_backend_that_does_not_go_is_refused(
    cli: Cli, build: Build, scenario: Path, tmp_path: Path, command: str
) -> None:
    build(OBEYS)
    file = scenario if command == "sweep" else tmp_path / "study.toml"
    arguments = [command, str(file), "-o", str(tmp_path / "out")]
    real = cli(*arguments, "--on", "kernel")
    assert real.returncode == 2
    assert "--on kernel: must be simulator, linux or linux:NAME" in _said(real.stderr)
    cluster = cli(*arguments, "--on", "linux", "--backend", "ray")
    assert cluster.returncode == 2
    assert "kernels are of this machine alone" in _said(cluster.stderr)
    assert not (tmp_path / "out").exists()


def test_an_interruption_ends_the_kernels_of_a_sweep(
    build: Build, scenario: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = tmp_path / "pid"
    monkeypatch.setenv("TOLD", str(told))
    build(SLEEPS)
    arguments = ["sweep", str(scenario), "--jobs", "1", "--on", "linux", "-o", str(tmp_path / "sweep")]
    child = subprocess.Popen(command_of(*arguments), stderr=subprocess.DEVNULL)
    while not (told.is_file() and told.read_text()):
        time.sleep(0.01)
    child.send_signal(signal.SIGINT)
    assert child.wait() == 130
    with pytest.raises(ProcessLookupError):
        os.kill(int(told.read_text()), 0)


needs_namespace = pytest.mark.skipif(
    os.geteuid() != 0 or not Path("/dev/net/tun").exists(),
    reason="the program in the kernel's place uses this machine's: it needs root and /dev/net/tun",
)


# ---- Python inside a kernel ------------------------------------------------------------------------------------------


def test_a_function_runs_over_items_inside_a_kernel(build: Build, scenario: Path) -> None:
    assert mapped_inside(build(OBEYS), abs, [-1, 2, -3]) == [1, 2, 3]
    assert mapped_inside(linux_kernels.find(), print, ["no result"]) == [None]


def test_a_function_that_fails_inside_a_kernel_is_told(build: Build, scenario: Path) -> None:
    with pytest.raises(KernelError, match=r"on Linux 6.12.1: ValueError: invalid literal for int\(\).*'x'"):
        mapped_inside(build(OBEYS), int, ["1", "x"])


def test_scripts_and_cases_name_the_kernel_that_is_missing(cli: Cli, build: Build, tmp_path: Path) -> None:
    for arguments in (["one.pkt"], ["--differential", "2"]):
        done = cli("script", *arguments, "--on", "linux:9.9")
        assert done.returncode == 1
        assert "ackclock linux build 9.9" in _said(done.stderr)
    build(OBEYS)
    both = cli("script", "one.pkt", "--kernel", "--on", "linux")
    assert both.returncode == 2
    assert "--kernel: runs on this machine's kernel; leave it out with --on linux" in _said(both.stderr)


def test_a_mistake_of_a_script_is_the_same_after_pickling() -> None:
    error = ScriptError("one.pkt", 3, "no such call", "use another")
    again = pickle.loads(pickle.dumps(error))
    assert (str(again), again.line, again.remedy) == (str(error), 3, "use another")


@needs_namespace
def test_scripts_run_in_one_start_of_a_kernel_and_are_told_in_order(
    cli: Cli, build: Build, scenario: Path, tmp_path: Path
) -> None:
    starts = tmp_path / "starts"
    build(f"open({str(starts)!r}, 'a').write('x')" + OBEYS)
    right, wrong, other = (tmp_path / f"{name}.pkt" for name in ("a-right", "b-wrong", "c-other"))
    right.write_text("0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3\n")
    wrong.write_text("0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3\n+0 listen(3, 5) = 7\n")
    other.write_text("// PROFILE: rfc\n" + right.read_text())
    done = cli("script", str(tmp_path), "--on", "linux")
    assert done.returncode == 1
    assert "1 passed" in done.stdout and "1 failed" in done.stdout and "skip" in done.stdout
    assert starts.read_text() == "x"


@needs_namespace
def test_cases_are_played_inside_a_kernel(cli: Cli, build: Build, scenario: Path) -> None:
    build(OBEYS)
    done = cli("script", "--differential", "2", "--seed", "5", "--controller", "reno", "--on", "linux")
    assert "0 unsettled, 0 unrepeated" in done.stdout
    assert "of 2 cases" in done.stdout


# ---- claims ----------------------------------------------------------------------------------------------------------

CLAIMS = """
title = "own"
source = "mine"
about = "runs on the kernel"

[[study]]
name = "one"
title = "both places"
scenario = "one.toml"
on = "both"
case = [{ name = "one" }]

[[study]]
name = "two"
title = "what no kernel has"
scenario = "one.toml"
on = "kernel"
case = [{ name = "two", set = ["flow.one.controller=vegas"] }]
"""
CLAIM = """
[[claim]]
id = "Own{number}"
section = "1"
study = "{study}"
statement = "It runs."
quantity = "foreign packets"
unit = ""
published = "7"
low = 7
why = "-"
settings = "mine"
"""
MEASURE = """
from ackclock.claims.measured import Measured


def foreign(runs):
    (on_kernel,) = [run.manifest["kernel"] for run in runs.values() if "kernel" in run.manifest]
    return Measured(float(on_kernel["foreign_packets"]))


MEASURES = {"Own1": foreign, "Own2": foreign}
"""


def test_claims_run_on_a_kernel_beside_hosts_without_noise(
    cli: Cli, build: Build, scenario: Path, tmp_path: Path
) -> None:
    """A study that the kernel refuses is left out with a warning; no record of another kernel stands for it."""
    build(OBEYS)
    claims = [CLAIM.format(number=number, study=study) for number, study in ((1, "one"), (2, "two"))]
    (tmp_path / "claims.toml").write_text(CLAIMS + "".join(claims))
    (tmp_path / "measure.py").write_text(MEASURE)
    kept, out = tmp_path / "kept", tmp_path / "out"
    done = cli("claims", f"{tmp_path}/", "--on", "linux", "--keep", str(kept), "-o", str(out))
    assert done.returncode == 0, done.stderr
    assert "what no kernel has is left out: flow[0].controller: this kernel has no vegas" in _said(done.stderr)
    first, second = json.loads((out / "claims.json").read_text())["claims"]
    assert (first["measured"], first["verdict"]) == (7.0, "agrees")
    assert first["made"]["on"] == {"version": "6.12.1", "sha256": "0" * 64}
    assert (second["measured"], second["verdict"]) == (None, "open")
    assert "Linux 6.12.1 in virtual time" in (out / "index.html").read_text()
    (on_kernel,), (simulated,) = (list(kept.glob(f"{where}*")) for where in ("linux-6.12.1-0000", "[!l.]"))
    told = [json.loads((folder / "manifest.json").read_text()) for folder in (on_kernel, simulated)]
    assert "host_noise" not in told[0]["scenario"].get("tcp", {})
    assert told[1]["scenario"]["tcp"]["host_noise"] == "0 ns"
