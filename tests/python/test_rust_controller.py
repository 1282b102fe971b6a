"""The example of a custom controller in Rust: a program outside the workspace, built and run here."""

import json
import math
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from networks import ten_over_random_loss

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "crates" / "ackclock" / "examples" / "rust-controller"

ALONE = ten_over_random_loss("70 s", '{ kind = "external", name = "sqrt" }')


pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def program() -> Path:
    """Build the example as its own tests are built, into the project's target folder, which holds most of it."""
    target = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
    manifest = EXAMPLE / "Cargo.toml"
    build = ["cargo", "build", "--quiet", "--locked", "--manifest-path", manifest, "--target-dir", target]
    subprocess.run(build, env=os.environ | {"CARGO_PROFILE_DEV_OPT_LEVEL": "0"}, check=True, timeout=280)
    return target / "debug" / "rust-controller"


def _run(program: Path, *arguments: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run([program, *map(str, arguments)], capture_output=True, text=True, check=False, timeout=120)


def _summary(program: Path, *arguments: object) -> dict[str, Any]:
    done = _run(program, *arguments)
    assert done.returncode == 0, done.stderr
    summary: dict[str, Any] = json.loads(done.stdout)
    return summary


def test_the_program_runs_a_scenario_with_its_controller(program: Path) -> None:
    mine, reno = _summary(program, EXAMPLE / "scenario.toml", "duration=10 s")["flows"]
    assert (mine["controller"], reno["controller"]) == ("sqrt", "reno")
    assert mine["delivered_bytes"] > 1_000_000 and mine["fast_recoveries"] > 0


def test_sqrt_has_the_throughput_of_its_law(program: Path, tmp_path: Path) -> None:
    # A round trip brings the window alpha / sqrt(w), a loss takes beta * sqrt(w): between losses lie (beta / alpha) w
    # round trips of w segments, 1/p in all, so w = sqrt(alpha / (beta p)) (Bansal and Balakrishnan 2001): 20 at 1/400.
    (tmp_path / "alone.toml").write_text(ALONE)
    flows = _summary(program, tmp_path / "alone.toml")["flows"]
    goodput_bps = sum(flow["goodput_bps"] for flow in flows) / len(flows)
    # Recovery is one of the 20 round trips between losses, and only whole segments leave (half of one in 20).
    assert goodput_bps == pytest.approx(math.sqrt(1 / 0.0025) * 1448 * 8 / 0.050, rel=0.12)


@pytest.mark.parametrize(
    ("override", "field", "remedy"),
    [
        ('flow.mine.controller.name="cube"', "flow[0].controller.name", 'use name = "sqrt"'),
        ("flow.mine.controller.parameters.gamma=1", "flow[0].controller.parameters", "use alpha and beta"),
        ("flow.mine.controller.parameters.alpha=-1", "flow[0].controller.parameters", "alpha = 1.0"),
    ],
)
def test_the_programs_refusals_are_mistakes_of_the_scenario(
    program: Path, override: str, field: str, remedy: str
) -> None:
    done = _run(program, EXAMPLE / "scenario.toml", override)
    assert done.returncode == 2
    assert field in done.stderr and remedy in done.stderr
