"""`ackclock new`: what it writes works at once."""

import subprocess
import sys
from pathlib import Path

import pytest

from conftest import Cli


def _begin(cli: Cli, folder: Path, *arguments: str) -> Path:
    target = folder / "begun"
    done = cli("new", *arguments, "-o", target)
    assert done.returncode == 0, done.stderr
    return target


@pytest.mark.parametrize("kind", ["controller", "queue", "claims"])
def test_its_test_passes_at_once(cli: Cli, tmp_path: Path, kind: str) -> None:
    target = _begin(cli, tmp_path, kind, "my_thing")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "."]
    done = subprocess.run(command, cwd=target, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "2 passed" in done.stdout or (kind == "claims" and "1 passed" in done.stdout)


def test_its_scenario_runs_and_its_claims_are_judged(cli: Cli, tmp_path: Path) -> None:
    part = _begin(cli, tmp_path, "queue", "my_queue")
    done = cli("run", part / "scenario.toml", "--trust", "--set", "duration=2 s", "-o", tmp_path / "out")
    assert done.returncode == 0, done.stderr
    done = cli("new", "claims", "mine", "-o", tmp_path / "claims")
    assert done.returncode == 0, done.stderr
    done = cli("claims", "--folder", tmp_path / "claims", "-o", tmp_path / "page")
    assert done.returncode == 0 and "Mine1" in done.stdout and "agrees" in done.stdout, done.stderr


def test_a_controller_comes_with_a_study(cli: Cli, tmp_path: Path) -> None:
    target = _begin(cli, tmp_path, "controller", "mine")
    done = cli("study", target / "study.toml", "--check")
    # Three alone, three beside themselves, three pairs; three seeds, two round trips.
    assert done.returncode == 0 and "54 runs" in done.stdout, done.stderr


def test_a_study_is_one_at_once(cli: Cli, tmp_path: Path) -> None:
    target = _begin(cli, tmp_path, "study", "mine")
    done = cli("study", target / "mine.toml", "--check")
    assert done.returncode == 0 and "30 runs" in done.stdout, done.stderr  # one pair, six paths, five seeds
    done = cli("new", "study", "mine", "--lang", "rust", "-o", tmp_path / "x")
    assert done.returncode == 2 and "leave it out" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("queue", "Not this"), "is not a name"),
        (("queue", "codel"), "is a built-in queue"),
        (("queue", "random"), "is a module of Python's standard library"),
    ],
)
def test_names_that_will_not_do(cli: Cli, tmp_path: Path, arguments: tuple[str, ...], message: str) -> None:
    done = cli("new", *arguments, "-o", tmp_path / "x")
    assert done.returncode == 2 and message in " ".join(done.stderr.split())


def test_nothing_is_overwritten(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("kept")
    done = cli("new", "queue", "mine", "-o", tmp_path)
    assert done.returncode == 2 and "exists already" in done.stderr


def test_a_plug_in_of_a_clone_builds_on_the_clones_crate(cli: Cli, tmp_path: Path) -> None:
    crate = Path(__file__).parents[2] / "crates" / "plugin"
    manifest = (_begin(cli, tmp_path, "queue", "mine", "--lang", "rust") / "Cargo.toml").read_text()
    assert f'ackclock-plugin = {{ path = "{crate.as_posix()}" }}' in manifest
