"""Environments with custom parts and observations."""

import gymnasium
import numpy as np
import pytest

from ackclock import Scenario
from ackclock.gym import FlowEnv, Own, ParallelFlows, VectorFlowEnv
from ackclock.scenario.example_files import FOLDER as SCENARIOS

BACKLOG = Own("cwnd_doubled", lambda values: 2 * values["cwnd_segments"], low=0, high=1000)
SHOWN = ["cwnd_segments", BACKLOG, "rtt_ms"]


def _scenario() -> Scenario:
    return Scenario.load(str(SCENARIOS / "own-parts.toml"), ["duration=4 s", "trace=false"])


def test_an_agent_beside_own_parts_sees_its_own_observation_in_its_place() -> None:
    env = FlowEnv(_scenario(), flow="cubic", observations=SHOWN)
    observation, _ = env.reset(seed=1)
    assert env.observation_space.shape == (3,) and observation[1] == 2 * observation[0]
    assert env.observation_space.high[1] == 1000
    for _ in range(5):
        observation, *_rest = env.step(env.action_space.sample())
        assert observation[1] == min(2 * observation[0], 1000) and env.observation_space.contains(observation)


def test_history_has_the_latest_last_and_a_restored_one_its_own() -> None:
    env = FlowEnv(_scenario(), flow="cubic", observations=SHOWN, history=3)
    observation, _ = env.reset(seed=1)
    assert observation.shape == (3, 3) and not observation[:2].any()
    saved, action = env.save(), env.action_space.sample()
    first = env.step(action)[0]
    env.restore(saved)
    np.testing.assert_array_equal(env.step(action)[0], first)
    np.testing.assert_array_equal(first[:, 1], 2 * first[:, 0])


def test_scaled_ends_are_minus_one_and_one() -> None:
    low = Own("least", lambda _values: -5.0, low=0, high=10)  # below its range: shown as its low end
    middle = Own("middle", lambda _values: 5.0, low=0, high=10)
    env = FlowEnv(_scenario(), flow="cubic", observations=["rtt_ms", low, middle], scaled=True)
    assert env.reset(seed=1)[0][1:].tolist() == [-1.0, 0.0]


def test_each_agent_of_a_parallel_environment_has_its_own() -> None:
    env = ParallelFlows(_scenario(), agents=["cubic", "mine"], observations=SHOWN)
    observations, _ = env.reset(seed=1)
    assert all(seen[1] == 2 * seen[0] for seen in observations.values())


def test_make_vec_takes_them_in_step_and_threads_do_not() -> None:
    envs = gymnasium.make_vec("ackclock/SingleFlow-v0", 2, "sync", vector_kwargs=None, observations=SHOWN, history=1)
    observations, _ = envs.reset(seed=1)
    assert observations.shape == (2, 3)
    with pytest.raises(ValueError, match=r"gymnasium\.vector\.SyncVectorEnv"):
        VectorFlowEnv("x.toml", num_envs=2, observations=SHOWN)  # type: ignore[list-item]


@pytest.mark.parametrize(
    ("observations", "scaled", "message"),
    [
        ([BACKLOG], False, "name one as well"),
        (["rtt_ms", Own("x", lambda _values: 0.0, low=1, high=1)], False, "not below high"),
        (["rtt_ms", Own("x", lambda _values: 0.0)], True, "give it low and high"),
    ],
)
def test_what_cannot_be_shown(observations: list[str | Own], scaled: bool, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        FlowEnv(_scenario(), flow="cubic", observations=observations, scaled=scaled)
