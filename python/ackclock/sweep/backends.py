"""Where the points run: threads of this process (the engine releases the GIL), or a Ray cluster."""

import os
import threading
from collections.abc import Callable, Generator, Iterable
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from typing import Any

from ackclock._core import Scenario
from ackclock.running import Progress, simulate
from ackclock.sweep.grid import Point


class _StoppedError(Exception):
    """The sweep was interrupted while this point ran."""


def run_point(scenario_json: str, on_progress: Callable[[Progress], None] | None = None) -> str:
    """Simulate one point and return its summary as JSON text.

    Args:
        scenario_json: The effective scenario.
        on_progress: As in `ackclock.run`.
    """
    outcome, _figures = simulate(Scenario.from_json(scenario_json), on_progress=on_progress)
    return outcome.summary_json()


def cores() -> int:
    """Return the number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def local(points: Iterable[Point], *, jobs: int) -> Generator[tuple[Point, str], None, None]:
    """Run points in threads and yield each as it finishes.

    Args:
        points: To run.
        jobs: How many at a time.

    Yields:
        A point and its summary. When the caller stops, by an exception too, the running points are ended.
    """
    stop = threading.Event()

    def check(_progress: Progress) -> None:
        if stop.is_set():
            raise _StoppedError

    with ThreadPoolExecutor(jobs) as pool:
        try:
            yield from _as_completed(points, lambda point: pool.submit(run_point, point.scenario_json, check), jobs)
        finally:
            stop.set()


def _as_completed(
    points: Iterable[Point], submit: Callable[[Point], "Future[str]"], jobs: int
) -> Generator[tuple[Point, str], None, None]:
    """Keep `jobs` points running, so that a grid of any size needs little memory and stops at once."""
    waiting = iter(points)
    running: dict[Future[str], Point] = {}
    while True:
        for point in waiting:
            running[submit(point)] = point
            if len(running) >= jobs:
                break
        if not running:
            return
        done, _others = wait(running, return_when=FIRST_COMPLETED)
        for future in done:
            yield running.pop(future), future.result()


def ray(points: Iterable[Point], *, jobs: int | None) -> Generator[tuple[Point, str], None, None]:
    """Run points as tasks of a Ray cluster and yield each as it finishes.

    Args:
        points: To run.
        jobs: How many at a time; None keeps every processor of the cluster busy twice over.

    Yields:
        A point and its summary.

    Raises:
        ModuleNotFoundError: If Ray is not installed.
    """
    import ray as cluster

    cluster.init(ignore_reinit_error=True, log_to_driver=False)
    task = cluster.remote(run_point)
    limit = jobs or 2 * max(1, int(cluster.cluster_resources().get("CPU", 1)))
    waiting, running = iter(points), dict[Any, Point]()
    while True:
        for point in waiting:
            running[task.remote(point.scenario_json)] = point
            if len(running) >= limit:
                break
        if not running:
            return
        done, _others = cluster.wait(list(running), num_returns=1)
        for reference in done:
            yield running.pop(reference), cluster.get(reference)
