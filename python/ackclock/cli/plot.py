"""`ackclock plot`: a figure of a run, a sweep or a study, as a file for a paper."""

import json
import math
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ackclock.base import extras, storage
from ackclock.base.printable import unknown
from ackclock.cli import network
from ackclock.cli.answers import is_asked, put
from ackclock.cli.failures import InputError
from ackclock.cli.folders import by_axis, experiment_of, kind_of, pair, runs_of
from ackclock.plotting.figures.figure_files import EVERY_FORM

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ackclock.experiments.figure_list import Drawn
    from ackclock.experiments.studies.arrangement import Arrangement
    from ackclock.experiments.studies.study_folder import Study


def _axes(option: str, help: str) -> typer.models.OptionInfo:
    option_info: typer.models.OptionInfo = typer.Option(option, metavar="AXIS", help=help, show_default=False)
    return option_info


def plot(
    folders: Annotated[
        list[Path],
        typer.Argument(
            metavar="DIR...",
            help="Folders of runs, one folder of a sweep or study, or a scenario's file.",
            show_default=False,
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
            help="Write to this .pdf, .svg, .png or .tex file (default: NAME.pdf); .tex is code of pgfplots.",
            show_default=False,
        ),
    ] = None,
    colour: Annotated[
        list[str] | None, _axes("--colour", "Tell the values of this axis of a study apart by colour.")
    ] = None,
    panel: Annotated[list[str] | None, _axes("--panel", "Give each value of this axis of a study a panel.")] = None,
    style: Annotated[
        list[str] | None, _axes("--style", "Tell the values of this axis of a study apart by line style.")
    ] = None,
    only: Annotated[
        list[str] | None,
        typer.Option(metavar="AXIS=VALUE", help="Draw this value of an axis of a study only.", show_default=False),
    ] = None,
    label: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=TEXT", help="Rename a controller or a value of a study.", show_default=False),
    ] = None,
    beside: Annotated[
        Path | None,
        typer.Option(metavar="FILE.csv", help="Draw these published curves beside a study's.", show_default=False),
    ] = None,
    width: Annotated[
        float | None,
        typer.Option(
            min=1.0, max=40.0, metavar="INCHES", help="Width of the figure (default: 3.3).", show_default=False
        ),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Also replace a file that ackclock did not write.")] = False,
) -> None:
    """Draw a figure for a paper, one column wide (3.3 in).

    If a scenario file is given, draw its network as SVG.
    """
    if width is not None and math.isnan(width):
        raise InputError("--width: must be a number from 1 to 40, not nan")
    given = {"--colour": colour, "--panel": panel, "--style": style, "--only": only, "--label": label}
    if folders[0].suffix == ".toml":
        for option, value in {**given, "--figure": figure, "--beside": beside, "--width": width}.items():
            if value is not None:
                raise InputError(f"{option}: needs the folder of results, and {folders[0]} is a file; leave it out")
        return network.draw(folders, output or Path("network.svg"), force=force)
    if figure is None and output is not None:
        raise InputError(f"--figure NAME is needed with -o; list the names with: ackclock plot {folders[0]}")
    extras.require("report")
    if output is not None and output.suffix.removeprefix(".").lower() not in EVERY_FORM:
        raise InputError(f"{output}: a figure is a .pdf, .svg, .png or .tex file")
    asked = {option: values for option, values in given.items() if values is not None}
    found = {drawn.name: drawn for drawn in _figures(folders, asked, beside)}
    if not found:
        names = ", ".join(map(str, folders))
        raise InputError(
            f"{names}: no series to draw a figure of; run the scenario with its trace, or record for longer"
        )
    if figure is None:
        _list(list(found.values()))
        return
    if figure not in found:
        raise InputError(unknown("figure", figure, found))
    place = output or Path(f"{figure}.pdf")
    storage.check_file(place, force=force)
    _draw(found[figure], place, asked, beside, width)
    said = {"name": figure, "caption": found[figure].caption, "file": str(place)}
    put(f"{json.dumps(said, ensure_ascii=False) if is_asked() else place}\n")


def _list(figures: "list[Drawn]") -> None:
    if is_asked():
        entries = [{"name": drawn.name, "caption": drawn.caption} for drawn in figures]
        put(json.dumps({"figures": entries}, indent=1, ensure_ascii=False) + "\n")
        return
    group = ""
    for drawn in figures:
        if drawn.group != group:
            group = drawn.group
            print(f"{group}:")
        print(f"  {drawn.name:28} {drawn.caption.removesuffix(f': {group}.')}")


def _draw(drawn: "Drawn", place: Path, asked: "dict[str, list[str]]", beside: Path | None, width: float | None) -> None:
    from ackclock.plotting.figures import save

    for option in ("--colour", "--panel", "--style"):
        if drawn.over and drawn.over in asked.get(option, ()):
            raise InputError(f"{option}: {drawn.over} is the horizontal axis of {drawn.name}; name another axis")
    if beside is not None and not drawn.over:
        raise InputError(f"--beside: {drawn.name} is not over an axis; name a figure such as share-over-buffer")
    try:
        figure = drawn.draw()
    except ValueError as error:
        raise InputError(f"--beside {beside}: {error}" if beside else str(error)) from error
    if width is not None:
        figure.set_size_inches(width, figure.get_size_inches()[1])
    try:
        save(figure, place, drawn.caption)
    except ValueError as error:
        raise InputError(f"{place}: {error}") from error


def _figures(folders: list[Path], asked: "dict[str, list[str]]", beside: Path | None) -> "Iterable[Drawn]":
    kind = kind_of(folders)
    if kind != "study":
        if options := [*asked, *(["--beside"] if beside else [])]:
            raise InputError(f"{options[0]}: needs the folder of a study, and {folders[0]} has a {kind}; leave it out")
        return _of_runs(folders) if kind == "run" else experiment_of(kind, folders[0]).figures()
    study: Study = experiment_of(kind, folders[0])  # type: ignore[assignment]
    arrangement = _arrangement(study, asked, beside)
    return (_only(study, asked["--only"]) if "--only" in asked else study).figures(arrangement)


def _only(study: "Study", texts: "Sequence[str]") -> "Study":
    wanted = by_axis("--only", texts)
    try:
        return study.only(wanted)
    except ValueError as error:
        raise InputError(f"--only: {error}") from error


def _arrangement(study: "Study", asked: "dict[str, list[str]]", beside: Path | None) -> "Arrangement":
    from ackclock.experiments.studies.arrangement import LINE_UP, Arrangement
    from ackclock.plotting.figures.published_curves import published_curves

    known = [*study.plan.axes, LINE_UP]
    for option in ("--colour", "--panel", "--style"):
        for axis in asked.get(option, ()):
            if axis not in known:
                raise InputError(f"{option}: {unknown('axis', axis, known)}")
    panel = asked.get("--panel")
    return Arrangement(
        colour=tuple(asked.get("--colour", ())),
        panel=None if panel is None else tuple(panel),
        style=tuple(asked.get("--style", ())),
        names=_names(study, asked.get("--label", ())),
        beside={} if beside is None else published_curves(beside),
    )


def _names(study: "Study", texts: "Sequence[str]") -> dict[str, str]:
    """Return the names that `--label` gives to controllers and values of the study."""
    from ackclock.experiments.studies.plan import said
    from ackclock.scenario.setting_values import value_text

    plan = study.plan
    values = [
        text for key, found in plan.axes.items() for value in found for text in (value_text(value), said(key, value))
    ]
    known = dict.fromkeys([*(entry.label for entry in plan.controllers), *values])
    kinds = [text.partition(" (")[0] for text in known]
    names = dict(pair("--label", text, "fq_codel=FQ-CoDel") for text in texts)
    for name in names:
        if name not in known and name not in kinds:
            raise InputError(f"--label: {unknown('controller or value', name, known)}")
    return names


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
        yield Drawn(key, f"{title}: {about}.", draw, about)
    for one in of_every_kind(results):
        caption = f"Cumulative distribution, {one.title.lower()}: {about}."
        yield Drawn(one.name, caption, partial(drawn_distributions, one), about)
