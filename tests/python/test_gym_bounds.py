"""A number that is none, negative or too large is refused wherever an environment takes one: place, value, remedy.

Seeds of scenarios are 0 to 2^64 - 1 (docs/reference/scenario.md), counts at least one.
"""

import json
import re
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest

from ackclock import _core
from ackclock.gym import AgentSettings, FlowEnv, ParallelFlows, VectorFlowEnv
from gym_scenarios import ONE, TWO, scenario

NO_COUNTS: tuple[Any, ...] = (-1, 0, 10**30, 10**12, 1.5, "2", True, float("nan"))
NO_SEEDS: tuple[Any, ...] = (-1, 1 << 64, 10**30, 1.5, "3", True, np.float64(3))
NO_HISTORIES: tuple[Any, ...] = (-1, 0, 10_001, 10**30, 1.5, "2", True, None)

Make = Callable[..., Any]


@pytest.mark.parametrize("name", ["num_envs", "threads"])
@pytest.mark.parametrize("count", NO_COUNTS, ids=repr)
def test_a_count_of_environments_or_threads(name: str, count: Any) -> None:
    with pytest.raises(ValueError, match=re.escape(f"{name} = {count!r}: must be a whole number from 1 to")):
        VectorFlowEnv(scenario(ONE), **{"num_envs": 2, name: count})


def test_counts_of_numpy_are_counts() -> None:
    assert VectorFlowEnv(scenario(ONE), num_envs=int(np.int64(2)), threads=np.int64(2)).num_envs == 2  # type: ignore[arg-type]


@pytest.mark.parametrize("seed", NO_SEEDS, ids=repr)
def test_a_seed(seed: Any) -> None:
    several = VectorFlowEnv(scenario(ONE), num_envs=2)
    for env in (FlowEnv(scenario(ONE)), several, ParallelFlows(scenario(TWO))):
        with pytest.raises(ValueError, match=re.escape(f"seed = {seed!r}: must be a whole number from 0 to")):
            env.reset(seed=seed)
    with pytest.raises(ValueError, match=re.escape(f"seed = {seed!r}: must be")):
        several.reset(seed=[1, seed])


def test_seeds_that_follow_the_first_are_seeds_too() -> None:
    envs = VectorFlowEnv(scenario(ONE), num_envs=2)
    with pytest.raises(ValueError, match="from 0 to 18446744073709551614"):
        envs.reset(seed=(1 << 64) - 1)
    assert envs.reset(seed=(1 << 64) - 2)[1]["seed"].tolist() == [(1 << 64) - 2, (1 << 64) - 1]


def test_seeds_of_numpy_are_those_of_python() -> None:
    for env in (FlowEnv(scenario(ONE)), VectorFlowEnv(scenario(ONE), num_envs=1), ParallelFlows(scenario(TWO))):
        assert repr(env.reset(seed=np.uint64(3))) == repr(env.reset(seed=3))  # type: ignore[arg-type]


@pytest.mark.parametrize("history", NO_HISTORIES, ids=repr)
@pytest.mark.parametrize("make", [FlowEnv, VectorFlowEnv, ParallelFlows])
def test_a_history(make: Make, history: Any) -> None:
    with pytest.raises(ValueError, match=r"agent\.history = .*(must be a whole number|give 1 to 10000|64 bits)"):
        make(scenario(ONE), history=history)


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ({"observations": "cwnd_segments"}, "observations = 'cwnd_segments' is one name; give a list"),
        ({"observations": None}, "observations = None: must be a list of names"),
        ({"flow": 5}, "flow = 5: must be the name of a flow, such as 'agent'"),
        ({"action": {"kind": "cwnd", "low_segments": 2, "high_segments": 10**400}}, "has more than 64 bits"),
        ({"reward": {"kind": "copa", "delay_weight": 1e300}}, "agent.reward.delay_weight = 1e300 is out of range"),
    ],
)
def test_other_settings(setting: Mapping[str, Any], message: str) -> None:
    for make in (FlowEnv, VectorFlowEnv):
        with pytest.raises(ValueError, match=re.escape(message)):
            make(scenario(ONE), **setting)


@pytest.mark.parametrize("agents", [5, [5], {5: {}}, {"agent": 5}], ids=repr)
def test_agents(agents: Any) -> None:
    with pytest.raises(ValueError, match=r"agents.*: must be a (list|dictionary)"):
        ParallelFlows(scenario(TWO), agents=agents)


@pytest.mark.parametrize("actions", [None, 5, [3, 3]], ids=repr)
def test_actions_of_several(actions: Any) -> None:
    env = ParallelFlows(scenario(TWO))
    env.reset(seed=1)
    with pytest.raises(ValueError, match=r"actions = .*: must be a dictionary"):
        env.step(actions)


@pytest.mark.parametrize("options", [5, "abc", [1]], ids=repr)
def test_options(options: Any) -> None:
    with pytest.raises(ValueError, match=r"options = .*: must be a dictionary, or None"):
        FlowEnv(scenario(ONE)).reset(options=options)


def test_an_action_that_no_float_holds() -> None:
    env, boxed = FlowEnv(scenario(ONE)), FlowEnv(scenario(ONE), action="aurora")
    for one, action in ((env, 10**400), (boxed, [10**400])):
        one.reset(seed=1)
        with pytest.raises(ValueError, match="an action must be"):
            one.step(action)


def test_places_in_the_core() -> None:
    one = _core.Environment(scenario(ONE), [("agent", AgentSettings().to_json())])
    many = _core.VectorEnvironment(one, 2, 1, False)
    for call in (one.is_waiting, one.spaces, lambda agent: one.read(agent, "rtt_ms")):
        with pytest.raises(IndexError, match="agent = 1: must be 0 to 0"):
            call(1)
    for of_index in (many.episode, many.outcome):
        with pytest.raises(IndexError, match="index = 2: must be 0 to 1"):
            of_index(2)
    assert json.loads(one.spaces(0))["action"] == {"choices": 7}
