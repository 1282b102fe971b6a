"""Execution of a grid's unfinished points, for sweeps and studies."""

from collections.abc import Callable, Generator, Sequence
from contextlib import closing
from typing import Literal

from ackclock.base.system import cores
from ackclock.experiments.sweep.backends import Work, local, processes, ray, run_point
from ackclock.experiments.sweep.parameter_grid import Point
from ackclock.experiments.sweep.sweep_folder import SweepFolder

Backend = Literal["local", "ray"]


def unique(points: Sequence[Point]) -> list[Point]:
    """Return points without those whose scenario equals that of an earlier point."""
    return list({point.key: point for point in points}.values())


def done_before(folder: SweepFolder, points: Sequence[Point]) -> int:
    """Count the points that an earlier process finished; each is read, so that damage is reported early.

    Points of an earlier grid get the parameters of this one, which may have more axes.

    Raises:
        DamagedError: If the file of one is damaged.
    """
    folder.renew_parameters(points)
    return sum(folder.is_done(point) for point in unique(points))


def run_missing(
    folder: SweepFolder,
    points: Sequence[Point],
    *,
    backend: Backend = "local",
    jobs: int | None = None,
    work: Work = run_point,
    advance: Callable[[], None] = lambda: None,
) -> None:
    """Run the unfinished points, and save each result.

    Args:
        folder: Folder of the grid, opened.
        points: All points of the grid.
        backend: Threads or processes of this machine, or a Ray cluster.
        jobs: Number of parallel runs.
        work: Work on each point.
        advance: Called after each.
    """
    missing = [point for point in unique(points) if not folder.is_done(point)]
    with closing(results(missing, backend=backend, jobs=jobs, work=work)) as finished:
        for point, summary in finished:
            folder.save(point, summary)
            advance()


def results(
    points: Sequence[Point], *, backend: Backend = "local", jobs: int | None = None, work: Work = run_point
) -> Generator[tuple[Point, str], None, None]:
    """Run points and yield each with its summary, as they finish."""
    if backend == "ray":
        return ray(points, jobs=jobs, work=work)
    run = processes if any(point.own for point in points) else local
    return run(points, jobs=jobs or cores(), work=work)
