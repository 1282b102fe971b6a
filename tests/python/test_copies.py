"""Scenarios, results and environments are copied and pickled, as multiprocessing and vector environments need it."""

import copy
import pickle
import warnings
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_all_start_methods, get_context
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.vector import AsyncVectorEnv

import ackclock
from ackclock import Results, Scenario
from ackclock.gym import IDS, FlowEnv, ParallelFlows, VectorFlowEnv
from gym_scenarios import LOSSY, ONE, TWO, go_on, scenario
from networks import dumbbell

DRAWN = f"""
name = "drawn"
duration = "1 s"
{dumbbell('rate = { log_uniform = ["2 Mbit/s", "60 Mbit/s"] }, delay = { uniform = ["5 ms", "20 ms"] }', "0 ns")}
[[flow]]
name = "agent"
"""


def again(one: Any) -> Any:
    return pickle.loads(pickle.dumps(one))


@pytest.mark.parametrize("make", [again, copy.copy, copy.deepcopy])
def test_a_scenario_is_the_same_again(make: Any) -> None:
    first = Scenario.parse(DRAWN, "drawn.toml").draw(5)
    for one in (first, first.with_seed(9), first.with_events(["segment_sent"]), scenario(ONE)):
        other = make(one)
        assert (other.to_json(), other.hash, str(other.folder)) == (one.to_json(), one.hash, str(one.folder))
        assert (other.drawn, other.varies) == (one.drawn, one.varies)
        assert other.draw(6).to_json() == one.draw(6).to_json()


def _run(seed: int) -> Results:
    return ackclock.run(Scenario.parse(DRAWN, "drawn.toml"), seed=seed)


def test_results_come_back_from_a_process(tmp_path: Any) -> None:
    with ProcessPoolExecutor(1, get_context("spawn")) as pool:
        there = pool.submit(_run, 3).result()
    here = _run(3)
    assert there.summary == here.summary
    assert there.flows.equals(here.flows)
    assert there.drawn == here.drawn
    assert Results.load(there.save(tmp_path / "R")).summary == here.summary
    assert copy.deepcopy(here) == again(here) == here


def _tables(one: Scenario) -> str:
    try:
        return str(ackclock.run(one).flows.height)
    except RuntimeError as error:
        return str(error)


@pytest.mark.skipif("fork" not in get_all_start_methods(), reason="needs os.fork, which this platform lacks")
def test_tables_in_a_forked_process_are_refused_and_not_waited_for() -> None:
    """docs.pola.rs, multiprocessing: a fork copies the locks of Polars' threads and not the threads that hold them."""
    one = scenario(ONE, "duration=200 ms")
    ackclock.run(one).flows.group_by("flow").len()  # Polars begins its threads
    with warnings.catch_warnings(), ProcessPoolExecutor(1, get_context("fork")) as pool:
        warnings.simplefilter("ignore")  # of Python from 3.12 on: it says that a fork beside threads may wait for ever
        assert 'get_context("spawn")' in pool.submit(_tables, one).result(timeout=60)
    assert _tables(one).isdecimal()


def test_results_that_hold_more_than_tables_say_so() -> None:
    watched = ackclock.run(scenario(ONE, "duration=200 ms"), events="all")
    with pytest.raises(TypeError, match="save them"):
        pickle.dumps(watched)


def test_an_environment_is_made_again_of_its_arguments() -> None:
    env = FlowEnv(scenario(LOSSY), reward="power", history=2)
    env.reset(seed=1)
    env.step(3)
    other = again(env)
    assert other.settings == env.settings
    assert go_on_from(other) == go_on_from(FlowEnv(scenario(LOSSY), reward="power", history=2))


def go_on_from(env: FlowEnv) -> Any:
    env.reset(seed=4)
    return go_on(env, 20, 3)


def test_a_deep_copy_goes_on_alike_and_apart() -> None:
    env = FlowEnv(scenario(LOSSY))
    env.reset(seed=1)
    env.step(3)
    twins = [copy.deepcopy(env), copy.copy(env), env.clone()]
    course = go_on(env, 20, 4)
    assert all(go_on(twin, 20, 4) == course for twin in twins)
    several = ParallelFlows(scenario(TWO))
    several.reset(seed=1)
    several.step(dict.fromkeys(several.agents, 3))
    other = copy.deepcopy(several)
    for _ in range(20):
        one, two = (each.step(dict.fromkeys(each.agents, 4)) for each in (several, other))
        assert one[1:4] == two[1:4]


def test_a_copy_of_many_goes_on_alike_and_apart() -> None:
    many = VectorFlowEnv(scenario(LOSSY), num_envs=2, threads=2)
    many.reset(seed=1)
    before = many.step(np.array([3, 3]))[0].copy()
    twins = [copy.deepcopy(many), copy.copy(many)]
    course = [[array.tobytes() for array in many.step(np.array([4, 5]))[:4]] for _ in range(20)]
    for twin in twins:
        assert (twin._observations == before).all()
        assert [[array.tobytes() for array in twin.step(np.array([4, 5]))[:4]] for _ in range(20)] == course
    assert many.reset()[1]["seed"].tolist() == twins[0].reset()[1]["seed"].tolist()


@pytest.mark.parametrize("name", IDS)
def test_each_registered_environment_is_pickled(name: str) -> None:
    assert again(gymnasium.make(name)).spec.id == name


def test_other_environments_are_pickled() -> None:
    assert again(VectorFlowEnv(scenario(ONE), num_envs=3)).num_envs == 3
    assert again(ParallelFlows(scenario(TWO), agents={"late": {}})).possible_agents == ["late"]


class Maker:
    """Makes an environment in another process, of a scenario that goes there."""

    def __init__(self) -> None:
        self.scenario = scenario(ONE)

    def __call__(self) -> FlowEnv:
        return FlowEnv(self.scenario)


def test_a_scenario_reaches_environments_in_spawned_processes() -> None:
    envs = AsyncVectorEnv([Maker(), Maker()], context="spawn")
    try:
        observations, _ = envs.reset(seed=1)
        assert observations.shape == (2, 3)
        assert np.isfinite(envs.step(np.array([3, 3]))[1]).all()
    finally:
        envs.close()
