"""A trained model, exported, does in the engine what it does in Python."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ackclock import running
from ackclock._core import Scenario
from ackclock.gym import AgentSettings
from conftest import Cli
from networks import dumbbell

NEEDED = "needs the packages of ackclock[learn]; run: make -f tests/Makefile test-learn"
torch = pytest.importorskip("torch", reason=NEEDED, exc_type=ImportError)
pytest.importorskip("stable_baselines3", reason=NEEDED, exc_type=ImportError)

from ackclock.gym.learn.algorithms import Plan, build  # noqa: E402
from ackclock.gym.learn.lanes import FlowVecEnv  # noqa: E402
from ackclock.gym.learn.policy_export import policy_file  # noqa: E402
from ackclock.gym.learn.setting import Setting, SettingError, of_scenario  # noqa: E402

pytestmark = pytest.mark.learn

OWN = '{ kind = "newreno", beta = 0.6 }'
SCENARIO = f"""\
duration = "12 s"

[trace]
interval = "1 ms"
internals = ["action", "decisions"]

{dumbbell('rate = "10 Mbit/s", delay = "18 ms"', limit="0.5 bdp")}
[[flow]]
name = "agent"
controller = {OWN}

[[flow]]
name = "other"
controller = "cubic"
start = "3 s"
app = {{ kind = "file", size = "2 MB" }}
"""
AGENTS: dict[str, tuple[str, dict[str, Any]]] = {
    "dqn": ("dqn", {"observations": ("cwnd_segments", "srtt_ms", "loss_fraction"), "scaled": True, "history": 2}),
    "dqn-cubic": (
        "dqn",
        {"observations": ("flight_size_segments", "acks"), "decide": "cubic_pace", "action": "cubic_pace"},
    ),
    "ppo": ("ppo", {"observations": ("srtt_ms", "delivery_ratio"), "scaled": True, "decide": "round"}),
    "ppo-orca": ("ppo", {"action": "orca", "decide": "40 ms", "observations": ("latency_ratio", "acks")}),
}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "scenario.toml"
    path.write_text(SCENARIO)
    return path


def model_of(setting: Setting, algorithm: str, folder: Path, **hyper: Any) -> Any:
    """A model with weights at random, large enough that its actions differ from state to state."""
    lanes = FlowVecEnv(setting.lane, 1, seed=1)
    model = build(Plan(algorithm, 1, seed=3, hyperparameters={"layers": [16, 9], **hyper}), lanes, str(folder))
    torch.manual_seed(5)
    for parameter in model.policy.parameters():
        torch.nn.init.uniform_(parameter, -1.0, 1.0)
    lanes.close()
    return model


def in_python(model: Any, setting: Setting) -> tuple[list[float], dict[str, Any]]:
    """An episode with `predict`: the actions, and the summary of the flow."""
    environment = setting.single()
    observation, _ = environment.reset(seed=1)
    actions, is_over = [], False
    while not is_over:
        action, _ = model.predict(observation, deterministic=True)
        actions.append(float(np.ravel(action)[0]))
        observation, _, terminated, truncated, _ = environment.step(action)
        is_over = terminated or truncated
    return actions, environment.summary()["flows"][0]


def in_engine(policy: Path, file: Path) -> tuple[list[float], dict[str, Any]]:
    """The same of the policy: the action in force at each new decision, cut to its range as where it is taken."""
    controller = f'flow.agent.controller={{ kind = "policy", file = "{policy}", controller = {OWN} }}'
    results = running.run(Scenario.load(str(file), [controller]), seed=1)
    rows = results.flows.filter(results.flows["flow"] == "agent")
    decisions, actions = rows["decisions"].to_numpy(), rows["action"].to_numpy()
    is_new = np.diff(decisions, prepend=0.0) > 0
    assert decisions.max() == is_new.sum(), "a millisecond holds one decision at most"
    return actions[is_new].tolist(), results.summary["flows"][0]


@pytest.mark.parametrize("name", AGENTS)
def test_the_engine_takes_the_actions_that_predict_takes(name: str, file: Path, tmp_path: Path) -> None:
    algorithm, agent = AGENTS[name]
    setting = of_scenario(file, [], agent, discrete=algorithm == "dqn")
    model = model_of(setting, algorithm, tmp_path / "logs")
    policy = tmp_path / "policy.onnx"
    policy.write_bytes(policy_file(model, setting))

    taken, told = in_python(model, setting)
    found, summary = in_engine(policy, file)

    # The last action of an episode may be one that no decision asked for: the duration was over.
    assert len(taken) > 50 and len(set(taken)) > 1, "an episode of actions that differ"
    assert 0 <= len(taken) - len(found) <= 1
    taken = taken[: len(found)]
    if algorithm == "dqn":
        assert found == taken
        named = {"controller"}
        assert {key: value for key, value in summary.items() if key not in named} == {
            key: value for key, value in told.items() if key not in named
        }
    else:
        low, high = model.action_space.low[0], model.action_space.high[0]
        found = np.clip(found, low, high)
        # Torch rounds as its processor's kernels do, and an action that differs in its last bit leads to another state.
        np.testing.assert_allclose(found[:50], taken[:50], atol=1e-5)
        np.testing.assert_allclose(found, taken, atol=1e-2)
        assert summary["goodput_bps"] == pytest.approx(told["goodput_bps"], rel=1e-3)


def test_what_cannot_be_exported_is_told(file: Path, tmp_path: Path) -> None:
    setting = of_scenario(file, [], AGENTS["dqn"][1], discrete=True)
    model = model_of(setting, "dqn", tmp_path / "logs")
    model.policy.q_net.q_net[1] = torch.nn.Softsign()
    with pytest.raises(SettingError, match=r"Linear, Softsign, Linear.*torch\.onnx\.export"):
        policy_file(model, setting)
    other = of_scenario(file, [], {**AGENTS["dqn"][1], "history": 3}, discrete=True)
    with pytest.raises(SettingError, match="takes observations of the shape"):
        policy_file(model_of(setting, "dqn", tmp_path / "logs"), other)


def test_train_export_run(cli: Cli, file: Path, tmp_path: Path) -> None:
    told = cli("train", file, "--algorithm", "dqn", "--steps", 100, "-o", "out", "--quiet")
    assert told.returncode == 0, told.stderr
    told = cli("export", "out", "-o", "policy.onnx")
    assert told.returncode == 0, told.stderr
    assert (tmp_path / "policy.onnx").is_file()
    # What it prints goes into a scenario as it is.
    line = told.stdout.splitlines()[-1].strip()
    assert line == f'controller = {{ kind = "policy", file = "policy.onnx", controller = {OWN} }}'
    (tmp_path / "frozen.toml").write_text(SCENARIO.replace(f"controller = {OWN}", line))
    done = cli("run", "frozen.toml", "--json")
    assert done.returncode == 0, done.stderr
    again = cli("export", "out", "-o", "policy.onnx")
    assert again.returncode == 2 and "--force" in again.stderr
    assert cli("export", "nowhere", "-o", "other.onnx").returncode == 2


def test_settings_of_the_agent_are_in_the_file(file: Path, tmp_path: Path) -> None:
    setting = of_scenario(file, [], AGENTS["ppo"][1], discrete=False)
    content = policy_file(model_of(setting, "ppo", tmp_path / "logs"), setting)
    assert b"ackclock.agent" in content
    assert AgentSettings(**setting.agent).to_json().encode() in content
