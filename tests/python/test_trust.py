"""What a scenario brings of code runs only if the user says so."""

import os
import pty
import subprocess
from pathlib import Path

import pytest

from conftest import SCENARIO, Cli, command

TRACE = "from pathlib import Path\nPath('ran').write_text('')\n"


@pytest.fixture
def evil(tmp_path: Path) -> Path:
    """A scenario whose module leaves a trace when it is imported."""
    (tmp_path / "evil.py").write_text(
        f"{TRACE}from ackclock import CongestionController\nclass Mine(CongestionController):\n"
        "    def on_ack(self, ack): pass\n    def on_congestion(self, event): pass\n"
    )
    file = tmp_path / "evil.toml"
    file.write_text(SCENARIO.replace('"reno"', '"python:evil:Mine"'))
    return file


@pytest.fixture
def using(tmp_path: Path) -> Path:
    """One that brings a module by `use`, with a name that no reader but TOML's knows for it."""
    (tmp_path / "evil.py").write_text(
        f"{TRACE}from ackclock.parts import LinkEffect\nclass Mine(LinkEffect, name='mine'):\n"
        "    def on_packet(self, now_ns, packet): return None\n"
    )
    file = tmp_path / "using.toml"
    file.write_text(f'"\\u0075se" = ["evil.py"]\n{SCENARIO}')
    return file


@pytest.mark.parametrize("which", ["evil", "using"])
@pytest.mark.parametrize(
    "arguments", [("run",), ("sweep", "-o", "grid", "--set", "seed=1..2"), ("validate",), ("run", "--json")]
)
def test_no_command_runs_code_unasked(
    cli: Cli, tmp_path: Path, request: pytest.FixtureRequest, which: str, arguments: tuple[str, ...]
) -> None:
    file = request.getfixturevalue(which)
    done = cli(arguments[0], file, *arguments[1:], stdin=subprocess.DEVNULL)
    assert not (tmp_path / "ran").exists()
    if arguments[0] == "validate":
        assert done.returncode == (0 if which == "evil" else 2) and "evil.py" in done.stdout + done.stderr
    else:
        assert done.returncode == 2 and "evil.py" in done.stderr and "--trust" in done.stderr
        assert len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize("which", ["evil", "using"])
def test_trust_runs_it(cli: Cli, tmp_path: Path, request: pytest.FixtureRequest, which: str) -> None:
    done = cli("run", request.getfixturevalue(which), "--trust")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "ran").exists()


@pytest.mark.parametrize(("answer", "runs"), [(b"y\n", True), (b"n\n", False)])
def test_a_terminal_is_asked(evil: Path, tmp_path: Path, answer: bytes, runs: bool) -> None:
    ours, theirs = pty.openpty()
    process = subprocess.Popen(command("run", evil), cwd=tmp_path, stdin=theirs, stdout=theirs, stderr=theirs)
    os.close(theirs)
    os.write(ours, answer)
    said = b""
    while True:
        try:
            more = os.read(ours, 4096)
        except OSError:  # what Linux says once the other side is closed
            break
        if not more:
            break
        said += more
    assert process.wait(60) == (0 if runs else 2)
    assert b"evil.py" in said and (tmp_path / "ran").exists() == runs
    os.close(ours)


def test_what_names_no_code_is_not_asked_about(cli: Cli, scenario_file: Path) -> None:
    assert cli("run", scenario_file, stdin=subprocess.DEVNULL).returncode == 0


def test_a_mistake_is_told_without_running_the_rest(cli: Cli, evil: Path, tmp_path: Path) -> None:
    evil.write_text(evil.read_text().replace('"2 s"', '"2 x"'))
    done = cli("run", evil)
    assert done.returncode == 2 and "1 mistake" in done.stderr and not (tmp_path / "ran").exists()
