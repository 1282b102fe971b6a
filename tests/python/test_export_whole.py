"""`ackclock export --to bpf` and `--to module`: a policy in whole numbers, what that loses, and what is none."""

import json
import re
from pathlib import Path

import numpy as np
import pytest

from ackclock import _core
from ackclock.running.linux_tree import check_module
from conftest import Cli
from networks import dumbbell


def policy(folder: Path, action: str, outputs: int) -> Path:
    """Write a policy with weights drawn at random; its decisions are all over its choices, or its range."""
    random = np.random.default_rng(1)
    shapes = ((8, 2), (outputs, 8))
    layers = [(random.normal(size=shape).astype(np.float32), np.zeros(shape[0], np.float32)) for shape in shapes]
    agent = {"observations": ["cwnd_segments", "srtt_ms"], "scaled": True, "action": action, "decide": "round"}
    file = folder / f"{action}.onnx"
    file.write_bytes(_core.policy_file(json.dumps(agent), "tanh", layers))
    return file


@pytest.mark.parametrize(
    ("action", "outputs", "words"), [("deltas", 7, "decisions"), ("orca", 1, "actions differ from those in floating")]
)
def test_it_says_what_whole_numbers_lose(cli: Cli, tmp_path: Path, action: str, outputs: int, words: str) -> None:
    told = cli("export", policy(tmp_path, action, outputs), "--to", "bpf", "-o", "whole")
    assert told.returncode == 0, told.stderr
    said = told.stdout.splitlines()[0]
    assert words in said
    # A value is a multiple of 2^-16 and a tanh is near its table: few choices are others.
    assert "100" not in said and (tmp_path / "whole").read_bytes().startswith(b"ackclock policy in whole numbers, 2\n")
    scenario = f"""duration = "2 s"
{dumbbell('rate = "10 Mbit/s", delay = "10 ms"')}
[[flow]]
name = "one"
"""
    (tmp_path / "run.toml").write_text(scenario + told.stdout.splitlines()[2] + "\n")
    done = cli("run", "run.toml", "--json")
    assert done.returncode == 0, done.stderr


def test_a_policy_that_remembers_is_asked_in_a_row(cli: Cli, tmp_path: Path) -> None:
    onnx = Path(__file__).parents[1] / "vectors/recurrent/wide_old.onnx"
    told = cli("export", onnx, "--to", "bpf", "-o", "whole")
    assert told.returncode == 0, told.stderr
    assert told.stdout.startswith("on 20,000 decisions of 400 flows drawn at random ")


def test_what_is_no_policy_is_told(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "none.onnx").write_text("garbage")
    for arguments, words in (
        (("none.onnx", "--to", "bpf"), "must be an ONNX file"),
        (("none.onnx",), "is a file already"),
        (("nowhere",), "nowhere: not found"),
    ):
        told = cli("export", *arguments, "-o", "out")
        assert told.returncode == 2 and words in told.stderr, told.stderr
        assert not (tmp_path / "out").exists()


def test_a_file_whose_agent_was_changed_is_refused(cli: Cli, tmp_path: Path) -> None:
    whole, *_ = _core.quantised_policy(policy(tmp_path, "deltas", 7).read_bytes())
    (tmp_path / "changed").write_bytes(whole.replace(b'"decide": "round"', b'"decide": "ack"', 1))
    controller = '{ kind = "policy", file = "changed" }'
    told = cli("run", "--flows", "cubic", "--duration", "1 s", "--set", f"flow.cubic.controller={controller}")
    assert told.returncode == 2 and "was changed" in told.stderr, told.stderr


def test_a_module_is_compiled_into_a_kernel_by_its_name(cli: Cli, tmp_path: Path) -> None:
    told = cli("export", policy(tmp_path, "deltas", 7), "--to", "module", "-o", "my_policy.c")
    assert told.returncode == 0, told.stderr
    assert "ackclock linux build --module my_policy.c" in told.stdout and "--controller FLOW=my_policy" in told.stdout
    check_module(tmp_path / "my_policy.c")
    text = (tmp_path / "my_policy.c").read_text()
    assert '.name = "my_policy"' in text and not re.search(r"\b(float|double)\b(?! point)", text)
    for name in ("policy", "my-policy.c", "a_name_of_16_let.c"):
        refused = cli("export", policy(tmp_path, "deltas", 7), "--to", "module", "-o", name)
        assert refused.returncode == 2 and "a module is a file NAME.c" in " ".join(refused.stderr.split())
        assert not (tmp_path / name).exists()
    with pytest.raises(ValueError, match="whole numbers"):
        _core.policy_module(b"garbage", "my_policy")
