"""`ackclock/Bench-v1`: networks that are frozen, and where they come from."""

import shutil
from pathlib import Path
from typing import get_args

import gymnasium
import pytest

from ackclock.base import study_files
from ackclock.base.extras import MissingPackageError
from ackclock.gym import Bench, VectorFlowEnv
from ackclock.gym.benchmark_networks import HASHES, Family, Split, file, network
from ackclock.scenario import recorded_traces

SETTLED = [family for family in get_args(Family) if family != "cellular"]


def test_every_file_is_that_of_version_1() -> None:
    """A file that has to change is one of version 2: results of version 1 would no longer compare."""
    for split in get_args(Split):
        assert tuple(HASHES[split]) == get_args(Family)
        for family in get_args(Family):
            assert file(family, split).name == f"{family}.toml"


@pytest.mark.parametrize("split", get_args(Split))
@pytest.mark.parametrize("family", SETTLED)
def test_each_family_is_an_environment_that_draws_its_networks(family: Family, split: Split) -> None:
    env = gymnasium.make("ackclock/Bench-v1", family=family, split=split).unwrapped
    assert isinstance(env, Bench) and env.flow == "learner"
    one, other = (env.reset(seed=seed)[1]["drawn"] for seed in (1, 2))
    assert one != other
    assert one == env.reset(seed=1)[1]["drawn"]


def test_many_at_once_are_of_one_family() -> None:
    envs = gymnasium.make_vec("ackclock/Bench-v1", 2, vectorization_mode="vector_entry_point", family="lossy")
    assert isinstance(envs, VectorFlowEnv) and envs.scenario.hash == network("lossy", "train").hash
    envs.close()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"family": "alnoe"}, 'unknown family "alnoe"; did you mean "alone"'),
        ({"split": "validation"}, 'unknown split "validation"'),
    ],
)
def test_a_name_that_is_wrong_is_told(arguments: dict[str, str], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Bench(**arguments)  # type: ignore[arg-type]


def test_a_file_that_was_edited_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    studies = study_files.folder()
    assert studies is not None
    shutil.copytree(studies / "learned", tmp_path / "learned")
    monkeypatch.setattr(study_files, "folder", lambda: tmp_path)
    Bench()
    edited = tmp_path / "learned" / "train" / "alone.toml"
    edited.write_text(edited.read_text().replace("8 s", "9 s"))
    with pytest.raises(ValueError, match=r"alone\.toml is not the file of ackclock/Bench-v1"):
        Bench()


def test_a_wheel_alone_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(study_files, "folder", lambda: None)
    with pytest.raises(MissingPackageError, match=r"pip install 'ackclock\[studies\]'"):
        Bench()


def test_recorded_cells_need_their_traces(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv(recorded_traces.VARIABLE, raising=False)
    with pytest.raises(LookupError, match="ACKCLOCK_TRACES"):
        Bench(family="cellular")
    for name in ("ATT-LTE-driving-2016.down", "ATT-LTE-driving-2016.up", "TMobile-UMTS-driving.down"):
        (tmp_path / name).write_text("".join(f"{ms}\n" for ms in range(1, 1_000)))
    monkeypatch.setenv(recorded_traces.VARIABLE, str(tmp_path))
    assert "topology.bottleneck.rate.trace" in Bench(family="cellular").reset(seed=1)[1]["drawn"]
