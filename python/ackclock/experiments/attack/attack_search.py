"""Search for the cases in which a controller does worst: random ones, CMA-ES, then each made small and confirmed.

The first part of the budget draws cases at random. The second changes the numbers of the best that differ in their
ingredients, by CMA-ES with a diagonal covariance matrix (Ros and Hansen, PPSN 2008), one instance for each. The rest
makes the worst cases small, and confirms them with other seeds.
"""

import itertools
import math
import random
from collections.abc import Generator, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from ackclock._core import ScenarioError
from ackclock.base.input_files import InputError
from ackclock.experiments.attack.attack_bounds import PATH, Bounds, Case, Range, rounded
from ackclock.experiments.attack.case_network import scenario
from ackclock.experiments.attack.laboratory import Laboratory, Scored

LEAST_BUDGET: Final = 100
SEEDS: Final = 5
"""Number of other seeds that confirm a case."""

_DRAWN, _CHANGED = 0.4, 0.75
"""Shares of the budget after which drawing, and changing numbers, end."""
_RUNS_OF_A_CASE: Final = 200
"""Part of the budget for which one more case is followed."""
_MOST_CASES: Final = 6
_MOST_EXTRAS: Final = 3
"""Largest number of ingredients that are drawn for a case beside its path."""
_BATCH, _POPULATION = 40, 8
_SPREAD: Final = 0.2
"""First standard deviation of CMA-ES, in places from 0 to 1."""
_NOTHING: Final = 1e9
"""Value for CMA-ES of a case without a score, worse than any."""
_KEPT: Final = 0.9
"""Share of the found score that a smaller case keeps."""
_CANDIDATES: Final = 4
"""Number of the worst cases of a kind of which one is followed."""
_PASSES: Final = 2
_HOLDS: Final = 0.5
"""Share of the score that a case keeps with other seeds, on average."""
_LEAST_SEEDS: Final = 3
"""Number of other seeds with which there is something to compare, at least."""
PLAIN: Final[dict[str, Any]] = {"rate": 20e6, "rtt": 0.04, "buffer": 1.0, "queue": "drop_tail", "flows": 1, "gap": 0.0}
"""Values that the path of a smaller case takes where they make no difference."""


@dataclass(frozen=True, slots=True)
class Weakness:
    """Worst case of its kind.

    Attributes:
        scored: The case, made small, with the seed that was searched.
        others: The same with other seeds; empty if they were not run.
        holds: Whether it holds with these.
    """

    scored: Scored
    others: Sequence[Scored]
    holds: bool

    @property
    def is_compared(self) -> bool:
        """Whether enough other seeds have a score."""
        return len(self.others) >= _LEAST_SEEDS


def search(laboratory: Laboratory) -> list[Weakness]:
    """Spend a laboratory's budget, and return the worst cases of different kinds, the worst first.

    Raises:
        Exception: If code of the controller failed.
    """
    count = max(1, min(_MOST_CASES, laboratory.budget // _RUNS_OF_A_CASE))
    _draw(laboratory, round(_DRAWN * laboratory.budget))
    _change(laboratory, count, round(_CHANGED * laboratory.budget))
    until = laboratory.budget - SEEDS * len(laboratory.roles) * count
    small = _shrunk(laboratory, _likely(laboratory, count, until), until)
    return _confirmed(laboratory, _distinct(small, count))


def worst(laboratory: Laboratory, count: int) -> list[Scored]:
    """Return the worst cases of different kinds so far, the worst first."""
    return _distinct(laboratory.scored, count, laboratory.goal.least)


def _likely(laboratory: Laboratory, count: int, until: int) -> list[Scored]:
    """Return the worst kinds of cases, each as the one of its worst that two other seeds show best."""
    ranked = sorted(laboratory.scored, key=lambda one: -one.score)
    kinds: dict[Any, list[Scored]] = {_kind(one.case): [] for one in worst(laboratory, count)}
    each = 2 * len(laboratory.roles) * max(1, len(kinds))
    most = max(1, min(_CANDIDATES, (until - laboratory.runs) // each))
    for one in ranked:
        if len(of := kinds.get(_kind(one.case), [])) < most:
            of.append(one)
    candidates = [one for of in kinds.values() for one in of]
    cases = [one.case for one in candidates]
    again = [laboratory.scores(cases, seed=laboratory.seed + 1 + index, until=until) for index in range(2)]
    least = {
        id(one): min(one.score, *(other.score if other else -math.inf for other in others))
        for one, others in zip(candidates, zip(*again, strict=True), strict=True)
    }
    return [max(of, key=lambda one: least[id(one)]) for of in kinds.values()]


def _distinct(cases: Iterable[Scored], count: int, least: float = -math.inf) -> list[Scored]:
    found: dict[Any, Scored] = {}
    for one in sorted((one for one in cases if one.score > least), key=lambda one: -one.score):
        found.setdefault(_kind(one.case), one)
    return list(found.values())[:count]


def _kind(case: Case) -> Any:  # noqa: ANN401  a value to compare
    return frozenset(case), case[PATH]["queue"], case[PATH]["flows"] == 1


def check(bounds: Bounds) -> None:
    """Check the ends of every range with each other before any run.

    Raises:
        InputError: If a scenario cannot have a value, which it names.
    """
    for name in bounds.ingredients:
        for case in _corners(bounds, name):
            try:
                scenario(case, bounds, "cubic", 1)
            except ScenarioError as error:
                first = error.diagnostics[0]
                what = f"{first['field']} {first['message']}; {first['remedy']}"
                raise InputError(f"--bounds: {name}: {what}") from error


def _corners(bounds: Bounds, name: str) -> Iterable[Case]:
    """Yield each combination of the ends of an ingredient's ranges, on the lowest path and on the highest."""
    ends = {
        ingredient: {key: (of.at(0), of.at(1)) if isinstance(of, Range) else of for key, of in values.items()}
        for ingredient, values in bounds.ingredients.items()
    }
    for place in (0, -1) if name != PATH else (0,):
        path = {key: of[place] for key, of in ends[PATH].items()}
        for values in itertools.product(*ends[name].values()):
            yield {PATH: path, name: dict(zip(ends[name], values, strict=True))}


# ---- drawing --------------------------------------------------------------------------------------------------------


def _draw(laboratory: Laboratory, until: int) -> None:
    draw = random.Random(laboratory.seed)
    needs = laboratory.goal.needs
    before = -1
    while before < laboratory.runs < until:
        before = laboratory.runs
        laboratory.scores([drawn(laboratory.bounds, draw, needs) for _ in range(_BATCH)], until=until)


def drawn(bounds: Bounds, draw: random.Random, needs: str | None = None) -> Case:
    """Return a random case of a path and up to three further ingredients.

    Args:
        bounds: Bounds of the search.
        draw: Source of random numbers.
        needs: Ingredient that it has in any case.
    """
    count = draw.randint(0, min(_MOST_EXTRAS, len(bounds.extras)))
    chosen = {PATH, needs, *draw.sample(bounds.extras, count)}
    return {
        name: {
            key: of.at(draw.random()) if isinstance(of, Range) else draw.choice(of)
            for key, of in bounds.ingredients[name].items()
        }
        for name in bounds.ingredients
        if name in chosen
    }


# ---- changing numbers -----------------------------------------------------------------------------------------------


def _change(laboratory: Laboratory, count: int, until: int) -> None:
    """Advance one CMA-ES for each of the worst kinds of cases, in turn."""
    import cma

    seeds = random.Random(laboratory.seed + 1)
    places = [_Places(laboratory.bounds, one.case) for one in worst(laboratory, count)]
    running = []
    for one in filter(lambda one: one.start, places):
        randn = np.random.default_rng(seeds.getrandbits(32)).standard_normal
        options = {
            "bounds": [0, 1], "popsize": _POPULATION, "CMA_diagonal": True, "verbose": -9, "seed": math.nan,
            "randn": lambda *shape, randn=randn: randn(shape),
        }  # fmt: skip
        running.append((one, cma.CMAEvolutionStrategy(one.start, _SPREAD, options)))
    before = -1
    while running and before < laboratory.runs < until:
        before = laboratory.runs
        asked = [(strategy.ask(), one) for one, strategy in running]
        cases = [one.case_at(point) for points, one in asked for point in points]
        found = iter(laboratory.scores(cases, until=until))
        for (_, strategy), (points, _) in zip(running, asked, strict=True):
            scores = [next(found) for _ in points]
            strategy.tell(points, [-score.score if score else _NOTHING for score in scores])
        running = [each for each in running if not each[1].stop()]


class _Places:
    """Numbers of a case, each as a place from 0 to 1 in its range; names and ingredients stay."""

    def __init__(self, bounds: Bounds, case: Case) -> None:
        self._case = case
        self._ranges = {
            (name, key): of
            for name in case
            for key, of in bounds.ingredients[name].items()
            if isinstance(of, Range) and of.low < of.high
        }

    @property
    def start(self) -> list[float]:
        """Places of the case's own numbers."""
        return [of.place_of(float(self._case[name][key])) for (name, key), of in self._ranges.items()]

    def case_at(self, places: Iterable[float]) -> Case:
        """Return the case with its numbers at these places."""
        case = {name: dict(of) for name, of in self._case.items()}
        for ((name, key), of), place in zip(self._ranges.items(), places, strict=True):
            case[name][key] = of.at(float(place))
        return case


# ---- making cases small ---------------------------------------------------------------------------------------------


def _shrunk(laboratory: Laboratory, found: Sequence[Scored], until: int) -> list[Scored]:
    """Make cases small, all in step, so that their runs are in parallel."""
    small = list(found)
    running = [_smaller(laboratory, one) for one in found]
    scores: dict[int, Scored | None] = dict.fromkeys(range(len(running)))  # None begins a generator
    while scores:
        asked = {}
        for place, score in scores.items():
            try:
                asked[place] = running[place].send(score)
            except StopIteration as end:
                small[place] = end.value
        scores = dict(zip(asked, laboratory.scores(list(asked.values()), until=until), strict=True))
    return small


def _smaller(laboratory: Laboratory, found: Scored) -> Generator[Case, Scored | None, Scored]:
    """Yield simpler cases, receive the score of each, and return the simplest that keeps nearly the found score."""
    best = found
    for _ in range(_PASSES):
        for name, values in changes(laboratory.bounds, found.case, laboratory.goal.needs):
            if best.case.get(name) is None or any(best.case[name][key] != found.case[name][key] for key in values):
                continue
            others = {other: of for other, of in best.case.items() if other != name}
            score = yield {**best.case, name: {**best.case[name], **values}} if values else others
            if score is not None and score.score >= _KEPT * found.score:
                best = score
    return best


def changes(bounds: Bounds, case: Case, needs: str | None = None) -> list[tuple[str, dict[str, Any]]]:
    """Return what makes a case simpler, as ingredients and new values: none of an ingredient takes it away.

    First an ingredient less, then a plain value of the path, then a number with one digit, or one in place of several.
    """
    found: list[tuple[str, dict[str, Any]]] = [(name, {}) for name in case if name not in (PATH, needs)]
    for key, plain in PLAIN.items():
        of = bounds.ingredients[PATH][key]
        if isinstance(of, Range):
            found.append((PATH, {key: of.clipped(float(plain))}))
        elif plain in of:
            found.append((PATH, {key: plain}))
    for name, values in case.items():
        for key, value in values.items():
            of = bounds.ingredients[name][key]
            if isinstance(of, Range):
                found.append((name, {key: int(of.low) if of.is_whole else of.clipped(rounded(value, 1))}))
    return [(name, values) for name, values in found if not values or {**case[name], **values} != case[name]]


# ---- confirming -----------------------------------------------------------------------------------------------------


def _confirmed(laboratory: Laboratory, found: Sequence[Scored]) -> list[Weakness]:
    """Run cases with other seeds. One holds if it keeps half of its score on average, and each shows it."""
    cases = [one.case for one in found]
    by_seed = [laboratory.scores(cases, seed=laboratory.seed + 1 + index) for index in range(SEEDS)]
    every = [[one for one in others if one] for others in zip(*by_seed, strict=True)]
    return [Weakness(one, others, _is_shown(laboratory, one, others)) for one, others in zip(found, every, strict=True)]


def _is_shown(laboratory: Laboratory, one: Scored, others: Sequence[Scored]) -> bool:
    scores = [other.score for other in others]
    least = laboratory.goal.least
    enough = len(scores) >= _LEAST_SEEDS
    return enough and min(scores) > least and math.fsum(scores) / len(scores) >= _HOLDS * one.score
