"""`ackclock new --lang rust`: its test passes, and the plug-in takes part in a run, a sweep and a report."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from conftest import Cli

ROOT = Path(__file__).parents[2]
TARGET = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))

pytestmark = pytest.mark.slow

AXES = {"controller": "flow.mine.controller.beta=[0.5, 0.9]", "queue": "topology.bottleneck.queue.threshold=[10, 90]"}


AS_OURS = {"CARGO_PROFILE_DEV_OPT_LEVEL": "0", "CARGO_PROFILE_DEV_DEBUG": "line-tables-only"}
"""The crates are built as for the example's tests, so that what is built for these serves here."""


@pytest.mark.parametrize("kind", ["controller", "queue"])
def test_a_plug_in_builds_and_takes_part(cli: Cli, tmp_path: Path, kind: str) -> None:
    begun = tmp_path / "begun"
    done = cli("new", kind, f"own_{kind}", "--lang", "rust", "-o", begun)
    assert done.returncode == 0, done.stderr
    shutil.copy(ROOT / "Cargo.lock", begun)  # the versions that are built already
    for work in ("test", "build"):
        command = ["cargo", work, "--quiet", "--target-dir", TARGET]
        subprocess.run(command, cwd=begun, env=os.environ | AS_OURS, check=True, timeout=400)
    scenario = begun / "scenario.toml"
    scenario.write_text(scenario.read_text().replace("target/release", f"{TARGET}/debug"))
    short = [scenario, "--set", "duration=6 s"]
    done = cli("run", *short, "--trust", "-o", tmp_path / "run", "--events", "all")
    assert done.returncode == 0, done.stderr
    done = cli("sweep", *short, "--trust", "--set", AXES[kind], "-o", tmp_path / "sweep")
    assert done.returncode == 0, done.stderr
    done = cli("report", tmp_path / "run", "-o", tmp_path / "report.html")
    assert done.returncode == 0 and f"own_{kind}" in (tmp_path / "run" / "manifest.json").read_text(), done.stderr
