"""Training with Stable-Baselines3: its environments, its checkpoints, its commands."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import polars as pl
import pytest

from conftest import Cli, command, wait_until
from networks import dumbbell

NEEDED = "needs the packages of ackclock[learn]; run: make -f tests/Makefile test-learn"
torch = pytest.importorskip("torch", reason=NEEDED, exc_type=ImportError)
pytest.importorskip("stable_baselines3", reason=NEEDED, exc_type=ImportError)

from stable_baselines3.common.logger import KVWriter  # noqa: E402

from ackclock.base.checked_files import DamagedError  # noqa: E402
from ackclock.cli import failures  # noqa: E402
from ackclock.cli.app import app  # noqa: E402
from ackclock.gym.learn import checkpoint  # noqa: E402
from ackclock.gym.learn.algorithms import Plan, build  # noqa: E402
from ackclock.gym.learn.evaluation import Trained, evaluate  # noqa: E402
from ackclock.gym.learn.lanes import FlowVecEnv, episode_seed  # noqa: E402
from ackclock.gym.learn.setting import Setting, SettingError, of_scenario, registered  # noqa: E402
from ackclock.gym.learn.training import CHECKPOINT, MODEL, train  # noqa: E402

pytestmark = pytest.mark.learn

EXAMPLE = Path(__file__).parents[2] / "docs" / "how-to" / "train_dqn.py"
SHORT = ("duration=3 s",)
DRAWN = f"""\
duration = "5 s"

{dumbbell('rate = { choice = ["2 Mbit/s", "20 Mbit/s"] }, delay = "9 ms"', limit="100 packets")}
[[flow]]
name = "agent"
controller = "cubic"
"""
PLANS = {
    "dqn": Plan("dqn", 600, hyperparameters={"learning_starts": 100, "buffer_size": 300, "target_update_interval": 50}),
    "ppo": Plan("ppo", 600, envs=3, hyperparameters={"n_steps": 32, "batch_size": 32, "n_epochs": 2}),
}
"""Short enough for a test, and long enough that episodes end, the buffer goes round and networks are copied."""


@pytest.fixture(scope="module")
def setting() -> Setting:
    return registered("ackclock/DqnNewReno-v0", SHORT, {"scaled": True})


def test_a_lane_is_the_environment_with_the_next_episode_in_the_last_step(setting: Setting) -> None:
    lanes = FlowVecEnv(setting.lane, 2, seed=11)
    single = setting.single()
    observations = lanes.reset()
    expected, _ = single.reset(seed=episode_seed(11, 1, 0))
    ends = 0
    for number in range(400):
        np.testing.assert_array_equal(observations[1], expected)
        actions = np.array([number % 7, (number * 3) % 7])
        observations, rewards, dones, infos = lanes.step(actions)
        expected, reward, terminated, truncated, _ = single.step(int(actions[1]))
        assert rewards[1] == np.float32(reward)
        assert dones[1] == (terminated or truncated)
        if dones[1]:
            ends += 1
            np.testing.assert_array_equal(infos[1]["terminal_observation"], expected)
            assert infos[1]["TimeLimit.truncated"] == truncated
            expected, _ = single.reset(seed=episode_seed(11, 1, ends))
        else:
            assert "terminal_observation" not in infos[1]
    assert ends >= 2
    lanes.close()


def test_threads_make_no_difference(setting: Setting) -> None:
    one, three = (FlowVecEnv(setting.lane, 5, seed=3, threads=threads) for threads in (1, 3))
    np.testing.assert_array_equal(one.reset(), three.reset())
    for number in range(200):
        actions = (np.arange(5) + number) % 7
        for alone, together in zip(one.step(actions)[:3], three.step(actions)[:3], strict=True):
            np.testing.assert_array_equal(alone, together)
    one.close()
    three.close()


def test_episodes_have_seeds_of_their_own() -> None:
    seeds = {episode_seed(seed, lane, episode) for seed in range(3) for lane in range(4) for episode in range(50)}
    assert len(seeds) == 600
    assert all(0 <= seed < 2**63 for seed in seeds)


@pytest.mark.parametrize("algorithm", ["dqn", "ppo"])
def test_a_training_that_was_stopped_ends_as_one_that_was_not(setting: Setting, algorithm: str, tmp_path: Path) -> None:
    plan = PLANS[algorithm]
    train(setting, plan, tmp_path / "whole")

    with pytest.raises(KeyboardInterrupt):
        train(setting, plan, tmp_path / "parts", is_stopping=_after(3 if algorithm == "ppo" else 70))
    torch.rand(5)  # what happens meanwhile is of no account
    stopped_at = _state(tmp_path / "parts")["counters"]["num_timesteps"]
    assert 0 < stopped_at < plan.steps
    train(setting, plan, tmp_path / "parts", resume=True)

    whole, parts = _state(tmp_path / "whole"), _state(tmp_path / "parts")
    assert _bytes(whole) == _bytes(parts)
    assert (tmp_path / "whole" / "curve.parquet").read_bytes() == (tmp_path / "parts" / "curve.parquet").read_bytes()

    train(setting, Plan(plan.algorithm, plan.steps, 2, plan.envs, plan.hyperparameters), tmp_path / "other")
    assert _bytes(_state(tmp_path / "other")) != _bytes(whole), "the comparison would see a difference"


def test_a_log_gets_what_tensorboard_gets_and_is_closed(setting: Setting, tmp_path: Path) -> None:
    seen: dict[str, Any] = {}

    class Kept(KVWriter):  # type: ignore[misc]
        def write(self, key_values: dict[str, Any], key_excluded: Any, step: int = 0) -> None:
            assert "closed" not in seen
            seen.update(key_values)

        def close(self) -> None:
            seen["closed"] = True

    def log(entry: Mapping[str, Any]) -> KVWriter:
        assert entry["plan"]["algorithm"] == "ppo" and entry["setting"]["flow"] == "agent"
        return Kept()

    train(setting, PLANS["ppo"], tmp_path / "logged", log=log)
    assert {"train/value_loss", "rollout/ep_rew_mean", "time/total_timesteps"} <= seen.keys() and seen["closed"]
    train(setting, PLANS["ppo"], tmp_path / "plain")
    assert _bytes(_state(tmp_path / "logged")) == _bytes(_state(tmp_path / "plain")), "nothing else is another"


def test_wandb_continues_the_run_of_a_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    begun: list[dict[str, Any]] = []
    logged: list[tuple[dict[str, Any], int]] = []

    def init(**given: Any) -> SimpleNamespace:
        begun.append(given)
        return SimpleNamespace(log=lambda row, step: logged.append((row, step)), finish=lambda: logged.append(({}, -1)))

    monkeypatch.setitem(sys.modules, "wandb", SimpleNamespace(init=init))
    monkeypatch.delitem(sys.modules, "ackclock.gym.learn.wandb_log", raising=False)
    from ackclock.gym.learn.wandb_log import WandbLog

    for _ in range(2):
        log = WandbLog("mine", tmp_path / "ppo", {"plan": {"steps": 600}})
    log.write({"train/loss": 0.5, "note": "text"}, {}, 128)
    log.close()
    shutil.rmtree(tmp_path / "ppo")
    WandbLog("mine", tmp_path / "ppo", {})
    assert begun[0] == begun[1]
    assert begun[2]["id"] != begun[0]["id"], "a folder made anew has a training of its own"
    assert (begun[0]["project"], begun[0]["name"], begun[0]["resume"]) == ("mine", "ppo", "allow")
    assert logged == [({"train/loss": 0.5}, 128), ({}, -1)]


def test_a_training_that_was_interrupted_in_a_rollout_goes_on_from_its_beginning(
    setting: Setting, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = PLANS["ppo"]
    train(setting, plan, tmp_path / "whole")
    step, left = FlowVecEnv.step_wait, iter(range(plan.steps // 3 * 2 // (plan.envs or 1)))

    def interrupted(self: FlowVecEnv) -> Any:
        if next(left, None) is None:
            raise KeyboardInterrupt  # as a signal's handler does
        return step(self)

    with monkeypatch.context() as patch:
        patch.setattr(FlowVecEnv, "step_wait", interrupted)
        with pytest.raises(KeyboardInterrupt):
            train(setting, plan, tmp_path / "parts", checkpoint_every=10**9)
    assert 0 < _state(tmp_path / "parts")["counters"]["num_timesteps"] < plan.steps
    train(setting, plan, tmp_path / "parts", resume=True)
    assert _bytes(_state(tmp_path / "parts")) == _bytes(_state(tmp_path / "whole"))


@pytest.mark.parametrize("algorithm", ["ppo", "dqn"])
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_training_hears_a_signal(algorithm: str, number: int, tmp_path: Path, scenario_file: Path) -> None:
    arguments = ("train", scenario_file, "--algorithm", algorithm, "--steps", 10_000_000, "-o", "out")
    if algorithm == "ppo":
        arguments += ("--hyper", "n_steps=100000")  # a rollout of a minute
    else:
        arguments += ("--agent", "action=deltas", "--checkpoint-every", 100)
    with subprocess.Popen(command(*arguments), cwd=tmp_path, stderr=subprocess.PIPE) as running:
        wait_until((tmp_path / "out" / "manifest.json").exists, "the training has begun")
        time.sleep(2)
        assert running.poll() is None
        running.send_signal(number)
        _, told = running.communicate(timeout=60)
        assert running.returncode == 130 and b"interrupted" in told, told


def test_a_damaged_training_is_named(setting: Setting, tmp_path: Path) -> None:
    plan, folder = PLANS["ppo"], tmp_path / "run"
    train(setting, plan, folder)

    def goes_on() -> None:
        train(setting, plan, folder, resume=True)

    def loads() -> None:
        Trained.load(folder)

    for name, reads in ((CHECKPOINT, goes_on), (MODEL, loads), ("manifest.json", loads), ("manifest.json", goes_on)):
        right = (folder / name).read_bytes()
        for wrong in (right[: len(right) // 2], _flipped(right), b"", b"[]"):
            (folder / name).write_bytes(wrong)
            with pytest.raises(DamagedError, match=f"{name} is damaged"):
                reads()
        (folder / name).write_bytes(right)
        reads()


def _flipped(content: bytes) -> bytes:
    """Return the content with one bit flipped, behind the header of a ZIP file, or at the start of JSON."""
    place = 200 if content.startswith(b"PK") else 0
    return content[:place] + bytes([content[place] ^ 1]) + content[place + 1 :]


def _after(calls: int) -> Callable[[], bool]:
    left = iter(range(calls))
    return lambda: next(left, None) is None


def _state(folder: Path) -> dict[str, Any]:
    state: dict[str, Any] = torch.load(folder / CHECKPOINT, weights_only=True)
    return state


def _bytes(value: object) -> object:
    """The same structure with every tensor as its bytes, so that equality is that of bits."""
    if isinstance(value, torch.Tensor):
        return value.numpy().tobytes()
    if isinstance(value, Mapping):
        return {key: _bytes(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_bytes(inner) for inner in value]
    return value


@pytest.mark.parametrize("algorithm", ["dqn", "ppo"])
def test_a_checkpoint_is_the_same_after_it_was_read(setting: Setting, algorithm: str, tmp_path: Path) -> None:
    train(setting, PLANS[algorithm], tmp_path / "run")
    content = (tmp_path / "run" / CHECKPOINT).read_bytes()
    lanes = FlowVecEnv(setting.lane, PLANS[algorithm].as_dict()["envs"], seed=1)
    model = build(PLANS[algorithm], lanes, str(tmp_path / "tensorboard"))
    curve = checkpoint.restore(content, model, lanes)
    again = checkpoint.capture(model, lanes, curve)
    (tmp_path / CHECKPOINT).write_bytes(again)
    assert _bytes(_state(tmp_path)) == _bytes(_state(tmp_path / "run"))
    lanes.close()


def test_the_curve_is_what_the_episodes_were_paid(setting: Setting, tmp_path: Path) -> None:
    trained = train(setting, PLANS["ppo"], tmp_path / "run")
    curve = pl.read_parquet(tmp_path / "run" / "curve.parquet")
    assert curve.rows() == trained.episodes
    assert curve["decisions"].sum() <= trained.steps
    # Every reward of this environment lies in [-1, 1].
    assert (curve["return"].abs() <= curve["decisions"]).all()
    assert (tmp_path / "run" / "curve.png").read_bytes().startswith(b"\x89PNG")


def _wrong() -> Iterator[tuple[tuple[str, ...], str]]:
    yield ("ackclock/SingleFlow-v0", "--algorithm", "dqn"), "--agent action=deltas"
    yield ("ackclock/Nothing-v0",), "ackclock/SingleFlow-v0"
    yield ("ackclock/SingleFlow-v0", "--hyper", "gama=1"), "gamma"
    yield ("ackclock/SingleFlow-v0", "--hyper", "learning_rate=fast"), "learning_rate=fast"
    yield ("ackclock/SingleFlow-v0", "--agent", "colour=red"), "observations"
    yield ("ackclock/SingleFlow-v0", "--agent", "flow=nobody"), "nobody"
    yield ("ackclock/SingleFlow-v0", "--agent", "history"), "--agent history"
    yield ("ackclock/SingleFlow-v0", "--set", "duration=long"), "duration"
    yield ("nowhere.toml",), "nowhere.toml"
    yield ("ackclock/SingleFlow-v0", "--resume"), "leave out --resume"


@pytest.mark.parametrize(("arguments", "told"), list(_wrong()), ids=str)
def test_mistakes_are_named_and_leave_nothing(
    tmp_path: Path, arguments: tuple[str, ...], told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "out"
    assert failures.guarded(lambda: app(["train", *arguments, "-o", str(folder), "--steps", "100"])) == 2
    assert told in capsys.readouterr().err
    assert not folder.exists()


def test_a_folder_goes_on_only_with_what_it_began_with(setting: Setting, tmp_path: Path) -> None:
    train(setting, PLANS["ppo"], tmp_path / "run")
    with pytest.raises(SettingError, match=r"exists already.*--resume"):
        train(setting, PLANS["ppo"], tmp_path / "run")
    with pytest.raises(SettingError, match=r"plan\.seed = 1, not 9"):
        train(setting, Plan("ppo", 600, 9, 3, PLANS["ppo"].hyperparameters), tmp_path / "run", resume=True)
    with pytest.raises(SettingError, match="planned for 600"):
        train(setting, Plan("ppo", 10, 1, 3, PLANS["ppo"].hyperparameters), tmp_path / "run", resume=True)


def test_commands_train_stop_resume_and_evaluate(cli: Cli, tmp_path: Path, scenario_file: Path) -> None:
    arguments = (
        "train",
        scenario_file,
        "--algorithm",
        "dqn",
        "--steps",
        1_000_000,
        "-o",
        "out",
        "--checkpoint-every",
        100,
    )
    running = subprocess.Popen(command(*arguments), cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    wait_until((tmp_path / "out" / CHECKPOINT).exists, "there is a checkpoint")
    running.send_signal(signal.SIGINT)
    _, told = running.communicate(timeout=60)
    assert running.returncode == 130, told
    assert b"--resume" in told
    steps = _state(tmp_path / "out")["counters"]["num_timesteps"]

    small = cli("train", scenario_file, "--algorithm", "dqn", "--steps", 10, "-o", "out", "--resume")
    assert small.returncode == 2 and "1000000" in small.stderr

    done = cli("evaluate", "out", scenario_file, "--beside", "random,reno", "--seeds", 2, "--json")
    assert done.returncode == 0, done.stderr
    rows = json.loads(done.stdout)
    assert [(row["who"], row["seed"]) for row in rows] == [
        (who, seed) for seed in (1, 2) for who in ("out", "random", "reno")
    ]
    # The bottleneck carries 10 Mbit/s; headers and the other flow take their part of it.
    assert all(0 < row["goodput_bps"] < 10e6 for row in rows)
    assert all((row["reward"] is None) == (row["who"] == "reno") for row in rows)
    assert steps > 0


def test_what_a_scenario_leaves_to_chance_is_drawn_for_model_and_controller_alike(tmp_path: Path) -> None:
    file = tmp_path / "drawn.toml"
    file.write_text(DRAWN)
    train(of_scenario(file, [], {}, discrete=True), PLANS["dqn"], tmp_path / "run")

    rows = list(evaluate(Trained.load(tmp_path / "run"), [], range(1, 7), ["cubic"]))

    rates = {row.seed: row.goodput_bps for row in rows if row.who == "cubic"}
    # CUBIC alone for 5 s fills most of a link of 2 or of 20 Mbit/s: nothing lies between.
    assert all(1e6 < rate < 2e6 or 10e6 < rate < 20e6 for rate in rates.values())
    assert {rate > 5e6 for rate in rates.values()} == {True, False}
    for row in rows:
        assert (row.goodput_bps > 5e6) == (rates[row.seed] > 5e6), f"{row.who} met another network with seed {row.seed}"


def test_evaluating_what_is_no_training(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    done = cli("evaluate", "empty")
    assert done.returncode == 2 and "ackclock train" in done.stderr


def test_the_example_trains_and_draws(tmp_path: Path) -> None:
    arguments = ["--steps", "1200", "--learning-starts", "100", "--output", str(tmp_path / "curve.png")]
    done = subprocess.run(
        [command()[0], EXAMPLE, *arguments],
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | {"MPLBACKEND": "agg"},
    )
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "curve.png").stat().st_size > 5_000
    assert "1200" in done.stdout


def test_ppo_in_one_file_ends_with_a_policy_that_a_kernel_can_run(cli: Cli, tmp_path: Path) -> None:
    file = EXAMPLE.with_name("train_ppo.py")
    done = subprocess.run(
        [command()[0], file, "--steps", "2048", "--output", "policy.onnx"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "2048 decisions" in done.stdout
    exported = cli("export", "policy.onnx", "--to", "bpf", "-o", "policy.whole")
    assert exported.returncode == 0, exported.stderr


def test_an_agent_that_no_kernel_could_run_is_refused_before_it_is_trained(cli: Cli, tmp_path: Path) -> None:
    refused = cli("train", "ackclock/SingleFlow-v0", "--for", "kernel", "-o", "out")
    assert refused.returncode == 2 and "has a history" in refused.stderr
    assert not (tmp_path / "out").exists()
    steps = ("--steps", "300", "--hyper", "n_steps=32", "--envs", "2", "-q")
    trained = cli("train", "ackclock/Deployable-v0", "--for", "kernel", "-o", "out", *steps)
    assert trained.returncode == 0, trained.stderr
    exported = cli("export", "out", "--to", "bpf", "-o", "policy.whole")
    assert exported.returncode == 0, exported.stderr
