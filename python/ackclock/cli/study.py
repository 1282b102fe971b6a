"""`ackclock study`: mixes of controllers over paths and seeds, from one file to tables and figures."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ackclock.base import extras
from ackclock.base.printable import amount
from ackclock.cli import check
from ackclock.cli.answers import answer, is_asked, put
from ackclock.cli.failures import InputError
from ackclock.cli.folders import by_axis
from ackclock.cli.places import On, kernel_of
from ackclock.cli.progress import points_progress
from ackclock.cli.sweep import Cluster, Jobs
from ackclock.experiments.backends import check_backend
from ackclock.plotting.figures.figure_files import FORMS

if TYPE_CHECKING:
    from ackclock.experiments.studies.study_folder import Study


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
    backend: Cluster = "local",
    on: On = "simulator",
    checks: Annotated[
        bool, typer.Option("--check", help="Check the file and count its runs, without running any.")
    ] = False,
    figures: Annotated[bool, typer.Option("--figures/--no-figures", help="Draw figures, or write tables only.")] = True,
    point: Annotated[
        list[str] | None,
        typer.Option(
            metavar="AXIS=VALUE",
            help="Also keep whole the runs with this value of an axis, of line_up or of seed.",
            show_default=False,
        ),
    ] = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print only errors.")] = False,
    trust: check.Trust = False,
) -> None:
    """Compare controllers over paths and seeds, with statistics.

    The same command resumes a study that was stopped or killed; more values or seeds extend it.

    The folder gets tables with 95 % confidence intervals, figures and a page.
    """
    from ackclock.experiments.studies import named_code, study_file
    from ackclock.experiments.studies import study_folder as studies
    from ackclock.experiments.studies.selection import Selection

    if not file.exists():
        raise InputError(
            f"{file}: file not found; give a study file, such as one that `ackclock examples -o DIR` writes"
        )
    plan, mistakes = study_file.read(file)
    named = named_code.code_of(plan)
    if named and not trust:
        mistakes.check()  # before anything is imported
        if not checks:
            check.agree(file, named)
    if checks:
        if named and not trust:
            print(f"not imported: {', '.join(named)}; what only a run can show was not checked")
        else:
            from ackclock.experiments.studies.design import trials

            trials(plan, mistakes)
        answer(runs=plan.size)
        print(f"{file}: ok: {amount(plan.size, 'run')}")
        return
    extras.require("report")
    kernel = kernel_of(on)
    check_backend(backend, kernel)
    place = output or Path("out") / file.stem
    asked = None if point is None else by_axis("--point", point)
    try:
        Selection(plan, asked or {})
    except ValueError as error:
        raise InputError(f"--point: {error}") from error
    forms = FORMS if figures else ()
    with points_progress("runs", quiet=quiet) as begin:
        done = studies.study(
            file, place, jobs=jobs, backend=backend, on=kernel, on_begin=begin, forms=forms, point=asked
        )
    _print(done, place, quiet=quiet)


def _print(done: "Study", place: Path, *, quiet: bool) -> None:
    if is_asked():
        from ackclock.plotting.tables import json_text

        put(json_text(done.table))
        return
    if quiet:
        return
    from ackclock.cli.table_output import print_table
    from ackclock.experiments.studies.study_outputs import PAGE

    for table in done.tables:
        print_table(table)
    print(f"{amount(len(done.runs), 'run')} in {place}: open {PAGE}; figures and tables are in the same folder")
