"""Running the points of an experiment in threads of this process, processes of this machine, or a Ray cluster.

The engine releases Python's lock, so threads suffice; with controllers written in Python it cannot, and processes are
used. A process or a cluster gets the scenario's text and folder, and imports classes itself.
"""

import json
import multiprocessing
import signal
from collections.abc import Callable, Generator, Iterable, Sequence
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import closing
from functools import partial
from multiprocessing.synchronize import Event
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from ackclock._core import Scenario, check_often
from ackclock.base import extras
from ackclock.base.decoding import decoded
from ackclock.base.input_files import InputError
from ackclock.base.system import cores
from ackclock.base.user_code import UserCodeError
from ackclock.experiments.grid import Point
from ackclock.experiments.store import SweepFolder
from ackclock.results import Results
from ackclock.results.summaries import RunSummary
from ackclock.running import Stop, StoppedError, first_ended, simulate
from ackclock.running.kernel import KernelError, RefusedError
from ackclock.running.kernel import run as run_on_kernel

if TYPE_CHECKING:
    from ackclock.running.linux_kernels import Kernel

_T = TypeVar("_T")
_R = TypeVar("_R")

Backend = Literal["local", "ray"]

Begin = Callable[[int, int], Callable[[], None]]
"""Function called with the total and the finished number of runs; it returns one to call after each run."""

Work = Callable[[str, str, "Kernel | None"], str]
"""Work on a point: a function from its scenario, the folder of its classes and its kernel to a summary as JSON text.

It is a module-level function, so that a process and a cluster can call it by its name.
"""


def run_point(scenario_json: str, folder: str, on: "Kernel | None" = None) -> str:
    """Run one point and return its summary as JSON text."""
    scenario = Scenario.from_json(scenario_json, folder=folder)
    if on is not None:
        return json.dumps(run_on(scenario, on).summary, ensure_ascii=False)
    outcome, _figures = simulate(scenario)
    return outcome.summary_json()


def run_on(scenario: Scenario, kernel: "Kernel") -> Results:
    """Run a scenario on a kernel in virtual time.

    Raises:
        KernelError: If the run failed, or does not represent the scenario's network.
        RefusedError: If the kernel does not support the scenario.
    """
    results = run_on_kernel(scenario, on=kernel)
    told = results.manifest["kernel"]
    if not told["valid"]:
        raise KernelError(f"the run on Linux {kernel.version} is not valid: {'; '.join(told['reasons'])}")
    return results


def check_backend(backend: Backend, on: "Kernel | None") -> None:
    """Check, before any work, that a backend is available, and can run on a kernel if that is asked for.

    Raises:
        InputError: If it cannot.
        MissingPackageError: If Ray is not installed.
    """
    if backend == "ray":
        if on is not None:
            raise InputError("--backend ray: kernels are of this machine alone; leave it out with --on linux")
        extras.require("ray", loads=True)


def run_all(
    points: Sequence[Point],
    folder: SweepFolder | None = None,
    *,
    backend: Backend = "local",
    jobs: int | None = None,
    work: Work = run_point,
    on_begin: Begin | None = None,
) -> Callable[[Point], RunSummary]:
    """Run the unfinished points, and save each result; points with the same scenario are run once.

    Args:
        points: All points of the grid.
        folder: Open folder for the results; None keeps them in memory. Results of an earlier process are read, so that
            damage is reported early, and get the parameters of this grid, which may have more axes.
        backend: Threads or processes of this machine, or a Ray cluster.
        jobs: Number of parallel runs; by default one per core.
        work: Work on each point.
        on_begin: Called before the first run.

    Returns:
        A function that returns the summary of a point.

    Raises:
        DamagedError: If the file of a point is damaged.
    """
    every = list({point.key: point for point in points}.values())
    if folder is not None:
        folder.renew_parameters(points)
    missing = [point for point in every if folder is None or not folder.is_done(point)]
    advance = on_begin(len(every), len(every) - len(missing)) if on_begin else lambda: None
    summaries: dict[str, str] = {}
    has_own = any(point.own and point.on is None for point in missing)
    run = ray if backend == "ray" else processes if has_own else local
    with closing(run(missing, jobs=jobs, work=work)) as finished:
        for point, summary in finished:
            if folder is None:
                summaries[point.key] = summary
            else:
                folder.save(point, summary)
            advance()
    return folder.summary if folder is not None else lambda point: decoded(summaries[point.key])


def local(
    points: Iterable[Point], *, jobs: int | None, work: Work = run_point
) -> Generator[tuple[Point, str], None, None]:
    """Run points in threads and yield each with its summary as it finishes."""
    return threads(points, partial(_worked, work), jobs)


def _worked(work: Work, point: Point) -> str:
    try:
        return work(point.scenario_json, point.folder, point.on)
    except (RefusedError, KernelError) as error:
        raise type(error)(f"at {point.said}: {error}") from error


def threads(
    items: Iterable[_T], work: Callable[[_T], _R], jobs: int | None = None
) -> Generator[tuple[_T, _R], None, None]:
    """Run a function over items in threads.

    Args:
        items: The items.
        work: Function to run for each.
        jobs: Number of threads; by default one per core.

    Yields:
        Each item with its result, as it finishes. If the caller stops, even by an exception, running work is ended.
    """
    stop = Stop()
    with ThreadPoolExecutor(jobs or cores()) as pool:
        try:
            yield from _as_completed(pool, stop.heeded(work), items, jobs or cores())
        finally:
            stop.set()


def processes(
    points: Iterable[Point], *, jobs: int | None, work: Work = run_point
) -> Generator[tuple[Point, str], None, None]:
    """Run points in separate processes, otherwise like `local`.

    Yields:
        A point and its summary.

    Raises:
        UserCodeError: If a process died; only user-written classes, or lack of memory, cause this.
    """
    context = multiprocessing.get_context("spawn")  # a fork would copy threads that hold locks
    stop = context.Event()
    with ProcessPoolExecutor(jobs or cores(), context, _begin_process, (stop,)) as pool:
        try:
            yield from _as_completed(pool, partial(_run_in_process, work), points, jobs or cores())
        except BrokenProcessPool as error:
            what = "code of the scenario ended its process (os._exit or a crash), or memory ran out"
            raise UserCodeError(f"{what}; run one point with `ackclock run`, or fewer at a time") from error
        finally:
            stop.set()


_stop: Event | None = None
"""Event in a process of `processes`, set when the sweep is over."""


def _begin_process(stop: Event) -> None:
    global _stop
    _stop = stop
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C ends a point, never a process that waits for one


def _run_in_process(work: Work, point: Point) -> str:
    signal.signal(signal.SIGINT, signal.default_int_handler)
    check_often(_check_stop)
    try:
        return _worked(work, point)
    finally:
        signal.signal(signal.SIGINT, signal.SIG_IGN)


def _check_stop() -> None:
    if _stop is not None and _stop.is_set():
        raise StoppedError


def _as_completed(
    pool: Executor, work: Callable[[_T], _R], items: Iterable[_T], jobs: int
) -> Generator[tuple[_T, _R], None, None]:
    """Keep `jobs` items running, so that a grid of any size needs little memory and stops immediately."""
    waiting = iter(items)
    running: dict[Future[_R], _T] = {}
    while True:
        for item in waiting:
            running[pool.submit(work, item)] = item
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
    return [work(scenario_json, folder, None) for scenario_json, folder in scenarios]
