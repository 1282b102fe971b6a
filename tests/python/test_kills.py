"""Kills at random moments leave the old or the new, whole, and the same command then works.

`SOAK_SECONDS` makes each test go on for so long; without it there are a few kills of each, seeded.
"""

import json
import os
import random
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import ackclock
from ackclock import storage
from conftest import SCENARIO, command

pytestmark = pytest.mark.alone

SOAK_SECONDS = float(os.environ.get("SOAK_SECONDS", "0"))
SEED = int(os.environ.get("SOAK_SEED", "1"))
KILLS = 3
SIGNALS = (signal.SIGKILL, signal.SIGTERM, signal.SIGINT)


def _rounds(name: str) -> Iterator[random.Random]:
    """A generator for each round: the first few, or as many as there is time for."""
    end = time.monotonic() + SOAK_SECONDS
    count = 0
    while count < KILLS or time.monotonic() < end:
        yield random.Random(f"{SEED} {name} {count}")
        count += 1


@pytest.fixture
def place(tmp_path: Path) -> Path:
    (tmp_path / "a.toml").write_text(SCENARIO)
    return tmp_path


def _run(place: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command(*arguments), cwd=place, capture_output=True, text=True, check=False, timeout=120, env=_environment()
    )


def _environment(**more: str) -> dict[str, str]:
    return {**os.environ, "PYTHONUNBUFFERED": "1", **more}


def _killed(place: Path, draw: random.Random, took_s: float, *arguments: str) -> str:
    """Run a command, and kill it at any moment of the time that it takes; return what it said."""
    process = subprocess.Popen(
        command(*arguments), cwd=place, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, env=_environment()
    )
    time.sleep(draw.uniform(0.2, 1.1) * took_s)
    process.send_signal(draw.choice(SIGNALS))
    said = process.communicate(timeout=60)[1]
    assert process.returncode in (0, 130, -signal.SIGKILL, -signal.SIGTERM, -signal.SIGINT), said
    return said


def _timed(place: Path, *arguments: str) -> float:
    begun = time.monotonic()
    done = _run(place, *arguments)
    assert done.returncode == 0, done.stderr
    return time.monotonic() - begun


def _age(place: Path) -> None:
    """Let what was left behind look as if it were long ago."""
    for entry in place.iterdir():
        os.utime(entry, (0, 0), follow_symlinks=False)


def _leftovers(place: Path) -> list[str]:
    return [entry.name for entry in place.iterdir() if entry.name.startswith(".")]


def test_a_run_that_is_killed(place: Path) -> None:
    took_s = _timed(place, "run", "a.toml", "-o", "out", "-q")
    for draw in _rounds("run"):
        shutil.rmtree(place / "out", ignore_errors=True)
        said = _killed(place, draw, took_s, "run", "a.toml", "-o", "out", "-q")
        if (place / "out").exists():
            ackclock.Results.load(place / "out")
            assert "no results" not in said
        else:
            _age(place)
            assert _run(place, "run", "a.toml", "-o", "out", "-q").returncode == 0
            assert _leftovers(place) == []


def test_a_run_with_force_that_is_killed(place: Path) -> None:
    took_s = _timed(place, "run", "a.toml", "-o", "out", "-q")
    for draw in _rounds("force"):
        seed = draw.randrange(100, 10**6)
        before = ackclock.Results.load(place / "out").summary["seed"]
        arguments = ("run", "a.toml", "-o", "out", "-q", "--force", "--seed", str(seed))
        _killed(place, draw, took_s, *arguments)
        assert ackclock.Results.load(place / "out").summary["seed"] in (before, seed)
    _age(place)
    assert _run(place, "run", "a.toml", "-o", "out", "-q", "--force").returncode == 0
    assert _leftovers(place) == []


def test_a_sweep_that_is_killed(place: Path) -> None:
    arguments = ("sweep", "a.toml", "--set", "seed=1..12", "-q", "-j", "2", "-o")
    took_s = _timed(place, *arguments, "whole")
    for draw in _rounds("sweep"):
        shutil.rmtree(place / "grid", ignore_errors=True)
        for _ in range(2):
            _killed(place, draw, took_s, *arguments, "grid")
        done = _run(place, *arguments, "grid")
        assert done.returncode == 0, done.stderr
        for table in ("sweep", "links", "means"):
            name = f"{table}.parquet"
            assert (place / "grid" / name).read_bytes() == (place / "whole" / name).read_bytes()


def test_a_report_that_is_killed(place: Path) -> None:
    watched = 'trace={ interval = "100 ms", flows = ["cwnd"] }'
    assert _run(place, "run", "a.toml", "-o", "out", "-q", "--set", watched).returncode == 0
    took_s = _timed(place, "report", "out", "-o", "page.html")
    for draw in _rounds("report"):
        (place / "page.html").unlink(missing_ok=True)
        said = _killed(place, draw, took_s, "report", "out", "-o", "page.html")
        if (place / "page.html").exists():
            assert (place / "page.html").read_text().rstrip().endswith("</html>") and "no results" not in said
    assert _run(place, "report", "out", "-o", "page.html").returncode == 0


KEEPING = ("claims", "--folder", "mine", "--keep", "kept", "-o", "claims")


@pytest.fixture
def claimed(place: Path) -> Path:
    """With a folder of claims: two studies of a short run each."""
    assert _run(place, "new", "claims", "mine").returncode == 0
    return place


def test_claims_that_are_killed_go_on(claimed: Path) -> None:
    place = claimed
    took_s = _timed(place, *KEEPING)
    whole = (place / "claims" / "claims.json").read_bytes()
    for draw in _rounds("claims"):
        shutil.rmtree(place / "kept")
        _killed(place, draw, took_s, *KEEPING)
        for folder in (place / "kept").glob("[!.]*"):
            ackclock.Results.load(folder)
        done = _run(place, *KEEPING)
        assert done.returncode == 0, done.stderr
        assert (place / "claims" / "claims.json").read_bytes() == whole


def test_kept_results_that_are_damaged_are_made_anew(claimed: Path) -> None:
    place = claimed
    assert _run(place, *KEEPING).returncode == 0
    whole = (place / "claims" / "claims.json").read_bytes()
    one, two, *_ = [*sorted((place / "kept").glob("[!.]*")), None, None]
    assert one is not None
    (one / "summary.json").write_text("{")
    if two is not None:
        (two / storage.MANIFEST).unlink()
    done = _run(place, *KEEPING)
    assert done.returncode == 0 and "simulated again" in done.stderr, done.stderr
    assert (place / "claims" / "claims.json").read_bytes() == whole
    again = _run(place, *KEEPING)
    assert again.returncode == 0 and again.stderr == ""


def test_a_second_claims_in_the_folder_is_told(claimed: Path) -> None:
    place = claimed
    (place / "kept").mkdir()
    with storage.locked(place / "kept" / ".lock", "taken"):
        done = _run(place, *KEEPING)
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
        pytest.skip("a small file system cannot be mounted here; run it as root")
    try:
        done = _run(place, "run", "a.toml", "-o", "small/out", "-q", "--set", "trace.interval=1 ms")
        assert done.returncode == 1 and "no space left" in done.stderr and len(done.stderr.splitlines()) == 1
        assert list(small.iterdir()) == []
        assert _run(place, "run", "a.toml", "-o", "out", "-q").returncode == 0
        done = _run(place, "report", "out", "-o", "small/page.html")
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
            env=_environment(**surroundings),
            capture_output=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        manifest = json.loads((folder / "out" / storage.MANIFEST).read_text())
        found.append((manifest["scenario_hash"], manifest["written"]["sha256"]))
    assert found[0] == found[1]
