"""`ackclock validate` and `ackclock schema`."""

from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from ackclock import _core, unimported
from ackclock._core import Scenario, ScenarioError
from ackclock.cli import failures


def validate(
    files: Annotated[list[Path], typer.Argument(metavar="FILE...", help="Scenario files.", show_default=False)],
    overrides: Annotated[
        list[str] | None, typer.Option("--set", metavar="PATH=VALUE", help="Override a value before the check.")
    ] = None,
    loads: Annotated[
        bool, typer.Option("--load", help="Load the modules and plug-ins that they name, which runs their code.")
    ] = False,
) -> None:
    """Check scenario files and list every mistake. Nothing is run, and no Python that they name is imported."""
    wrong = [file for file in files if not _is_valid(file, overrides or [], loads)]
    if wrong:
        raise typer.Exit(failures.WRONG_INPUT)


def _is_valid(file: Path, overrides: list[str], loads: bool) -> bool:
    try:
        scenario = load(file, overrides, imports=loads)
    except ScenarioError as error:
        failures.tell(partial(failures.print_diagnostics, error))
        return False
    except failures.InputError as error:
        message = f"error: {error}"
        failures.tell(lambda: failures.errors().print(message, style="red", markup=False))
        return False
    flows, links = len(scenario.flow_names), len(scenario.link_names)
    print(f'{file}: ok: "{scenario.name}", {scenario.duration_s:g} s, {flows} flows, {links} links')
    for place, distribution in scenario.varies.items():
        print(f"  drawn: {place} = {distribution}")
    for name in () if loads else scenario.python_classes:
        source = unimported.file_of(name.partition(":")[0], scenario.folder)
        print(f"  not imported: {name} ({source or 'not written in Python'}): a run imports it, which runs its code")
    return True


def load(file: Path, overrides: list[str], *, imports: bool = True) -> Scenario:
    """Read and check a scenario file.

    Args:
        file: Its place.
        overrides: Changes, each `path=value`.
        imports: Whether the Python that it names is imported; without, it can be looked at and not simulated.

    Raises:
        InputError: If there is no such file, or it cannot be read.
        ScenarioError: If it is wrong.
    """
    if file.is_dir():
        raise failures.InputError(f"{file} is a folder; give a scenario file (.toml)")
    if not file.exists():
        raise failures.InputError(f"there is no file {file}{_suggestion(file)}")
    try:
        return Scenario.load(str(file), overrides, imports=imports)
    except OSError as error:
        raise failures.InputError(f"{file} cannot be read: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise failures.InputError(f"{file} is not UTF-8 text: {error.reason} at byte {error.start}") from error


def _suggestion(file: Path) -> str:
    """Name scenario files that the user may have meant."""
    folder = file.parent if file.parent.is_dir() else Path()
    near = sorted(path.name for path in folder.glob("*.toml") if path.name not in ("Cargo.toml", "pyproject.toml"))
    if near:
        return f"; in {folder} there are: {', '.join(near[:8])}{', ...' if len(near) > 8 else ''}"
    return '; without a file, try: ackclock run --flows cubic,reno --bottleneck "100 Mbit/s" --rtt "60 ms"'


def schema() -> None:
    """Print the JSON Schema of the scenario format."""
    print(_core.schema())
