"""The examples that come with the package."""

from pathlib import Path

import pytest

import ackclock
from ackclock.scenario.example_files import ExampleError, copy, example, examples, studies
from conftest import Cli


def test_an_example_brings_what_it_names(tmp_path: Path) -> None:
    files = copy([example("cellular"), example("own-controller.toml"), example("own-parts")], tmp_path / "mine")
    written = {str(file.relative_to(tmp_path / "mine")) for file in files}
    expected = {"cellular.toml", "traces/cell.down", "own-controller.toml", "aimd.py", "own-parts.toml", "parts.py"}
    assert written == expected
    assert not any(file.is_symlink() for file in files)


def test_every_copy_is_a_scenario_by_itself(tmp_path: Path) -> None:
    files = copy(None, tmp_path)
    assert {"retransmission-timer.pkt", "buffers.toml", "cell.down"} <= {file.name for file in files}
    assert sorted(path.stem for path in tmp_path.glob("*.toml")) == [found.name for found in examples()]
    for path in tmp_path.glob("*.toml"):
        assert ackclock.Scenario.load(path).name


def test_what_is_there_already_stays(tmp_path: Path) -> None:
    copy([example("incast")], tmp_path)
    with pytest.raises(ExampleError, match=r"incast\.toml exists already"):
        copy([example("red"), example("incast")], tmp_path)
    assert not (tmp_path / "red.toml").exists()


def test_studies_are_among_the_examples(tmp_path: Path, cli: Cli) -> None:
    listed = cli("examples").stdout
    assert listed.index("ackclock run:") < listed.index("incast") < listed.index("ackclock study:")
    assert listed.index("ackclock study:") < listed.index("four-controllers")
    assert cli("examples", "buffers", "-o", tmp_path).returncode == 0
    assert cli("study", tmp_path / "studies" / "buffers.toml", "--check").stdout.endswith("ok: 20 runs\n")


def test_a_wrong_name_is_told_with_the_nearest() -> None:
    with pytest.raises(ExampleError, match='did you mean "incast"'):
        example("incst")


def test_each_says_what_it_is_about_in_a_sentence() -> None:
    for found in (*examples(), *studies()):
        assert 20 < len(found.about()) < 220, found.name
        assert "\n" not in found.about()
