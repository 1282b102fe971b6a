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

    from ackclock.experiments.figure_list import Drawn


def plot(
    folders: Annotated[
        list[Path],
        typer.Argument(
            metavar="DIR...", help="Folders of runs, or one folder of a sweep or study.", show_default=False
        ),
    ],
    figure: Annotated[
        str | None,
        typer.Option(
            "--figure", "-f", metavar="NAME", help="Draw this figure (default: list the figures).", show_default=False
        ),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "-o",
            "--output",
            metavar="FILE",
            help="Write to this .pdf, .svg or .png file (default: NAME.pdf).",
            show_default=False,
        ),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Also replace a file that ackclock did not write.")] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print names and captions, or the file's name, as JSON.")
    ] = False,
) -> None:
    """Draw a figure for a paper, one column wide (3.3 in)."""
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
    from ackclock.experiments.figure_list import Drawn
    from ackclock.plotting.plots import SLOWDOWN, static_figures
    from ackclock.plotting.report.distributions import drawn_distributions, of_every_kind
    from ackclock.plotting.result_panels import panel
    from ackclock.results.run_labels import common

    results = runs_of(folders)
    about = common(results)
    for key, draw in static_figures(results).items():
        title = "Slowdown over size" if key == SLOWDOWN else panel(key).title
        yield Drawn(key, f"{title}: {about}.", draw)
    for one in of_every_kind(results):
        caption = f"Cumulative distribution, {one.title.lower()}: {about}."
        yield Drawn(one.name, caption, partial(drawn_distributions, one))
