"""`ackclock sweep`: a grid of runs."""

from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer

from ackclock._core import Scenario
from ackclock.base import storage
from ackclock.base.printable import amount
from ackclock.cli import check
from ackclock.cli.answers import is_asked, put
from ackclock.cli.failures import errors
from ackclock.cli.places import On, kernel_of
from ackclock.cli.progress import points_progress
from ackclock.experiments.backends import Backend, check_backend, run_all
from ackclock.experiments.grid import Axis, changes_nothing, grid_of, parse_axes, parse_pair
from ackclock.experiments.store import SweepFolder
from ackclock.experiments.sweep import tidy_tables
from ackclock.experiments.sweep.sweep_results import load_sweep
from ackclock.results import parquet
from ackclock.scenario.setting_values import value_key

Jobs = Annotated[
    int | None,  # a cluster has some hundreds of cores
    typer.Option("--jobs", "-j", min=1, max=4096, help="Set the number of parallel runs (default: one per core)."),
]
Cluster = Annotated[Backend, typer.Option("--backend", help="Run on threads of this process, or on a Ray cluster.")]


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
    backend: Cluster = "local",
    on: On = "simulator",
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print only errors.")] = False,
    trust: check.Trust = False,
) -> None:
    """Run a scenario over a grid of values, in parallel.

    The same command resumes a sweep that was stopped or killed; more values extend it.

    The folder gets sweep.parquet (one row per point and flow), links.parquet,
    and means.parquet (means over seeds with 95 % confidence intervals).
    """
    kernel = kernel_of(on)
    check_backend(backend, kernel)
    folder = SweepFolder(output)
    pairs = [parse_pair(text) for text in paired or []]
    axes = parse_axes(overrides or [], pairs)
    points = grid_of(axes, _loader(file, _untraced(axes), trusts=trust), pairs, kernel)
    with folder.opened(points), points_progress("points", quiet=quiet) as begin:
        summary = run_all(points, folder, backend=backend, jobs=jobs, on_begin=begin)
        for name, table in tidy_tables.tables((point.parameters, summary(point)) for point in points).items():
            storage.write_file(folder.table(name), parquet(table))
        are_same = changes_nothing("seed", points, lambda point: hash(value_key({**summary(point), "seed": 0})))
    if are_same:
        text = "warning: every seed gave the same results: the scenario is not random, so ± 0 is meaningless"
        errors().print(text, style="yellow")
    if is_asked():
        from ackclock.plotting.tables import json_text

        put(json_text(load_sweep(output).table))
    elif not quiet:
        from ackclock.cli.table_output import print_table

        print_table(load_sweep(output).table)
        print(f"{amount(len(points), 'point')} in {output}: sweep.parquet, links.parquet, means.parquet")


def _loader(file: Path, untraced: list[str], *, trusts: bool) -> Callable[[list[str]], Scenario]:
    """Return a function that loads the scenario of a point; it asks for trust once, as all points run the same code."""
    agreed = trusts

    def load(texts: list[str]) -> Scenario:
        nonlocal agreed
        agreed = agreed or check.is_agreed(file, [*untraced, *texts])
        return check.load(file, [*untraced, *texts], imports=agreed)

    return load


def _untraced(axes: list[Axis]) -> list[str]:
    """Return an override that disables series, which a sweep does not keep, unless the grid is about tracing."""
    return [] if any(axis.path.split(".")[0] == "trace" for axis in axes) else ["trace=false"]
