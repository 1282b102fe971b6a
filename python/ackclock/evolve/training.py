"""Learning a policy: generations on paths drawn anew, chosen by paths that are set aside."""

import json
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np

from ackclock.evolve import network
from ackclock.evolve.figures import Figures, Worth
from ackclock.evolve.paths import Family
from ackclock.evolve.search import Plan, Search, Vector

CHOOSING_SEEDS: Final = range(1_000_001, 1_000_021)
"""Seeds of the training scenarios that are kept from learning: which generation is best is decided on these."""
CHOOSE_EVERY = 20
"""Generations from one choice to the next."""


@dataclass(frozen=True, slots=True)
class Course:
    """What to learn, and for how long.

    Attributes:
        plan: Of the search.
        worth: What a path pays.
        paths: How many paths of each family a generation meets.
        seed: Of the first parameters, of perturbations, and of the paths.
        is_rule: Whether only a rule is sought, a weight for each input; else the whole network.
    """

    plan: Plan
    worth: Worth
    paths: int
    seed: int
    is_rule: bool = False

    def network_of(self, parameters: Vector) -> Vector:
        """Return the network's parameters.

        Args:
            parameters: What is sought.
        """
        return network.from_rule(parameters, self.seed) if self.is_rule else parameters


@dataclass(slots=True)
class Learned:
    """What came out.

    Attributes:
        parameters: The best by the paths set aside.
        value: Their mean worth there.
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
    on_choice: Callable[[dict[str, Any]], None] = lambda _: None,
) -> Learned:
    """Search, and keep the best.

    Args:
        families: Of the training set.
        course: How.
        folder: Gets `policy.onnx`, `parameters.npy` and `curve.json` of the best so far.
        begin: Parameters to start from, a network's or a rule's; a rule of thumb by default.
        on_choice: Called with each row of the curve.
    """
    folder.mkdir(parents=True, exist_ok=True)
    first = network.rule() if begin is None else begin
    if not course.is_rule and first.size == len(network.INPUTS) + 1:
        first = network.from_rule(first, course.seed)
    search = Search(course.plan, course.seed, first)
    best = Learned(search.mean, -np.inf, [])
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as scratch:
        runner = Runner(Path(scratch) / "candidate.onnx")
        while True:
            if search.generation % CHOOSE_EVERY == 0 or search.generation >= course.plan.generations:
                row = _choose(runner, families, course, search, time.monotonic() - began)
                best.curve.append(row)
                if row["worth"] > best.value:
                    best.parameters, best.value = search.mean.copy(), row["worth"]
                _save(folder, best, course)
                on_choice(row)
            if search.generation >= course.plan.generations:
                return best
            seeds = _seeds(course, search.generation)
            search.step(_judge(runner, families, course, seeds))


def _judge(
    runner: "Runner", families: Sequence[Family], course: Course, seeds: Sequence[int]
) -> Callable[[Vector], Vector]:
    return lambda candidate: runner.worths(course.network_of(candidate), families, seeds, course.worth)


def _seeds(course: Course, generation: int) -> range:
    """Return the seeds of a generation's paths, which no other generation meets, nor another course."""
    begin = (course.seed * 10_000 + generation) * course.paths
    return range(begin, begin + course.paths) if begin + course.paths < CHOOSING_SEEDS[0] else range(0)


@dataclass(frozen=True, slots=True)
class Runner:
    """Runs candidates as the engine will run the policy: from a file.

    Attributes:
        file: Written for each candidate.
    """

    file: Path

    def figures(self, candidate: Vector, families: Sequence[Family], seeds: Sequence[int]) -> list[Figures]:
        """Run a candidate on the paths of all families.

        Args:
            candidate: Parameters.
            families: Any.
            seeds: Of the paths of each.
        """
        self.file.write_bytes(network.onnx(candidate))
        controller = f'{{ kind = "policy", file = {json.dumps(str(self.file))} }}'
        return [figures for family in families for figures in family.run(controller, seeds)]

    def worths(self, candidate: Vector, families: Sequence[Family], seeds: Sequence[int], worth: Worth) -> Vector:
        """Return what a candidate is worth on each path.

        Args:
            candidate: Parameters.
            families: Any.
            seeds: Of the paths of each.
            worth: What a path pays.
        """
        return np.array([worth.of(figures) for figures in self.figures(candidate, families, seeds)])


def _choose(
    runner: Runner, families: Sequence[Family], course: Course, search: Search, seconds: float
) -> dict[str, Any]:
    found = runner.figures(course.network_of(search.mean), families, CHOOSING_SEEDS)
    row: dict[str, Any] = {"generation": search.generation, "seconds": round(seconds, 1)}
    for family in families:
        of_family = [figures for figures in found if figures.family == family.name]
        row[family.name] = {
            "worth": float(np.mean([course.worth.of(figures) for figures in of_family])),
            "goodput": float(np.mean([figures.goodput for figures in of_family])),
            "delay": float(np.mean([figures.delay for figures in of_family])),
            "loss": float(np.mean([figures.loss for figures in of_family])),
        }
    row["worth"] = float(np.mean([row[family.name]["worth"] for family in families]))
    return row


def _save(folder: Path, best: Learned, course: Course) -> None:
    (folder / "policy.onnx").write_bytes(network.onnx(course.network_of(best.parameters)))
    np.save(folder / "parameters.npy", best.parameters)
    record = {"seed": course.seed, "paths": course.paths, "plan": asdict(course.plan), "worth": asdict(course.worth)}
    record |= {"best": best.value, "curve": best.curve}
    (folder / "curve.json").write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
