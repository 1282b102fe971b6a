"""Ctrl-C and SIGTERM are heard at any moment, and a fault of the core is told in a line."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import ackclock
from ackclock.cli import failures
from conftest import wait_for_handler
from networks import dumbbell

HEARD_WITHIN_S = 60
"""Each of these would go on for hours; how fast a machine is with other work is not asked."""

FLOW = '[[flow]]\ncontroller = "cubic"\n'
LONG = f"""duration = "8784 h"
{FLOW}
{dumbbell('rate = "10 Gbit/s", delay = "10 ms"', rate="40 Gbit/s", limit="1 bdp")}
"""
OUTAGES = LONG.replace(
    'rate = "10 Gbit/s"', 'rate = "1 bit/s", handover = { period = "2 ns", outage = "1 ns" }'
).replace('"1 bdp"', '"20 packets"')
STEPS = LONG.replace(
    'rate = "10 Gbit/s"',
    'rate = { schedule = [{ rate = "1 bit/s" }, { at = "1 ns", rate = "0 bit/s" }], repeat = "2 ns" }',
).replace('"1 bdp"', '"20 packets"')
MANY = (
    LONG.replace(FLOW, 3 * f"{FLOW}count = 10000\n").replace('"8784 h"', '"1 h"') + "[trace]\nflows = []\nlinks = []\n"
)


@contextmanager
def started(command: list[str], folder: Path) -> Iterator[subprocess.Popen[str]]:
    with subprocess.Popen(command, cwd=folder, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield process
        finally:
            process.kill()


def ended_by(process: subprocess.Popen[str], number: int) -> str:
    """Return the standard error of a process that a signal ends."""
    assert process.poll() is None
    process.send_signal(number)
    return process.communicate(timeout=HEARD_WITHIN_S)[1]


def command_of(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "ackclock", *arguments]


@pytest.mark.alone
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize(
    ("text", "arguments"),
    [
        (LONG, ["run"]),
        (LONG, ["run", "--threads", "2"]),
        (STEPS, ["run"]),
        (MANY, ["run"]),
        (LONG, ["sweep", "--set", "seed=1..6"]),
    ],
    ids=["long", "threads", "steps", "many-flows", "sweep"],
)
def test_a_signal_is_heard_at_any_moment(text: str, arguments: list[str], number: int, tmp_path: Path) -> None:
    (tmp_path / "s.toml").write_text(text)
    command, *options = arguments
    for moment_s in (0.8, 2.1):
        with started(command_of(command, "s.toml", *options, "-o", "out"), tmp_path) as process:
            wait_for_handler(process.pid)
            time.sleep(moment_s)
            assert "interrupted" in ended_by(process, number)
            assert process.returncode == 130
    left = {path.name for path in tmp_path.iterdir()}
    assert left <= {"s.toml", "out"}
    assert command == "sweep" or "out" not in left


def test_a_day_of_outages_of_a_nanosecond_takes_no_time(tmp_path: Path) -> None:
    (tmp_path / "s.toml").write_text(OUTAGES)
    subprocess.run(command_of("run", "s.toml"), cwd=tmp_path, check=True, timeout=120, stdout=subprocess.DEVNULL)


GYM = """
import sys, time, ackclock
from ackclock import gym
environment = {make}
print("ready", flush=True)
environment.reset(seed=1)
while True:
    environment.step(environment.action_space.sample())
"""


@pytest.mark.alone
def test_an_environment_hears_it_within_a_step(tmp_path: Path) -> None:
    (tmp_path / "s.toml").write_text(STEPS)
    for make in ('gym.FlowEnv("s.toml")', 'gym.VectorFlowEnv("s.toml", num_envs=2, threads=2)'):
        with started([sys.executable, "-c", GYM.format(make=make)], tmp_path) as process:
            assert process.stdout is not None and process.stdout.readline() == "ready\n"
            time.sleep(1.0)
            ended_by(process, signal.SIGINT)
            assert process.returncode == -signal.SIGINT  # as Python itself ends


def test_exit_code_of_a_wrong_input_whose_reader_has_gone(tmp_path: Path) -> None:
    (tmp_path / "bad.toml").write_text("nothing = 1\n")
    read, write = os.pipe()
    os.close(read)
    ended = subprocess.run(command_of("validate", "bad.toml"), cwd=tmp_path, stderr=write, check=False)
    os.close(write)
    assert ended.returncode == 2


class PanicException(BaseException):
    pass


def test_a_signal_amid_the_making_of_a_class_is_a_signal(capfd: pytest.CaptureFixture[str]) -> None:
    """A signal may come while a package is loaded: Python makes a RuntimeError of what comes in `__set_name__`."""

    class Field:
        def __set_name__(self, _owner: type, _name: str) -> None:
            raise KeyboardInterrupt

    def make() -> None:
        type("Owner", (), {"field": Field()})

    assert failures.guarded(make) == failures.INTERRUPTED
    assert "interrupted" in capfd.readouterr().err


@pytest.mark.parametrize(
    ("count", "told"), [(0, "no results were written"), (2, "written: kept/0, kept/1"), (420, "written: 420 in kept")]
)
def test_what_an_interrupted_command_has_written_is_a_line(
    count: int, told: str, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(failures.storage, "placed", [Path("kept") / str(number) for number in range(count)])
    monkeypatch.setattr(sys, "argv", ["ackclock", "claims"])

    def stop() -> None:
        raise KeyboardInterrupt

    assert failures.guarded(stop) == failures.INTERRUPTED
    assert capfd.readouterr().err == f"interrupted; {told}\n"


def test_a_fault_of_the_core_is_a_line_that_says_what_to_send(capfd: pytest.CaptureFixture[str]) -> None:
    def fail() -> None:
        raise PanicException("attempt to divide by zero")

    assert failures.guarded(fail) == failures.FAILED
    lines = capfd.readouterr().err.splitlines()
    assert len(lines) == 1
    for part in ("fault of ackclock", "divide by zero", "send us", "seed", ackclock.__version__):
        assert part in lines[0]


def test_a_signal_while_the_command_line_loads_is_told_in_a_line(tmp_path: Path) -> None:
    """The core is what loads first; here it sends the signal itself, so that no clock decides when."""
    package = tmp_path / "ackclock"
    package.mkdir()
    real = Path(ackclock.__file__).parent
    for name in ("__init__.py", "base/__init__.py", "base/early_signals.py", "face.py", "__main__.py"):
        (package / name).parent.mkdir(exist_ok=True)
        (package / name).write_bytes((real / name).read_bytes())
    (package / "_core.py").write_text("import os, signal\nos.kill(os.getpid(), signal.SIGINT)\n")
    environment = os.environ | {"PYTHONPATH": str(tmp_path)}
    done = subprocess.run(command_of("--version"), env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (130, "interrupted; no results were written\n")


DEAF = f"""\
import signal, threading, time
from ackclock._core import Scenario
from ackclock.experiments.backends import local, run_point
from ackclock.experiments.grid import point_of

def work(scenario, folder, on):
    time.sleep(0.5)  # the main thread waits for this one
    signal.pthread_kill(threading.get_ident(), signal.SIGINT)
    return run_point(scenario, folder)

if __name__ == "__main__":
    scenario = Scenario.parse('''trace = false\n{LONG}''')
    try:
        list(local([point_of({{"seed": 1}}, scenario)], jobs=1, work=work))
    except KeyboardInterrupt:
        print("heard")
"""


def test_a_signal_that_another_thread_got_is_heard(tmp_path: Path) -> None:
    """docs.python.org, signal: handlers run in the main thread, whichever got it; that one sleeps, and is not woken.

    So it is too for a signal that comes just before the main thread falls asleep.
    """
    (tmp_path / "deaf.py").write_text(DEAF)
    command = [sys.executable, "deaf.py"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=60)
    assert done.stdout == "heard\n", done.stderr
