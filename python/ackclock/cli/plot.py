"""`ackclock plot`: a figure of a run, a sweep or a study, as a file for a paper."""

import json
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ackclock.base import extras, storage
from ackclock.base.printable import unknown
from ackclock.cli.failures import InputError
from ackclock.cli.folders import experiment_of, kind_of, runs_of
from ackclock.plotting.figures.figure_files import FORMS

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ackclock.experiments.studies.study_figures import Drawn


def plot(
    folders: Annotated[
        list[Path],
        typer.Argument(metavar="DIR...", help="Folders of runs, or one of a sweep or study.", show_default=False),
    ],
    figure: Annotated[
        str | None,
        typer.Option(
            "--figure", "-f", metavar="NAME", help="Which; without it, their names are printed.", show_default=False
        ),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "-o", "--output", metavar="FILE", help="A .pdf, .svg or .png; by default NAME.pdf.", show_default=False
        ),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Also overwrite a file that ackclock did not write.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print names and captions, or the file, as JSON.")] = False,
) -> None:
    """Draw one figure as wide as a column of a paper (3.3 in), with fonts that papers take."""
    extras.require("report")
    if output is not None and output.suffix.removeprefix(".").lower() not in FORMS:
        raise InputError(f"{output}: a figure is a .pdf, .svg or .png file")
    found = {drawn.name: drawn for drawn in _figures(folders)}
    if figure is None and as_json:
        entries = [{"name": drawn.name, "caption": drawn.caption} for drawn in found.values()]
        print(json.dumps({"figures": entries}, indent=1, ensure_ascii=False))
        return
    if figure is None:
        for drawn in found.values():
            print(f"{drawn.name:28} {drawn.caption}")
        return
    if figure not in found:
        raise InputError(unknown("figure", figure, found))
    place = output or Path(f"{figure}.pdf")
    storage.check_file(place, force=force)
    from ackclock.plotting.figures import save

    save(found[figure].draw(), place, found[figure].caption)
    said = {"name": figure, "caption": found[figure].caption, "file": str(place)}
    print(json.dumps(said, ensure_ascii=False) if as_json else place)


def _figures(folders: list[Path]) -> "Iterable[Drawn]":
    kind = kind_of(folders)
    return _of_runs(folders) if kind == "run" else experiment_of(kind, folders[0]).figures()


def _of_runs(folders: list[Path]) -> "Iterable[Drawn]":
    from ackclock.experiments.studies.study_figures import Drawn
    from ackclock.plotting import completion_times as completions
    from ackclock.plotting import plots
    from ackclock.plotting.report.distributions import (
        completion_times,
        drawn_distributions,
        queueing_delays,
        round_trips,
    )
    from ackclock.results.run_labels import common

    results = runs_of(folders)
    about = common(results)
    for drawing in plots.drawings(results):
        yield Drawn(drawing.panel.key, f"{drawing.panel.title}: {about}.", partial(plots.static, drawing))
    for one in (*round_trips(results), *queueing_delays(results), *completion_times(results)):
        caption = f"Cumulative distribution, {one.title.lower()}: {about}."
        yield Drawn(one.name, caption, partial(drawn_distributions, one))
    if lines := completions.slowdown_lines(results):
        yield Drawn("slowdown", f"Slowdown over size: {about}.", partial(completions.static, lines))
