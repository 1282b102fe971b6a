"""`ackclock study`: mixes of controllers over paths and seeds, from one file to tables and figures."""

from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ackclock.base import extras
from ackclock.cli import check
from ackclock.cli.answers import apart, put
from ackclock.cli.failures import InputError
from ackclock.cli.progress import points_progress
from ackclock.cli.sweep import BackendName, Jobs, MeansAsJson, On, check_backend
from ackclock.plotting.figures.figure_files import FORMS

if TYPE_CHECKING:
    from ackclock.experiments.studies.mistakes import Mistakes
    from ackclock.experiments.studies.plan import Plan
    from ackclock.experiments.studies.study_folder import Study


@apart
def study(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Study file (.toml).", show_default=False)],
    output: Annotated[
        Path | None,
        typer.Option(
            "-o",
            "--output",
            metavar="DIR",
            help="Write the study to this folder (default: out/NAME).",
            show_default=False,
        ),
    ] = None,
    jobs: Jobs = None,
    backend: On = BackendName.local,
    as_json: MeansAsJson = False,
    checks: Annotated[
        bool, typer.Option("--check", help="Check the file and count its runs, without running any.")
    ] = False,
    figures: Annotated[bool, typer.Option("--figures/--no-figures", help="Draw figures, or write tables only.")] = True,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print only errors.")] = False,
    trust: check.Trust = False,
) -> None:
    """Compare controllers over paths and seeds, with statistics.

    The same command resumes a study that was stopped or killed; more values or seeds extend it.

    The folder gets tables with 95 % confidence intervals, figures and a page.
    """
    from ackclock.experiments.studies import named_code
    from ackclock.experiments.studies import study_folder as studies
    from ackclock.experiments.sweep import GridError

    plan, mistakes = _read(file)
    if named := named_code.code_of(plan):
        if not trust:
            mistakes.check()  # before anything is imported
        if checks and not trust:
            print(f"not imported: {', '.join(named)}; what only a run would tell was not checked")
            _say_size(file, plan.size)
            return
        if not trust:
            check.agree(file, named)
    if checks:
        from ackclock.experiments.studies.design import trials

        trials(plan, mistakes)
        _say_size(file, plan.size)
        return
    extras.require("report")
    check_backend(backend)
    place = output or Path("out") / file.stem
    try:
        with ExitStack() as stack:
            begin = begin_shown(stack, quiet=quiet)
            done = studies.study(
                file, place, jobs=jobs, backend=backend.backend, on_begin=begin, forms=FORMS if figures else ()
            )
    except GridError as error:
        raise InputError(str(error)) from error
    _print(done, place, as_json=as_json, quiet=quiet)


def _read(file: Path) -> "tuple[Plan, Mistakes]":
    from ackclock.experiments.studies.study_file import read

    if file.is_dir():
        raise InputError(f"{file} is a folder; give a study's file (.toml)")
    if not file.exists():
        raise InputError(f"{file}: file not found; docs/how-to/studies.md says how to write one")
    try:
        return read(file)
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{file} cannot be read: {getattr(error, 'strerror', None) or error}") from error


def _say_size(file: Path, size: int) -> None:
    print(f"{file}: ok: {size} runs")


def begin_shown(stack: ExitStack, *, quiet: bool) -> Callable[[int, int], Callable[[], None]]:
    """Return what shows how far a study is."""
    return lambda total, done: stack.enter_context(points_progress(total, done, "runs", quiet=quiet))


def _print(done: "Study", place: Path, *, as_json: bool, quiet: bool) -> None:
    if as_json:
        from ackclock.plotting.tables import json_text

        put(json_text(done.table))
        return
    if quiet:
        return
    from ackclock.cli.table_output import print_table
    from ackclock.experiments.studies.study_outputs import PAGE

    print_table(done.table)
    if done.differences.rows:
        print_table(done.differences)
    print(f"{len(done.runs)} runs in {place}: {PAGE} shows them; figures and tables are beside it")
