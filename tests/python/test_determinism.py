"""The released extension gives the bytes that the crates' own tests give in a debug build."""

import hashlib
from pathlib import Path

from ackclock._core import Scenario, Simulation

ROOT = Path(__file__).parents[2]


def test_the_release_build_agrees_with_the_record() -> None:
    recorded = (ROOT / "tests" / "vectors" / "bench-a-summary.sha256").read_text(encoding="ascii").strip()
    scenario = Scenario.load(str(ROOT / "benches" / "speed" / "scenarios" / "a.toml"), ["trace=true"])
    summary = Simulation(scenario).finish().summary_json()
    assert hashlib.sha256(summary.encode()).hexdigest() == recorded
