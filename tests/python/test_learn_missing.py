"""Messages for a user without the packages for learning."""

import os
from pathlib import Path

import pytest

from conftest import Cli


@pytest.mark.parametrize("package", ["torch", "stable_baselines3", "tensorboard"])
@pytest.mark.parametrize(
    "command", [("train", "ackclock/SingleFlow-v0", "-o", "out"), ("evaluate", "out"), ("export", ".", "-o", "out")]
)
def test_training_without_its_packages_names_the_remedy(
    cli: Cli, tmp_path: Path, package: str, command: tuple[str, ...]
) -> None:
    hidden = tmp_path / "hidden"
    for name in ("torch", "stable_baselines3", "tensorboard"):
        (hidden / name).mkdir(parents=True)
        failure = "raise ImportError" if name == package else ""
        (hidden / name / "__init__.py").write_text(failure)
    path = os.pathsep.join([str(hidden), *filter(None, [os.environ.get("PYTHONPATH")])])

    done = cli(*command, env=os.environ | {"PYTHONPATH": path})

    assert done.returncode == 2
    assert package in done.stderr and "pip install 'ackclock[learn]'" in done.stderr
    assert done.stdout == ""
    assert not (tmp_path / "out").exists()


def test_the_package_and_its_environments_do_without(tmp_path: Path, cli: Cli) -> None:
    for name in ("torch", "stable_baselines3", "tensorboard"):
        (tmp_path / f"{name}.py").write_text("raise ImportError")
    path = os.pathsep.join([str(tmp_path), *filter(None, [os.environ.get("PYTHONPATH")])])

    done = cli("--help", env=os.environ | {"PYTHONPATH": path})

    assert done.returncode == 0
    assert "train" in done.stdout
