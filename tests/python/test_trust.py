"""Code that a scenario brings runs only if the user says so."""

import os
import pty
import subprocess
from pathlib import Path

import pytest

import ackclock
from ackclock._core import Simulation
from ackclock.experiments.grid import point_of
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


DRAWN = {
    "use": 'use = { choice = [["evil.py"]] }\n',
    "an entry of use": 'use = [{ choice = ["evil.py"] }]\n',
    "the whole scenario": "choice = [{ use = ['evil.py'], duration = '2 s' }]\n",
}
"""Every seed draws the code: docs/explanation/security.md asks before any of it runs."""


@pytest.mark.parametrize("drawn", DRAWN.values(), ids=DRAWN)
@pytest.mark.parametrize("arguments", [("run",), ("sweep", "-o", "grid", "--set", "seed=1..2"), ("validate",)])
def test_no_draw_of_a_module_runs_it_unasked(
    cli: Cli, using: Path, tmp_path: Path, drawn: str, arguments: tuple[str, ...]
) -> None:
    rest = "" if drawn.startswith("choice") else SCENARIO
    using.write_text(drawn + rest)
    done = cli(arguments[0], using, *arguments[1:], stdin=subprocess.DEVNULL)
    assert done.returncode == 2 and "Traceback" not in done.stderr
    assert not (tmp_path / "ran").exists()
    assert "must not" in done.stderr if arguments[0] == "validate" else "evil.py" in done.stderr


CONTROLLERS = {
    "a choice": '{ choice = ["cubic", "python:evil:Mine"] }',
    "a choice within a choice": '{ choice = ["cubic", { choice = ["reno", "python:evil:Mine"] }] }',
    "the class": '{ kind = "python", class = { choice = ["evil:Mine"] } }',
}


@pytest.mark.parametrize("controller", CONTROLLERS.values(), ids=CONTROLLERS)
@pytest.mark.parametrize("seed", [1, 4])
def test_a_class_that_a_seed_may_draw_is_asked_about_whatever_it_draws(
    cli: Cli, evil: Path, tmp_path: Path, controller: str, seed: int
) -> None:
    evil.write_text(SCENARIO.replace('"reno"', controller))
    done = cli("run", evil, "--seed", str(seed), stdin=subprocess.DEVNULL)
    assert done.returncode == 2 and "--trust" in done.stderr and "evil.py" in done.stderr
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize(
    "override", ['use=[{ choice = ["evil.py"] }]', 'flow[0].controller={ choice = ["python:evil:Mine"] }']
)
def test_code_in_an_override_is_asked_about(cli: Cli, evil: Path, tmp_path: Path, override: str) -> None:
    evil.write_text(SCENARIO)
    done = cli("run", evil, "--set", override, stdin=subprocess.DEVNULL)
    assert done.returncode == 2 and "--trust" in done.stderr and not (tmp_path / "ran").exists()


STUDIES = {
    "set": 'controllers = ["cubic"]\n[set]\n"flow[0].controller" = [{ choice = ["reno", "python:evil:Mine"] }]\n',
    "controllers": ('controllers = [{ controller = { choice = ["reno", "python:evil:Mine"] }, label = "d" }]\n'),
    "use": 'controllers = ["cubic"]\n[set]\nuse = [{ choice = [["evil.py"]] }]\n',
    "nested deeply": 'controllers = ["cubic"]\n[set]\n"tcp.mss" = '
    + "[" * 150
    + '"python:evil:Mine"'
    + "]" * 150
    + "\n",
}


@pytest.mark.parametrize("study", STUDIES.values(), ids=STUDIES)
def test_no_study_runs_drawn_code_unasked(cli: Cli, evil: Path, tmp_path: Path, study: str) -> None:
    file = tmp_path / "study.toml"
    file.write_text(f'seeds = 2\nduration = "1 s"\n{study}')
    done = cli("study", file, "-o", "out", stdin=subprocess.DEVNULL)
    assert done.returncode == 2 and "Traceback" not in done.stderr, done.stderr
    assert not (tmp_path / "ran").exists()


def test_a_scenario_read_without_imports_never_imports(evil: Path, tmp_path: Path) -> None:
    """Whatever is drawn later, and whoever asks: the core itself refuses."""
    evil.write_text(SCENARIO.replace('"reno"', CONTROLLERS["a choice"]))
    looked_at = ackclock.Scenario.load(evil, imports=False)
    for seed in range(8):
        drawn = looked_at.draw(seed)
        if drawn.python_classes:
            for use in (ackclock.run, Simulation, point_of_one):
                with pytest.raises(RuntimeError, match="imports=True"):
                    use(drawn)
    assert not (tmp_path / "ran").exists()


def point_of_one(scenario: ackclock.Scenario) -> object:
    """Return the point of a scenario as a sweep makes it."""
    return point_of({}, scenario)
