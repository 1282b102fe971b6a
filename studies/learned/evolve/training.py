"""Learning a policy: generations on paths drawn anew, chosen by paths that are set aside."""

import json
import os
import tempfile
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final, Self

import numpy as np

from ackclock.base import storage
from ackclock.base.bounds import whole
from ackclock.base.toml_text import toml_text
from ackclock.running import mapped

from ..outcome import Figures
from . import network
from .paths import Family
from .search import MOST_GENERATIONS, Matrix, Plan, Search, Vector
from .worth import Worth

CHOOSING_SEEDS: Final = range(1_000_001, 1_000_021)
"""Seeds of the training scenarios that are kept from learning: which generation is best is decided on these."""
FILES: Final = ("policy.onnx", "parameters.json", "curve.json")
"""Files of the best policy so far."""

MOST_PROCESSES: Final = 1000

CHOOSE_EVERY = 10
"""Generations from one choice to the next."""


@dataclass(frozen=True, slots=True)
class Course:
    """The settings of a training.

    Attributes:
        plan: Settings of the search.
        worth: Reward of a path.
        paths: Paths of each family in a generation.
        seed: Seed of the first parameters, of perturbations, and of the paths.
    """

    plan: Plan
    worth: Worth
    paths: int
    seed: int

    def __post_init__(self) -> None:
        """Refuse a seed whose paths would be among those that are set aside."""
        whole("paths", self.paths, 1, CHOOSING_SEEDS[0] // MOST_GENERATIONS)
        whole("seed", self.seed, 0, CHOOSING_SEEDS[0] // (MOST_GENERATIONS * self.paths) - 1)


@dataclass(slots=True)
class Learned:
    """The result of a training.

    Attributes:
        parameters: The parameters with the highest worth on the validation paths.
        value: Their mean worth on those paths.
        curve: A row for each choice: generation, seconds, worth by family and on average.
    """

    parameters: Vector
    value: float
    curve: list[dict[str, Any]]


def learn(
    families: Sequence[Family],
    course: Course,
    folder: Path,
    *,
    begin: Vector | None = None,
    processes: int = 1,
    on_choice: Callable[[dict[str, Any]], None] = lambda _: None,
) -> Learned:
    """Search, and keep the best.

    Args:
        families: Families of the training set.
        course: Course of the training.
        folder: Gets `policy.onnx`, `parameters.json` and `curve.json` of the best so far.
        begin: Parameters to start from, `network.start` by default.
        processes: Number of processes that run candidates; the outcome does not depend on it.
        on_choice: Called with each row of the curve.
    """
    folder.mkdir(parents=True, exist_ok=True)
    search = Search(course.plan, course.seed, network.start() if begin is None else begin)
    best = Learned(search.mean, -np.inf, [])
    began = time.monotonic()
    with Runner(families, course, processes) as runner:
        while True:
            if search.generation % CHOOSE_EVERY == 0 or search.generation >= course.plan.generations:
                row = _choose(runner.figures_of_one(search.mean, CHOOSING_SEEDS), families, course)
                row = {"generation": search.generation, "seconds": round(time.monotonic() - began, 1)} | row
                best.curve.append(row)
                if row["worth"] > best.value:
                    best.parameters, best.value = search.mean.copy(), row["worth"]
                _save(folder, best, course)
                on_choice(row)
            if search.generation >= course.plan.generations:
                return best
            search.step(partial(runner.worths, seeds=_seeds(course, search.generation)))


def _seeds(course: Course, generation: int) -> range:
    """Return the seeds of a generation's paths, which no other generation meets, nor another seed of the course."""
    begin = (course.seed * MOST_GENERATIONS + generation) * course.paths
    return range(begin, begin + course.paths)


class Runner:
    """Runs candidates as the engine will run the policy: from a file."""

    def __init__(self, families: Sequence[Family], course: Course, processes: int = 1) -> None:
        """Prepare.

        Args:
            families: Families of the paths.
            course: Course of the training, with the reward of a path.
            processes: Number of processes that run candidates.
        """
        processes = whole("processes", processes, 1, MOST_PROCESSES)
        self._families, self._course = families, course
        # In sessions of their own an interrupt from the terminal reaches the one that saves, and not these.
        self._pool = ProcessPoolExecutor(processes, initializer=os.setsid) if processes > 1 else None

    def __enter__(self) -> Self:
        """Return itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """End the processes."""
        if self._pool:
            self._pool.shutdown()

    def figures(self, candidates: Sequence[Vector], seeds: Sequence[int]) -> list[list[Figures]]:
        """Run candidates on the paths of all families.

        Args:
            candidates: Parameters of each.
            seeds: Seeds of the paths of each family.
        """
        files = [network.onnx(candidate) for candidate in candidates]
        run = partial(_run, families=self._families, seeds=tuple(seeds))
        return list(mapped(self._pool, run, files) if self._pool else map(run, files))

    def figures_of_one(self, candidate: Vector, seeds: Sequence[int]) -> list[Figures]:
        """Run one candidate on many paths.

        Args:
            candidate: Its parameters.
            seeds: Seeds of the paths of each family.
        """
        run = partial(_run, network.onnx(candidate), self._families)
        each = [(seed,) for seed in seeds]
        parts = mapped(self._pool, run, each) if self._pool else map(run, each)
        return [figures for part in parts for figures in part]

    def worths(self, candidates: Sequence[Vector], seeds: Sequence[int]) -> Matrix:
        """Return what candidates are worth: a row for each, a column for each path.

        Args:
            candidates: Parameters of each.
            seeds: Seeds of the paths of each family.
        """
        worth = self._course.worth
        return np.array([[worth.of(found) for found in each] for each in self.figures(candidates, seeds)])


_PROCESS_FAMILIES: dict[Path, Family] = {}
"""The families of this process, which remember the paths they have drawn."""


def _run(policy: bytes, families: Sequence[Family], seeds: Sequence[int]) -> list[Figures]:
    with tempfile.NamedTemporaryFile(suffix=".onnx") as file:
        file.write(policy)
        file.flush()
        controller = toml_text({"kind": "policy", "file": file.name})
        own = [_PROCESS_FAMILIES.setdefault(family.file, family) for family in families]
        return [figures for family in own for figures in family.run(controller, seeds)]


def _choose(found: Sequence[Figures], families: Sequence[Family], course: Course) -> dict[str, Any]:
    row: dict[str, Any] = {}
    for family in families:
        of_family = [figures for figures in found if figures.family == family.name]
        row[family.name] = {
            "worth": float(np.mean([course.worth.of(figures) for figures in of_family])),
            "goodput": float(np.mean([figures.goodput for figures in of_family])),
            "delay": float(np.mean([figures.delay for figures in of_family])),
            "loss": float(np.mean([figures.loss for figures in of_family])),
        }
    return row | {"worth": float(np.mean([row[family.name]["worth"] for family in families]))}


def _save(folder: Path, best: Learned, course: Course) -> None:
    policy, parameters, curve = (folder / name for name in FILES)
    storage.write_file(policy, network.onnx(best.parameters))
    storage.write_file(parameters, (json.dumps(best.parameters.tolist()) + "\n").encode())
    record = {"seed": course.seed, "paths": course.paths, "plan": asdict(course.plan), "worth": asdict(course.worth)}
    record |= {"best": best.value, "curve": best.curve}
    storage.write_file(curve, (json.dumps(record, indent=1) + "\n").encode())
