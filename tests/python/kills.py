"""Commands that are killed at random moments."""

import os
import random
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

from conftest import command, wait_for_handler

SOAK_SECONDS = float(os.environ.get("SOAK_SECONDS", "0"))
SEED = int(os.environ.get("SOAK_SEED", "1"))
KILLS = 3
SIGNALS = (signal.SIGKILL, signal.SIGTERM, signal.SIGINT)


def rounds(name: str) -> Iterator[random.Random]:
    """A generator for each round: the first few, or as many as there is time for."""
    end = time.monotonic() + SOAK_SECONDS
    count = 0
    while count < KILLS or time.monotonic() < end:
        yield random.Random(f"{SEED} {name} {count}")
        count += 1


def run(place: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run a command to its end."""
    return subprocess.run(
        command(*arguments), cwd=place, capture_output=True, text=True, check=False, timeout=120, env=environment()
    )


def environment(**more: str) -> dict[str, str]:
    """The environment of a command."""
    return {**os.environ, "PYTHONUNBUFFERED": "1", **more}


def killed(place: Path, draw: random.Random, took_s: float, *arguments: str) -> str:
    """Run a command, and kill it at any moment of the time that it takes; return what it said."""
    process = subprocess.Popen(
        command(*arguments), cwd=place, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, env=environment()
    )
    wait_for_handler(process.pid)
    time.sleep(draw.uniform(0.0, 1.1) * took_s)
    process.send_signal(draw.choice(SIGNALS))
    said = process.communicate(timeout=60)[1]
    assert process.returncode in (0, 130, -signal.SIGKILL, -signal.SIGTERM, -signal.SIGINT), said
    return said


def timed(place: Path, *arguments: str) -> float:
    """Run a command that has to work, and return the seconds that it took."""
    begun = time.monotonic()
    done = run(place, *arguments)
    assert done.returncode == 0, done.stderr
    return time.monotonic() - begun
