"""Judging: the runs of a suite, and one row of numbers and a verdict for each case of a criterion.

In each case, the controller's metric is compared with an absolute limit, or seed by seed with that of yardsticks on the
same path; of several yardsticks the worse one counts for each seed. A difference up to the margin is none: the spread
of a yardstick's own repetitions, or the criterion's least difference if that is more. The case with the worst verdict
decides a criterion, and among these the one that is furthest beyond its bound.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final, Literal

from ackclock._core import Scenario, ScenarioError, build_info
from ackclock.base.input_files import InputError
from ackclock.base.version import __version__
from ackclock.experiments.backends import Begin, run_all, run_point
from ackclock.experiments.grid import Point, point_of
from ackclock.experiments.judge.criterion_metrics import METRICS, MORE_IS_BETTER, NEED_ALONE, Run
from ackclock.experiments.judge.suite import Case, Criterion, Draw, Suite, label_of
from ackclock.results.summaries import RunSummary
from ackclock.running.kernel import RefusedError
from ackclock.scenario.quantities import bits_per_second, octets, seconds
from ackclock.stats.estimates import Estimate, estimate, mean_of

if TYPE_CHECKING:
    from ackclock.running.linux_kernels import Kernel

Verdict = Literal["safe", "unsafe", "undecided", "serves", "falls short", "not run"]

_ORDER: Final[tuple[Verdict, ...]] = ("unsafe", "falls short", "undecided", "safe", "serves", "not run")

_DIGITS: Final = 5
"""Significant digits of numbers in rows."""


@dataclass(frozen=True, slots=True)
class Row:
    """Result of a controller in a case of a criterion.

    Attributes:
        controller: The controller, in one line.
        criterion: Id of the criterion.
        case: Name of the case.
        value: Mean of the metric over the seeds; None if nothing was measured.
        half: Half width of its 95 % confidence interval; None without.
        yardstick: Mean of the yardstick, for each seed that of the worse one; or the limit.
        margin: Difference from the yardstick that is none; 0 for a limit.
        beyond: Mean distance beyond yardstick and margin, in the metric's unit, negative within; seed by seed.
        beyond_half: Half width of its 95 % confidence interval.
        seeds: Number of seeds.
        verdict: Whether the interval of `beyond` lies beyond the bound, within it, or on both sides.
        made_by: Version and engine that made it.
        reason: Reason why it was not run; empty if it was.
        beyond_each: Distance beyond yardstick and margin of each seed, in the order of the draws.
    """

    controller: str
    criterion: str
    case: str
    value: float | None
    half: float | None
    yardstick: float | None
    margin: float | None
    beyond: float | None
    beyond_half: float | None
    seeds: int
    verdict: Verdict
    made_by: str
    reason: str = ""
    beyond_each: tuple[float, ...] = ()


def made_by() -> str:
    """Return what makes rows now: the version, and the beginning of the hash of the engine's sources."""
    return f"{__version__}+{build_info()['engine'][:8]}"


def deciding(rows: Iterable[Row]) -> list[Row]:
    """Return the row that decides each criterion, of the rows of one controller."""
    found: dict[str, Row] = {}
    for row in rows:
        found[row.criterion] = min(found.get(row.criterion, row), row, key=_rank)
    return list(found.values())


def _rank(row: Row) -> tuple[int, float]:
    return _ORDER.index(row.verdict), -(row.beyond or 0.0)


@dataclass(frozen=True, slots=True)
class _Key:
    """Identity of a run: controller is None for the path without judged flows."""

    criterion: str
    case: str
    controller: str | None
    draw: Draw
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
        year: Year of the draws, which give seeds and paths.
        folder: Folder that is searched first for the controller's files.
        on: Kernel that all runs are made on, in virtual time; None for the simulator.
        jobs: Number of parallel runs; by default one per core.
        on_begin: Called with the numbers of all and of finished runs; returns a function to call after each run.
        yardsticks: Summaries of yardsticks of earlier calls, by the key of their runs; those of this call are added.

    Returns:
        A row for each case.

    Raises:
        InputError: If the controller is wrong.
        UserCodeError: If code of the controller failed.
        KernelError: If a run on the kernel failed.
    """
    check(suite, controller, folder)
    draws, mine = suite.draws_of(year), label_of(controller)
    points = {
        key: point_of({"case": f"{key.criterion}: {key.case}", "seed": key.draw.seed}, scenario, on)
        for criterion in criteria
        for key, scenario in _runs(criterion, controller, draws, folder)
    }
    known = {} if yardsticks is None else yardsticks
    missing = [point for point in points.values() if point.key not in known]
    summary_of = run_all(missing, jobs=jobs, work=run_case, on_begin=on_begin)
    found = {key: _decoded(known, summary_of, point) for key, point in points.items()}
    known |= {points[key].key: json.dumps(found[key]) for key in points if key.controller != mine}
    measured = _Measured(points, found)
    return [_row(criterion, case, mine, draws, measured) for criterion in criteria for case in criterion.cases]


def check(suite: Suite, controller: Any, folder: str = ".") -> None:  # noqa: ANN401  a name or a table
    """Check a controller before any run.

    Raises:
        InputError: If a scenario cannot have it.
    """
    try:
        suite.criteria[0].cases[0].scenario(controller, suite.draws_of(suite.year)[0], folder)
    except ScenarioError as error:
        first = error.diagnostics[0]
        field = first["field"].rpartition("controller")[2].lstrip(".")
        what = " ".join(filter(None, (field, first["message"])))
        raise InputError(f"{label_of(controller)}: {what}; {first['remedy']}") from error


_REFUSED: Final = "refused"
"""Key of the reason, in place of a summary, if a kernel does not take a scenario."""


def run_case(scenario_json: str, folder: str, on: "Kernel | None" = None) -> str:
    """Run a case, and return its summary as JSON text; only the reason if the kernel does not take its scenario."""
    try:
        return run_point(scenario_json, folder, on)
    except RefusedError as error:
        return json.dumps({_REFUSED: str(error)})


def _decoded(known: Mapping[str, str], summary_of: Any, point: Point) -> Any:  # noqa: ANN401  a summary or a reason
    return json.loads(known[point.key]) if point.key in known else summary_of(point)


def _runs(
    criterion: Criterion,
    controller: Any,  # noqa: ANN401  a name or a table
    draws: Sequence[Draw],
    folder: str,
) -> Iterator[tuple[_Key, Scenario]]:
    """Yield every run that a controller's rows need."""
    for case in criterion.cases:
        for draw in draws:
            key = (criterion.id, case.name)
            yield _Key(*key, label_of(controller), draw), case.scenario(controller, draw, folder)
            for name in case.yardsticks:
                for again in (False, True):
                    yield _Key(*key, name, draw, again), case.scenario(name, draw, again=again)
            if criterion.metric in NEED_ALONE:
                yield _Key(*key, None, draw), case.scenario(None, draw)


@dataclass(frozen=True, slots=True)
class _Measured:
    """Metrics of the runs."""

    points: Mapping[_Key, Point]
    found: Mapping[_Key, Any]

    def values(
        self, criterion: Criterion, case: Case, controller: str, draws: Sequence[Draw], *, again: bool = False
    ) -> list[float | None]:
        """Return the metric of a controller for each seed."""
        keys = [_Key(criterion.id, case.name, controller, draw, again) for draw in draws]
        return [self._value(criterion, case, key) for key in keys]

    def _value(self, criterion: Criterion, case: Case, key: _Key) -> float | None:
        summary = self._summary(key)
        needs_alone = criterion.metric in NEED_ALONE
        alone = self._summary(_Key(key.criterion, key.case, None, key.draw)) if needs_alone else None
        if summary is None or (needs_alone and alone is None):
            return None
        return METRICS[criterion.metric](run_of(criterion, case, self.points[key].scenario_json, summary, alone))

    def _summary(self, key: _Key) -> RunSummary | None:
        found = self.found[key]
        return None if _REFUSED in found else found

    def reason(self, criterion: Criterion, case: Case) -> str:
        """Return why a run of a case was refused; empty if none was."""
        of_case = (found for key, found in self.found.items() if (key.criterion, key.case) == (criterion.id, case.name))
        return next((found[_REFUSED] for found in of_case if _REFUSED in found), "")


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


def _row(criterion: Criterion, case: Case, controller: str, draws: Sequence[Draw], measured: _Measured) -> Row:
    sign = -1.0 if criterion.metric in MORE_IS_BETTER else 1.0
    values = measured.values(criterion, case, controller, draws)
    if criterion.limit is not None:
        yardsticks: list[float | None] = [criterion.limit] * len(draws)
        margin = 0.0
    else:
        yardsticks, margin = _yardstick(criterion, case, draws, measured, sign)
    pairs = [(a, b) for a, b in zip(values, yardsticks, strict=True) if a is not None and b is not None]
    value = estimate(a for a, _ in pairs)
    each = [sign * (a - b) - margin for a, b in pairs]
    beyond = estimate(each)
    row = Row(controller, criterion.id, case.name, *(None,) * 6, 0, "not run", made_by())
    if value is None or beyond is None:
        return replace(row, reason=measured.reason(criterion, case) or "nothing to measure")
    return replace(
        row,
        value=_rounded(value.mean),
        half=_rounded(value.half),
        yardstick=_rounded(mean_of([b for _, b in pairs])),
        margin=_rounded(margin),
        beyond=_rounded(beyond.mean),
        beyond_half=_rounded(beyond.half),
        seeds=len(pairs),
        verdict=_verdict(beyond, is_harm=criterion.is_harm),
        beyond_each=tuple(_short(difference) for difference in each),
    )


def _yardstick(
    criterion: Criterion, case: Case, draws: Sequence[Draw], measured: _Measured, sign: float
) -> tuple[list[float | None], float]:
    """Return the metric of the worse yardstick for each seed, and the difference from it that is none."""
    margin, found = criterion.least, []
    for name in case.yardsticks:
        first, again = (measured.values(criterion, case, name, draws, again=one) for one in (False, True))
        spread = estimate(b - a for a, b in zip(first, again, strict=True) if a is not None and b is not None)
        margin = max(margin, (spread and spread.half) or 0.0)
        found.append(first)
    known = ([value for value in values if value is not None] for values in zip(*found, strict=True))
    return [max(values, key=lambda value: sign * value, default=None) for values in known], margin


def _verdict(beyond: Estimate, *, is_harm: bool) -> Verdict:
    half = beyond.half or 0.0
    if beyond.mean - half > 0:
        return "unsafe" if is_harm else "falls short"
    if beyond.mean + half > 0:
        return "undecided"
    return "safe" if is_harm else "serves"


def _rounded(value: float | None) -> float | None:
    return None if value is None else _short(value)


def _short(value: float) -> float:
    return float(f"{value:.{_DIGITS}g}")
