"""What a terminal shows while a command is at work."""

import os
import pty
import subprocess
import sys
import time
from pathlib import Path

from ackclock.cli.check import _LARGE_BYTES

FLOW = '[[flow]]\nname = "flow number {}"\ncontroller = "cubic"\n'
REST = """duration = "1 s"
[topology]
kind = "dumbbell"
access = { rate = "10 Gbit/s", delay = "1 ms" }
bottleneck = { rate = "1 Gbit/s", delay = "10 ms", queue = { kind = "drop_tail", limit = "1 bdp" } }
"""


def _shown(*arguments: str, folder: Path) -> list[tuple[float, bytes]]:
    """What appears on a terminal, part by part, each with when it did."""
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "ackclock", *arguments]
    parts = []
    with subprocess.Popen(command, cwd=folder, stdin=theirs, stdout=theirs, stderr=theirs) as process:
        os.close(theirs)
        try:
            while part := os.read(ours, 4096):
                parts.append((time.perf_counter(), part))
        except OSError:  # how Linux says that nobody writes any more
            pass
        finally:
            os.close(ours)
    assert process.returncode == 0, parts
    return parts


def test_a_large_scenario_is_said_to_be_checked_before_it_is(tmp_path: Path) -> None:
    flows = "".join(FLOW.format(number) for number in range(_LARGE_BYTES // len(FLOW) + 1))
    (tmp_path / "large.toml").write_text(REST + flows)
    parts = _shown("validate", "large.toml", folder=tmp_path)
    told, done = (
        next(moment for moment, part in parts if said in part) for said in (b"checking large.toml", b"large.toml: ok")
    )
    assert done - told > 0.1, "where it was drawn late, it was a millisecond"


def test_a_small_one_is_checked_and_nothing_else_is_said(tmp_path: Path) -> None:
    (tmp_path / "small.toml").write_text(REST + FLOW.format(1))
    assert b"checking" not in b"".join(part for _, part in _shown("validate", "small.toml", folder=tmp_path))
