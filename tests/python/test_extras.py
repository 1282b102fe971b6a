"""Messages for a user of ackclock without the packages of its extras, and features that work without them."""

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from ackclock.base.extras import EXTRAS

ROOT = Path(__file__).parents[2]

_WITHOUT = """
import sys
for package in {packages!r}:
    sys.modules[package] = None  # as if it were not installed
{work}
"""
_COMMAND_LINE = "from ackclock.cli import main; main()"
_LEFT_OUT = tuple(package for extra in ("report", "gym") for package in EXTRAS[extra][1])
_RUN = ("run", "--flows", "cubic,reno", "--duration", "100 ms")


def _without(work: str, *arguments: object, folder: Path) -> subprocess.CompletedProcess[str]:
    program = _WITHOUT.format(packages=_LEFT_OUT, work=work)
    command = [sys.executable, "-c", program, *map(str, arguments)]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, timeout=60)


def test_a_run_and_its_comparison_need_no_extra(tmp_path: Path) -> None:
    for name in ("one", "two"):
        done = _without(_COMMAND_LINE, *_RUN, "-o", name, folder=tmp_path)
        assert done.returncode == 0, done.stderr
    compared = _without(_COMMAND_LINE, "compare", "one", "two", folder=tmp_path)
    assert compared.returncode == 0 and "cubic" in compared.stdout, compared.stderr

    report = _without(_COMMAND_LINE, "report", "one", folder=tmp_path)
    assert report.returncode == 2
    assert report.stderr == (
        "error: figures and pages need jinja2, which is not installed; pip install 'ackclock[report]'\n"
    )
    assert not (tmp_path / "report.html").exists()


@pytest.mark.parametrize(
    "command",
    [("plot", "one"), ("claims", "O1", "-o", "out"), ("validate-linux", "-o", "out")],
    ids=["plot", "claims", "validate-linux"],
)
def test_what_draws_says_so_before_it_simulates(tmp_path: Path, command: tuple[str, ...]) -> None:
    done = _without(_COMMAND_LINE, *command, folder=tmp_path)
    assert done.returncode == 2 and "pip install 'ackclock[report]'" in done.stderr
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("work", "extra"),
    [
        ("import ackclock; ackclock.gym", "gym"),
        ("import ackclock; ackclock.figures.scatter", "report"),
        ("from ackclock import plots; plots.figure(None)", "report"),
        ("import ackclock.plotting.notebook_figures", "report"),
    ],
)
def test_python_says_which_extra_is_missing(tmp_path: Path, work: str, extra: str) -> None:
    done = _without(work, folder=tmp_path)
    assert done.returncode == 1
    last = done.stderr.splitlines()[-1]
    assert last.startswith("ackclock.base.extras.MissingPackageError: ") and last.endswith(f"'ackclock[{extra}]'")


def test_extras_are_those_of_the_package() -> None:
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    assert declared.keys() - {"lessons"} == EXTRAS.keys(), "lessons have no packages but those of report and gym"
    assert declared["lessons"] == ["ackclock[report,gym]"]
    for extra, (_purpose, packages) in EXTRAS.items():
        assert packages, extra
        names = {name.partition(">=")[0].replace("-", "_") for name in declared[extra]}
        assert set(packages) <= names, extra
