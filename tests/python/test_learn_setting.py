"""The setting of a training, read without the packages that train."""

from pathlib import Path

import pytest

from ackclock._core import Scenario
from ackclock.gym.learn.setting import Setting, SettingError, of_scenario, registered
from networks import dumbbell

SCENARIO = f"""\
duration = "1 s"
{dumbbell('rate = "10 Mbit/s", delay = "18 ms"')}
[[flow]]
name = "voice"
protocol = "udp"
app = {{ kind = "cbr", rate = "64 kbit/s" }}
[[flow]]
name = "short"
controller = "vegas"
arrivals = {{ rate = "5 /s", size = "5 kB" }}
[[flow]]
name = "plain"
[[flow]]
name = "pair"
count = 2
controller = {{ kind = "newreno", beta = 0.6 }}
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


OWN = """\
from ackclock import CongestionController
class Mine(CongestionController):
    def on_ack(self, ack):
        self.cwnd_bytes = {}
    def on_congestion(self, event): pass
"""


def test_a_class_that_was_edited_is_another_setting(tmp_path: Path) -> None:
    """`--resume` goes on with what was trained on: the scenario's hash has the class's name alone."""
    found = []
    for name, window in (("one", 3_000), ("two", 30_000)):
        (tmp_path / name).mkdir()
        (tmp_path / name / "own_for_training.py").write_text(OWN.format(window))
        text = SCENARIO.replace('"bbr"', '"python:own_for_training:Mine"')
        (tmp_path / name / "a.toml").write_text(text)
        found.append(Setting("a", Scenario.load(tmp_path / name / "a.toml"), "plain", {}).as_dict())
    assert found[0]["scenario_hash"] == found[1]["scenario_hash"]
    assert [len(entry["code"]) for entry in found] == [1, 1]
    assert found[0]["code"] != found[1]["code"]
    assert "code" not in Setting("a", Scenario.parse(SCENARIO), "plain", {}).as_dict()


def test_an_agent_for_the_kernel_has_settings_that_a_kernel_can_run(tmp_path: Path) -> None:
    (tmp_path / "a.toml").write_text(SCENARIO)
    for discrete, action in ((False, "orca"), (True, "deltas")):
        setting = of_scenario(tmp_path / "a.toml", (), {"target": "kernel", "flow": "plain"}, discrete=discrete)
        assert (setting.agent["action"], setting.agent["target"]) == (action, "kernel")
    with pytest.raises(SettingError, match=r'agent\.target = "kernel", and the agent has a history'):
        registered("ackclock/SingleFlow-v0", (), {"target": "kernel"})


def test_a_family_of_the_benchmark_is_chosen_as_a_setting_of_the_agent() -> None:
    setting = registered("ackclock/Bench-v1", (), {"family": "lossy", "split": "test", "scaled": False})
    assert setting.source is not None and Path(setting.source.file).parts[-2:] == ("test", "lossy.toml")
    assert setting.flow == "learner" and "family" not in setting.agent and not setting.agent["scaled"]
    with pytest.raises(SettingError, match='unknown family "alnoe"'):
        registered("ackclock/Bench-v1", (), {"family": "alnoe"})
