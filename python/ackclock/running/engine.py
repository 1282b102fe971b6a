"""Runs in the engine: the only loop that advances simulated time, used by every command."""

import json
import platform
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Executor, Future, wait
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, ParamSpec, TypeVar

from ackclock import controllers
from ackclock._core import Outcome, Scenario, Simulation, check_often
from ackclock.base import storage, system
from ackclock.base.decoding import decoded
from ackclock.base.version import __version__
from ackclock.results import Results, TableName
from ackclock.results.manifests import Engine, Manifest, Partition
from ackclock.scenario import named_modules

if TYPE_CHECKING:
    import polars as pl

_P = ParamSpec("_P")
_T = TypeVar("_T")

SLICE_WALL_S = 0.1
"""Wall time that the engine runs before Python updates a progress bar, seconds; the core handles signals by itself."""

_FIRST_SLICES = 1_000_000


@dataclass(frozen=True, slots=True)
class Progress:
    """Progress of a run.

    Attributes:
        now_s: Current simulated time.
        duration_s: Simulated time at the end.
        wall_s: Wall time since the start of the run.
        packets_delivered: Data packets that have reached a receiver.
    """

    now_s: float
    duration_s: float
    wall_s: float
    packets_delivered: int


@dataclass(frozen=True, slots=True)
class EngineFigures:
    """Cost of a run without start-up. It does not depend on the network alone, so it is only in the manifest.

    Attributes:
        events: Events handled.
        packets_delivered: Data packets that have reached a receiver.
        wall_s: Wall time.
        cpu_s: CPU time of all threads.
        partition: Partition of the network among threads.
    """

    events: int
    packets_delivered: int
    wall_s: float
    cpu_s: float
    partition: Partition

    def as_dict(self) -> Engine:
        """Return the manifest's `engine` entry."""
        rate = self.packets_delivered / self.cpu_s if self.cpu_s > 0 else None
        return {
            "events": self.events,
            "packets_delivered": self.packets_delivered,
            "wall_s": self.wall_s,
            "cpu_s": self.cpu_s,
            "packets_per_cpu_s": rate,
            "partition": self.partition,
        }


def run(
    scenario: Scenario,
    *,
    seed: int | None = None,
    on_progress: Callable[[Progress], None] | None = None,
    save_policies: Mapping[str, Path] | None = None,
    threads: int = 1,
    events: str | Sequence[str] | None = None,
) -> Results:
    """Simulate a scenario.

    Args:
        scenario: Scenario to simulate.
        seed: Replaces the scenario's seed, including all values drawn from it.
        threads: Largest number of parts that the network is cut into and run in parallel.
        on_progress: Called about ten times a second; an exception that it raises ends the run.
        save_policies: Learning flows, and the ONNX file for the policy of each at the end.
        events: "all", a name, or names of events to keep as `Results.events`, replacing those of the scenario's
            `trace`; `ackclock.events.KINDS` lists the names. A run with events uses one thread.

    Returns:
        The results. The same scenario and seed give the same, whatever the machine and the number of threads.

    Raises:
        KeyError: If `save_policies` names an unknown flow.
        ValueError: If it names a flow that does not learn, if `threads` is less than one, or an event is unknown.
    """
    chosen = scenario if seed is None else scenario.draw(seed)
    if events is not None:
        chosen = watched(chosen, events)
    outcome, figures = simulate(chosen, on_progress=on_progress, save_policies=save_policies, threads=threads)
    return results_of(chosen, outcome, figures)


def watched(scenario: Scenario, events: str | Sequence[str]) -> Scenario:
    """Return a scenario that records these events; the choice of flows and links in its `trace` stays.

    Raises:
        ValueError: If an event is unknown, or none is named.
    """
    return scenario.with_events([events] if isinstance(events, str) else list(events))


def simulate(
    scenario: Scenario,
    *,
    on_progress: Callable[[Progress], None] | None = None,
    save_policies: Mapping[str, Path] | None = None,
    threads: int = 1,
) -> tuple[Outcome, EngineFigures]:
    """Run a scenario to its end in slices, and return its outcome and cost."""
    used = threads if system.HAS_THREADS else 1
    simulation = Simulation(scenario, used)
    partition: Partition = json.loads(simulation.partition_json()) | {"threads": used}
    cpu_time = system.thread_time if partition["parts"] == 1 else time.process_time
    wanted = dict(save_policies or {})
    for flow in wanted:
        simulation.policy(flow)  # a mistake is told before the run, not after it
    wall, cpu = time.perf_counter(), cpu_time()
    step = scenario.duration_s / _FIRST_SLICES
    while not simulation.is_finished:
        before = time.perf_counter()
        simulation.run_until(min(simulation.now_s + step, scenario.duration_s))
        step = _next_step(step, time.perf_counter() - before)
        if on_progress:
            elapsed = time.perf_counter() - wall
            on_progress(Progress(simulation.now_s, scenario.duration_s, elapsed, simulation.packets_delivered))
    cpu_s, wall_s = cpu_time() - cpu, time.perf_counter() - wall
    for flow, path in wanted.items():
        storage.write_file(path, simulation.policy(flow))
    figures = EngineFigures(simulation.events, simulation.packets_delivered, wall_s, cpu_s, partition)
    return simulation.finish(), figures


def _next_step(step_s: float, took_s: float) -> float:
    """Return the length of the next slice, aiming at `SLICE_WALL_S` and changing at most by a factor of four."""
    factor = SLICE_WALL_S / took_s if took_s > 0 else 4.0
    return step_s * min(4.0, max(0.25, factor))


class Stop:
    """Switch that stops runs in other threads, such as those of a pool whose results are no longer needed."""

    def __init__(self) -> None:
        """Start without a stop request."""
        self._is_set = threading.Event()

    def set(self) -> None:
        """Stop every run wrapped by `heeded` within a tenth of a second."""
        self._is_set.set()

    def heeded(self, work: Callable[_P, _T]) -> Callable[_P, _T]:
        """Wrap `work` for a pool, so that `set` stops it."""

        def heeding(*args: _P.args, **kwargs: _P.kwargs) -> _T:
            self._check()
            check_often(self._check)
            _heeded.stop = self
            try:
                return work(*args, **kwargs)
            finally:
                _heeded.stop = None
                check_often(None)

        return heeding

    def _check(self) -> None:
        if self._is_set.is_set():
            raise StoppedError


_heeded = threading.local()
"""The switch that a thread of a pool heeds."""


def check_stop() -> None:
    """Check whether this thread's work is still needed; work outside the engine calls this often.

    Raises:
        StoppedError: If its pool was stopped.
    """
    stop: Stop | None = getattr(_heeded, "stop", None)
    if stop is not None:
        stop._check()


class StoppedError(Exception):
    """Interruption: the run was stopped, as its result is no longer needed."""


_DEAF_S = 0.1
"""Longest wait for another thread, seconds; Python handles signals between waits.

A signal that arrives just before a thread blocks does not wake it, nor does one that the system delivered to another
thread. Without the limit, the wait would last as long as the work.
"""


def first_ended(running: Iterable[Future[_T]]) -> set[Future[_T]]:
    """Wait until some futures of a pool have finished, and return these; signals are handled meanwhile."""
    every = list(running)
    while not (done := wait(every, _DEAF_S, FIRST_COMPLETED).done):
        pass
    return done


def mapped(pool: Executor, work: Callable[..., _T], *columns: Iterable[object]) -> Iterator[_T]:
    """Map like `pool.map`, but handle signals meanwhile.

    Yields:
        The results, in order.
    """
    futures = [pool.submit(work, *row) for row in zip(*columns, strict=True)]
    try:
        for future in futures:
            first_ended([future])
            yield future.result()
    finally:
        for future in futures:
            future.cancel()


def results_of(scenario: Scenario, outcome: Outcome, figures: EngineFigures) -> Results:
    """Return the outcome of a run as results."""
    return Results(
        _read_summary=lambda: decoded(outcome.summary_json()),
        _origin=_origin(scenario, figures),
        _table=partial(_table, outcome),
        _source=outcome,
    )


def _table(outcome: Outcome, name: TableName) -> "pl.DataFrame":
    """Convert a table without copying its numbers; names become plain text, independent of other tables' files."""
    system.check_fork()
    import polars as pl

    table = pl.DataFrame(outcome.table(name))
    return table.with_columns(pl.col(pl.Categorical).cast(pl.String))


def _origin(scenario: Scenario, figures: EngineFigures) -> Manifest:
    """Return the manifest, without the version of Polars, which a run does not need."""
    origin: Manifest = {
        "scenario": json.loads(scenario.to_json()),
        "scenario_hash": scenario.hash,
        "seed": scenario.seed,
        "versions": {"ackclock": __version__, "python": platform.python_version()},
        "engine": figures.as_dict(),
    }
    if drawn := scenario.drawn:
        origin["drawn"] = drawn
    if own := controllers.sources(scenario):
        origin["controllers"] = own
    if used := named_modules.sources(scenario):
        origin["parts"] = used
    return origin
