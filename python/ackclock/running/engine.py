"""Running a scenario: the one way in which simulated time moves, for every command."""

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
"""How long the engine runs before Python may look at the clock and a progress bar; the core hears signals by itself."""

_FIRST_SLICES = 1_000_000


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a run has come.

    Attributes:
        now_s: Simulated time.
        duration_s: Simulated time at the end.
        wall_s: Time since the run began.
        packets_delivered: Data packets that have reached a receiver.
    """

    now_s: float
    duration_s: float
    wall_s: float
    packets_delivered: int


@dataclass(frozen=True, slots=True)
class EngineFigures:
    """What a run cost, start-up left out. It says nothing of the network, so it is in the manifest only.

    Attributes:
        events: Events handled.
        packets_delivered: Data packets that have reached a receiver.
        wall_s: Time that it took.
        cpu_s: CPU time of all its threads.
        partition: How the network was cut for so many threads.
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
        scenario: What to simulate.
        seed: In place of the scenario's own; it draws all that the scenario has drawn, too.
        threads: Cut the network into so many parts, or as many as it can be cut into, and run them at the same time.
        on_progress: Called about ten times a second; an exception that it raises ends the run.
        save_policies: Flows that learn, and the ONNX file for what each has learnt at the end.
        events: "all", a name, or names of events to keep as `Results.events`, in place of those that the scenario's
            `trace` names; `ackclock.events.KINDS` has the names. A run that is watched is one part.

    Returns:
        The results. The same scenario and seed give the same, whatever the machine and the number of threads.

    Raises:
        KeyError: If `save_policies` names a flow that the scenario has not.
        ValueError: If it names one whose controller does not learn, or if `threads` is less than one, or there is no
            such event.
    """
    chosen = scenario if seed is None else scenario.draw(seed)
    if events is not None:
        chosen = watched(chosen, events)
    outcome, figures = simulate(chosen, on_progress=on_progress, save_policies=save_policies, threads=threads)
    return results_of(chosen, outcome, figures)


def watched(scenario: Scenario, events: str | Sequence[str]) -> Scenario:
    """Return a scenario that is watched for these events; the flows and links that its `trace` chooses stay chosen.

    Raises:
        ValueError: If there is no such event, or none is named.
    """
    return scenario.with_events([events] if isinstance(events, str) else list(events))


def simulate(
    scenario: Scenario,
    *,
    on_progress: Callable[[Progress], None] | None = None,
    save_policies: Mapping[str, Path] | None = None,
    threads: int = 1,
) -> tuple[Outcome, EngineFigures]:
    """Run a scenario to its end in slices, and say what it cost."""
    simulation = Simulation(scenario, threads)
    partition: Partition = json.loads(simulation.partition_json()) | {"threads": threads}
    cpu_time = time.thread_time if partition["parts"] == 1 else time.process_time
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
    """Aim at `SLICE_WALL_S` for the next slice, changing by no more than a factor of four at a time."""
    factor = SLICE_WALL_S / took_s if took_s > 0 else 4.0
    return step_s * min(4.0, max(0.25, factor))


class Stop:
    """Ends runs in other threads from outside: those of a pool, whose results nobody waits for any more."""

    def __init__(self) -> None:
        """Prepare; nothing is to be ended yet."""
        self._is_set = threading.Event()

    def set(self) -> None:
        """End every run that is `heeded`, within a tenth of a second."""
        self._is_set.set()

    def heeded(self, work: Callable[_P, _T]) -> Callable[_P, _T]:
        """Return `work` as a pool is to call it."""

        def heeding(*args: _P.args, **kwargs: _P.kwargs) -> _T:
            self._check()
            check_often(self._check)
            try:
                return work(*args, **kwargs)
            finally:
                check_often(None)

        return heeding

    def _check(self) -> None:
        if self._is_set.is_set():
            raise StoppedError


class StoppedError(Exception):
    """Nobody waits for this run any more."""


_DEAF_S = 0.1
"""A wait for another thread is this long at most: Python hears signals between two waits.

One that comes just before a thread falls asleep does not wake it, and neither does one that the system gave to another
thread. The wait would last as long as the work.
"""


def first_ended(running: Iterable[Future[_T]]) -> set[Future[_T]]:
    """Wait until some of what runs in a pool have ended, and return these; signals are heard meanwhile."""
    every = list(running)
    while not (done := wait(every, _DEAF_S, FIRST_COMPLETED).done):
        pass
    return done


def mapped(pool: Executor, work: Callable[..., _T], *columns: Iterable[object]) -> Iterator[_T]:
    """Do as `pool.map` does, and hear signals meanwhile.

    Yields:
        What each came to, in order.
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
    """Return what a run left behind as results."""
    return Results(
        _read_summary=lambda: decoded(outcome.summary_json()),
        _origin=_origin(scenario, figures),
        _table=partial(_table, outcome),
        _source=outcome,
    )


def _table(outcome: Outcome, name: TableName) -> "pl.DataFrame":
    """Take a table over without copying its numbers; names become plain text, whose file does not depend on others."""
    system.check_fork()
    import polars as pl

    table = pl.DataFrame(outcome.table(name))
    return table.with_columns(pl.col(pl.Categorical).cast(pl.String))


def _origin(scenario: Scenario, figures: EngineFigures) -> Manifest:
    """The manifest, but for the version of Polars, which a run does without."""
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
