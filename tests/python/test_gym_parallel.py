"""Agents on several flows: PettingZoo's contract, and what one agent sees of the others."""

from typing import Any

import numpy as np
import pytest
from gymnasium.error import ClosedEnvironmentError, ResetNeeded
from pettingzoo.test import parallel_api_test, parallel_seed_test

from ackclock.gym import FlowEnv, ParallelFlows, Values
from gym_scenarios import ONE, TWO, go_on, scenario
from networks import dumbbell

HOLD = 3


def hold(env: ParallelFlows) -> dict[str, int]:
    return dict.fromkeys(env.agents, HOLD)


def to_the_end(env: ParallelFlows, seed: int) -> list[tuple[Any, ...]]:
    env.reset(seed=seed)
    course = []
    while env.agents:
        course.append(env.step(hold(env)))
    return course


def test_pettingzoo_finds_nothing_wrong(capsys: pytest.CaptureFixture[str]) -> None:
    parallel_api_test(ParallelFlows(scenario(TWO)), num_cycles=500)
    parallel_seed_test(lambda: ParallelFlows(scenario(TWO)), num_cycles=100)
    assert "Passed Parallel API test" in capsys.readouterr().out


def test_an_agent_on_the_only_flow_is_the_single_environment() -> None:
    single, parallel = FlowEnv(scenario(ONE)), ParallelFlows(scenario(ONE))
    single.reset(seed=1)
    alone = go_on(single, 1000, HOLD)
    together = [
        (observations["agent"].tobytes(), rewards["agent"], terminated["agent"], truncated["agent"])
        for observations, rewards, terminated, truncated, _ in to_the_end(parallel, 1)
    ]
    assert together == [step[:4] for step in alone]
    assert parallel.summary() == alone[-1][4]


def test_agents_are_asked_when_their_flows_are_theirs() -> None:
    env = ParallelFlows(scenario(TWO))
    assert env.possible_agents == ["agent", "late"]
    assert env.agents == []
    _, infos = env.reset(seed=1)
    waits = [{name: info["is_waiting"] for name, info in infos.items()}]
    assert waits[0] == {"agent": True, "late": False}, "the second flow is in slow start still, or has not begun"
    while env.agents:
        *_, infos = env.step(hold(env))
        waits.append({name: info["is_waiting"] for name, info in infos.items()})
    assert {"agent": True, "late": True} in waits
    assert set(infos["late"]["summary"]) == set(env.summary())


def test_an_agent_that_is_not_asked_changes_nothing() -> None:
    one, other = ParallelFlows(scenario(TWO)), ParallelFlows(scenario(TWO))
    _, infos = one.reset(seed=1)
    other.reset(seed=1)
    unasked = 0
    while one.agents:
        asked = {name: HOLD for name in one.agents if infos[name]["is_waiting"]}
        unasked += len(asked) < 2
        observations, *_, infos = one.step(asked)
        also, *_ = other.step({"agent": HOLD, "late": 6} | asked)
        assert {name: seen.tobytes() for name, seen in observations.items()} == {
            name: seen.tobytes() for name, seen in also.items()
        }
    assert unasked > 0


def test_agents_may_differ() -> None:
    agents = {"agent": {"observations": ("rtt_ms",), "reward": _cwnd}, "late": {"action": "orca"}}
    env = ParallelFlows(scenario(TWO), agents=agents, reward="power", decide="20 ms")
    assert env.observation_space("agent").shape == (1,)
    assert env.observation_space("late").shape == (3,)
    assert env.action_space("late").shape == (1,)
    assert (env.settings["agent"].reward, env.settings["late"].reward) == ("none", "power")
    env.reset(seed=1)
    while env.agents:
        observations, rewards, *_ = env.step({"agent": HOLD, "late": np.array([0.0])})
        assert rewards["agent"] == pytest.approx(Values(env._core)["cwnd_segments"])
        assert 0 <= rewards["late"] <= 1
        assert observations["late"] in env.observation_space("late")


def _cwnd(values: Values) -> float:
    return values["cwnd_segments"]


def test_the_episode_terminates_when_all_flows_are_over() -> None:
    sizes = ('flow.agent.app={ kind = "file", size = "100 kB" }', 'flow.late.app={ kind = "file", size = "300 kB" }')
    course = to_the_end(ParallelFlows(scenario(TWO, *sizes)), 1)
    *_, (_, _, terminated, truncated, infos) = course
    assert terminated == {"agent": True, "late": True}
    assert truncated == {"agent": False, "late": False}
    assert [flow["delivered_bytes"] for flow in infos["agent"]["summary"]["flows"]] == [100_000, 300_000]
    assert not any(step[2]["agent"] for step in course[:-1])


def test_seeds_repeat_and_differ() -> None:
    random = ('topology.bottleneck.discard=[{ kind = "probability", p = 0.01 }]',)
    episodes = [
        [{name: seen.tobytes() for name, seen in step[0].items()} for step in to_the_end(env, seed)]
        for env, seed in ((ParallelFlows(scenario(TWO, *random)), seed) for seed in (1, 1, 2))
    ]
    assert episodes[0] == episodes[1] != episodes[2]
    env = ParallelFlows(scenario(TWO))
    drawn = [env.reset(seed)[1]["agent"]["seed"] for seed in (7, None, None, 7, None)]
    assert drawn[:3] == [drawn[3], drawn[4], drawn[2]]
    assert len(set(drawn[:3])) == 3


@pytest.mark.parametrize(
    ("agents", "message"),
    [
        (["nobody"], 'unknown flow "nobody"'),
        (["agent", "agent"], "names agent twice"),
        ([], "no flow has an agent"),
        ("agent", "is one name; give a list"),
    ],
)
def test_wrong_agents_are_named(agents: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        ParallelFlows(scenario(TWO), agents=agents)


def test_wrong_steps_are_refused() -> None:
    env = ParallelFlows(scenario(TWO), render_mode=None)
    with pytest.raises(ResetNeeded, match="call reset"):
        env.step({})
    env.reset(seed=1)
    with pytest.raises(ValueError, match="actions has none for agent 'agent'"):
        env.step({"late": HOLD})
    with pytest.raises(ValueError, match="action 9 must be a whole number"):
        env.step({"agent": 9, "late": HOLD})
    env.close()
    with pytest.raises(ClosedEnvironmentError, match="make a new"):
        env.step({})
    with pytest.raises(ClosedEnvironmentError, match="make a new"):
        env.reset()
    with pytest.raises(ValueError, match="render_mode 'ascii' is unknown"):
        ParallelFlows(scenario(TWO), render_mode="ascii")
    with pytest.raises(TypeError, match="observation"):
        ParallelFlows(scenario(TWO), agents={"agent": {"observation": ("rtt_ms",)}})


def test_the_first_agent_is_drawn() -> None:
    env = ParallelFlows(scenario(TWO), render_mode="rgb_array")
    env.reset(seed=1)
    before = env.render()
    env.step(hold(env))
    after = env.render()
    assert before is not None
    assert after is not None
    assert before.shape == after.shape
    assert (before != after).any()


FINISHES = f"""\
duration = "2 s"
{dumbbell('rate = "10 Mbit/s", delay = "10 ms"', "0 ns", limit="1 bdp")}
[[flow]]
name = "long"
[[flow]]
name = "short"
app = {{ kind = "file", size = "20 kB" }}
[[flow]]
name = "late"
start = "1 s"
"""


@pytest.mark.parametrize("reward", ["dqn", "power", "log_utility", "copa", "aurora"])
def test_an_agent_whose_flow_is_over_is_terminated_and_paid_no_more(reward: str) -> None:
    """PettingZoo's parallel API: an agent that is terminated is not among the agents of the next step. 20 kB take three
    round trips of 20 ms; before the third flow begins at 1 s its agent has done nothing, and is paid nothing."""
    env = ParallelFlows(scenario(FINISHES), decide="100 ms", action="aurora", slow_start="agent", reward=reward)
    env.reset(seed=1)
    ends: dict[str, tuple[int, bool, bool]] = {}
    steps = 0
    while env.agents:
        before = list(env.agents)
        _, rewards, terminated, truncated, infos = env.step({name: np.zeros(1, np.float32) for name in before})
        assert set(rewards) == set(terminated) == set(truncated) == set(infos) == set(before)
        if env.time_s < 1:
            assert rewards["late"] == 0
        for name in before:
            if name not in env.agents:
                ends[name] = (steps, terminated[name], truncated[name])
                assert "summary" in infos[name]
        steps += 1
    assert ends["short"] == (0, True, False)
    assert ends["long"] == ends["late"] == (steps - 1, False, True)


def test_the_last_reward_does_not_depend_on_how_long_others_go_on() -> None:
    """The short flow's is that of an environment of its own in which nobody else waits for 100 ms."""
    paid = []
    for decide in ("100 ms", "300 ms"):
        agents = {"short": {"decide": "20 ms"}, "long": {"decide": decide}}
        env = ParallelFlows(
            scenario(FINISHES), agents=agents, action="aurora", slow_start="agent", reward="log_utility"
        )
        env.reset(seed=1)
        course = []
        while "short" in env.agents:
            _, rewards, *_ = env.step({name: np.zeros(1, np.float32) for name in env.agents})
            course.append(rewards["short"])
        paid.append(course[-1])
    assert paid[0] == paid[1] != 0


def test_an_interval_is_paid_once() -> None:
    """An agent whose window is the stack's for a while, after a timeout, is not asked, and not paid again and again."""
    outage = (
        'topology.bottleneck.rate={ schedule = [{ at = "0 s", rate = "10 Mbit/s" }, { at = "1 s", rate = "0 bit/s" }] }'
    )
    limit = 'topology.bottleneck.queue.limit="60 packets"'
    env = ParallelFlows(scenario(TWO, outage, limit, "duration=4 s"), decide="50 ms", reward="dqn")
    _, infos = env.reset(seed=1)
    unpaid = 0
    while env.agents:
        _, rewards, terminated, truncated, infos = env.step(hold(env))
        for name, info in infos.items():
            if not info["is_waiting"] and not terminated[name] and not truncated[name]:
                assert rewards[name] == 0
                unpaid += 1
    assert unpaid > 0
