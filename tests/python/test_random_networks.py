"""Values that a scenario has drawn, from Python and from the command line."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import ackclock
from ackclock.scenario.example_files import FOLDER as SCENARIOS

FILE = SCENARIOS / "random-networks.toml"
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


def _mistake(scenario: ackclock.Scenario, seed: int) -> dict[str, Any] | None:
    try:
        scenario.draw(seed)
    except ackclock.ScenarioError as error:
        (mistake,) = error.diagnostics
        return mistake
    return None


def test_values_that_do_not_go_together_are_a_mistake_of_the_draw() -> None:
    # at 9 s of 5 s in one draw of a hundred, which none of those at loading happens to be
    ends = "choice = [" + '"5 s", ' + '"10 s", ' * 9 + "]"
    begins = "choice = [" + '"0 s", ' * 9 + '"9 s"]'
    text = FILE.read_text(encoding="utf-8").replace('duration = "10 s"', f"duration = {{ {ends} }}")
    text = text.replace('from = "2 s"', f"from = {{ {begins} }}")
    scenario = ackclock.Scenario.parse(text, overrides=["seed=1000"])
    found = [mistake for seed in range(1_000) if (mistake := _mistake(scenario, seed))]
    assert 0 < len(found) < 30  # ten, with a standard deviation of three
    assert {mistake["field"] for mistake in found} == {"measure.from"}
    assert all("as seed" in mistake["message"] for mistake in found)


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
