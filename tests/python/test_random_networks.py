"""Values that a scenario has drawn, from Python and from the command line."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

import ackclock

ROOT = Path(__file__).parents[2]
FILE = ROOT / "scenarios" / "random-networks.toml"
RATE = "topology.bottleneck.rate"


@pytest.fixture
def scenario() -> ackclock.Scenario:
    return ackclock.Scenario.load(str(FILE), ["duration=2 s", "measure.from=0 s"])


def test_a_scenario_says_what_varies_and_what_was_drawn(scenario: ackclock.Scenario) -> None:
    assert scenario.varies[RATE] == '{ log_uniform = ["2 Mbit/s", "100 Mbit/s"] }'
    assert "topology.bottleneck.queue.choice[0].limit" in scenario.varies
    assert set(scenario.drawn) <= set(scenario.varies)
    assert json.loads(scenario.to_json())["topology"]["bottleneck"]["rate"] == scenario.drawn[RATE]


def test_drawing_again_gives_another_network_and_a_seed_alone_does_not(scenario: ackclock.Scenario) -> None:
    first, second = scenario.draw(1), scenario.draw(2)
    assert (first.seed, second.seed) == (1, 2)
    assert first.hash == scenario.hash
    assert first.drawn != second.drawn
    assert second.draw(1).hash == first.hash
    assert first.with_seed(2).drawn == first.drawn
    assert 1 <= second.drawn["flow[1].count"] <= 4


def test_what_is_drawn_can_fail_to_go_together() -> None:
    text = FILE.read_text(encoding="utf-8").replace(
        'measure = { from = "2 s" }', 'measure = { from = { choice = ["0 s", "9 s"] } }'
    )
    text = text.replace('duration = "10 s"', 'duration = { choice = ["10 s", "5 s"] }')
    with pytest.raises(ackclock.ScenarioError) as caught:
        for seed in range(20):  # a quarter of all draws begin the measurement at 9 s of 5 s
            ackclock.Scenario.parse(text).draw(seed)
    (mistake,) = caught.value.diagnostics
    assert mistake["field"] == "measure.from"


def test_a_run_is_of_what_its_seed_draws_and_says_so(scenario: ackclock.Scenario) -> None:
    results = ackclock.run(scenario, seed=3)
    assert results.manifest["drawn"] == scenario.draw(3).drawn
    assert results.manifest["scenario_hash"] == scenario.draw(3).hash
    again = ackclock.run(ackclock.Scenario.from_json(json.dumps(results.manifest["scenario"])))
    assert again.summary == results.summary
    assert "drawn" not in again.manifest


def test_the_command_line_tells_what_is_drawn(tmp_path: Path) -> None:
    def ackclock_says(*arguments: str) -> str:
        command = [sys.executable, "-m", "ackclock", *arguments]
        return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True).stdout

    assert f'drawn: {RATE} = {{ log_uniform = ["2 Mbit/s", "100 Mbit/s"] }}' in ackclock_says("validate", str(FILE))
    value = ackclock.Scenario.load(str(FILE)).draw(2).drawn[RATE]
    run = ackclock_says("run", str(FILE), "--seed", "2", "--set", "duration=3 s")
    assert f"drawn: {RATE} = {value}" in run
