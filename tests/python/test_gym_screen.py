"""Pictures of environments: what is remembered for them, and that they show it."""

import os
import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from matplotlib import pyplot as plt

from ackclock._core import Outcome
from ackclock.gym import FlowEnv
from ackclock.gym.history import History
from gym_scenarios import ONE, TWO, go_on, scenario

HOLD = 3


class Standing:
    """An environment that says what it is told to say: two flows, two links."""

    def __init__(self) -> None:
        self.now_s, self.read_bytes, self.waiting = 0.0, [0, 0], [0, 0]
        self.looks = 0

    def read(self, agent: int, name: str) -> float:
        return {"cwnd_segments": 10.0, "ssthresh_segments": 5.0, "pacing_rate_bps": 1e6}[name]

    def outcome(self) -> Outcome:
        pytest.fail("a history asks for no outcome")

    def snapshot(self) -> tuple[list[tuple[int, float, int]], list[int]]:
        self.looks += 1
        return [(14480, 25.0, read) for read in self.read_bytes], list(self.waiting)


def noted(core: Standing, history: History, times: list[float]) -> None:
    for core.now_s in times:
        core.read_bytes = [round(1000 * core.now_s), round(3000 * core.now_s)]
        history.note(core)


def test_rates_are_bytes_over_time() -> None:
    core, history = Standing(), History(flow=1, links=2, shown_s=30)
    noted(core, history, [0, 1, 2, 4])
    ends, own = history.rate_bps("read_bytes")
    _, others = history.rate_bps("others_bytes")
    assert ends.tolist() == [1, 2, 4]
    assert own.tolist() == [24_000] * 3  # 3000 octets a second
    assert others.tolist() == [8_000] * 3


def test_many_decisions_make_one_step_of_a_rate() -> None:
    core, history = Standing(), History(flow=0, links=2, shown_s=30)  # a step is 0.2 s
    noted(core, history, [0.01 + decision / 50 for decision in range(51)])
    ends, own = history.rate_bps("read_bytes")
    assert ends.tolist() == pytest.approx([0.19, 0.39, 0.59, 0.79, 0.99, 1.01])
    assert own.tolist() == pytest.approx([8_000] * 6)


def test_moments_that_a_picture_cannot_tell_apart_are_not_looked_at() -> None:
    core, history = Standing(), History(flow=0, links=2, shown_s=30)  # 3000 samples: 10 ms
    noted(core, history, [0, 0.001, 0.002, 0.0101, 0.0102, 0.03])
    assert history.column("time_s").tolist() == [0, 0.0101, 0.03]
    assert core.looks == 3
    core.now_s = 0.031
    history.note(core, must=True)
    assert history.column("time_s").tolist() == [0, 0.0101, 0.03, 0.031]


def test_going_back_forgets_what_came_after() -> None:
    core, history = Standing(), History(flow=0, links=2, shown_s=30)
    noted(core, history, [0, 1, 2, 3, 1.5])
    assert history.column("time_s").tolist() == [0, 1, 1.5]


def test_what_lies_further_back_is_not_shown() -> None:
    core, history = Standing(), History(flow=0, links=2, shown_s=30)
    noted(core, history, [0, 1, 5, 20, 32])
    assert history.column("time_s").tolist() == [5, 20, 32]


def test_the_queue_shown_is_the_longest() -> None:
    core, history = Standing(), History(flow=0, links=2, shown_s=30)
    for core.now_s, core.waiting in ((0, [0, 4]), (1, [5, 8]), (2, [6, 3])):
        history.note(core)
    link, waiting = history.longest_queue()
    assert (link, waiting.tolist()) == (1, [4, 8, 3])


def test_a_long_time_without_decisions_is_a_gap() -> None:
    core, history = Standing(), History(flow=0, links=2, shown_s=30)
    noted(core, history, [0, 0.1, 0.2, 0.3, 4.0, 4.1])
    assert history.is_unseen().tolist() == [False, False, False, False, True, False]


def test_a_picture_asked_for_once_shows_all_since_the_beginning() -> None:
    env = FlowEnv(scenario(TWO), render_mode="rgb_array")
    env.reset(seed=1)
    went = 1 + len(go_on(env, 1000, HOLD))
    seen = env._screen.history.column("time_s")
    assert seen.size == went
    assert seen[-1] == env.time_s == 3
    picture = env.render()
    assert (picture.shape, picture.dtype) == ((600, 800, 3), np.uint8)
    # The blue of the agent's lines is in the upper half, the green of the queue in the lowest third.
    assert _count(picture[:200], (0x00, 0x72, 0xB2)) > 100
    assert _count(picture[400:], (0x00, 0x9E, 0x73)) > 100
    assert _count(picture[200:400], (0xD5, 0x5E, 0x00)) > 100, "the other flow"


def _count(picture: Any, colour: tuple[int, int, int]) -> int:
    return int((np.abs(picture.astype(int) - colour).sum(axis=2) < 30).sum())


def test_pictures_of_the_same_course_are_the_same_and_of_another_are_not() -> None:
    pictures = []
    for choice in (HOLD, HOLD, 6):
        env = FlowEnv(scenario(ONE), render_mode="rgb_array")
        env.reset(seed=1)
        go_on(env, 10, choice)
        pictures.append(env.render())
    assert (pictures[0] == pictures[1]).all()
    assert (pictures[0] != pictures[2]).any()


def test_a_clone_has_seen_the_same_and_draws_for_itself() -> None:
    env = FlowEnv(scenario(ONE), render_mode="rgb_array")
    env.reset(seed=1)
    go_on(env, 5, HOLD)
    twin = env.clone()
    before = env.render()
    assert (twin.render() == before).all()
    go_on(twin, 5, 6)
    assert (twin.render() != before).any()
    assert (env.render() == before).all()


def test_another_episode_begins_on_an_empty_sheet() -> None:
    env = FlowEnv(scenario(ONE), render_mode="rgb_array")
    env.reset(seed=1)
    first = env.render()
    go_on(env, 5, HOLD)
    env.reset(seed=1)
    assert (env.render() == first).all()


def test_the_flows_of_an_episode_may_be_drawn() -> None:
    # Between one and four flows come before the agent's, and with each come four links.
    text = ONE.replace("[[flow]]", '[[flow]]\nname = "before"\ncount = { choice = [1, 2, 3, 4] }\n\n[[flow]]')
    env = FlowEnv(scenario(text), flow="agent", render_mode="rgb_array")
    links = set()
    for seed in range(1, 9):
        env.reset(seed=seed)
        go_on(env, 20, HOLD)
        assert env.render().shape == (600, 800, 3)
        summary = env.summary()
        links.add(len(summary["links"]))
        (read,) = (flow["delivered_bytes"] for flow in summary["flows"] if flow["name"] == "agent")
        assert env._screen.history.column("read_bytes")[-1] == read
    assert len(links) > 1


def test_a_window_opens_is_drawn_again_and_closes() -> None:
    before = plt.get_backend()
    plt.switch_backend("module://window_stub")
    try:
        env = FlowEnv(scenario(ONE), render_mode="human")
        env.reset(seed=1)
        go_on(env, 10, HOLD)
        (number,) = plt.get_fignums()
        cwnd = plt.figure(number).axes[0].get_lines()[1]
        drawn = len(cwnd.get_xdata())
        go_on(env, 10, HOLD)
        assert len(cwnd.get_xdata()) > drawn > 5
        plt.close(number)
        go_on(env, 1000, HOLD)
        assert not plt.get_fignums(), "what the user closed stays closed"
        env.close()
        other = FlowEnv(scenario(ONE), render_mode="human")
        other.reset(seed=1)
        other.step(HOLD)
        other.close()
        assert not plt.get_fignums()
    finally:
        plt.switch_backend(before)


@pytest.mark.parametrize("backend", ["agg", "tkagg"])
def test_a_window_without_a_display_is_refused(backend: str) -> None:
    code = (
        "from ackclock.gym import FlowEnv; from gym_scenarios import ONE, scenario\n"
        "env = FlowEnv(scenario(ONE), render_mode='human'); env.reset(seed=1); env.step(3)"
    )
    bare = {name: value for name, value in os.environ.items() if name not in ("DISPLAY", "WAYLAND_DISPLAY")}
    path = os.pathsep.join(filter(None, (os.path.dirname(__file__), os.environ.get("PYTHONPATH"))))  # noqa: PTH120
    done = subprocess.run(
        [sys.executable, "-c", code],
        env=bare | {"MPLBACKEND": backend, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    assert 'RuntimeError: render_mode "human" needs a display' in done.stderr


def test_rendering_without_a_mode_says_so() -> None:
    env = FlowEnv(scenario(ONE))
    env.reset(seed=1)
    with pytest.warns(UserWarning, match="make the environment with one"):
        assert env.render() is None
