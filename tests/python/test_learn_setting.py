"""What a training was on, without the packages that train."""

import pytest

from ackclock._core import Scenario
from ackclock.learn.setting import Setting

SCENARIO = """\
duration = "1 s"
[topology]
kind = "dumbbell"
access = { rate = "1 Gbit/s", delay = "1 ms" }
bottleneck = { rate = "10 Mbit/s", delay = "18 ms" }
[[flow]]
name = "voice"
protocol = "udp"
app = { kind = "cbr", rate = "64 kbit/s" }
[[flow]]
name = "short"
controller = "vegas"
arrivals = { rate = "5 /s", size = "5 kB" }
[[flow]]
name = "plain"
[[flow]]
name = "pair"
count = 2
controller = { kind = "newreno", beta = 0.6 }
[[flow]]
name = "named"
controller = "bbr"
"""


@pytest.mark.parametrize(
    ("flow", "controller"),
    [("plain", "cubic"), ("pair.2", {"kind": "newreno", "beta": 0.6}), ("named", {"kind": "bbr"})],
)
def test_the_flows_own_controller_is_the_scenarios_or_the_default(flow: str, controller: object) -> None:
    assert Setting("a scenario", Scenario.parse(SCENARIO), flow, {}).own_controller == controller
