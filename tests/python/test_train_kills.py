"""A training that is killed at random moments ends as one that was left alone; `SOAK_SECONDS` as in `test_kills`."""

import shutil
from pathlib import Path

import pytest

from conftest import SCENARIO
from kills import killed, rounds, run, timed

NEEDED = "needs the packages of ackclock[learn]; run: make -f tests/Makefile test-learn"
torch = pytest.importorskip("torch", reason=NEEDED, exc_type=ImportError)
pytest.importorskip("stable_baselines3", reason=NEEDED, exc_type=ImportError)

pytestmark = pytest.mark.learn

TRAINING = {
    "ppo": ("--steps", "4096", "--hyper", "n_steps=128"),
    "dqn": ("--steps", "3000", "--agent", "action=deltas"),
}


@pytest.mark.parametrize("algorithm", TRAINING)
def test_a_training_that_is_killed(algorithm: str, tmp_path: Path) -> None:
    (tmp_path / "a.toml").write_text(SCENARIO)
    arguments = ("train", "a.toml", "--algorithm", algorithm, *TRAINING[algorithm], "--checkpoint-every", "500", "-q")
    took_s = timed(tmp_path, *arguments, "-o", "whole")
    for draw in rounds(algorithm):
        shutil.rmtree(tmp_path / "parts", ignore_errors=True)
        for _ in range(2):
            again = ("--resume",) if (tmp_path / "parts" / "manifest.json").exists() else ()
            killed(tmp_path, draw, took_s, *arguments, "-o", "parts", *again)
        again = ("--resume",) if (tmp_path / "parts" / "manifest.json").exists() else ()
        done = run(tmp_path, *arguments, "-o", "parts", *again)
        assert done.returncode == 0, done.stderr
        assert (tmp_path / "parts" / "curve.parquet").read_bytes() == (
            tmp_path / "whole" / "curve.parquet"
        ).read_bytes()
        assert _parameters(tmp_path / "parts") == _parameters(tmp_path / "whole")


def _parameters(folder: Path) -> dict[str, bytes]:
    kept = torch.load(folder / "checkpoint.pt", weights_only=True)["parameters"]["policy"]
    return {name: tensor.numpy().tobytes() for name, tensor in kept.items()}
