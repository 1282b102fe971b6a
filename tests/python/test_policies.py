"""A learned policy is saved, and runs frozen in another run."""

import math
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


def _crc(content: bytes) -> bytes:
    """CRC-32C (RFC 3720, appendix B.4), masked as LevelDB's files have it."""
    crc = 0xFFFFFFFF
    for octet in content:
        crc ^= octet
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    crc ^= 0xFFFFFFFF
    return struct.pack("<I", ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF)


def _checkpoint(stem: Path, variables: dict[str, tuple[list[int], list[float]]]) -> str:
    """Write a checkpoint, by `tensor_bundle.proto` and LevelDB's `table_format.md`; return its index's name."""
    data, entries = b"", [(b"", _varint(1 << 3) + _varint(1))]
    for name, (shape, numbers) in sorted(variables.items()):
        content = struct.pack(f"<{len(numbers)}f", *numbers)
        dimensions = b"".join(_message(2, _varint(1 << 3) + _varint(size)) for size in shape)
        place = _varint(4 << 3) + _varint(len(data)) + _varint(5 << 3) + _varint(len(content))
        entry = _varint(1 << 3) + _varint(1) + _message(2, dimensions) + place + _varint(6 << 3 | 5) + _crc(content)
        entries.append((name.encode(), entry))
        data += content

    def block(entries: list[tuple[bytes, bytes]]) -> bytes:
        written = (_varint(0) + _varint(len(key)) + _varint(len(value)) + key + value for key, value in entries)
        content = b"".join(written) + struct.pack("<II", 0, 1) + b"\0"
        return content + _crc(content)

    handles, index = [], b""
    for content in (block(entries), block([])):
        handles.append(_varint(len(index)) + _varint(len(content) - 5))
        index += content
    last = block([(b"x", handles[0])])
    footer = handles[1] + _varint(len(index)) + _varint(len(last) - 5)
    index += last + footer.ljust(40, b"\0") + struct.pack("<Q", 0xDB4775248B80FB57)
    stem.with_name(f"{stem.name}.index").write_bytes(index)
    stem.with_name(f"{stem.name}.data-00000-of-00001").write_bytes(data)
    return f"{stem.name}.index"


def _zeros(**shapes: list[int]) -> dict[str, tuple[list[int], list[float]]]:
    return {name: (shape, [0.0] * math.prod(shape)) for name, shape in shapes.items()}


_CELL = "global/rnn/multi_rnn_cell/cell_0/basic_lstm_cell"
_INDIGO = _zeros(**{"global/fully_connected/weights": [32, 5], f"{_CELL}/bias": [128], f"{_CELL}/kernel": [41, 128]})
_ORCA = _zeros(
    **{f"actor/batch_normalization{nth}/{what}": [256] for nth in ("", "_1") for what in ("beta", "moving_mean")},
    **{f"actor/batch_normalization{nth}/moving_variance": [256] for nth in ("", "_1")},
    **{"actor/fc1/kernel": [70, 256], "actor/fc1/bias": [256], "actor/fc2/kernel": [256, 256], "actor/fc2/bias": [256]},
    **{"actor/dense/kernel": [256, 1]},
)


def _scenario(folder: Path, policy: str) -> Path:
    flow = _LEARNS.replace('{ kind = "dqn_newreno", warm_up = 100 }', f'{{ kind = "policy", {policy} }}')
    (folder / "policy.toml").write_text('measure = { from = "1 s" }\ntcp = { delayed_ack = false }\n' + flow)
    return folder / "policy.toml"


def test_a_network_of_indigo_sets_the_window(tmp_path: Path) -> None:
    """A network of nothing but a bias for the third action, which keeps the first window of 10 packets in 40.6 ms."""
    biases = {"global/fully_connected/biases": ([5], [0.0, 0.0, 1.0, 0.0, 0.0])}
    index = _checkpoint(tmp_path / "model", _INDIGO | biases)
    summary = running.run(Scenario.load(str(_scenario(tmp_path, f'file = "{index}"')))).summary
    assert summary["flows"][0]["goodput_bps"] == pytest.approx(10 * 1448 * 8 / 0.0406, rel=0.02)


def test_a_network_of_orca_scales_the_window_of_cubic(tmp_path: Path) -> None:
    """A network of nothing but a bias: at -9 a quarter of CUBIC's window each 20 ms, at least 4 packets.

    In between CUBIC's slow start at most doubles it. At 0 the window is CUBIC's, which fills the link.
    """
    goodputs = []
    for bias in (-9.0, 0.0):
        index = _checkpoint(tmp_path / "model.ckpt-1", _ORCA | {"actor/dense/bias": ([1], [bias])})
        goodputs.append(
            running.run(Scenario.load(str(_scenario(tmp_path, f'file = "{index}"')))).summary["flows"][0]["goodput_bps"]
        )
    assert 4 * 1448 * 8 / 0.0406 < goodputs[0] < 8 * 1448 * 8 / 0.0406
    assert goodputs[1] == pytest.approx(20e6 * 1448 / 1500, rel=0.05)


def test_a_damaged_checkpoint_says_what_is_wrong(cli: Cli, tmp_path: Path) -> None:
    index = _checkpoint(tmp_path / "model", _ORCA | {"actor/dense/bias": ([1], [0.0])})
    other = _checkpoint(tmp_path / "other", {"net/kernel": ([1], [0.0])})
    lone = _checkpoint(tmp_path / "lone", _ORCA)
    data, cut = tmp_path / "model.data-00000-of-00001", tmp_path / "cut.data-00000-of-00001"
    (tmp_path / "cut.index").write_bytes((tmp_path / index).read_bytes())
    cut.write_bytes(data.read_bytes()[:-8])
    (tmp_path / "lone.data-00000-of-00001").unlink()
    for file, said in (
        (data.name, 'write file = "'),
        ("cut.index", "octets from"),
        (other, "must be a checkpoint of Indigo or Orca, not one of net/kernel"),
        (lone, "put the data file beside the index"),
    ):
        told = cli("run", _scenario(tmp_path, f'file = "{file}"'), "--quiet")
        assert told.returncode == 2 and said in told.stderr, told.stderr
    told = cli("run", _scenario(tmp_path, f'file = "{index}", controller = "cubic"'), "--quiet")
    assert told.returncode == 2 and "must not be combined with this file" in told.stderr, told.stderr


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
