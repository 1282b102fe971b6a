"""Many environments at once are as many single ones, however they are stepped."""

import re
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.error import ClosedEnvironmentError, ResetNeeded
from gymnasium.vector import AutoresetMode

from ackclock.gym import IDS, FlowEnv, VectorFlowEnv
from gym_scenarios import LOSSY, ONE, scenario

SEEDS = [11, 12, 13]
SHORT = ("duration=1.5 s", 'flow.agent.tcp={ initial_ssthresh = "20 kB" }')
"""Episodes that reach a decision soon and end soon."""


def actions_of(step: int) -> Any:
    return np.array([(step + lane) % 7 for lane in range(len(SEEDS))])


def course(envs: VectorFlowEnv, steps: int) -> list[tuple[bytes, ...]]:
    envs.reset(seed=SEEDS)
    return [tuple(array.tobytes() for array in envs.step(actions_of(step))[:4]) for step in range(steps)]


def test_each_is_the_single_environment_with_its_seed() -> None:
    envs = VectorFlowEnv(scenario(LOSSY, *SHORT), num_envs=len(SEEDS), copy=True)
    observations, _ = envs.reset(seed=SEEDS)
    singles = [FlowEnv(scenario(LOSSY, *SHORT)) for _ in SEEDS]
    for lane, (single, seed) in enumerate(zip(singles, SEEDS, strict=True)):
        assert observations[lane].tobytes() == single.reset(seed=seed)[0].tobytes()
    going = set(range(len(SEEDS)))
    for step in range(200):
        actions = actions_of(step)
        observations, rewards, terminated, truncated, _ = envs.step(actions)
        for lane in sorted(going):
            observation, reward, *ends, _ = singles[lane].step(actions[lane])
            assert observation.tobytes() == observations[lane].tobytes()
            assert (reward, *ends) == (rewards[lane], terminated[lane], truncated[lane])
            if any(ends):
                going.remove(lane)
    assert not going, "all first episodes were compared to their end"


def test_an_episode_that_is_over_makes_room_with_the_next_step() -> None:
    envs = VectorFlowEnv(scenario(LOSSY, *SHORT), num_envs=len(SEEDS), copy=True, observations=("since_congestion_ms",))
    assert envs.metadata["autoreset_mode"] == AutoresetMode.NEXT_STEP
    envs.reset(seed=SEEDS)
    was_over = np.zeros(len(SEEDS), bool)
    episodes = np.ones(len(SEEDS), int)
    for step in range(300):
        _, rewards, terminated, truncated, _ = envs.step(actions_of(step))
        assert not rewards[was_over].any(), "a step that begins an episode pays nothing"
        assert not (terminated | truncated)[was_over].any()
        assert rewards[~was_over].all(), "and every other something"
        episodes += was_over
        was_over = terminated | truncated
    assert (episodes > 2).all()


@pytest.mark.parametrize("autoreset", [AutoresetMode.SAME_STEP, "SameStep"])
def test_an_episode_that_is_over_makes_room_within_its_last_step(autoreset: AutoresetMode | str) -> None:
    settings: dict[str, Any] = {"num_envs": len(SEEDS), "copy": True}
    next_step, same_step = (
        VectorFlowEnv(scenario(LOSSY, *SHORT), autoreset=mode, **settings)
        for mode in (AutoresetMode.NEXT_STEP, autoreset)
    )
    assert same_step.metadata["autoreset_mode"] == AutoresetMode.SAME_STEP
    observations, _ = same_step.reset(seed=SEEDS)
    other, _ = next_step.reset(seed=SEEDS)
    action = np.full(len(SEEDS), 4)
    ends = 0
    for _ in range(300):
        # The first lane of both, the one that rests between two episodes brought to the beginning of the next.
        assert observations[0].tobytes() == other[0].tobytes()
        observations, rewards, terminated, truncated, infos = same_step.step(action)
        other, *given, nothing = next_step.step(action)
        assert [array[0] for array in (rewards, terminated, truncated)] == [array[0] for array in given]
        assert "final_obs" not in nothing
        is_over = terminated | truncated
        if is_over.any():
            assert infos["_final_obs"].tolist() == infos["_final_info"].tolist() == is_over.tolist()
            assert [last is not None for last in infos["final_obs"]] == is_over.tolist()
        else:
            assert infos == {}, "nothing began and nothing ended"
        if is_over[0]:
            ends += 1
            assert infos["final_obs"][0].tobytes() == other[0].tobytes()
            other, *_ = next_step.step(action)
    assert ends > 2


def test_final_observations_are_those_of_gymnasiums_own_form() -> None:
    ours = VectorFlowEnv(scenario(LOSSY, *SHORT), num_envs=1, autoreset=AutoresetMode.SAME_STEP, copy=True)
    theirs = gymnasium.vector.SyncVectorEnv(
        [lambda: FlowEnv(scenario(LOSSY, *SHORT))], autoreset_mode=AutoresetMode.SAME_STEP
    )
    ours.reset(seed=[7])
    theirs.reset(seed=[7])
    for step in range(500):
        action = np.array([step % 7])
        one, other = ours.step(action), theirs.step(action)
        assert one[1:4] == other[1:4]
        if one[2][0] or one[3][0]:
            break
        assert one[0].tobytes() == other[0].tobytes()
    assert one[4].keys() == other[4].keys() >= {"final_info", "seed", "time_s"}
    assert one[4]["final_info"].keys() == other[4]["final_info"].keys()
    assert one[4]["final_obs"][0].tobytes() == other[4]["final_obs"][0].tobytes()
    assert one[4]["_final_obs"] == other[4]["_final_obs"]


def test_an_episode_without_a_decision_ends_with_its_first_step() -> None:
    envs = VectorFlowEnv(scenario(ONE, "duration=100 ms"), num_envs=1, copy=True)  # all of it slow start
    envs.reset(seed=1)
    ends = [bool(envs.step(np.array([3]))[3][0]) for _ in range(4)]
    assert ends == [True, False, True, False]


def test_later_episodes_follow_from_the_seed_and_differ() -> None:
    envs = VectorFlowEnv(scenario(LOSSY, *SHORT), num_envs=len(SEEDS))
    one, again = course(envs, 200), course(envs, 200)
    assert one == again
    ends = [step for step, (*_, truncated) in enumerate(one) if truncated[0]]
    assert len(ends) > 2
    first, second = one[: ends[0] + 1], one[ends[0] + 2 : ends[1] + 1]
    assert [step[0] for step in first] != [step[0] for step in second]


@pytest.mark.parametrize("threads", [2, 3, 50])
def test_threads_change_nothing(threads: int) -> None:
    one, other = (VectorFlowEnv(scenario(LOSSY), num_envs=len(SEEDS), threads=count) for count in (1, threads))
    assert course(one, 100) == course(other, 100)


def test_arrays_are_used_again_unless_copies_are_asked_for() -> None:
    for is_copied in (False, True):
        envs = VectorFlowEnv(scenario(ONE), num_envs=2, copy=is_copied)
        first = envs.reset(seed=1)[0]
        second = envs.step(np.array([3, 3]))[0]
        assert np.shares_memory(first, second) is not is_copied


def test_one_seed_makes_the_others() -> None:
    one, other = (VectorFlowEnv(scenario(LOSSY), num_envs=2, copy=True) for _ in range(2))
    one.reset(seed=5)
    other.reset(seed=[5, 6])
    for _ in range(20):
        assert one.step(np.array([3, 3]))[0].tobytes() == other.step(np.array([3, 3]))[0].tobytes()


@pytest.mark.parametrize("mode", ["vector_entry_point", "sync"])
@pytest.mark.parametrize("name", IDS)
def test_gymnasium_makes_many_of_each(name: str, mode: str) -> None:
    envs = gymnasium.make_vec(name, num_envs=2, vectorization_mode=mode)
    assert isinstance(envs, VectorFlowEnv) == (mode == "vector_entry_point")
    envs.action_space.seed(1)
    observations, _ = envs.reset(seed=1)
    for _ in range(5):
        assert observations in envs.observation_space
        observations, rewards, terminated, *_ = envs.step(envs.action_space.sample())
        assert rewards.shape == terminated.shape == (2,)
    envs.close()


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"reward": lambda _: 0.0}, "needs gymnasium.vector.SyncVectorEnv"),
        ({"autoreset": AutoresetMode.DISABLED}, "'NextStep' or 'SameStep'"),
        ({"num_envs": 0}, "num_envs = 0: must be a whole number from 1"),
        ({"render_mode": "rgb_array"}, "leave render_mode out"),
        ({"flow": "nobody"}, 'unknown flow "nobody"'),
    ],
)
def test_wrong_settings_are_named(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        VectorFlowEnv(scenario(ONE), **{"num_envs": 2, **settings})


@pytest.mark.parametrize("threads", [1, 3])
def test_controllers_in_python_are_stepped_on_threads_as_alone(threads: int) -> None:
    in_python = scenario(LOSSY, 'flow.agent.controller="python:ackclock.scenario.reno:Reno"')
    envs = VectorFlowEnv(in_python, num_envs=3, threads=threads, copy=True)
    built_in = VectorFlowEnv(scenario(LOSSY), num_envs=3, threads=1, copy=True)
    assert envs.reset(seed=4)[0].tobytes() == built_in.reset(seed=4)[0].tobytes()
    for _ in range(60):
        seen, expected = (many.step(np.array([3, 4, 2])) for many in (envs, built_in))
        assert [one.tobytes() for one in seen[:4]] == [one.tobytes() for one in expected[:4]]


@pytest.mark.parametrize("threads", [1, 3])
def test_an_exception_of_a_controller_on_a_thread_ends_the_environments(threads: int) -> None:
    envs = VectorFlowEnv(
        scenario(ONE, 'flow.agent.controller="python:test_gym_python:Fails"'), num_envs=3, threads=threads
    )
    for _ in range(2):  # the second episode is begun, and ends as the first
        with pytest.raises(ArithmeticError, match="lost count"):
            envs.reset(seed=1)
        with pytest.raises(ResetNeeded, match="call reset"):
            envs.step(np.array([3, 3, 3]))


@pytest.mark.parametrize(
    ("actions", "message"),
    [
        ([3], "actions must be of shape (2,), not (1,)"),
        ([3, 3, 3], "actions must be of shape (2,), not (3,)"),
        ([3, 7], "action 7 must be a whole number from 0 to 6"),
        ([-1, 3], "0 to 6"),
        ([2.5, 3], "action 2.5 must be a whole number"),
    ],
)
def test_wrong_actions_are_refused(actions: list[float], message: str) -> None:
    envs = VectorFlowEnv(scenario(ONE), num_envs=2)
    envs.reset(seed=1)
    with pytest.raises(ValueError, match=re.escape(message)):
        envs.step(np.array(actions))


def test_seeds_that_are_too_few_and_not_a_number_are_refused() -> None:
    envs = VectorFlowEnv(scenario(ONE), num_envs=2, action="aurora")
    with pytest.raises(ValueError, match="1 seed for 2 environments"):
        envs.reset(seed=[1])
    envs.reset(seed=1)
    with pytest.raises(ValueError, match="action is NaN"):
        envs.step(np.array([[0.0], [np.nan]]))


def test_steps_belong_into_an_episode() -> None:
    envs = VectorFlowEnv(scenario(ONE), num_envs=1)
    with pytest.raises(ResetNeeded, match="call reset"):
        envs.step(np.array([3]))
    envs.reset(seed=1)
    envs.close()
    with pytest.raises(ClosedEnvironmentError, match="make new environments"):
        envs.step(np.array([3]))
    with pytest.raises(ClosedEnvironmentError, match="make new environments"):
        envs.reset()


@pytest.mark.parametrize("mode", [AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP])
def test_infos_are_those_of_gymnasiums_own_form(mode: AutoresetMode) -> None:
    """The infos of episodes of one seed agree, key by key, until the next ones begin."""
    ours = VectorFlowEnv(scenario(LOSSY, *SHORT), num_envs=2, autoreset=mode)
    theirs = gymnasium.vector.SyncVectorEnv([lambda: FlowEnv(scenario(LOSSY, *SHORT))] * 2, autoreset_mode=mode)
    one, other = (envs.reset(seed=[7, 7])[1] for envs in (ours, theirs))
    assert one.keys() == other.keys()
    assert one["seed"].tolist() == other["seed"].tolist() == [7, 7]
    one, other = {}, {}
    while not one:
        assert one.keys() == other.keys()
        one, other = (envs.step(np.array([4, 4]))[4] for envs in (ours, theirs))
    assert one.keys() == other.keys()
    last = [infos["final_info"] if mode is AutoresetMode.SAME_STEP else infos for infos in (one, other)]
    assert last[0].keys() == last[1].keys()
    assert last[0]["summary"]["flows"].tolist() == last[1]["summary"]["flows"].tolist()
    if mode is AutoresetMode.NEXT_STEP:
        one, other = (envs.step(np.array([4, 4]))[4] for envs in (ours, theirs))
    assert one.keys() == other.keys()
    assert set(one["_seed"]) == {True}
    seed = int(one["seed"][0])
    again = FlowEnv(scenario(LOSSY, *SHORT))
    assert again.reset(seed=seed)[1]["time_s"] == one["time_s"][0], "a seed that is told repeats the episode"


def test_a_masked_reset_begins_where_it_is_asked_to() -> None:
    """`reset_mask` as Gymnasium's vector environments take it since 1.1."""
    envs = VectorFlowEnv(scenario(LOSSY), num_envs=2, copy=True)
    with pytest.raises(ResetNeeded):
        envs.reset(options={"reset_mask": np.array([True, False])})
    first, _ = envs.reset(seed=[1, 2])
    for _ in range(10):
        before, *_ = envs.step(np.array([4, 4]))
    after, infos = envs.reset(seed=[1, None], options={"reset_mask": np.array([True, False])})
    assert (after[0].tobytes(), after[1].tobytes()) == (first[0].tobytes(), before[1].tobytes())
    assert infos["_seed"].tolist() == [True, False]
    single = FlowEnv(scenario(LOSSY))
    single.reset(seed=2)
    for _ in range(10):
        single.step(4)
    assert envs.step(np.array([4, 4]))[0][1].tobytes() == single.step(4)[0].tobytes(), "the other went on"
    for wrong in ({"reset_mask": np.array([False, False])}, {"reset_mask": [1, 0]}, {"seed": 3}):
        with pytest.raises(ValueError, match="reset_mask"):
            envs.reset(options=wrong)


def test_options_that_nobody_understands_are_refused() -> None:
    env = FlowEnv(scenario(ONE))
    env.reset(seed=1, options={})
    with pytest.raises(ValueError, match="unknown 'scenario'"):
        env.reset(seed=1, options={"scenario": "x"})


def test_what_was_drawn_is_told() -> None:
    """The drawn values are those that the scenario itself draws by the seed in the info."""
    text = LOSSY.replace('"10 Mbit/s"', '{ choice = ["5 Mbit/s", "10 Mbit/s"] }')
    known = [scenario(text).draw(seed).drawn for seed in (3, 4, 5)]
    assert [FlowEnv(scenario(text)).reset(seed=seed)[1]["drawn"] for seed in (3, 4, 5)] == known
    infos = VectorFlowEnv(scenario(text), num_envs=3).reset(seed=[3, 4, 5])[1]
    assert infos["drawn"]["topology.bottleneck.rate"].tolist() == [one["topology.bottleneck.rate"] for one in known]
    assert "drawn" not in FlowEnv(scenario(ONE)).reset(seed=3)[1]
