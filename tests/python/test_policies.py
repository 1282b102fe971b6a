"""A learned policy is saved, and runs frozen in another run."""

from pathlib import Path

import pytest

from ackclock import running
from ackclock._core import Scenario
from conftest import Cli
from networks import dumbbell

_LEARNS = f"""
duration = "5 s"
{dumbbell('rate = "20 Mbit/s", delay = "20 ms"', "0 ms")}
[[flow]]
name = "learner"
controller = {{ kind = "dqn_newreno", warm_up = 100 }}
"""
_FROZEN = '{ kind = "policy", file = "learnt.onnx" }'


def test_what_was_learnt_runs_frozen(cli: Cli, tmp_path: Path) -> None:
    learns, frozen = tmp_path / "learns.toml", tmp_path / "frozen.toml"
    learns.write_text(_LEARNS)
    frozen.write_text(_LEARNS.replace('{ kind = "dqn_newreno", warm_up = 100 }', _FROZEN))
    learnt = tmp_path / "learnt.onnx"
    told = cli("run", learns, "--quiet", "--save-policy", f"learner={learnt}")
    assert told.returncode == 0, told.stderr
    scenario = Scenario.load(str(frozen))
    assert "sha256" in scenario.to_json()
    summary = running.run(scenario).summary
    assert summary["flows"][0]["controller"] == "policy"
    assert summary["flows"][0]["goodput_bps"] > 1e6
    # The learner had slow start and losses itself.
    frozen.write_text(frozen.read_text().replace(_FROZEN, _FROZEN.replace(" }", ', controller = "newreno" }')))
    told = cli("run", frozen, "--quiet")
    assert told.returncode == 2
    assert "flow[0].controller.controller" in told.stderr and "remove it" in told.stderr


@pytest.mark.parametrize(
    ("given", "words"), [("learner", "FLOW=FILE"), ("nobody=x.onnx", "learner"), ("plain=x.onnx", "dqn_newreno")]
)
def test_a_wrong_save_policy_is_told_before_the_run(cli: Cli, tmp_path: Path, given: str, words: str) -> None:
    learns = tmp_path / "learns.toml"
    learns.write_text(_LEARNS + '[[flow]]\nname = "plain"\ncontroller = "reno"\n')
    told = cli("run", learns, "--quiet", "--save-policy", given)
    assert told.returncode != 0
    assert words in told.stderr
