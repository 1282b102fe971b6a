"""A learned policy is saved, and runs frozen in another run."""

import struct
from pathlib import Path

import pytest

from ackclock import running
from ackclock._core import Scenario
from conftest import Cli
from networks import dumbbell

_LEARNS = f"""
duration = "5 s"
{dumbbell('rate = "20 Mbit/s", delay = "20 ms"', "0 ms")}
[[flow]]
name = "learner"
controller = {{ kind = "dqn_newreno", warm_up = 100 }}
"""
_FROZEN = '{ kind = "policy", file = "learnt.onnx" }'


def test_what_was_learnt_runs_frozen(cli: Cli, tmp_path: Path) -> None:
    learns, frozen = tmp_path / "learns.toml", tmp_path / "frozen.toml"
    learns.write_text(_LEARNS)
    frozen.write_text(_LEARNS.replace('{ kind = "dqn_newreno", warm_up = 100 }', _FROZEN))
    learnt = tmp_path / "learnt.onnx"
    told = cli("run", learns, "--quiet", "--save-policy", f"learner={learnt}")
    assert told.returncode == 0, told.stderr
    scenario = Scenario.load(str(frozen))
    assert "sha256" in scenario.to_json()
    summary = running.run(scenario).summary
    assert summary["flows"][0]["controller"] == "policy"
    assert summary["flows"][0]["goodput_bps"] > 1e6
    # The learner had slow start and losses itself.
    frozen.write_text(frozen.read_text().replace(_FROZEN, _FROZEN.replace(" }", ', controller = "newreno" }')))
    told = cli("run", frozen, "--quiet")
    assert told.returncode == 2
    assert "flow[0].controller.controller" in told.stderr and "remove it" in told.stderr


@pytest.mark.parametrize(
    ("given", "words"), [("learner", "FLOW=FILE"), ("nobody=x.onnx", "learner"), ("plain=x.onnx", "dqn_newreno")]
)
def test_a_wrong_save_policy_is_told_before_the_run(cli: Cli, tmp_path: Path, given: str, words: str) -> None:
    learns = tmp_path / "learns.toml"
    learns.write_text(_LEARNS + '[[flow]]\nname = "plain"\ncontroller = "reno"\n')
    told = cli("run", learns, "--quiet", "--save-policy", given)
    assert told.returncode != 0
    assert words in told.stderr


def _message(field: int, content: bytes) -> bytes:
    return _varint(field << 3 | 2) + _varint(len(content)) + content


def _varint(number: int) -> bytes:
    low, rest = number & 127, number >> 7
    return bytes([low | 128]) + _varint(rest) if rest else bytes([low])


def _doubles(values: dict[int, float]) -> bytes:
    return b"".join(_varint(field << 3 | 1) + struct.pack("<d", value) for field, value in values.items())


def _table(packets: int, intersend_ms: float) -> bytes:
    """A table of Remy of one region: a window of so many packets, whatever is remembered.

    Field numbers are those of the authors' `dna.proto`; an increment is a zigzag integer.
    """
    ends = [_message(11, _doubles({21: 0.0, 22: 0.0, 23: 0.0})), _message(12, _doubles({21: 1e4, 22: 1e4, 23: 1e4}))]
    action = _varint(31 << 3) + _varint(2 * packets) + _doubles({32: 0.0, 33: intersend_ms})
    return _message(1, b"".join(ends)) + _message(3, action)


@pytest.mark.parametrize(
    ("packets", "intersend_ms", "expected_bps"),
    [(20, 0.01, 20 * 1448 * 8 / 0.0406), (200, 2.0, 1448 * 8 / 0.002)],
    ids=["window", "pace"],
)
def test_a_table_of_remy_sets_window_and_pace(
    tmp_path: Path, packets: int, intersend_ms: float, expected_bps: float
) -> None:
    """20 packets in a round trip of 40.6 ms, or one in 2 ms."""
    (tmp_path / "one.dna").write_bytes(_table(packets, intersend_ms))
    flow = _LEARNS.replace('{ kind = "dqn_newreno", warm_up = 100 }', '{ kind = "policy", file = "one.dna" }')
    (tmp_path / "remy.toml").write_text('measure = { from = "1 s" }\ntcp = { delayed_ack = false }\n' + flow)
    summary = running.run(Scenario.load(str(tmp_path / "remy.toml"))).summary
    assert summary["flows"][0]["goodput_bps"] == pytest.approx(expected_bps, rel=0.02)


def test_a_network_of_indigo_sets_the_window(tmp_path: Path) -> None:
    """A network of nothing but a bias for the third action, which keeps the first window of 10 packets in 40.6 ms."""
    count, biases, rest = [0.0], [0.0, 0.0, 1.0, 0.0, 0.0], [0.0] * 5536
    (tmp_path / "model.data").write_bytes(struct.pack("<5542f", *count, *biases, *rest))
    flow = _LEARNS.replace('{ kind = "dqn_newreno", warm_up = 100 }', '{ kind = "policy", file = "model.data" }')
    (tmp_path / "indigo.toml").write_text('measure = { from = "1 s" }\ntcp = { delayed_ack = false }\n' + flow)
    summary = running.run(Scenario.load(str(tmp_path / "indigo.toml"))).summary
    assert summary["flows"][0]["goodput_bps"] == pytest.approx(10 * 1448 * 8 / 0.0406, rel=0.02)


def test_a_table_of_remy_takes_no_other_controller(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "one.dna").write_bytes(_table(20, 1.0))
    (tmp_path / "cut.dna").write_bytes(_table(20, 1.0)[:-3])
    for written, said in (
        ('file = "one.dna", controller = "cubic"', "must not be combined with this file"),
        ('file = "cut.dna"', "must be an ONNX file"),
    ):
        scenario = tmp_path / "remy.toml"
        scenario.write_text(_LEARNS.replace('kind = "dqn_newreno", warm_up = 100', f'kind = "policy", {written}'))
        told = cli("run", scenario, "--quiet")
        assert told.returncode == 2
        assert said in told.stderr, told.stderr
