"""Kills at random moments leave the old or the new, whole, and the same command then works.

`SOAK_SECONDS` makes each test go on for so long; without it there are a few kills of each, seeded.
"""

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

import ackclock
from ackclock.base import storage
from conftest import SCENARIO, command
from kills import environment, killed, rounds, run, timed

pytestmark = pytest.mark.alone


@pytest.fixture
def place(tmp_path: Path) -> Path:
    (tmp_path / "a.toml").write_text(SCENARIO)
    return tmp_path


def _age(place: Path) -> None:
    """Let what was left behind look as if it were long ago."""
    for entry in place.iterdir():
        os.utime(entry, (0, 0), follow_symlinks=False)


def _leftovers(place: Path) -> list[str]:
    return [entry.name for entry in place.iterdir() if entry.name.startswith(".")]


def test_a_run_that_is_killed(place: Path) -> None:
    took_s = timed(place, "run", "a.toml", "-o", "out", "-q")
    for draw in rounds("run"):
        shutil.rmtree(place / "out", ignore_errors=True)
        said = killed(place, draw, took_s, "run", "a.toml", "-o", "out", "-q")
        if (place / "out").exists():
            ackclock.Results.load(place / "out")
            assert "no results" not in said
        else:
            _age(place)
            assert run(place, "run", "a.toml", "-o", "out", "-q").returncode == 0
            assert _leftovers(place) == []


def test_a_run_with_force_that_is_killed(place: Path) -> None:
    took_s = timed(place, "run", "a.toml", "-o", "out", "-q")
    for draw in rounds("force"):
        seed = draw.randrange(100, 10**6)
        before = ackclock.Results.load(place / "out").summary["seed"]
        arguments = ("run", "a.toml", "-o", "out", "-q", "--force", "--seed", str(seed))
        killed(place, draw, took_s, *arguments)
        assert ackclock.Results.load(place / "out").summary["seed"] in (before, seed)
    _age(place)
    assert run(place, "run", "a.toml", "-o", "out", "-q", "--force").returncode == 0
    assert _leftovers(place) == []


def test_a_sweep_that_is_killed(place: Path) -> None:
    arguments = ("sweep", "a.toml", "--set", "seed=1..12", "-q", "-j", "2", "-o")
    took_s = timed(place, *arguments, "whole")
    for draw in rounds("sweep"):
        shutil.rmtree(place / "grid", ignore_errors=True)
        for _ in range(2):
            killed(place, draw, took_s, *arguments, "grid")
        done = run(place, *arguments, "grid")
        assert done.returncode == 0, done.stderr
        for table in ("sweep", "links", "means"):
            name = f"{table}.parquet"
            assert (place / "grid" / name).read_bytes() == (place / "whole" / name).read_bytes()


def test_a_report_that_is_killed(place: Path) -> None:
    watched = 'trace={ interval = "100 ms", flows = ["cwnd"] }'
    assert run(place, "run", "a.toml", "-o", "out", "-q", "--set", watched).returncode == 0
    took_s = timed(place, "report", "out", "-o", "page.html")
    for draw in rounds("report"):
        (place / "page.html").unlink(missing_ok=True)
        said = killed(place, draw, took_s, "report", "out", "-o", "page.html")
        if (place / "page.html").exists():
            assert (place / "page.html").read_text().rstrip().endswith("</html>") and "no results" not in said
    assert run(place, "report", "out", "-o", "page.html").returncode == 0


KEEPING = ("claims", "--folder", "mine", "--keep", "kept", "-o", "claims")


@pytest.fixture
def claimed(place: Path) -> Path:
    """A place with a folder of claims: two studies of a short run each."""
    assert run(place, "new", "claims", "mine").returncode == 0
    return place


def test_claims_that_are_killed_go_on(claimed: Path) -> None:
    place = claimed
    took_s = timed(place, *KEEPING)
    whole = (place / "claims" / "claims.json").read_bytes()
    for draw in rounds("claims"):
        shutil.rmtree(place / "kept")
        killed(place, draw, took_s, *KEEPING)
        for folder in (place / "kept").glob("[!.]*"):
            ackclock.Results.load(folder)
        done = run(place, *KEEPING)
        assert done.returncode == 0, done.stderr
        assert (place / "claims" / "claims.json").read_bytes() == whole


def test_kept_results_that_are_damaged_are_made_anew(claimed: Path) -> None:
    place = claimed
    assert run(place, *KEEPING).returncode == 0
    whole = (place / "claims" / "claims.json").read_bytes()
    one, two, *_ = [*sorted((place / "kept").glob("[!.]*")), None, None]
    assert one is not None
    (one / "summary.json").write_text("{")
    if two is not None:
        (two / storage.MANIFEST).unlink()
    done = run(place, *KEEPING)
    assert done.returncode == 0 and "simulated again" in done.stderr, done.stderr
    assert (place / "claims" / "claims.json").read_bytes() == whole
    again = run(place, *KEEPING)
    assert again.returncode == 0 and again.stderr == ""


def test_a_second_claims_in_the_folder_is_told(claimed: Path) -> None:
    place = claimed
    (place / "kept").mkdir()
    with storage.locked(place / "kept" / ".lock", "taken"):
        done = run(place, *KEEPING)
    assert done.returncode == 2 and "wait for it" in done.stderr


def test_two_runs_into_one_folder(place: Path) -> None:
    both = [
        subprocess.Popen(command("run", "a.toml", "-o", "out", "-q"), cwd=place, stderr=subprocess.PIPE, text=True)
        for _ in range(2)
    ]
    said = [process.communicate(timeout=60)[1] for process in both]
    assert 0 in [process.returncode for process in both], said
    ackclock.Results.load(place / "out")
    assert _leftovers(place) == []


def test_a_full_disk(place: Path) -> None:
    small = place / "small"
    small.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=16k", "tmpfs", str(small)], capture_output=True, check=False
    )
    if mounted.returncode != 0:
        pytest.skip(f"needs root to mount a tmpfs of 16 kB: {mounted.stderr.decode().strip()}")
    try:
        done = run(place, "run", "a.toml", "-o", "small/out", "-q", "--set", "trace.interval=1 ms")
        assert done.returncode == 1 and "no space left" in done.stderr and len(done.stderr.splitlines()) == 1
        assert list(small.iterdir()) == []
        assert run(place, "run", "a.toml", "-o", "out", "-q").returncode == 0
        done = run(place, "report", "out", "-o", "small/page.html")
        assert done.returncode == 1 and "no space left" in done.stderr and list(small.iterdir()) == []
    finally:
        subprocess.run(["umount", str(small)], check=True)


SURROUNDINGS: tuple[dict[str, str], ...] = (
    {"PYTHONHASHSEED": "1", "TZ": "Pacific/Chatham", "LC_ALL": "C", "POLARS_MAX_THREADS": "1"},
    {"PYTHONHASHSEED": "2", "TZ": "UTC", "LC_ALL": "tr_TR.UTF-8", "POLARS_MAX_THREADS": "5"},
)


def test_results_are_the_same_bytes_wherever_they_are_made(place: Path) -> None:
    found = []
    for number, surroundings in enumerate(SURROUNDINGS):
        folder = place / f"from-{number}"
        folder.mkdir()
        done = subprocess.run(
            command("run", place / "a.toml", "-o", folder / "out", "-q"),
            cwd=folder,
            env=environment(**surroundings),
            capture_output=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        manifest = json.loads((folder / "out" / storage.MANIFEST).read_text())
        found.append((manifest["scenario_hash"], manifest["written"]["sha256"]))
    assert found[0] == found[1]
