"""Wrong actions, rewards, seeds and settings raise a ValueError that names them (docs/reference/environments.md).

An action is a member of the space by Gymnasium's `contains`: a whole number for `Discrete`, an array of shape (1,) here
for `Box`. NaN as a reward would spoil every estimate of a value that comes after it.
"""

import copy
import re
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest
from gymnasium.error import ClosedEnvironmentError
from gymnasium.spaces import Box, Discrete
from gymnasium.vector import SyncVectorEnv

from ackclock.gym import FlowEnv, Own, OwnAction, ParallelFlows, Values, VectorFlowEnv
from gym_scenarios import ONE, TWO, scenario

NO_VECTORS = [np.array([0.1, 0.9]), 0.5, np.float32(0.2), [[0.1]], [[0.1], [0.2, 0.3]], [], None, "x", ["0.3"], {}]
NO_CHOICES = [np.array([1]), [1], None, "1", {}]


@pytest.mark.parametrize("action", NO_VECTORS, ids=repr)
def test_an_action_of_another_shape_is_refused(action: Any) -> None:
    wanted = re.escape(f"an action must be an array of shape (1,), not {action!r}")
    one = FlowEnv(scenario(ONE), action="aurora")
    one.reset(seed=1)
    with pytest.raises(ValueError, match=wanted):
        one.step(action)
    several = ParallelFlows(scenario(TWO), action="aurora")
    several.reset(seed=1)
    with pytest.raises(ValueError, match=wanted):
        several.step(dict.fromkeys(several.agents, action))


@pytest.mark.parametrize("action", NO_CHOICES, ids=repr)
def test_an_action_that_is_no_number_of_a_choice_is_refused(action: Any) -> None:
    env = FlowEnv(scenario(ONE))
    env.reset(seed=1)
    with pytest.raises(ValueError, match=re.escape(f"must be the number of a choice, not {action!r}")):
        env.step(action)
    env.step(np.array(3))


@pytest.mark.parametrize("actions", [np.array([["a"], ["b"]]), np.array([[1j], [0]]), [None, None]], ids=repr)
def test_actions_of_many_that_are_no_numbers_are_refused(actions: Any) -> None:
    envs = VectorFlowEnv(scenario(ONE), num_envs=2, action="aurora")
    envs.reset(seed=1)
    with pytest.raises(ValueError, match="actions must be numbers, not of"):
        envs.step(actions)


@pytest.mark.parametrize("actions", [np.zeros(2), np.zeros((1, 2)), np.zeros((2, 2)), np.zeros((3, 1))], ids=np.shape)
def test_actions_of_many_have_the_shape_of_the_space(actions: Any) -> None:
    envs = VectorFlowEnv(scenario(ONE), num_envs=2, action="aurora")
    envs.reset(seed=1)
    with pytest.raises(ValueError, match=re.escape(f"actions must be of shape (2, 1), not {actions.shape}")):
        envs.step(actions)
    envs.step(np.zeros((2, 1)))


def _both(action: Any, values: Mapping[str, float]) -> tuple[float, float]:
    return values["cwnd_segments"] * 2 ** action[0], 1e6 * action[1]


BOTH = OwnAction(Box(-1, 9, (2,), np.float32), _both)


def test_an_action_of_ones_own_sets_window_and_rate() -> None:
    env = FlowEnv(scenario(ONE), action=BOTH, decide="ack")
    assert env.action_space == BOTH.space and env.action_space is not BOTH.space
    env.reset(seed=1)
    before = Values(env._core)["cwnd_segments"]
    env.step(np.array([1, 5], np.float32))
    after = Values(env._core)
    assert (after["cwnd_segments"], after["pacing_rate_bps"]) == (2 * before, 5e6)
    twin = copy.deepcopy(env)
    action = np.array([-1, 2], np.float32)
    assert twin.step(action)[0].tobytes() == env.step(action)[0].tobytes()


def test_agents_side_by_side_have_actions_of_their_own() -> None:
    env = ParallelFlows(scenario(TWO), agents={"agent": {"action": BOTH}, "late": {}})
    env.reset(seed=1)
    env.step({"agent": np.array([0, 3], np.float32)})
    assert Values(env._core, 0)["pacing_rate_bps"] == 3e6
    assert isinstance(env.action_space("late"), Discrete)


@pytest.mark.parametrize(
    ("action", "message"),
    [
        (OwnAction(BOTH.space, lambda *_: 5), "the action is 5; its function has to return a window and a rate"),
        (OwnAction(BOTH.space, lambda *_: (np.nan, None)), "the window of the action is nan"),
        (OwnAction(BOTH.space, lambda *_: (5, "fast")), "the rate of the action is 'fast'"),
        (OwnAction(Discrete(2), lambda *_: (5, None)), "an action must be a member of Discrete(2)"),
    ],
    ids=["pair", "window", "rate", "space"],
)
def test_what_is_no_action_of_ones_own_is_refused(action: OwnAction, message: str) -> None:
    env = FlowEnv(scenario(ONE), action=action)
    env.reset(seed=1)
    with pytest.raises(ValueError, match=re.escape(message)):
        env.step(np.zeros(2, np.float32))


def test_threads_take_no_actions_that_are_functions() -> None:
    with pytest.raises(ValueError, match=r"an action that is a function needs gymnasium\.vector\.SyncVectorEnv"):
        VectorFlowEnv(scenario(ONE), num_envs=2, action=BOTH)
    envs = SyncVectorEnv([lambda: FlowEnv(scenario(ONE), action=BOTH)] * 2)
    envs.reset(seed=1)
    envs.step(np.zeros((2, 2), np.float32))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (
            {"observations": ["window_ratio"]},
            "the agent observes window_ratio, which quantised policies do not support",
        ),
        ({"history": 2}, "the agent has a history"),
        ({"decide": "20 ms"}, "the agent decides on a timer"),
        ({"on_loss": "agent"}, "the agent responds to losses"),
        (
            {"action": "aurora"},
            "the agent has an action that quantised policies do not support; train with deltas or orca",
        ),
        ({"action": BOTH}, "the action is a function; name deltas or orca"),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else "",
)
def test_an_agent_that_no_kernel_could_run_is_refused_by_its_target(settings: dict[str, Any], message: str) -> None:
    FlowEnv(scenario(ONE), **settings)
    FlowEnv(scenario(ONE), target="kernel")
    for make in (FlowEnv, ParallelFlows):
        with pytest.raises(ValueError, match=f'agent.target = "kernel", and {message}'):
            make(scenario(ONE), target="kernel", **settings)


def test_an_error_of_code_that_a_step_calls_is_not_taken_for_one_of_its_action() -> None:
    def fails(_values: Any) -> float:
        return "text" + 1  # type: ignore[operator]

    env = FlowEnv(scenario(ONE), reward=fails)
    env.reset(seed=1)
    with pytest.raises(TypeError, match="concatenate"):
        env.step(3)


@pytest.mark.parametrize("returned", [float("nan"), np.nan, None, "much", [1, 2], 10**400], ids=repr)
def test_what_a_function_returns_instead_of_a_number_is_refused(returned: Any) -> None:
    wanted = f"is {re.escape(repr(returned))}; its function has to return a number"
    one = FlowEnv(scenario(ONE), reward=lambda _: returned)
    one.reset(seed=1)
    with pytest.raises(ValueError, match=f"the reward {wanted}"):
        one.step(3)
    several = ParallelFlows(scenario(TWO), reward=lambda _: returned)
    several.reset(seed=1)
    with pytest.raises(ValueError, match=f"the reward of agent {wanted}"):
        several.step(dict.fromkeys(several.agents, 3))
    shown = FlowEnv(scenario(ONE), observations=["rtt_ms", Own("own", lambda _: returned)])
    with pytest.raises(ValueError, match=f"the observation own {wanted}"):
        shown.reset(seed=1)


@pytest.mark.parametrize(
    "reset",
    [
        lambda seed: FlowEnv(scenario(ONE)).reset(seed=seed),
        lambda seed: ParallelFlows(scenario(TWO)).reset(seed=seed),
        lambda seed: VectorFlowEnv(scenario(ONE), num_envs=2).reset(seed=[0, seed]),
    ],
    ids=["one", "parallel", "vector"],
)
def test_a_seed_of_more_than_64_bits_is_refused(reset: Callable[[int], Any]) -> None:
    """NumPy's `SeedSequence().entropy` makes such seeds, of 128 bits."""
    reset(2**64 - 1)
    with pytest.raises(ValueError, match=r"seed = 18446744073709551616: must be a whole number from 0 to 2\^64 - 1"):
        reset(2**64)


@pytest.mark.parametrize(
    "settings",
    [
        {"decide": {"rounds": np.nan}},
        {"action": {"kind": "aurora", "step": np.inf}},
        {"reward": np.array([1])},
        {"history": np.int64(2)},
    ],
    ids=repr,
)
def test_a_setting_that_the_core_could_not_read_is_named(settings: dict[str, Any]) -> None:
    [name] = settings
    with pytest.raises(ValueError, match=rf"agent\.{name} = .* cannot be read"):
        FlowEnv(scenario(ONE), **settings)


def test_no_history_is_refused_in_the_cores_words() -> None:
    with pytest.raises(ValueError, match=r"agent\.history = -1 must be a whole number"):
        FlowEnv(scenario(ONE), history=-1)


def test_nothing_goes_on_after_close() -> None:
    env = FlowEnv(scenario(ONE))
    env.reset(seed=1)
    moment = env.save()
    env.close()
    with pytest.raises(ClosedEnvironmentError, match=r"restore\(\) after close\(\)"):
        env.restore(moment)


def test_a_copy_samples_from_spaces_of_its_own() -> None:
    """Two environments that share nothing: what one draws changes nothing of what the other would."""
    for make in (FlowEnv, ParallelFlows):
        envs = [make(scenario(ONE), action="aurora") for _ in range(2)]
        spaces = [env.action_space if isinstance(env, FlowEnv) else env.action_space("agent") for env in envs]
        for space in spaces:
            space.seed(4)
        twin = envs[0].__deepcopy__({})
        own = twin.action_space if isinstance(twin, FlowEnv) else twin.action_space("agent")
        first = [float(own.sample()[0]) for _ in range(3)]
        assert first == [float(spaces[1].sample()[0]) for _ in range(3)]
        assert first == [float(spaces[0].sample()[0]) for _ in range(3)]
