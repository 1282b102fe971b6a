"""Agents in networks with controllers written in Python: theirs underneath, or another flow's."""

from typing import Any

import numpy as np
import pytest

from ackclock import CongestionController
from ackclock.controllers import AckEvent, CongestionEvent
from ackclock.gym import FlowEnv, ParallelFlows, VectorFlowEnv
from gym_scenarios import LOSSY, TWO, rollout, scenario

HOLD = 3
RENO = "python:ackclock.scenario.reno:Reno"


class Fails(CongestionController):
    """Reno, until an ACK comes in the second second."""

    def on_ack(self, ack: AckEvent) -> None:
        if ack.now_ns > 1_000_000_000:
            raise ArithmeticError("lost count")

    def on_congestion(self, event: CongestionEvent) -> None:
        self.cwnd_bytes = self.ssthresh_bytes = max(event.flight_size_bytes // 2, self.mss_bytes)


def test_an_agent_on_a_controller_in_python_answers_losses_by_it() -> None:
    built_in = rollout(FlowEnv(scenario(LOSSY)), 3, 1000, HOLD)
    in_python = rollout(FlowEnv(scenario(LOSSY, f'flow.agent.controller="{RENO}"')), 3, 1000, HOLD)
    assert in_python[-1][4]["flows"][0].pop("controller").startswith("agent on python")
    assert built_in[-1][4]["flows"][0].pop("controller") == "agent on reno"
    assert in_python == built_in, "the same algorithm"
    assert built_in[-1][4]["flows"][0]["fast_recoveries"] > 0


def test_an_agent_beside_a_controller_in_python_can_be_copied() -> None:
    env = FlowEnv(scenario(TWO, f'flow.late.controller="{RENO}"'))
    rollout(env, 1, 15, HOLD)
    twin = env.clone()
    course = [env.step(HOLD)[0].tobytes() for _ in range(8)]
    assert course == [twin.step(HOLD)[0].tobytes() for _ in range(8)]
    assert env.summary() == twin.summary()


def test_an_exception_of_a_controller_ends_the_environment() -> None:
    env = FlowEnv(scenario(TWO, 'flow.late.controller="python:test_gym_python:Fails"'))
    with pytest.raises(ArithmeticError, match="lost count"):
        rollout(env, 1, 1000, HOLD)
    with pytest.raises(RuntimeError, match=r"start another with reset\(\)"):
        env.step(HOLD)
    assert env.reset(seed=1)[0].tobytes() == FlowEnv(env.scenario).reset(seed=1)[0].tobytes()


class Interrupted(CongestionController):
    """Reno, amid which the user presses Ctrl-C if `presses`."""

    presses = False

    def on_ack(self, ack: AckEvent) -> None:
        if Interrupted.presses and ack.now_ns > 500_000_000:
            raise KeyboardInterrupt

    on_congestion = Fails.on_congestion


@pytest.mark.parametrize("kind", [FlowEnv, VectorFlowEnv, ParallelFlows])
def test_after_ctrl_c_an_episode_begins_as_in_a_new_environment(kind: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    text = scenario(TWO, 'flow.late.controller="python:test_gym_python:Interrupted"')
    several = kind is VectorFlowEnv
    more = {"num_envs": 2} if several else {"agents": ["agent"]} if kind is ParallelFlows else {}
    action = np.array([HOLD] * 2) if several else {"agent": HOLD} if kind is ParallelFlows else HOLD

    def course(env: Any) -> str:
        return repr([env.reset(seed=5), *(env.step(action) for _ in range(40))])

    env, expected = kind(text, **more), course(kind(text, **more))
    monkeypatch.setattr(Interrupted, "presses", True)
    with pytest.raises(KeyboardInterrupt):
        course(env)
    monkeypatch.setattr(Interrupted, "presses", False)
    with pytest.raises(RuntimeError, match="ended by Ctrl-C"):
        env.step(action)
    assert course(env) == expected
