"""`ackclock validate` and `ackclock schema`."""

import json
import sys
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from ackclock import _core
from ackclock._core import Scenario, ScenarioError
from ackclock.base import input_files
from ackclock.base.printable import amount, plain
from ackclock.cli import failures, forecast
from ackclock.cli.answers import is_asked, put
from ackclock.scenario import controller_sources, named_modules
from ackclock.scenario.overrides import places

_LARGE_BYTES = 1_000_000
"""Size of a scenario file above which a progress indicator is shown, octets; smaller ones load faster than it."""


def validate(
    files: Annotated[list[Path], typer.Argument(metavar="FILE...", help="Scenario files.", show_default=False)],
    overrides: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="PATH=VALUE", help="Override a value before the check. Repeatable."),
    ] = None,
    loads: Annotated[
        bool, typer.Option("--load", help="Also load the scenario's modules and plug-ins, which runs their code.")
    ] = False,
) -> None:
    """Check scenario files and list every mistake.

    Nothing is simulated, and no Python is imported unless --load is given.
    """
    if is_asked():
        found = [_checked(file, overrides or [], loads) for file in files]
        put(json.dumps({"files": found}, indent=1, ensure_ascii=False) + "\n")
        valid = [bool(entry["valid"]) for entry in found]
    else:
        valid = [_is_valid(file, overrides or [], loads) for file in files]
    if not all(valid):
        raise typer.Exit(failures.WRONG_INPUT)


def _checked(file: Path, overrides: list[str], loads: bool) -> dict[str, Any]:
    """Return the result for a file as JSON data; `mistakes` are `ackclock.ScenarioError.diagnostics`."""
    entry: dict[str, Any] = {"file": str(file), "valid": False}
    try:
        scenario = load(file, overrides, imports=loads)
    except ScenarioError as error:
        return entry | {"mistakes": error.diagnostics}
    except failures.InputError as error:
        return entry | {"error": str(error)}
    return {
        "file": str(file),
        "valid": True,
        "name": scenario.name,
        "duration_s": scenario.duration_s,
        "flows": list(scenario.flow_names),
        "links": list(scenario.link_names),
        "warnings": forecast.warnings(scenario),
        "drawn": dict(scenario.varies),
        "not_imported": [] if loads else names_of_code(file, overrides),
    }


def _is_valid(file: Path, overrides: list[str], loads: bool) -> bool:
    try:
        scenario = load(file, overrides, imports=loads)
    except ScenarioError as error:
        failures.tell(partial(failures.print_diagnostics, error))
        return False
    except failures.InputError as error:
        failures.tell(partial(failures.say, str(error)))
        return False
    size = f"{amount(len(scenario.flow_names), 'flow')}, {amount(len(scenario.link_names), 'link')}"
    print(f'{plain(file)}: ok: "{plain(scenario.name)}", {scenario.duration_s:g} s, {size}')
    for warning in forecast.warnings(scenario):
        print(f"  warning: {warning}")
    for place, distribution in scenario.varies.items():
        print(f"  drawn: {plain(place)} = {plain(distribution)}")
    for name in () if loads else names_of_code(file, overrides):
        source = _module(name, file.parent)
        where = f" ({source})" if source != name else ""
        print(f"  not imported: {plain(name)}{plain(where)}: a run imports it, which runs its code")
    return True


Trust = Annotated[bool, typer.Option("--trust", help="Run the scenario's Python code and plug-ins without asking.")]
"""Option of commands that run scenarios."""


def load_trusted(file: Path, overrides: list[str], *, trusts: bool) -> Scenario:
    """Load a scenario to be run; if it names code, ask before any of it is run.

    Args:
        file: Path of the file.
        overrides: Changes, each `path=value`.
        trusts: Whether the user agreed to run its code.

    Raises:
        InputError: If the file cannot be read, or its code is not trusted.
        ScenarioError: If it is wrong.
    """
    imports = trusts or is_agreed(file, overrides)
    return load(file, overrides, imports=imports)


def is_agreed(file: Path, overrides: list[str]) -> bool:
    """Return whether the code that a scenario file names may be imported; ask if it names any.

    Raises:
        InputError: If the user refuses, or the file cannot be read.
        ScenarioError: If it is wrong, as far as that is known without its code.
    """
    code = [plain(_module(name, file.parent)) for name in names_of_code(file, overrides)]
    if code:
        _tell_mistakes(file, overrides)
        agree(file, code)
    return bool(code)


def _tell_mistakes(file: Path, overrides: list[str]) -> None:
    """Report mistakes before asking for trust; parts that `use` would define are not checked yet."""
    try:
        load(file, overrides, imports=False)
    except ScenarioError as error:
        if not all(diagnostic["field"].startswith("use") for diagnostic in error.diagnostics):
            raise


def names_of_code(file: Path, overrides: list[str]) -> list[str]:
    """Return the code that a scenario names, in whichever random draw: entries of `use`, and classes.

    Raises:
        InputError: If the file cannot be read.
    """
    _check_file(file)
    text = input_files.text(file, remedy="give a scenario file (.toml)")
    return _core.code_of(text, _each(file, overrides)) or []  # what cannot be parsed is refused when it is loaded


def _module(entry: str, folder: Path) -> str:
    if entry.endswith(named_modules.FILES):
        return str(folder / entry)
    try:
        return str(controller_sources.file_of(entry.partition(":")[0], folder) or entry)
    except ValueError:
        return entry


def agree(file: Path, code: list[str]) -> None:
    """Ask whether code may be run.

    Raises:
        InputError: If the user refuses.
    """
    names = ", ".join(dict.fromkeys(code))
    what = f"{plain(file)} runs code with your permissions: {names}"
    if sys.stdin.isatty() and sys.stderr.isatty():
        if typer.confirm(f"{what}. Run it?", err=True):
            return
        raise failures.InputError(f"{names} was not run, and neither was the scenario")
    raise failures.InputError(f"{what}; read it, then add --trust")


def load(file: Path, overrides: list[str], *, imports: bool = True) -> Scenario:
    """Load and check a scenario file.

    Args:
        file: Path of the file.
        overrides: Changes, each `path=value`.
        imports: Whether to import its Python code; without, it can be inspected and not simulated.

    Raises:
        InputError: If the file cannot be read.
        ScenarioError: If it is wrong.
    """
    _check_file(file)
    try:
        with _told_of_checking(file):
            return Scenario.load(str(file), _each(file, overrides), imports=imports)
    except OSError as error:
        raise failures.InputError(f"{file} cannot be read: {error.strerror or error}") from error


def _each(file: Path, overrides: list[str]) -> list[str]:
    """Expand `flow[*]` in overrides into one override per list entry."""
    return [each for override in overrides for each in places(file, override)]


def _check_file(file: Path) -> None:
    if file.is_dir():
        raise failures.InputError(f"{file} is a folder; give a scenario file (.toml)")
    if not file.exists() and not file.is_symlink():
        raise failures.InputError(f"{file}: file not found{suggestion(file)}")


def _told_of_checking(file: Path) -> AbstractContextManager[None]:
    if not sys.stderr.isatty() or file.stat().st_size < _LARGE_BYTES:
        return nullcontext()
    from ackclock.cli.progress import busy

    return busy(f"checking {file}")


def suggestion(file: Path) -> str:
    """Return a question that names similar scenario files."""
    if file.parts[:1] == ("scenarios",) and not Path("scenarios").exists():
        return "; write the examples into that folder: ackclock examples -o scenarios"
    folder = file.parent if file.parent.is_dir() else Path()
    near = sorted(path.name for path in folder.glob("*.toml") if path.name not in ("Cargo.toml", "pyproject.toml"))
    if near:
        return f"; in {folder} there are: {', '.join(near[:8])}{', ...' if len(near) > 8 else ''}"
    return '; without a file, try: ackclock run --flows cubic,reno --bottleneck "100 Mbit/s" --rtt "60 ms"'


def schema() -> None:
    """Print the JSON Schema of the scenario format."""
    put(_core.schema() + "\n")
