"""`ackclock sweep`: a grid of runs."""

import importlib
from collections.abc import Callable
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from ackclock._core import Scenario
from ackclock.base import storage
from ackclock.cli import check
from ackclock.cli.answers import apart, put
from ackclock.cli.failures import InputError, errors
from ackclock.cli.progress import points_progress
from ackclock.experiments.sweep import (
    Axis,
    GridError,
    Point,
    SweepFolder,
    grid_of,
    missing_points,
    parse_axes,
    parse_pair,
    tidy_tables,
)
from ackclock.experiments.sweep.sweep_results import load_sweep
from ackclock.results import parquet
from ackclock.scenario.setting_values import value_key


class BackendName(StrEnum):
    """Backend that runs the points."""

    local = "local"
    ray = "ray"

    @property
    def backend(self) -> missing_points.Backend:
        """Name of the backend in the package's functions."""
        return "ray" if self is BackendName.ray else "local"


Jobs = Annotated[
    int | None,  # a cluster has some hundreds of cores
    typer.Option("--jobs", "-j", min=1, max=4096, help="Set the number of parallel runs (default: one per core)."),
]
On = Annotated[BackendName, typer.Option("--backend", help="Run on threads of this process, or on a Ray cluster.")]
MeansAsJson = Annotated[bool, typer.Option("--json", help="Print the table of means as JSON.")]


@apart
def sweep(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Scenario file (.toml).", show_default=False)],
    output: Annotated[Path, typer.Option("-o", "--output", metavar="DIR", help="Write the sweep to this folder.")],
    overrides: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="PATH=VALUES",
            help=r"Set an axis of the grid, e.g. seed=1..20, 'tcp.mss=\[536, 1448]', or one value. Repeatable.",
        ),
    ] = None,
    paired: Annotated[
        list[str] | None,
        typer.Option(
            "--paired",
            metavar="PATH,PATH",
            help="Pair axes value by value instead of crossing them. Repeatable.",
            show_default=False,
        ),
    ] = None,
    jobs: Jobs = None,
    backend: On = BackendName.local,
    as_json: MeansAsJson = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print only errors.")] = False,
    trust: check.Trust = False,
) -> None:
    """Run a scenario over a grid of values, in parallel.

    The same command resumes a sweep that was stopped or killed; more values extend it.

    The folder gets sweep.parquet (one row per point and flow), links.parquet,
    and means.parquet (means over seeds with 95 % confidence intervals).
    """
    check_backend(backend)
    folder = SweepFolder(output)
    try:
        pairs = [parse_pair(text) for text in paired or []]
        axes = parse_axes(overrides or [], pairs)
        points = grid_of(axes, _loader(file, _untraced(axes), trusts=trust), pairs)
        with folder.opened(points):
            _run_missing(folder, points, backend, jobs, quiet=quiet)
            _write_tables(folder, points)
            changes_nothing = _seeds_change_nothing(folder, points)
    except GridError as error:
        raise InputError(str(error)) from error
    if changes_nothing:
        text = "warning: every seed gave the same results: nothing in it is random, so that ± 0 says nothing"
        errors().print(text, style="yellow")
    if as_json:
        from ackclock.plotting.tables import json_text

        put(json_text(load_sweep(output).table))
    elif not quiet:
        from ackclock.cli.table_output import print_table

        print_table(load_sweep(output).table)
        print(f"{len(points)} points in {output}: sweep.parquet, links.parquet, means.parquet")


def _loader(file: Path, untraced: list[str], *, trusts: bool) -> Callable[[list[str]], Scenario]:
    """Return a function that loads the scenario of a point; it asks for trust once, as all points run the same code."""
    agreed = trusts

    def load(texts: list[str]) -> Scenario:
        nonlocal agreed
        agreed = agreed or check.is_agreed(file, [*untraced, *texts])
        return check.load(file, [*untraced, *texts], imports=agreed)

    return load


def check_backend(backend: BackendName) -> None:
    """Check, before any work, that a backend is available.

    Raises:
        InputError: If it is not.
    """
    if backend is not BackendName.ray:
        return
    try:
        importlib.import_module("ray")
    except ImportError as error:
        raise InputError(f"the Ray backend needs Ray ({error}); pip install 'ackclock[ray]'") from error


def _untraced(axes: list[Axis]) -> list[str]:
    """Return an override that disables series, which a sweep does not keep, unless the grid is about tracing."""
    return [] if any(axis.path.split(".")[0] == "trace" for axis in axes) else ["trace=false"]


def _run_missing(
    folder: SweepFolder, points: list[Point], backend: BackendName, jobs: int | None, *, quiet: bool
) -> None:
    total, done = len(missing_points.unique(points)), missing_points.done_before(folder, points)
    with points_progress(total, done, "points", quiet=quiet) as advance:
        missing_points.run_missing(folder, points, backend=backend.backend, jobs=jobs, advance=advance)


def _seeds_change_nothing(folder: SweepFolder, points: list[Point]) -> bool:
    """Return whether points that differ only in their seed all have the same summaries; False without such points."""
    by_others: dict[str, list[Point]] = {}
    for point in points:
        others = {name: value for name, value in point.parameters.items() if name != "seed"}
        by_others.setdefault(value_key(others), []).append(point)
    groups = [group for group in by_others.values() if len(group) > 1]
    return bool(groups) and all(_same(folder, group) for group in groups)


def _same(folder: SweepFolder, points: list[Point]) -> bool:
    summaries = ({**folder.summary(point), "seed": 0} for point in points)
    first = next(summaries)
    return all(other == first for other in summaries)


def _write_tables(folder: SweepFolder, points: list[Point]) -> None:
    rows = [(point.parameters, folder.summary(point)) for point in points]
    for name, table in tidy_tables.tables(rows).items():
        storage.write_file(folder.table(name), parquet(table))
