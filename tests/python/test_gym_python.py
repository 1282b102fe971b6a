"""Agents in networks with controllers written in Python: theirs underneath, or another flow's."""

import pytest

from ackclock import CongestionController
from ackclock.controllers import AckEvent, CongestionEvent
from ackclock.gym import FlowEnv
from gym_scenarios import LOSSY, TWO, rollout, scenario

HOLD = 3
RENO = "python:ackclock.bench.reno:Reno"


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
    with pytest.raises(RuntimeError, match="make a new environment"):
        env.reset(seed=1)
