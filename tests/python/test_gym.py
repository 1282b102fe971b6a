"""Environments: what Gymnasium asks of them, and what a network of hand-worked numbers does under an agent."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.error import ClosedEnvironmentError, ResetNeeded
from gymnasium.utils.env_checker import check_env
from gymnasium.wrappers import FrameStackObservation, RecordEpisodeStatistics
from matplotlib import pyplot as plt

import ackclock.gym
from ackclock.gym import IDS, FlowEnv, Own, ParallelFlows, Values, VectorFlowEnv
from gym_scenarios import LOSSY, ONE, TWO, go_on, rollout, scenario

HEADINGS = (
    "Description",
    "Action Space",
    "Observation Space",
    "Rewards",
    "Starting State",
    "Episode End",
    "Arguments",
    "Version History",
)
FILE = ('flow.agent.app={ kind = "file", size = "300 kB" }',)
HOLD = 3  # the choice of the default table of segments that adds none
SHOWN = ("threshold_segments", "cwnd_segments", "rtt_ms")
DOUBLED = Own("doubled_segments", lambda values: 2 * values["cwnd_segments"])
WINDOW = {"kind": "cwnd", "low_segments": 2, "high_segments": 50}
EVERY_ACK = "flow.agent.receiver_tcp.delayed_ack=false"
EMPTY_MS = 24 + 1.2 + 2 * 0.12 + 0.0416 + 2 * 0.00416
"""Propagation; a packet of 1500 octets at 10 and twice at 100 Mbit/s; an ACK of 52 octets likewise."""


@pytest.fixture
def windows() -> Iterator[None]:
    """A display, as far as Matplotlib can tell."""
    before = plt.get_backend()
    plt.switch_backend("module://window_stub")
    yield
    plt.switch_backend(before)


@pytest.mark.filterwarnings("ignore:.*symmetric and normalized space")  # the range of `orca` is its paper's, [-2, 2]
@pytest.mark.usefixtures("windows")
@pytest.mark.parametrize("name", IDS)
def test_gymnasium_finds_nothing_wrong(name: str) -> None:
    check_env(gymnasium.make(name).unwrapped)
    check_env(gymnasium.make(name, render_mode="rgb_array").unwrapped)


@pytest.mark.parametrize("name", IDS)
def test_the_same_seed_and_actions_give_the_same_episode(name: str) -> None:
    one, other = (rollout(gymnasium.make(name), 5, 60) for _ in range(2))
    assert one == other
    assert len({step[0] for step in one}) > 5, "something happens in it"


def test_seeds_decide_what_is_random() -> None:
    one, other = (rollout(FlowEnv(scenario(LOSSY)), seed, 100, HOLD) for seed in (1, 2))
    assert one != other
    first, second = FlowEnv(scenario(LOSSY)), FlowEnv(scenario(LOSSY))
    assert first.reset(seed=3)[1]["seed"] == second.reset(seed=3)[1]["seed"] == 3
    later = [first.reset()[1]["seed"] for _ in range(3)]
    assert later == [second.reset()[1]["seed"] for _ in range(3)]
    assert len(set(later)) == 3


@pytest.mark.parametrize(
    "documented", [gymnasium.make(name).unwrapped.__class__ for name in IDS] + [FlowEnv, ParallelFlows], ids=repr
)
def test_every_class_is_documented_under_the_same_headings(documented: type) -> None:
    assert tuple(re.findall(r"^ *## (.*)$", documented.__doc__ or "", re.MULTILINE)) == HEADINGS


@pytest.mark.parametrize("name", IDS)
def test_documentation_tells_the_spaces_and_the_end(name: str) -> None:
    env: Any = gymnasium.make(name).unwrapped
    text = type(env).__doc__
    shape = str(env.observation_space.shape)
    is_choice = isinstance(env.action_space, gymnasium.spaces.Discrete)
    most = 2 if env.settings.action == "orca" else 1
    wanted = f"`Discrete({env.action_space.n})`" if is_choice else f"`Box(-{most}, {most}, (1,))`"
    if "as in `ackclock/SingleFlow-v0`" not in text:
        assert f"{shape})`" in text
        assert wanted in text
    assert f"Truncated after {env.scenario.duration_s:g} s" in text


def test_a_window_smaller_than_the_path_is_delivered_once_a_round_trip() -> None:
    env = FlowEnv(scenario(ONE, EVERY_ACK), action=WINDOW, observations=("rtt_ms", "cwnd_segments"), reward=_rate)
    env.reset(seed=1)
    for _ in range(15):
        (rtt_ms, cwnd), rate_bps, *_ = env.step(np.array([0.0]))
    assert cwnd == pytest.approx(10, rel=1e-3)  # the geometric mean of 2 and 50
    assert rtt_ms == pytest.approx(EMPTY_MS)
    assert rate_bps == pytest.approx(10 * 1448 * 8 / (EMPTY_MS / 1e3), rel=1e-3)


def test_a_window_larger_than_the_path_waits_in_the_queue() -> None:
    names = ("rtt_ms", "queueing_delay_ms", "min_rtt_ms")
    env = FlowEnv(scenario(ONE, EVERY_ACK), action=WINDOW, observations=names)
    env.reset(seed=1)
    for _ in range(15):
        (rtt_ms, waiting_ms, least_ms), *_ = env.step(np.array([1.0]))
    # 50 segments leave the bottleneck in 50 times 1.2 ms.
    assert rtt_ms == pytest.approx(60)
    # The handshake's packets have 60 octets either way and are the fastest.
    assert least_ms == pytest.approx(24 + 2 * (0.048 + 2 * 0.0048))
    assert waiting_ms == pytest.approx(60 - least_ms)


def test_choices_add_segments() -> None:
    env = FlowEnv(
        scenario(ONE, "topology.bottleneck.queue.limit=10000 packets", 'flow.agent.tcp={ initial_ssthresh = "10 kB" }')
    )
    before = env.reset(seed=1)[0][1]
    for choice, segments in ((6, 10), (4, 1), (HOLD, 0), (1, -3), (5, 3)):
        after = env.step(choice)[0][1]
        assert after - before == pytest.approx(segments, abs=1e-3)
        before = after


def test_a_file_ends_the_episode_when_it_has_arrived() -> None:
    env = FlowEnv(scenario(ONE, *FILE))
    *_, (_, _, terminated, truncated, summary) = rollout(env, 1, 1000, HOLD)
    assert (terminated, truncated) == (True, False)
    (flow,) = summary["flows"]
    assert flow["delivered_bytes"] == 300_000
    assert flow["completion_s"] <= env.time_s < 3


def test_the_duration_truncates() -> None:
    env = FlowEnv(scenario(ONE))
    *before, (_, _, terminated, truncated, summary) = rollout(env, 1, 1000, HOLD)
    assert (terminated, truncated) == (False, True)
    assert not any(step[2] or step[3] for step in before[1:])
    assert env.time_s == 3
    assert summary["duration_s"] == 3


def test_a_clone_and_a_saved_state_go_on_alike() -> None:
    env = FlowEnv(scenario(LOSSY), history=3)
    rollout(env, 4, 10, HOLD)
    twin, state = env.clone(), env.save()
    rest = go_on(env, 1000, HOLD)
    assert rest[-1][3], "to the end"
    assert rest[-1][4]["flows"][0]["lost_segments"] > 0
    assert go_on(twin, 1000, HOLD) == rest
    for _ in range(2):
        env.restore(state)
        assert go_on(env, 1000, HOLD) == rest
    env.restore(state)
    assert go_on(env, 1000, 6) != rest, "another course is another one"


def test_a_clone_draws_the_same_seeds() -> None:
    env = FlowEnv(scenario(LOSSY))
    env.reset(seed=4)
    twin = env.clone()
    assert env.reset()[1] == twin.reset()[1]


def _rate(values: Values) -> float:
    return values["delivery_rate_bps"]


def test_a_reward_of_ones_own_sees_every_observation() -> None:
    seen: dict[str, float] = {}

    def reward(values: Values) -> float:
        seen.update(values)
        return 2 * values["cwnd_segments"]

    env = FlowEnv(scenario(ONE), reward=reward, observations=("cwnd_segments", "srtt_ms"))
    env.reset(seed=1)
    (cwnd, srtt_ms), paid, *_ = env.step(HOLD)
    assert paid == pytest.approx(2 * cwnd)
    assert seen["srtt_ms"] == pytest.approx(srtt_ms)
    assert len(seen) == len(Values(env._core)) > 20
    with pytest.raises(KeyError, match="ackclock list agents"):
        Values(env._core)["speed"]


def test_history_comes_latest_last() -> None:
    plain = rollout(FlowEnv(scenario(ONE)), 1, 4, 6)
    env = FlowEnv(scenario(ONE), history=3)
    first, _ = env.reset(seed=1)
    assert first.shape == (3, 3)
    assert not first[:2].any(), "zeros before the first"
    for _ in range(4):
        last, *_ = env.step(6)
    assert last.tobytes() == b"".join(step[0] for step in plain[-3:])


def test_scaled_observations_keep_to_their_range() -> None:
    names = list(Values(FlowEnv(scenario(ONE))._core))
    env = FlowEnv(scenario(LOSSY), observations=names, scaled=True)
    space: Any = env.observation_space
    assert space.low.min() == -1
    assert space.high.max() == 1
    env.reset(seed=1)
    env.action_space.seed(1)
    for _ in range(20):
        observation, _, is_over, is_cut_short, _ = env.step(env.action_space.sample())
        assert observation in space
        if is_over or is_cut_short:
            env.reset()


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"flow": "nobody"}, 'unknown flow "nobody" for an agent; known: agent'),
        ({"observations": ("cwnd",)}, 'agent.observations names "cwnd", which is unknown; known: cwnd_segments'),
        ({"observations": ()}, "agent.observations is empty; name at least one"),
        ({"history": 0}, "agent.history = 0 is out of range; give 1 to"),
        ({"action": "fly"}, 'agent.action = "fly" is unknown; known: deltas'),
        ({"action": {"kind": "cwnd", "low_segments": 9, "high_segments": 3}}, "agent.action.low_segments = 9 must be"),
        ({"reward": "love"}, 'agent.reward = "love" is unknown; known: dqn'),
        ({"decide": "now and then"}, 'agent.decide = "now and then" is unknown; write "ack"'),
        ({"slow_start": "nobody"}, 'agent.slow_start = "nobody" must be "stack" or "agent"'),
        ({"render_mode": "ascii"}, "render_mode 'ascii' is unknown; known:"),
    ],
)
def test_wrong_settings_are_named(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        FlowEnv(scenario(ONE), **settings)


def test_an_unknown_setting_and_a_scenario_without_flows_are_refused() -> None:
    with pytest.raises(TypeError, match="observation"):
        FlowEnv(scenario(ONE), observation=("rtt_ms",))
    with pytest.raises(ackclock.ScenarioError):
        FlowEnv(scenario("duration = 3"))


def test_a_flow_whose_own_agent_others_may_have_is_refused() -> None:
    shared = scenario(ONE, 'flow.agent.controller={ kind = "dqn_newreno", agent = "both" }')
    with pytest.raises(ValueError, match='flow "agent" has a controller whose own agent, "both", others may have'):
        FlowEnv(shared)
    FlowEnv(scenario(ONE, 'flow.agent.controller="dqn_newreno"')).reset(seed=1)


@pytest.mark.parametrize("action", [7, -1, 0.5])
def test_an_action_that_is_none_is_refused(action: float) -> None:
    env = FlowEnv(scenario(ONE))
    env.reset(seed=1)
    with pytest.raises(ValueError, match=f"action {action} must be a whole number from 0 to 6"):
        env.step(action)
    env.step(6)


def test_not_a_number_is_refused() -> None:
    env = FlowEnv(scenario(ONE), action="aurora")
    env.reset(seed=1)
    with pytest.raises(ValueError, match="action is NaN; give a number from -1 to 1"):
        env.step(np.array([np.nan]))


def test_steps_belong_into_an_episode() -> None:
    env = FlowEnv(scenario(ONE, *FILE))
    with pytest.raises(ResetNeeded, match="call reset"):
        env.step(HOLD)
    rollout(env, 1, 1000, HOLD)
    with pytest.raises(ResetNeeded, match="call reset"):
        env.step(HOLD)
    env.reset(seed=1)
    env.close()
    with pytest.raises(ClosedEnvironmentError, match="make a new environment"):
        env.step(HOLD)
    with pytest.raises(ClosedEnvironmentError, match="make a new environment"):
        env.reset()


def test_wrappers_of_gymnasium_work() -> None:
    env = RecordEpisodeStatistics(FlowEnv(scenario(ONE)))
    steps = rollout(env, 1, 1000, HOLD)
    env.reset(seed=1)
    while True:
        *_, terminated, truncated, info = env.step(HOLD)
        if terminated or truncated:
            break
    assert info["episode"]["l"] == len(steps) - 1
    assert info["episode"]["r"] == pytest.approx(sum(step[1] for step in steps[1:]))
    stacked = FrameStackObservation(FlowEnv(scenario(ONE)), 4)
    stacked.reset(seed=1)
    for _ in range(3):
        observation = stacked.step(HOLD)[0]
    assert observation.tobytes() == b"".join(step[0] for step in steps[:4])


def test_the_second_flow_can_be_the_agents() -> None:
    env = FlowEnv(scenario(TWO), flow="late")
    env.reset(seed=1)
    assert env.time_s > 0.5
    assert [flow["controller"] for flow in env.summary()["flows"]] == ["reno", "agent on cubic"]


def test_a_trace_of_ones_own_moves_the_link(tmp_path: Path) -> None:
    # One line a millisecond: 1500 octets a millisecond, 12 Mbit/s.
    (tmp_path / "even.trace").write_text("".join(f"{line}\n" for line in range(1, 101)))
    env = gymnasium.make("ackclock/Trace-v0", trace=tmp_path / "even.trace", on_loss="stack", action="orca")
    *_, last = rollout(env, 1, 10_000, np.array([0.0], np.float32))
    (flow,) = last[4]["flows"]
    assert 0.8 * 12e6 < flow["goodput_bps"] < 12e6
    with pytest.raises(ValueError, match="give scenario or trace, not both"):
        gymnasium.make("ackclock/Trace-v0", trace="x", scenario=scenario(ONE))


@pytest.mark.parametrize("name", ["a.trace", "it's.trace", "back\\slash.trace", 'a "b".trace', "Spur für mich.trace"])
def test_a_trace_is_looked_for_where_python_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """The path is relative to the working directory, whatever characters it has; the scenario is the package's."""
    (tmp_path / name).write_text("1\n2\n")
    monkeypatch.chdir(tmp_path)
    assert gymnasium.make("ackclock/Trace-v0", trace=name).reset(seed=1)[1]["seed"] == 1
    with pytest.raises(ackclock.ScenarioError, match="nosuch"):
        gymnasium.make("ackclock/Trace-v0", trace="nosuch")


def test_a_registered_environment_takes_another_scenario(scenario_file: Path) -> None:
    env: Any = gymnasium.make("ackclock/DqnNewReno-v0", scenario=scenario_file, flow="old").unwrapped
    assert (env.flow, env.scenario.duration_s) == ("old", 2)


@pytest.mark.parametrize(
    "settings", [{"observations": ("cwnd_segments",)}, {"action": "aurora"}, {"observations": (*SHOWN, DOUBLED)}]
)
def test_a_state_of_another_agent_is_not_restored(settings: dict[str, Any]) -> None:
    """Its observations and actions are of other spaces, which are fixed in Gymnasium."""
    env, other = FlowEnv(scenario(ONE)), FlowEnv(scenario(ONE), **settings)
    other.reset(seed=1)
    with pytest.raises(ValueError, match="state: belongs to an agent with other settings"):
        env.restore(other.save())


def test_before_its_first_decision_an_agent_is_paid_nothing() -> None:
    """docs/reference/environments.md: a flow of two segments is over before slow start is."""
    short = scenario(ONE, 'flow.agent.app={ kind = "file", size = "2 kB" }')
    one, several = FlowEnv(short, reward="log_utility"), ParallelFlows(short, reward="log_utility")
    many = VectorFlowEnv(short, num_envs=1, reward="log_utility")
    for env in (one, several, many):
        env.reset(seed=1)
    _, paid, terminated, *_ = one.step(HOLD)
    assert (paid, terminated) == (0.0, True)
    assert several.step({"agent": HOLD})[1] == {"agent": 0.0}
    assert many.step(np.array([HOLD]))[1].tolist() == [0.0]
