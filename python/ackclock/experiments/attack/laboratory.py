"""Laboratory of a search: it runs cases in parallel, counts the runs, and scores each case once."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from ackclock.experiments.attack.attack_bounds import Bounds, Case
from ackclock.experiments.attack.case_network import scenario
from ackclock.experiments.attack.goal_scores import FAIR_SHARE, GOALS, Goal, fair_share, figure_of, trace_of, work_of
from ackclock.experiments.backends import run_all
from ackclock.experiments.grid import Point, point_of
from ackclock.results.summaries import RunSummary

_OWN, _REFERENCE, _ALONE = "own", "reference", "alone"
"""Runs of a case: with the controller, with the reference in its place, and without these flows."""


@dataclass(frozen=True, slots=True)
class Scored:
    """Case with its figures for one seed.

    Attributes:
        case: The case.
        seed: Seed of its runs.
        score: Score of the goal; larger is worse for the controller.
        own: Figure of the controller.
        reference: Figure of the reference; None without one.
        note: Description of what is broken; empty if nothing is.
    """

    case: Case
    seed: int
    score: float
    own: float
    reference: float | None
    note: str = ""


@dataclass
class Laboratory:
    """Runs of a search.

    Attributes:
        controller: Controller that is attacked, as a scenario takes it.
        goal_name: Name of the goal.
        bounds: Bounds of the search.
        against: Reference, as a scenario takes it, or `FAIR_SHARE`.
        seed: Seed of the runs that are searched.
        budget: Largest number of simulated runs.
        folder: Folder that is searched first for the controller's files.
        jobs: Number of parallel runs; by default one per core.
        advance: Function to call after each run.
        runs: Number of simulated runs so far.
        scored: Every case that has a score for `seed`, in order.
    """

    controller: Any
    goal_name: str
    bounds: Bounds
    against: Any = "cubic"
    seed: int = 1
    budget: int = 2000
    folder: str = "."
    jobs: int | None = None
    advance: Callable[[], None] = lambda: None
    runs: int = 0
    scored: list[Scored] = field(default_factory=list)
    _known: dict[tuple[str, int], Scored | None] = field(default_factory=dict)

    @property
    def goal(self) -> Goal:
        """The goal."""
        return GOALS[self.goal_name]

    @property
    def roles(self) -> dict[str, Any]:
        """Controller of the own flows in each run of a case; None leaves them out."""
        found = {_OWN: self.controller}
        if self.goal.has_reference and self.against != FAIR_SHARE:
            found[_REFERENCE] = self.against
        return found | ({_ALONE: None} if self.goal.needs else {})

    def scores(
        self, cases: Sequence[Case], *, seed: int | None = None, until: int | None = None
    ) -> list[Scored | None]:
        """Score cases, in parallel.

        Args:
            cases: The cases.
            seed: Seed of the runs; the laboratory's by default.
            until: Number of runs that must not be exceeded, within the budget.

        Returns:
            A score for each case; None if there is nothing to compare, or the budget does not allow its runs.

        Raises:
            Exception: If code of the controller failed.
        """
        seed = self.seed if seed is None else seed
        left = min(self.budget, self.budget if until is None else until) - self.runs
        named = {json.dumps(case): case for case in cases}
        new = [name for name in named if (name, seed) not in self._known][: max(0, left) // len(self.roles)]
        points = {name: self._points(named[name], seed) for name in new}
        every = [point for of_case in points.values() for point in of_case.values()]
        summary_of = run_all(every, jobs=self.jobs, work=work_of(self.goal_name), on_begin=lambda *_: self._count)
        for name, of_case in points.items():
            summaries = {role: summary_of(point) for role, point in of_case.items()}
            scored = self._scored(named[name], seed, summaries)
            self._known[name, seed] = scored
            if scored and seed == self.seed:
                self.scored.append(scored)
        return [self._known.get((json.dumps(case), seed)) for case in cases]

    def _count(self) -> None:
        self.runs += 1
        self.advance()

    def _points(self, case: Case, seed: int) -> dict[str, Point]:
        trace = trace_of(self.goal_name)
        return {
            role: point_of(
                {"case": json.dumps(case), "run": role, "seed": seed},
                scenario(case, self.bounds, controller, seed, self.folder, trace=trace),
            )
            for role, controller in self.roles.items()
        }

    def _scored(self, case: Case, seed: int, summaries: dict[str, RunSummary]) -> Scored | None:
        figures = {
            role: figure_of(self.goal, case, self.bounds, summary, summaries.get(_ALONE))
            for role, summary in summaries.items()
            if role != _ALONE
        }
        own, reference = figures[_OWN], figures.get(_REFERENCE)
        if self.goal.has_reference and self.against == FAIR_SHARE:
            reference = fair_share(case, self.bounds, summaries[_OWN])
        if own is None or (reference is None and self.goal.has_reference):
            return None
        score = self.goal.score(own, reference or 0.0)
        note = str(summaries[_OWN].get("broken", ""))
        return None if score is None else Scored(case, seed, score, own, reference, note)
