"""Backends that run points: threads of this process, processes of this machine, or a Ray cluster.

The engine releases Python's lock, so threads suffice; with controllers written in Python it cannot, and processes are
used. A process or a cluster gets the scenario's text and folder, and imports classes itself.
"""

import multiprocessing
import signal
from collections.abc import Callable, Generator, Iterable
from concurrent.futures import Future, ProcessPoolExecutor, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from multiprocessing.synchronize import Event
from typing import Any

from ackclock._core import Scenario, check_often
from ackclock.base.user_code import UserCodeError
from ackclock.experiments.sweep.parameter_grid import Point
from ackclock.running import Stop, StoppedError, first_ended, simulate

Work = Callable[[str, str], str]
"""Work on a point: a function from its scenario and the folder of its classes to a summary, both JSON texts.

It is a module-level function, so that a process and a cluster can call it by its name.
"""


def run_point(scenario_json: str, folder: str) -> str:
    """Simulate one point and return its summary as JSON text."""
    scenario = Scenario.from_json(scenario_json, folder=folder)
    outcome, _figures = simulate(scenario)
    return outcome.summary_json()


def local(points: Iterable[Point], *, jobs: int, work: Work = run_point) -> Generator[tuple[Point, str], None, None]:
    """Run points in threads and yield each as it finishes.

    Yields:
        A point and its summary. If the caller stops, even by an exception, the running points are ended.
    """
    stop = Stop()
    run = stop.heeded(work)
    with ThreadPoolExecutor(jobs) as pool:
        try:
            yield from _as_completed(points, lambda point: pool.submit(run, point.scenario_json, point.folder), jobs)
        finally:
            stop.set()


def processes(
    points: Iterable[Point], *, jobs: int, work: Work = run_point
) -> Generator[tuple[Point, str], None, None]:
    """Run points in separate processes, otherwise like `local`.

    Yields:
        A point and its summary.

    Raises:
        UserCodeError: If a process died; only user-written classes, or lack of memory, cause this.
    """
    context = multiprocessing.get_context("spawn")  # a fork would copy threads that hold locks
    stop = context.Event()
    with ProcessPoolExecutor(jobs, context, _begin_process, (stop,)) as pool:
        try:
            yield from _as_completed(
                points, lambda point: pool.submit(_run_in_process, work, point.scenario_json, point.folder), jobs
            )
        except BrokenProcessPool as error:
            what = "code of the scenario ended its process, as os._exit or a crash does, or memory ran out"
            raise UserCodeError(f"{what}; run one point with `ackclock run`, or fewer at a time") from error
        finally:
            stop.set()


_stop: Event | None = None
"""Event in a process of `processes`, set when the sweep is over."""


def _begin_process(stop: Event) -> None:
    global _stop
    _stop = stop
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C ends a point, never a process that waits for one


def _run_in_process(work: Work, scenario_json: str, folder: str) -> str:
    signal.signal(signal.SIGINT, signal.default_int_handler)
    check_often(_check_stop)
    try:
        return work(scenario_json, folder)
    finally:
        signal.signal(signal.SIGINT, signal.SIG_IGN)


def _check_stop() -> None:
    if _stop is not None and _stop.is_set():
        raise StoppedError


def _as_completed(
    points: Iterable[Point], submit: Callable[[Point], "Future[str]"], jobs: int
) -> Generator[tuple[Point, str], None, None]:
    """Keep `jobs` points running, so that a grid of any size needs little memory and stops immediately."""
    waiting = iter(points)
    running: dict[Future[str], Point] = {}
    while True:
        for point in waiting:
            running[submit(point)] = point
            if len(running) >= jobs:
                break
        if not running:
            return
        for future in first_ended(running):
            yield running.pop(future), future.result()


_CHUNK = 200
"""Largest number of points in a task: a task costs some milliseconds of the cluster, and a point may take less."""


def ray(
    points: Iterable[Point], *, jobs: int | None, work: Work = run_point
) -> Generator[tuple[Point, str], None, None]:
    """Run points in chunks, each a task of a Ray cluster, and yield the results of each chunk as it finishes.

    Args:
        points: Points to run.
        jobs: Number of parallel tasks; None submits two for every processor of the cluster.
        work: Work on each point.

    Yields:
        A point and its summary.

    Raises:
        ModuleNotFoundError: If Ray is not installed.
    """
    import ray as cluster

    cluster.init(ignore_reinit_error=True, log_to_driver=False)
    task = cluster.remote(run_chunk)
    limit = jobs or 2 * max(1, int(cluster.cluster_resources().get("CPU", 1)))
    every = list(points)
    size = max(1, min(_CHUNK, len(every) // (4 * limit)))
    waiting, running = iter([every[at : at + size] for at in range(0, len(every), size)]), dict[Any, list[Point]]()
    while True:
        for chunk in waiting:
            running[task.remote(work, [(point.scenario_json, point.folder) for point in chunk])] = chunk
            if len(running) >= limit:
                break
        if not running:
            return
        done, _others = cluster.wait(list(running), num_returns=1)
        for reference in done:
            yield from zip(running.pop(reference), cluster.get(reference), strict=True)


def run_chunk(work: Work, scenarios: list[tuple[str, str]]) -> list[str]:
    """Run several points in sequence."""
    return [work(scenario_json, folder) for scenario_json, folder in scenarios]
