"""Modules that are not loaded: a command starts fast if it loads only what it needs. No time is measured here."""

import ast
import importlib
import subprocess
import sys
from pathlib import Path

import pytest

import ackclock
import command_line
from ackclock import face
from ackclock.cli.commands import COMMANDS

_HEAVY = frozenset(
    ("dpkt", "gymnasium", "lark", "matplotlib", "numpy", "pettingzoo", "polars", "pydantic", "scipy", "torch")
)
"""Each takes longer to load than all that a short run needs."""

_RUN = ("run", "--flows", "cubic", "--duration", "1 ms")

_ASK = """
import sys
try:
    {work}
finally:
    print(*sorted(sys.modules), file=sys.stderr)
"""


def _loaded(work: str, *arguments: str) -> set[str]:
    """The modules that a Python of its own has loaded when it has done the work."""
    done = subprocess.run(
        [sys.executable, "-c", _ASK.format(work=work), *arguments],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    return set(done.stderr.split())


def _loaded_by_command(*arguments: str) -> set[str]:
    return _loaded("from ackclock.cli import main; main()", *arguments)


def test_importing_the_package_loads_nothing_heavy() -> None:
    modules = _loaded("import ackclock")
    assert "ackclock._core" in modules
    assert not modules & (_HEAVY | {"rich", "typer"})


@pytest.mark.parametrize("arguments", [("--version",), (*_RUN, "--json")], ids=["version", "run-json"])
def test_a_command_that_draws_no_table_does_without_what_draws_them(arguments: tuple[str, ...]) -> None:
    modules = _loaded_by_command(*arguments)
    assert "typer" in modules
    assert not modules & (_HEAVY | {"rich"})


def test_a_run_makes_no_table_of_series_and_loads_no_other_command(tmp_path: Path) -> None:
    modules = _loaded_by_command(*_RUN)
    assert "rich.table" in modules
    assert not modules & _HEAVY
    others = {command.module for command in COMMANDS.values()} - {"run", "check"}
    assert not {name for name in others if f"ackclock.cli.{name}" in modules}
    # What is kept is a folder with tables, which Polars writes.
    assert "polars" in _loaded_by_command(*_RUN, "-o", str(tmp_path / "kept"))


def test_a_forked_command_has_its_modules() -> None:
    process = command_line.SERVER.Process(target=eval, args=("__import__('sys').modules['ackclock.cli.report']",))
    process.start()
    process.join(command_line.LIMIT_S)
    assert process.exitcode == 0


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_is_where_the_table_says(name: str) -> None:
    command = COMMANDS[name].load(name)
    assert command.name == name
    assert command.help
    assert command.hidden == COMMANDS[name].hidden


def test_pictures_and_environments_are_there_when_they_are_asked_for() -> None:
    assert "matplotlib" not in _loaded("import ackclock; assert {'gym', 'plots'} <= set(dir(ackclock))")
    assert "ackclock.plotting.plots" in _loaded("import ackclock; assert callable(ackclock.plots.figure)")
    assert "gymnasium" in _loaded("import ackclock; assert callable(ackclock.gym.FlowEnv)")


def test_what_is_not_there_is_an_attribute_error() -> None:
    _loaded("import ackclock; assert not hasattr(ackclock, 'plotz')")


def test_an_editor_sees_the_modules_that_are_loaded_when_asked_for() -> None:
    tree = ast.parse(Path(ackclock.__file__).read_text())
    (seen,) = (node for node in tree.body if isinstance(node, ast.If))
    names = {alias.asname for node in seen.body if isinstance(node, ast.ImportFrom) for alias in node.names}
    assert names == set(dir(ackclock)) - set(ackclock.__all__)


@pytest.mark.parametrize("name", face.MODULES)
def test_a_module_of_the_face_is_one_under_every_name(name: str) -> None:
    _loaded(f"import ackclock.{name} as one, ackclock; assert one is ackclock.{name}")
    assert importlib.import_module(f"ackclock.{name}") is importlib.import_module(face.MODULES[name])
    assert getattr(ackclock, name) is importlib.import_module(face.MODULES[name])
