"""Fixtures that the tests share: a small scenario, its results, and the command line as a user meets it."""

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import hypothesis
import pytest

import ackclock
import command_line
from ackclock.base import study_files
from ackclock.claims import Finding, Folder, Laboratory, judge, locations
from networks import dumbbell

pytest.register_assert_rewrite("verdicts")

if study_files.folder() is not None:
    locations.make_importable()

# A loaded machine takes its time over an example, and what passes here passes elsewhere.
hypothesis.settings.register_profile(
    "ackclock", deadline=None, derandomize=True, suppress_health_check=[hypothesis.HealthCheck.too_slow]
)
hypothesis.settings.load_profile("ackclock")

# A shell starts what is to run in the background with Ctrl-C ignored, which processes inherit; tests send it to theirs.
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

SCENARIO = f"""\
name = "two flows"
duration = "2 s"
seed = 7

{dumbbell('rate = "10 Mbit/s", delay = "10 ms"', rate="100 Mbit/s", limit="20 packets")}
[[flow]]
name = "new"
controller = "cubic"

[[flow]]
name = "old"
controller = "reno"
start = "100 ms"
"""

Cli = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def scenario_file(tmp_path: Path) -> Path:
    path = tmp_path / "two.toml"
    path.write_text(SCENARIO)
    return path


@pytest.fixture(scope="session")
def results() -> ackclock.Results:
    return ackclock.run(ackclock.Scenario.parse(SCENARIO))


@pytest.fixture
def cli(tmp_path: Path) -> Cli:
    """Run `ackclock ARGUMENT...` in a folder of its own and return exit code and output.

    A fresh interpreter runs it if options of `subprocess.run` are given.
    """

    def run(*arguments: object, **options: object) -> subprocess.CompletedProcess[str]:
        if not options:
            return command_line.run(list(map(str, arguments)), tmp_path)
        return subprocess.run(
            command(*arguments), cwd=tmp_path, capture_output=True, text=True, check=False, timeout=120, **options
        )

    return run


def wait_until(holds: Callable[[], bool], what: str) -> None:
    """Wait until something holds, on a loaded machine, too."""
    limit = time.monotonic() + 120
    while not holds():
        assert time.monotonic() < limit, f"{what}: not within two minutes"
        time.sleep(0.01)


def wait_for_handler(pid: int) -> None:
    """Wait until a process of ackclock's command line handles SIGTERM, which Python itself leaves to the system."""

    def handles() -> bool:
        caught = re.search(r"SigCgt:\s*(\w+)", Path(f"/proc/{pid}/status").read_text())
        return caught is not None and bool(int(caught[1], 16) >> (signal.SIGTERM - 1) & 1)

    wait_until(handles, "signals are handled")


def command(*arguments: object) -> list[str]:
    return [sys.executable, "-m", "ackclock", *map(str, arguments)]


@pytest.fixture(autouse=True)
def _plain_output(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither colours nor the width of whoever runs the tests change what is printed."""
    for name in ("FORCE_COLOR", "COLUMNS", "ACKCLOCK_DEBUG", "TTY_COMPATIBLE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PYTHONUNBUFFERED", os.environ.get("PYTHONUNBUFFERED", ""))


@pytest.fixture(scope="module")
def laboratory() -> Laboratory:
    """Two seeds of each claim: a record that rests on more decides, and begins with theirs."""
    return Laboratory(seeds=2)


@pytest.fixture(scope="module")
def findings(folder: Folder, laboratory: Laboratory) -> list[Finding]:
    """Findings of the study that the fixture `folder` of a file names, simulated once for the file."""
    return judge(folder.claims, laboratory, folder.recorded)
