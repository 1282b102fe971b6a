"""Runs on kernels in virtual time: what starts them, and what is said where they fail."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from ackclock import Scenario, run
from ackclock.running import kernel, linux_kernels, user_mode
from conftest import Cli, command, wait_until

Build = Callable[..., linux_kernels.Kernel]

# A program in the place of the kernel: it obeys the order as the kernel's first process does.
OBEYS = """
order = json.load(open("order.json"))
command = [order.get("program", os.path.realpath("init")), *order["arguments"]]
done = subprocess.run(command, stdin=open("in"), capture_output=True, cwd=order["folder"])
for name, octets in (("out", done.stdout), ("err", done.stderr), ("code", str(done.returncode).encode())):
    open(name, "wb").write(octets)
"""
PANICS = """
print("Kernel panic - not syncing: Attempted to kill init!\\nStack:\\n 864c7c50\\n [<600212d0>] ?")
"""
SLEEPS = """
import time
open(os.environ["TOLD"], "w").write(str(os.getpid()))
time.sleep(600)
"""


@pytest.fixture
def build(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Build:
    """Return a function that puts a program into the cache as the kernel 6.12."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))

    def built(code: str, **facts: object) -> linux_kernels.Kernel:
        folder = linux_kernels.cache() / "6.12"
        folder.mkdir(parents=True)
        program = folder / linux_kernels.PROGRAM
        program.write_text(f"#!{sys.executable}\nimport json, os, subprocess\n{code}")
        program.chmod(0o755)
        about = {"version": "6.12.1", "modules": [], "linux_sha256": "0" * 64} | facts
        (folder / linux_kernels.ABOUT).write_text(json.dumps(about))
        return linux_kernels.find("6.12")

    return built


@pytest.fixture
def echo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A program in the place of `ackclock-kernel` that prints its arguments, its folder and its input."""
    program = tmp_path / "ackclock-kernel"
    program.write_text(
        f"#!{sys.executable}\nimport os, sys\nprint(sys.argv[1:], os.getcwd(), sys.stdin.read())\n"
        "print('told', file=sys.stderr)\nsys.exit(3)\n"
    )
    program.chmod(0o755)
    monkeypatch.setenv("ACKCLOCK_KERNEL", str(program))
    return program


def test_a_program_gets_its_arguments_folder_and_input(
    build: Build, echo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    called = user_mode.call(build(OBEYS), ["run", "a b"], "text")
    assert called.out.decode() == f"['run', 'a b'] {tmp_path} text\n"
    assert (called.code, called.err) == (3, "told")
    assert called.cpu_s > 0 and called.wall_s > 0


def test_nothing_that_differs_between_machines_is_among_the_boot_arguments(
    build: Build, echo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The kernel draws its random numbers from its command line."""
    program = build("import sys; open(os.environ['TOLD'], 'w').write(json.dumps(sys.argv[1:]))" + OBEYS)
    seen = []
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        monkeypatch.chdir(tmp_path / name)
        monkeypatch.setenv("TOLD", str(tmp_path / f"{name}.json"))
        monkeypatch.setenv("TMPDIR", str(tmp_path / name))
        user_mode.call(program, ["run"])
        seen.append(json.loads((tmp_path / f"{name}.json").read_text()))
    assert seen[0] == seen[1]
    assert "time-travel=inf-cpu" in seen[0]


def test_a_kernel_that_stops_is_told_with_its_last_words(build: Build, echo: Path) -> None:
    with pytest.raises(kernel.KernelError, match="Attempted to kill init!") as failed:
        user_mode.call(build(PANICS), ["run"])
    assert "864c7c50" not in str(failed.value)


def test_an_interruption_ends_the_kernel_and_leaves_no_folder(
    build: Build, echo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = tmp_path / "pid"
    monkeypatch.setenv("TOLD", str(told))
    monkeypatch.setenv("TMPDIR", str(tmp_path / "temporary"))
    (tmp_path / "temporary").mkdir()
    build(SLEEPS)
    code = "from ackclock.running import linux_kernels, user_mode; user_mode.call(linux_kernels.find(), ['run'])"
    child = subprocess.Popen([sys.executable, "-c", code], stderr=subprocess.DEVNULL)
    while not (told.is_file() and told.read_text()):
        time.sleep(0.01)
    child.send_signal(signal.SIGINT)
    child.wait()
    with pytest.raises(ProcessLookupError):
        os.kill(int(told.read_text()), 0)
    assert not list((tmp_path / "temporary").iterdir())


def test_a_place_that_is_not_there_is_refused_before_anything_runs(cli: Cli, build: Build) -> None:
    wrong = cli("run", "--flows", "reno", "--on", "kernels")
    assert wrong.returncode == 2
    assert "must be simulator, kernel, linux or linux:NAME" in " ".join(wrong.stderr.split())
    build(OBEYS)
    unknown = cli("run", "--flows", "reno", "--on", "linux:9.9")
    assert unknown.returncode == 1
    assert "ackclock linux build 9.9" in " ".join(unknown.stderr.split())


def test_a_kernel_ends_with_a_command_that_is_killed(
    build: Build, echo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told, temporary = tmp_path / "pid", tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setenv("TOLD", str(told))
    monkeypatch.setenv("TMPDIR", str(temporary))
    build(SLEEPS)
    child = subprocess.Popen(command("run", "--flows", "reno", "--on", "linux"), stderr=subprocess.DEVNULL)
    wait_until(lambda: told.is_file() and told.read_text() != "" and any(temporary.iterdir()), "the kernel runs")
    child.kill()
    child.wait()
    kernel_of_child = int(told.read_text())
    wait_until(lambda: not _words(kernel_of_child), "the kernel ends")
    wait_until(lambda: not any(temporary.iterdir()), "its folder is removed")


def _words(process: int) -> bytes:
    """Return the command line of a process; it is empty once the process has ended, though nobody may have waited."""
    try:
        return Path(f"/proc/{process}/cmdline").read_bytes()
    except (FileNotFoundError, ProcessLookupError):
        return b""


def test_a_chosen_controller_is_for_a_run_on_a_kernel(cli: Cli, build: Build) -> None:
    simulated = cli("run", "--flows", "reno", "--controller", "flow1=my_cc")
    assert simulated.returncode == 2
    assert "add --on linux" in " ".join(simulated.stderr.split())
    build(OBEYS)
    nameless = cli("run", "--flows", "reno", "--on", "linux", "--controller", "my_cc")
    assert nameless.returncode == 2
    assert "is not FLOW=NAME" in " ".join(nameless.stderr.split())


@pytest.mark.alone
def test_two_runs_in_virtual_time_are_equal_to_the_byte(tmp_path: Path) -> None:
    """On a real kernel: Reno over a queue that overflows, with the count of retransmissions that the simulator has."""
    try:
        found = linux_kernels.find()
        kernel.program()
    except kernel.KernelError as error:
        pytest.skip(f"{error}")
    scenario = Scenario.parse(
        'duration = "3 s"\nflow = [{ controller = "reno" }]\n[topology]\nkind = "dumbbell"\n'
        'access = { rate = "1 Gbit/s", delay = "10 us" }\n'
        'bottleneck = { rate = "10 Mbit/s", delay = "20 ms", queue = { kind = "drop_tail", limit = "20 packets" } }\n'
    )
    folders = [tmp_path / "one", tmp_path / "two"]
    for folder in folders:
        kernel.run(scenario, on=found).save(folder)
    for name in ("summary.json", "flows.parquet", "links.parquet", "episodes.parquet"):
        assert folders[0].joinpath(name).read_bytes() == folders[1].joinpath(name).read_bytes()
    late = json.loads((folders[0] / "manifest.json").read_text())["kernel"]["late_us"]
    assert late["max"] < 10


@pytest.mark.alone
def test_each_ack_is_a_row_in_virtual_time() -> None:
    """On a real kernel: a row for each ACK that the path delivers; in slow start each adds a segment to the window."""
    try:
        found = linux_kernels.find()
        kernel.program()
    except kernel.KernelError as error:
        pytest.skip(f"{error}")
    scenario = Scenario.parse(
        'duration = "3 s"\nflow = [{ controller = "reno" }]\ntrace = { per = "event" }\ntcp = { host_noise = "0 ns" }\n'
        '[topology]\nkind = "dumbbell"\naccess = { rate = "1 Gbit/s", delay = "10 us" }\n'
        'bottleneck = { rate = "10 Mbit/s", delay = "20 ms", queue = { kind = "drop_tail", limit = "50 packets" } }\n'
    )
    real, simulated = kernel.run(scenario, on=found), run(scenario)
    assert real.flows.height == real.link("bottleneck.reverse")["delivered_packets"] > 500
    assert real.flows.height == pytest.approx(simulated.flows.height, rel=0.02)
    windows = [
        [int(window) // 1448 for window in results.flows["cwnd_bytes"].unique(maintain_order=True)[:20]]
        for results in (real, simulated)
    ]
    assert windows == [list(range(10, 30))] * 2
    assert real.flows["rtt_sample_s"][1:].null_count() == 0
    # 40.04 ms of propagation, and 10 segments of 1500 octets of which each waits for those before it.
    first = real.flows.filter(real.flows["rtt_sample_s"].is_not_null())["rtt_sample_s"][:10]
    assert first.min() == pytest.approx(0.0413, abs=2e-4)
    assert first.max() == pytest.approx(0.0413 + 9 * 0.0012, abs=2e-4)


@pytest.mark.alone
def test_a_timeout_is_a_row_in_virtual_time() -> None:
    """On a real kernel: a path that is dead for two seconds, in which RFC 6298 doubles the timeout with each expiry."""
    try:
        found = linux_kernels.find()
        kernel.program()
    except kernel.KernelError as error:
        pytest.skip(f"{error}")
    times = ('"0 s", rate = "5 Mbit/s"', '"1 s", rate = "0 bit/s"', '"3 s", rate = "5 Mbit/s"')
    schedule = ", ".join(f"{{ at = {time} }}" for time in times)
    scenario = Scenario.parse(
        'duration = "3 s"\nflow = [{ controller = "reno" }]\ntrace = { per = "event" }\n[topology]\nkind = "dumbbell"\n'
        'access = { rate = "1 Gbit/s", delay = "10 us" }\n'
        f'bottleneck = {{ rate = {{ schedule = [{schedule}] }}, delay = "20 ms" }}\n'
    )
    rows = kernel.run(scenario, on=found).flows
    rows = rows.filter((rows["time_s"] > 1.2) & (rows["time_s"] < 3))
    assert rows.height >= 2 and set(rows["cwnd_bytes"]) == {1448}
    doubled = rows["rto_s"][1:] / rows["rto_s"][:-1]
    waited = rows["time_s"].diff()[1:] / rows["rto_s"][:-1]
    assert (doubled - 2).abs().max() < 0.01
    # The kernel's wheel of timers rounds up by an eighth at most.
    assert 1 - 0.002 / 0.2 <= waited.min() <= waited.max() < 1 + 1 / 8
