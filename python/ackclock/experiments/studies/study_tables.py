"""Tables of a study: every run, means with intervals, and paired differences."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import combinations
from typing import Any, Final

from ackclock.experiments.studies.measures import Measured, Part
from ackclock.experiments.studies.plan import LineUp, Plan
from ackclock.plotting.tables import Column, Table
from ackclock.scenario.setting_values import value_text
from ackclock.stats.bottlenecks import whose
from ackclock.stats.estimates import Difference, Estimate, estimate, holm, over_seeds, paired
from ackclock.stats.flow_limits import buffer_notes

SIGNIFICANT: Final = 0.05

_WINDOW: Final = (
    "All figures of a run are over one time: from the last flow's start, or the end of the warm-up if that is later."
)

_GOODPUT = Column("goodput_bps", "goodput", "Mbit/s", factor=1e-6)

_MEANS: Final = tuple(
    replace(column, low=0.0)
    for column in (
        _GOODPUT,
        Column("share", "share", "%", factor=100.0, high=1.0),
        Column("rtt_ms", "RTT", "ms"),
        Column("rtt_p95_ms", "RTT p95", "ms"),
        Column("retransmitted", "resent", "%", factor=100.0, high=1.0),
        Column("duration_s", "complete after", "s"),
        Column("utilization", "link used", "%", factor=100.0, high=1.0),
        Column("queueing_ms", "queueing", "ms"),
        Column("queueing_p95_ms", "queueing p95", "ms"),
        Column("jain", "Jain", high=1.0),
        Column("convergence_s", "converged after", "s"),
        Column("converged", "converged", "runs", is_text=True),
    )
)
"""Columns of the metrics, most important first. None can be negative."""

_OF_PARTS: Final = ("goodput_bps", "share", "rtt_ms", "rtt_p95_ms", "retransmitted", "duration_s")
_OF_RUNS: Final = ("utilization", "queueing_ms", "queueing_p95_ms", "jain", "convergence_s")

_WHO: Final = (Column("line_up", "line-up", is_text=True), Column("controller", "controller", is_text=True))

Groups = dict[tuple[int, str], list[Measured]]
"""Runs of each cell and mix, in the order of seeds."""


def grouped(runs: Sequence[Measured]) -> Groups:
    """Group the runs by cell and mix."""
    groups: Groups = {}
    for run in runs:
        groups.setdefault((run.trial.cell, run.trial.line_up.name), []).append(run)
    return groups


def axis_columns(plan: Plan) -> list[Column]:
    """Return the columns of the axes."""
    return [Column(key, key, is_text=True) for key in plan.axes]


def _axis_values(plan: Plan, cell: int) -> dict[str, str | None]:
    settings = plan.cells[cell]
    return {key: value_text(settings[key]) if key in settings else None for key in plan.axes}


def runs_table(plan: Plan, runs: Sequence[Measured], about: str) -> Table:
    """Return the table of all runs: a row per run and controller."""
    counts = (Column("flows", "flows"), Column("seed", "seed"))
    rest = (Column("dropped", "dropped", "%", factor=100.0), Column("timeouts", "timeouts"))
    columns = [*axis_columns(plan), *_WHO, *counts, *_MEANS[:-1], *rest]
    rows = [
        _axis_values(plan, run.trial.cell)
        | {"line_up": run.trial.line_up.name, "controller": part.label, "flows": part.flows, "seed": run.trial.seed}
        | {key: getattr(part, key) for key in (*_OF_PARTS, "timeouts")}
        | {key: getattr(run, key) for key in (*_OF_RUNS, "dropped")}
        for run in runs
        for part in run.parts.values()
    ]
    return Table(f"{plan.name}: every run", about, columns, rows, (_WINDOW,))


def means_table(plan: Plan, runs: Sequence[Measured], about: str) -> Table:
    """Return the means over seeds with intervals: a row per cell, mix and controller."""
    rows = [
        _axis_values(plan, cell) | {"line_up": line_up, "controller": label} | _means(group, label)
        for (cell, line_up), group in grouped(runs).items()
        for label in group[0].trial.line_up.labels
    ]
    wanted = [column for column in _MEANS if any(row.get(column.key) is not None for row in rows)]
    columns = [*axis_columns(plan), *_WHO]
    parts = [part for run in runs for part in run.parts.values()]
    limits = buffer_notes((part.label, limit) for part in parts for limit in part.buffers)
    notes = (*over_seeds(len(plan.seeds)), _WINDOW, *whose(run.link for run in runs), *limits)
    return Table(plan.name, about, [*columns, *wanted], rows, notes)


def _means(group: Sequence[Measured], label: str) -> dict[str, Any]:
    """Return the means of one controller of one mix, and of the runs as a whole."""
    row: dict[str, Any] = {key: estimate(getattr(run.parts[label], key) for run in group) for key in _OF_PARTS}
    row |= {key: estimate(getattr(run, key) for run in group) for key in _OF_RUNS}
    if len(group[0].trial.line_up.labels) == 1:
        row["share"] = None  # it is all, always
    if len(group[0].trial.line_up.members) > 1:
        known = sum(run.convergence_s is not None for run in group)
        row["converged"] = f"{known} of {len(group)}"
    return row


# ---- differences ----------------------------------------------------------------------------------------------------

_Value = Callable[[Measured, Part], float | None]

_COMPARED: Final[tuple[tuple[str, _Value], ...]] = (
    ("goodput_bps", lambda _run, part: part.goodput_bps),
    ("queueing_ms", lambda run, _part: run.queueing_ms),
)


def differences_table(plan: Plan, runs: Sequence[Measured], about: str) -> Table:
    """Return paired differences between controllers, by seed: each alone on the same path, and beside each other."""
    rows = list(_differences(plan, grouped(runs)))
    places = [(row, key) for row in rows for key in ("goodput_bps", "queueing_ms")]
    for (row, key), p in zip(places, holm([row.get(f"_p_{key}") for row, key in places]), strict=True):
        row[f"p_{key}"] = p
    for row in rows:
        row["more"] = _verdict(row)
    columns = [
        *axis_columns(plan),
        Column("how", "compared", is_text=True),
        Column("one", "first", is_text=True),
        Column("other", "second", is_text=True),
        Column("more", "has more", is_text=True),
        Column("goodput_bps", "goodput, first less second", "Mbit/s", signed=True, factor=1e-6),
        Column("p_goodput_bps", "p"),
        Column("queueing_ms", "queueing, first less second", "ms", signed=True),
        Column("p_queueing_ms", "p "),
    ]
    if not any(row.get("queueing_ms") for row in rows):
        columns = columns[:-2]
    note = (
        "Differences paired by seed, with 95 % confidence intervals (Student's t); p values are adjusted for "
        f"the number of comparisons in the table (Holm). Who has more is said where p is below {SIGNIFICANT}."
    )
    notes = (note if len(plan.seeds) > 1 else "Differences of one seed, without intervals.",)
    return Table(f"{plan.name}: differences", about, columns, rows, notes)


def _differences(plan: Plan, groups: Groups) -> Iterator[dict[str, Any]]:
    by_name = {line_up.name: line_up for line_up in plan.line_ups}
    alone = {line_up.members[0]: line_up for line_up in by_name.values() if line_up.kind == "alone"}
    for cell in range(len(plan.cells)):
        where = _axis_values(plan, cell)
        for one, other in combinations(alone, 2):
            first, second = groups.get((cell, alone[one].name)), groups.get((cell, alone[other].name))
            if first and second:
                yield where | {"how": "each alone", "one": one, "other": other} | _compared(first, one, second, other)
        for line_up in by_name.values():
            group = groups.get((cell, line_up.name))
            if group and len(line_up.labels) == 2:
                yield where | _within(line_up, group)


def _within(line_up: LineUp, group: Sequence[Measured]) -> dict[str, Any]:
    """Return the difference between two controllers on one path: the mean per-flow metrics of each."""
    one, other = line_up.labels
    found = paired(
        *([run.parts[label].goodput_bps / run.parts[label].flows for run in group] for label in (one, other))
    )
    how = "beside each other" if line_up.kind == "pair" else f"each flow of {line_up.name}"
    return {"how": how, "one": one, "other": other} | _cell("goodput_bps", found)


def _compared(first: Sequence[Measured], one: str, second: Sequence[Measured], other: str) -> dict[str, Any]:
    row: dict[str, Any] = {}
    by_seed = {run.trial.seed: run for run in second}
    both = [(run, by_seed[run.trial.seed]) for run in first if run.trial.seed in by_seed]
    for key, value in _COMPARED:
        mine = [value(run, run.parts[one]) for run, _ in both]
        theirs = [value(run, run.parts[other]) for _, run in both]
        row |= _cell(key, paired(mine, theirs))
    return row


def _cell(key: str, found: Difference | None) -> dict[str, Any]:
    return {key: found.estimate if found else None, f"_p_{key}": found.p if found else None}


def _verdict(row: dict[str, Any]) -> str:
    """Return which controller has more goodput; undecided for one seed, or for several with identical values."""
    found, p = row.get("goodput_bps"), row.get("p_goodput_bps")
    if not isinstance(found, Estimate) or p is None:
        return "one seed" if not isinstance(found, Estimate) or found.count < 2 else "each seed gives the same"
    if p >= SIGNIFICANT:
        return "undecided"
    return str(row["one"] if found.mean > 0 else row["other"])
