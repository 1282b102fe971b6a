"""`FlowEnv(on="kernel")`: the agent's flow is a real connection; what the machine lacks is said."""

import time

import numpy as np
import pytest

from ackclock import Scenario
from ackclock.gym import FlowEnv, agent_runs
from ackclock.running.kernel import KernelError
from networks import dumbbell
from test_kernel_agent import needs_controllers

SCENARIO = f"""
duration = "2.5 s"
{dumbbell('rate = "20 Mbit/s", delay = "20 ms"', "0 ms", limit="2 bdp")}
[[flow]]
name = "learner"
controller = "reno"
"""
"""40 ms there and back: 69 segments of 1448 octets fill the path, and 138 more its queue."""


def _env(**settings: object) -> FlowEnv:
    settings = {"decide": "round", "action": {"kind": "cwnd", "low_segments": 4, "high_segments": 400}, **settings}
    observations = ("cwnd_segments", "rtt_ms", "min_rtt_ms", "delivery_rate_bps")
    return FlowEnv(
        Scenario.parse(SCENARIO, "kernel.toml"), on="kernel", observations=observations, slow_start="agent", **settings
    )  # type: ignore[arg-type]


@needs_controllers
def test_the_window_of_the_connection_is_what_was_decided() -> None:
    env = _env(on_loss="agent")
    try:
        observation, told = env.reset(seed=1)
        assert env.observation_space.contains(observation)
        seen, over = [], False
        # the geometric mean of 4 and 400 is 40 segments: below what fills the path, so that there is no queue
        while not over:
            observation, _, terminated, over, told = env.step(np.array([0.0], np.float32))
            seen.append(observation)
            assert not terminated
        counters = told["kernel"]
        summary = told["summary"]
    finally:
        env.close()
    later = np.array(seen[10:-1])
    assert len(later) > 15, len(seen)
    assert np.all(later[:, 0] == 40)
    # 40 segments of 1448 octets in 40 ms of propagation and what the machine adds: 11.6 Mbit/s at most
    assert 8e6 < float(np.median(later[:, 3])) <= 11.7e6
    assert 40 <= float(np.median(later[:, 1])) < 60
    assert summary["flows"][0]["name"] == "learner"
    assert counters["in_force"] > 100 and counters["flows"] == 1
    assert counters["latency_us"]["p50"] > 0


@needs_controllers
def test_an_agent_that_falls_silent_leaves_the_window_to_cubic_and_has_it_back() -> None:
    env = _env(on_loss="agent")
    try:
        env.reset(seed=2)
        for _ in range(8):
            env.step(np.array([0.0], np.float32))
        assert env.kernel is not None
        led = env.kernel.counters
        time.sleep(0.8)  # three round trips are 0.12 s
        silent = env.kernel.counters
        assert led is not None and silent is not None
        for _ in range(8):
            env.step(np.array([0.0], np.float32))
        back = env.kernel.counters
    finally:
        env.close()
    assert back is not None
    assert silent.fallbacks == led.fallbacks + 1
    assert back.in_force > silent.in_force


@needs_controllers
def test_a_slow_agent_decides_on_the_latest_and_no_longer_than_the_scenario_lasts() -> None:
    env = _env(on_loss="agent", decide="20 ms")
    try:
        _, told = env.reset(seed=3)
        begun, steps, over = time.monotonic(), 0, False
        while not over:
            time.sleep(0.15)
            steps, (_, _, _, over, told) = steps + 1, env.step(np.array([0.0], np.float32))
        took = time.monotonic() - begun
    finally:
        env.close()
    # 125 decisions are due in 2.5 s, for which it has time for 17; the program takes a moment to end
    assert steps <= 17 and took < 60.0, (steps, took)
    # an ACK that it decides on came while it thought about the one before, or since
    assert told["kernel"]["latency_us"]["p99"] < 1e6


@needs_controllers
def test_a_flow_may_begin_after_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(agent_runs, "_PATIENCE_S", 0.5)
    late = SCENARIO.replace('controller = "reno"', 'controller = "reno"\nstart = "1.5 s"')
    env = FlowEnv(Scenario.parse(late, "kernel.toml"), on="kernel", slow_start="agent")
    try:
        _, told = env.reset(seed=4)
    finally:
        env.close()
    assert told["time_s"] >= 0.0


def test_what_cannot_be_is_said() -> None:
    with pytest.raises(ValueError, match="unknown"):
        FlowEnv(Scenario.parse(SCENARIO, "kernel.toml"), on="moon")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="not rendered"):
        FlowEnv(Scenario.parse(SCENARIO, "kernel.toml"), on="kernel", render_mode="rgb_array")


@needs_controllers
def test_time_cannot_be_had_again() -> None:
    env = _env()
    with pytest.raises(ValueError, match="cannot be saved"):
        env.save()
    with pytest.raises(ValueError, match="cannot be copied"):
        env.clone()
    env.close()


def test_a_machine_without_the_program_says_so(monkeypatch: pytest.MonkeyPatch, tmp_path: object) -> None:
    monkeypatch.setenv("ACKCLOCK_KERNEL", str(tmp_path) + "/none")
    with pytest.raises(KernelError, match="not built"):
        _env()
