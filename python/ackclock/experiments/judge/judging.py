"""Judging: the runs of a suite, and one row of numbers and a verdict for each criterion.

A criterion has several cases. In each, the controller's metric is compared with an absolute limit, or seed by seed
with that of yardsticks on the same path; of several yardsticks the one with the worse mean counts. A difference up to
the spread of the yardstick's own repetitions, or up to the criterion's least difference, is none. The row shows the
case with the worst verdict, and among these the one that is furthest beyond its bound.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal

from ackclock._core import Scenario, ScenarioError
from ackclock.base.input_files import InputError
from ackclock.experiments.backends import Begin, run_all, run_point
from ackclock.experiments.grid import Point, point_of
from ackclock.experiments.judge.criterion_metrics import METRICS, MORE_IS_BETTER, NEED_ALONE, Run
from ackclock.experiments.judge.suite import Case, Criterion, Suite, label_of
from ackclock.results.summaries import RunSummary
from ackclock.running.kernel import RefusedError
from ackclock.scenario.quantities import bits_per_second, octets, seconds
from ackclock.stats.estimates import Estimate, estimate, mean_of

if TYPE_CHECKING:
    from ackclock.running.linux_kernels import Kernel

Verdict = Literal["safe", "unsafe", "undecided", "serves", "falls short", "not run"]

_ORDER: Final = ("unsafe", "undecided", "safe", "not run")

_DIGITS: Final = 6
"""Significant digits of numbers in rows."""


@dataclass(frozen=True, slots=True)
class Row:
    """Result of a controller by a criterion.

    Attributes:
        controller: The controller, in one line.
        criterion: Id of the criterion.
        case: Case that decides.
        value: Mean of the metric over the seeds; None if nothing was measured.
        half: Half width of its 95 % confidence interval; None without.
        bound: Largest value of the metric that is still within the bound, or the least where more is better.
        beyond: Mean distance beyond the bound, in the metric's unit, negative within; seed by seed.
        beyond_half: Half width of its 95 % confidence interval.
        seeds: Number of seeds.
        verdict: Whether the interval of `beyond` lies beyond the bound, within it, or on both sides.
    """

    controller: str
    criterion: str
    case: str
    value: float | None
    half: float | None
    bound: float | None
    beyond: float | None
    beyond_half: float | None
    seeds: int
    verdict: Verdict


@dataclass(frozen=True, slots=True)
class _Key:
    """Identity of a run: controller is None for the path without judged flows."""

    criterion: str
    case: str
    controller: str | None
    seed: int
    again: bool = False


def judge(
    suite: Suite,
    controller: Any,  # noqa: ANN401  a name or a table
    criteria: Sequence[Criterion],
    *,
    year: int,
    folder: str = ".",
    on: "Kernel | None" = None,
    jobs: int | None = None,
    on_begin: Begin | None = None,
    yardsticks: dict[str, str] | None = None,
) -> list[Row]:
    """Judge a controller.

    Args:
        suite: The suite.
        controller: Name or table, as a scenario takes it.
        criteria: Criteria of the suite to judge by.
        year: Year of the draw, which gives the seeds.
        folder: Folder that is searched first for the controller's files.
        on: Kernel that all runs are made on, in virtual time; None for the simulator.
        jobs: Number of parallel runs; by default one per core.
        on_begin: Called with the numbers of all and of finished runs; returns a function to call after each run.
        yardsticks: Summaries of yardsticks of earlier calls, by the key of their runs; those of this call are added.

    Returns:
        A row for each criterion.

    Raises:
        InputError: If the controller is wrong.
        UserCodeError: If code of the controller failed.
        KernelError: If a run on the kernel failed.
    """
    check(suite, controller, folder)
    seeds, mine = suite.seeds_of(year), label_of(controller)
    points = {
        key: point_of({"case": f"{key.criterion}: {key.case}", "seed": key.seed}, scenario, on)
        for criterion in criteria
        for key, scenario in _runs(criterion, controller, seeds, folder)
    }
    known = {} if yardsticks is None else yardsticks
    missing = [point for point in points.values() if point.key not in known]
    summary_of = run_all(missing, jobs=jobs, work=run_case, on_begin=on_begin)
    summaries = {key: _decoded(known, summary_of, point) for key, point in points.items()}
    known |= {points[key].key: json.dumps(summaries[key]) for key in points if key.controller != mine}
    measured = _Measured(points, summaries)
    return [_row(criterion, mine, seeds, measured) for criterion in criteria]


def check(suite: Suite, controller: Any, folder: str = ".") -> None:  # noqa: ANN401  a name or a table
    """Check a controller before any run.

    Raises:
        InputError: If a scenario cannot have it.
    """
    try:
        suite.criteria[0].cases[0].scenario(controller, 1, folder)
    except ScenarioError as error:
        first = error.diagnostics[0]
        field = first["field"].rpartition("controller")[2].lstrip(".")
        what = " ".join(filter(None, (field, first["message"])))
        raise InputError(f"{label_of(controller)}: {what}; {first['remedy']}") from error


def run_case(scenario_json: str, folder: str, on: "Kernel | None" = None) -> str:
    """Run a case, and return its summary as JSON text; `null` if the kernel does not take its scenario."""
    try:
        return run_point(scenario_json, folder, on)
    except RefusedError:
        return "null"


def _decoded(known: Mapping[str, str], summary_of: Any, point: Point) -> RunSummary | None:  # noqa: ANN401
    found: RunSummary | None = json.loads(known[point.key]) if point.key in known else summary_of(point)
    return found


def _runs(
    criterion: Criterion,
    controller: Any,  # noqa: ANN401  a name or a table
    seeds: Sequence[int],
    folder: str,
) -> Iterator[tuple[_Key, Scenario]]:
    """Yield every run that a controller's row needs."""
    for case in criterion.cases:
        for seed in seeds:
            key = (criterion.id, case.name)
            yield _Key(*key, label_of(controller), seed), case.scenario(controller, seed, folder)
            for name in case.yardsticks:
                for again in (False, True):
                    yield _Key(*key, name, seed, again), case.scenario(name, seed, again=again)
            if criterion.metric in NEED_ALONE:
                yield _Key(*key, None, seed), case.scenario(None, seed)


@dataclass(frozen=True, slots=True)
class _Measured:
    """Metrics of the runs."""

    points: Mapping[_Key, Point]
    summaries: Mapping[_Key, RunSummary | None]

    def values(
        self, criterion: Criterion, case: Case, controller: str, seeds: Sequence[int], *, again: bool = False
    ) -> list[float | None]:
        """Return the metric of a controller for each seed."""
        keys = [_Key(criterion.id, case.name, controller, seed, again) for seed in seeds]
        return [self._value(criterion, case, key) for key in keys]

    def _value(self, criterion: Criterion, case: Case, key: _Key) -> float | None:
        summary = self.summaries[key]
        needs_alone = criterion.metric in NEED_ALONE
        alone = self.summaries[_Key(key.criterion, key.case, None, key.seed)] if needs_alone else None
        if summary is None or (needs_alone and alone is None):
            return None
        return METRICS[criterion.metric](run_of(criterion, case, self.points[key].scenario_json, summary, alone))


def run_of(criterion: Criterion, case: Case, scenario_json: str, summary: RunSummary, alone: RunSummary | None) -> Run:
    """Return a run with what its metrics need of the path that its seed drew."""
    effective = json.loads(scenario_json)
    link = effective["topology"]["bottleneck"]
    delay = link["delay"]["schedule"][0]["delay"] if isinstance(link["delay"], Mapping) else link["delay"]
    mss = octets(effective.get("tcp", {}).get("mss")) or _MSS_BYTES
    capacity = case.capacity_bps or bits_per_second(link["rate"])
    rtt = seconds(delay)
    assert capacity is not None
    assert rtt is not None
    return Run(summary, alone, criterion.of, capacity, 2 * rtt, mss)


_MSS_BYTES: Final = 1448.0
"""Payload of a full segment of 1500 octets with timestamps."""


def _row(criterion: Criterion, controller: str, seeds: Sequence[int], measured: _Measured) -> Row:
    rows = [_judged(criterion, case, controller, seeds, measured) for case in criterion.cases]
    worst = min(rows, key=lambda row: (_ORDER.index(row.verdict), -(row.beyond or 0.0)))
    return worst if criterion.is_harm else _of_use(worst)


def _of_use(row: Row) -> Row:
    """Return a row of a criterion about the own user, whose verdict is in other words."""
    words: dict[Verdict, Verdict] = {"safe": "serves", "unsafe": "falls short"}
    values = {name: getattr(row, name) for name in Row.__slots__}
    return Row(**values | {"verdict": words.get(row.verdict, row.verdict)})


def _judged(criterion: Criterion, case: Case, controller: str, seeds: Sequence[int], measured: _Measured) -> Row:
    """Return the row of a case."""
    sign = -1.0 if criterion.metric in MORE_IS_BETTER else 1.0
    values = measured.values(criterion, case, controller, seeds)
    if criterion.limit is not None:
        bounds: list[float | None] = [criterion.limit] * len(seeds)
        margin = 0.0
    else:
        bounds, margin = _yardstick(criterion, case, seeds, measured, sign)
    pairs = [(a, b) for a, b in zip(values, bounds, strict=True) if a is not None and b is not None]
    value = estimate(a for a, _ in pairs)
    beyond = estimate(sign * (a - b) - margin for a, b in pairs)
    if value is None or beyond is None:
        return Row(controller, criterion.id, case.name, None, None, None, None, None, 0, "not run")
    bound = mean_of([b for _, b in pairs]) + sign * margin
    return Row(
        controller,
        criterion.id,
        case.name,
        _rounded(value.mean),
        _rounded(value.half),
        _rounded(bound),
        _rounded(beyond.mean),
        _rounded(beyond.half),
        len(pairs),
        _verdict(beyond),
    )


def _yardstick(
    criterion: Criterion, case: Case, seeds: Sequence[int], measured: _Measured, sign: float
) -> tuple[list[float | None], float]:
    """Return the metric of the worse yardstick for each seed, and the difference from it that is none."""
    found = []
    for name in case.yardsticks:
        first, again = (measured.values(criterion, case, name, seeds, again=one) for one in (False, True))
        mean = estimate(first)
        spread = estimate(b - a for a, b in zip(first, again, strict=True) if a is not None and b is not None)
        if mean is not None:
            found.append((sign * mean.mean, first, max(criterion.least, (spread and spread.half) or 0.0)))
    if not found:
        return [None] * len(seeds), 0.0
    _, values, margin = max(found, key=lambda one: one[0])
    return values, margin


def _verdict(beyond: Estimate) -> Verdict:
    half = beyond.half or 0.0
    return "unsafe" if beyond.mean - half > 0 else "safe" if beyond.mean + half <= 0 else "undecided"


def _rounded(value: float | None) -> float | None:
    return None if value is None else float(f"{value:.{_DIGITS}g}")
