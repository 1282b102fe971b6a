"""Rewards and observations of the user in Python: named like the built-in ones, in every kind of environment."""

import copy
import json
import re
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest

from ackclock import Scenario, ScenarioError, running
from ackclock._core import agents, policy_file
from ackclock.gym import AgentSettings, FlowEnv, Own, ParallelFlows, VectorFlowEnv
from ackclock.gym.learn.setting import SettingError, of_scenario, registered
from ackclock.scenario.example_files import FOLDER as SCENARIOS
from gym_scenarios import LOSSY, TWO

FREE = {"kind": "steady", "change": 0}
HEADER = """\
from collections.abc import Mapping
from typing import Annotated
from ackclock.parts import Observation, Parameter, Reward
"""
Write = Callable[[str], Path]


@pytest.fixture
def write(tmp_path: Path, request: pytest.FixtureRequest) -> Write:
    """Write a module, and a scenario beside it that uses it; return the scenario's file."""

    def written(text: str, network: str = LOSSY) -> Path:
        name = f"own_{abs(hash(request.node.nodeid))}"
        (tmp_path / f"{name}.py").write_text(HEADER + text)
        file = tmp_path / "scenario.toml"
        file.write_text(f'use = ["{name}"]\n{network}')
        return file

    return written


def _example(*changes: str) -> Scenario:
    return Scenario.load(str(SCENARIOS / "own-parts.toml"), ["duration=4 s", "trace=false", *changes])


def _paid(values: Mapping[str, float]) -> float:
    """Return the reward of `steady` where changes are free."""
    return values["delivery_rate_bps"] / 1e6 - 0.1 * (values["mean_rtt_ms"] - values["min_rtt_ms"])


# ---- what they do ---------------------------------------------------------------------------------------------------


def test_a_named_reward_and_observation_do_what_functions_do() -> None:
    waiting = Own("waiting_ms", lambda values: values["rtt_ms"] - values["min_rtt_ms"], low=0, high=1000)
    settings: dict[str, Any] = {"flow": "cubic", "decide": "round", "history": 2, "scaled": True}
    named = FlowEnv(_example(), observations=["waiting_ms", "rtt_ms"], reward=FREE, **settings)
    functions = FlowEnv(_example(), observations=[waiting, "rtt_ms"], reward=_paid, **settings)
    assert named.observation_space == functions.observation_space
    first, other = (env.reset(seed=3)[0] for env in (named, functions))
    np.testing.assert_array_equal(first[1], other[1])
    for action in (3, 5, 1, 6, 4, 0, 3, 3):
        seen, expected = named.step(action), functions.step(action)
        np.testing.assert_array_equal(seen[0][1], expected[0][1])
        assert seen[1:4] == expected[1:4]


def test_a_range_without_zero_has_its_end_before_the_first_decision(write: Write) -> None:
    file = write(
        'class Least(Observation, name="least"):\n    low, high = 5.0, 9.0\n    def value(self, values): return 1.0\n'
    )
    env = FlowEnv(file, observations=["least", "rtt_ms"], history=3)
    observation, _ = env.reset(seed=1)
    assert observation[:, 0].tolist() == [5, 5, 5] and env.observation_space.contains(observation)


COUNTS = """
class Counts(Reward, name="counts"):
    def __init__(self, *, by: Annotated[int, Parameter("Step", at_least=1)] = 1) -> None:
        self.by, self.paid = by, [0]
    def reward(self, values: Mapping[str, float]) -> float:
        self.paid[0] += self.by
        return self.paid[0]

class Asked(Observation, name="asked"):
    low, high, logarithmic_from = 0.0, 1023.0, 1.0
    def __init__(self) -> None:
        self.times = 0
    def value(self, values: Mapping[str, float]) -> float:
        self.times += 1
        return self.times
"""


def test_each_episode_has_an_instance_and_copies_go_on_apart(write: Write) -> None:
    env = FlowEnv(write(COUNTS), observations=["asked", "acks"], reward={"kind": "counts", "by": 3})
    for _ in range(2):
        assert env.reset(seed=1)[0][0] == 1
        assert [env.step(3)[1] for _ in range(3)] == [3, 6, 9]
    twin, saved = env.clone(), env.save()
    assert env.step(3)[1] == twin.step(3)[1] == 12
    env.restore(saved)
    observation, reward, *_ = env.step(3)
    assert (observation[0], reward) == (5, 12)


def test_a_logarithmic_range_goes_from_zero_to_one(write: Write) -> None:
    env = FlowEnv(write(COUNTS), observations=["asked", "acks"], scaled=True)
    seen = [env.reset(seed=1)[0][0], env.step(3)[0][0], env.step(3)[0][0]]
    assert seen == pytest.approx([0.1, np.log2(3) / 10, 0.2])  # of log2(1 + 1023), 1 + 1, 1 + 2 and 1 + 3


@pytest.mark.parametrize("threads", [1, 2])
def test_threads_give_what_one_environment_gives(write: Write, threads: int) -> None:
    file = write(COUNTS)
    settings: dict[str, Any] = {"observations": ["asked", "cwnd_segments"], "reward": "counts", "decide": "round"}
    envs = VectorFlowEnv(file, num_envs=3, threads=threads, copy=True, autoreset="SameStep", **settings)
    rows, _ = envs.reset(seed=[7, 8, 7])
    alone = FlowEnv(file, **settings)
    np.testing.assert_array_equal(rows[0], alone.reset(seed=7)[0])
    for _ in range(40):
        rows, rewards, terminated, truncated, _ = envs.step(np.array([4, 3, 4]))
        observation, reward, *_ = alone.step(4)
        if terminated[0] or truncated[0]:
            break
        np.testing.assert_array_equal(rows[0], observation)
        np.testing.assert_array_equal(rows[0], rows[2])
        assert reward == rewards[0] == rewards[2]


def test_agents_of_a_parallel_environment_have_instances_of_their_own(write: Write) -> None:
    agent_settings = {"agent": {"reward": {"kind": "counts", "by": 5}}, "late": {}}
    env = ParallelFlows(write(COUNTS, TWO), agents=agent_settings, reward="counts", decide="100 ms")
    env.reset(seed=1)
    rewards = [env.step({"agent": 3, "late": 3})[1] for _ in range(3)]
    assert [paid["agent"] for paid in rewards] == [5, 10, 15]
    late = [paid["late"] for paid in rewards]
    while not any(late[-1:]) and len(late) < 100:
        late.append(env.step({"agent": 3, "late": 3})[1]["late"])
    # Nothing before its flow has begun, and then from one on: it counts by itself.
    assert late[-1] == 1 and not any(late[:-1])


def test_registered_environments_take_a_scenario_that_brings_them(write: Write) -> None:
    env = gymnasium.make("ackclock/SingleFlow-v0", scenario=write(COUNTS), reward="counts")
    env.reset(seed=1)
    assert env.step(np.zeros(1, np.float32))[1] == 1


def test_training_takes_them_by_name(write: Write) -> None:
    file = write(COUNTS)
    setting = of_scenario(
        file, [], {"reward": {"kind": "counts", "by": 2}, "observations": ["asked", "acks"]}, discrete=False
    )
    lane = setting.lane()
    lane.reset(seed=[1])
    assert [lane.step(np.zeros((1, 1)))[1][0] for _ in range(3)] == [2, 4, 6]
    with pytest.raises(SettingError, match=r'agent.reward = "count" is unknown; known: dqn,.*, none, counts'):
        of_scenario(file, [], {"reward": "count"}, discrete=False)
    with pytest.raises(SettingError, match=r"agent.reward.by = 0 must be at least 1; the default is 1"):
        of_scenario(file, [], {"reward": {"kind": "counts", "by": 0}}, discrete=False)
    with pytest.raises(SettingError, match=r'agent.reward = "counts" is unknown'):
        registered("ackclock/SingleFlow-v0", [], {"reward": "counts"})


def test_a_policy_sees_them_where_the_scenario_brings_them(tmp_path: Path) -> None:
    settings = {"observations": [{"kind": "waiting_ms", "kept": 0.5}], "decide": "round"}
    # Of seven choices the sixth, three segments more, is worth 20, and the second, three less, the waiting time.
    weights, worths = np.zeros((7, 1), np.float32), np.full(7, -1e9, np.float32)
    weights[1], worths[1], worths[5] = 1, 0, 20
    agent = AgentSettings(**settings)  # type: ignore[arg-type]
    layers = [(weights, worths)]
    (tmp_path / "policy.onnx").write_bytes(policy_file(agent.to_json(), "relu", layers, _example()))
    with pytest.raises(ValueError, match='"waiting_ms", which is unknown'):
        policy_file(agent.to_json(), "relu", layers)
    shutil.copy(SCENARIOS / "parts.py", tmp_path / "policy_parts.py")
    text = f'use = ["policy_parts"]\n{LOSSY}'
    frozen = text.replace('"reno"', f'{{ kind = "policy", file = "{tmp_path}/policy.onnx", controller = "reno" }}')
    env = FlowEnv(Scenario.parse(text, str(tmp_path / "x.toml")), **settings)
    (waiting_ms,), _ = env.reset(seed=1)
    is_over = False
    while not is_over:
        (waiting_ms,), _, terminated, truncated, info = env.step(1 if waiting_ms > 20 else 5)
        is_over = terminated or truncated
    summary = running.run(Scenario.parse(frozen, str(tmp_path / "x.toml"), ["seed=1", "trace=false"])).summary
    (by_hand,), (by_itself,) = info["summary"]["flows"], summary["flows"]
    by_hand.pop("controller"), by_itself.pop("controller")
    assert by_hand == by_itself and by_hand["fast_recoveries"] > 0
    with pytest.raises(ScenarioError, match=r"wrong metadata.*waiting_ms.*unknown"):
        Scenario.parse(frozen.partition("\n")[2], str(tmp_path / "x.toml"))


# ---- what they are given --------------------------------------------------------------------------------------------

LOOKS = """
class Looks(Reward, name="looks"):
    def reward(self, values: Mapping[str, float]) -> float:
        assert isinstance(values, Mapping)
        self.seen = dict(values)
        Looks.last = values
        return values["acks"]
"""


def test_values_are_a_mapping_of_the_catalogue(write: Write) -> None:
    file = write(LOOKS)
    env = FlowEnv(file, reward="looks", observations=["acks", "cwnd_segments"])
    env.reset(seed=1)
    observation, reward, *_ = env.step(3)
    module = __import__(json.loads(Scenario.load(file).to_json())["use"][0])
    values = module.Looks.last
    names = [row["name"] for row in json.loads(agents())["observations"]]
    assert list(values) == names == list(values.keys()) and len(values) == len(names)
    assert np.float32(values["cwnd_segments"]) == observation[1] and values["acks"] == reward == observation[0]
    assert dict(values.items()) == {name: values[name] for name in names} and list(values.values())[-1] == reward
    assert "acks" in values and "speed" not in values and 3 not in values
    assert (values.get("acks"), values.get("speed"), values.get("speed", 1)) == (reward, None, 1)
    assert repr(values) == repr(dict(values))
    with pytest.raises(KeyError, match=r"unknown observation.*speed"):
        values["speed"]


# ---- what is wrong --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "error", "message"),
    [
        ('raise ArithmeticError("lost")', ArithmeticError, "lost"),
        ("return None", TypeError, r"reward \(.*\.py:\d+\) returned None; it must be a number"),
        ('return float("nan")', TypeError, "returned nan; it must be a number"),
        ('return values["speed"]', KeyError, "unknown observation.*speed"),
    ],
)
def test_a_failure_ends_the_episode_and_says_where(
    write: Write, body: str, error: type[Exception], message: str
) -> None:
    text = f'class Fails(Reward, name="fails"):\n    def reward(self, values):\n        {body}\n'
    file = write(text)
    env: Any
    for env, action in (
        (FlowEnv(file, reward="fails"), 3),
        (VectorFlowEnv(file, num_envs=2, threads=2, reward="fails"), np.array([3, 3])),
    ):
        env.reset(seed=1)
        with pytest.raises(error, match=message) as caught:
            env.step(action)
        (note,) = caught.value.__notes__
        assert re.fullmatch(r"in reward of fails \(own_\d+\.Fails\) at \d+\.\d+ s of simulated time", note)
        assert caught.value.ackclock_part.startswith("fails (")  # type: ignore[attr-defined]
        with pytest.raises(RuntimeError, match="start another with reset"):
            env.step(action)
        env.reset(seed=1)


def test_an_observation_that_cannot_be_made_or_copied_says_so(write: Write) -> None:
    text = """
class Fails(Observation, name="fails"):
    def __init__(self, *, at_once: bool = False) -> None:
        if at_once:
            raise ArithmeticError("not made")
    def value(self, values): return 0.0
    def __deepcopy__(self, memo): raise ArithmeticError("not copied")
"""
    file = write(text)
    with pytest.raises(ArithmeticError, match="not made") as caught:
        FlowEnv(file, observations=[{"kind": "fails", "at_once": True}, "acks"]).reset(seed=1)
    assert caught.value.__notes__[0].startswith("in __init__ of fails (")
    env = FlowEnv(file, observations=["fails", "acks"])
    env.reset(seed=1)
    with pytest.raises(ArithmeticError, match="not copied"):
        env.clone()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            'class Mine(Reward, name="power"):\n    def reward(self, values): return 0.0',
            '"power".*built-in part',
        ),
        ('class Mine(Observation, name="acks"):\n    def value(self, values): return 0.0', '"acks".*built-in part'),
        ('class Mine(Reward, name="mine"): pass', "must define reward"),
        (
            'class Mine(Observation, name="mine"):\n    low, high = 3, 3\n    def value(self, values): return 0.0',
            "has low = 3, which is not below high = 3",
        ),
        (
            'class Mine(Observation, name="mine"):\n    logarithmic_from = 1\n    def value(self, values): return 0.0',
            "is logarithmic and has low = -inf; give at least 0",
        ),
        (
            'class Mine(Reward, name="mine"):\n    def __init__(self, x: list): pass\n'
            "    def reward(self, values): return 0.0",
            "no scenario can write",
        ),
    ],
)
def test_a_class_that_will_not_do_is_refused_with_the_scenario(write: Write, text: str, message: str) -> None:
    with pytest.raises(ScenarioError, match=message):
        Scenario.load(write(text + "\n"))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"reward": {"kind": "steady", "waiting": -1}}, "agent.reward.waiting = -1 must be at least 0"),
        ({"reward": {"kind": "steady", "price": 1}}, 'must not hold a field "price"; steady has waiting, change'),
        (
            {"observations": ["rtt_ms", {"kind": "waiting_ms", "kept": 1}]},
            r"agent.observations\[1\].kept = 1 must be at least 0 and less than 1; the default is 0",
        ),
        ({"observations": ["waiting"]}, 'names "waiting", which is unknown; known: .*, acks, waiting_ms'),
    ],
)
def test_mistakes_name_field_value_and_remedy(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        FlowEnv(_example(), flow="cubic", **settings)


def test_what_has_no_range_cannot_be_scaled(write: Write) -> None:
    file = write('class Mine(Observation, name="mine"):\n    def value(self, values): return 0.0\n')
    with pytest.raises(ValueError, match=r'agent.scaled = true, and the observation "mine" has no range'):
        FlowEnv(file, observations=["mine"], scaled=True)
    env = FlowEnv(file, observations=["mine"])
    assert env.observation_space.low.tolist() == [-np.inf] and env.observation_space.high.tolist() == [np.inf]


def test_a_copy_of_an_environment_before_its_first_episode(write: Write) -> None:
    env = FlowEnv(write(COUNTS), reward="counts")
    twin = copy.copy(env.clone())
    env.reset(seed=1)
    twin.reset(seed=1)
    assert env.step(3)[1] == twin.step(3)[1] == 1
