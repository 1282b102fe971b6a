"""Figures of a study, each with its caption; drawn one by one, when written."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final, TypeVar

import numpy as np

from ackclock.experiments.figure_list import GOODPUT, Drawn, curve, delay_axis, ellipses, intervals, numeric_axes, pages
from ackclock.experiments.studies.arrangement import (
    Arranged,
    Arrangement,
    Subjects,
    arranged,
    undrawable,
    with_curves_beside,
)
from ackclock.experiments.studies.measures import SECOND, Measured, jain_over_time, seconds_of
from ackclock.experiments.studies.plan import LineUp, Plan, title
from ackclock.experiments.studies.samples import Samples
from ackclock.experiments.studies.study_tables import Groups, grouped
from ackclock.plotting.figures import (
    Axis,
    Cloud,
    Curve,
    Dot,
    Shares,
    bands,
    distributions,
    dots,
    looks,
    matrix,
    over,
    scatter,
)
from ackclock.plotting.notebook_figures import Picture
from ackclock.results.run_labels import distinct
from ackclock.scenario.quantities import is_wide
from ackclock.scenario.setting_values import value_key
from ackclock.stats.estimates import Estimate, deviation, estimate, half_width

OVER: Final = "Over {}"
COMPARED: Final = "Trade-off and shares"
SPREAD: Final = "Distributions"
FAIRNESS: Final = "Fairness over time"
_MOST_LINES: Final = 8

T = TypeVar("T")


class Drawings:
    """All figures of a study."""

    def __init__(self, plan: Plan, runs: Sequence[Measured], asked: Arrangement | None = None) -> None:
        """Group the runs by cell and mix."""
        self._plan = plan
        self._asked = asked or Arrangement()
        self._bars = intervals(plan.seeds)
        self._groups: Groups = grouped(runs)
        self._numeric = numeric_axes(plan.axes, plan.cells)
        self._alone = [line_up for line_up in plan.line_ups if line_up.kind == "alone"]
        self._shared = [line_up for line_up in plan.line_ups if line_up.kind != "alone"]

    def all(self) -> Iterator[Drawn]:
        """Yield every figure for which the study has runs, those that compare most directly first."""
        over_axes = list(self._over_axes())
        yield from over_axes
        yield from self._shares()
        yield from self._trade()
        if not over_axes:
            yield from self._by_line_up()
        yield from self._distributions()
        yield from self._convergence()

    # ---- who is shown ------------------------------------------------------------------------------------------------

    def _name(self, line_up: LineUp) -> str:
        """Return the name of a mix in figures."""
        counts = {label: line_up.members.count(label) for label in line_up.members}
        names = {label: self._asked.name(label) for label in counts}
        if line_up.kind == "itself":
            return " + ".join(self._asked.name(label) for label in line_up.members)
        parts = (f"{count} {names[label]}" if count > 1 else names[label] for label, count in counts.items())
        return " + ".join(parts)

    def _subjects(self) -> list[tuple[str, LineUp]]:
        """Return the mixes whose path metrics are shown: each controller alone, or else all mixes."""
        return [(self._name(line_up), line_up) for line_up in self._alone or self._shared]

    def _group(self, cell: int, line_up: LineUp) -> list[Measured]:
        return self._groups.get((cell, line_up.name), [])

    def _arranged(
        self, of: Callable[[int, LineUp], T | None], subjects: Subjects | None = None, over: str = ""
    ) -> Arranged[T]:
        return arranged(self._plan, self._subjects() if subjects is None else subjects, self._asked, of, over)

    # ---- the figures ------------------------------------------------------------------------------------------------

    def _trade(self) -> Iterator[Drawn]:
        def of(cell: int, line_up: LineUp) -> tuple[list[float], list[float]] | None:
            group = self._group(cell, line_up)
            goodputs = [sum(part.goodput_bps for part in run.parts.values()) / 1e6 for run in group]
            return ([run.queueing_ms for run in group], goodputs) if group else None

        found = self._arranged(of)
        panels = {name: [Cloud(item.label, *item.value) for item in items] for name, items in found.panels.items()}
        who = "one flow alone" if self._alone else "all flows of a line-up"
        caption = f"Goodput over queueing delay of {who}{ellipses(self._plan.seeds)}"
        draw = partial(scatter, x=delay_axis(panels), y=GOODPUT, look_of=found.looks)
        yield from pages("trade-off", caption, panels, draw, group=COMPARED)

    def _shares(self) -> Iterator[Drawn]:
        pairs = [line_up for line_up in self._plan.line_ups if line_up.kind in ("pair", "itself")]
        is_one = len(pairs) == 1 and bool(self._numeric)  # its shares are drawn over the axis
        if is_one or not any(line_up.kind == "pair" for line_up in pairs):
            return
        labels = [entry.label for entry in self._plan.controllers]
        names = [self._asked.name(label) for label in labels]

        def table(cell: int) -> Shares | None:
            found = {(one, other): self._share(cell, pairs, one, other) for one in labels for other in labels}
            if not any(found.values()):
                return None
            means, halves = (
                [[getattr(found[one, other], part, None) for other in labels] for one in labels]
                for part in ("mean", "half")
            )
            return Shares(names, means, halves)

        caption = "Share of goodput of the row's flow against the column's, in percent"
        if any(line_up.kind == "itself" for line_up in pairs):
            caption += "; on the diagonal, of the lesser of two of a kind"
        yield from pages("shares", caption, self._by_cell(table), matrix, group=COMPARED)

    def _share(self, cell: int, pairs: Sequence[LineUp], one: str, other: str) -> Estimate | None:
        for line_up in pairs:
            if sorted(line_up.members) != sorted((one, other)):
                continue
            group = self._group(cell, line_up)
            if one == other:
                found = estimate(_lesser(run) for run in group)
            else:
                found = estimate(run.parts[one].share for run in group)
            return found.scaled(100.0) if found else None
        return None

    def _over_axes(self) -> Iterator[Drawn]:
        for key, where, label in sorted(self._numeric, key=lambda axis: -len(axis[1])):
            x = Axis(label, is_log=is_wide(list(where.values())))
            for measure in self._measures():
                found = self._arranged(self._estimates(measure), measure.subjects, key)
                curves = {
                    name: _curves((item.label, where[self._value(item.cell, key)], item.value) for item in items)
                    for name, items in found.panels.items()
                }
                if not any(len(line.x) > 1 for lines in curves.values() for line in lines):
                    continue
                wrong = undrawable(curves, self._asked, is_log=x.is_log)
                curves, known = with_curves_beside(curves, found.looks, self._asked)
                draw = partial(_over, wrong=wrong, x=x, y=measure.axis, look_of=known)
                caption = f"{measure.caption}{self._bars}{measure.reference_in_words}"
                yield from pages(
                    f"{measure.name}-over-{_slug(key)}", caption, curves, draw, group=OVER.format(key), over=key
                )

    def _value(self, cell: int, key: str) -> str:
        return value_key(self._plan.cells[cell][key])

    def _estimates(self, measure: "_Measure") -> Callable[[int, LineUp], Estimate | None]:
        def of(cell: int, line_up: LineUp) -> Estimate | None:
            found = estimate(measure.value(run) for run in self._group(cell, line_up))
            return found.scaled(measure.factor) if found else None

        return of

    def _measures(self) -> "Iterator[_Measure]":
        yield from self._share_measures()
        same = [(self._asked.name(line_up.members[0]), line_up) for line_up in self._shared if line_up.kind == "itself"]
        if same:
            yield _Measure(
                "jain-itself", "Jain's index", "Jain's index of two flows of a kind", same, lambda run: run.jain,
                high=1.05,
            )  # fmt: skip
        subjects = self._subjects()
        who = "one flow alone" if self._alone else "each line-up"
        if len(subjects) <= _MOST_LINES:
            yield _Measure(
                "utilisation", "link used (%)", f"Use of the bottleneck by {who}", subjects,
                lambda run: run.utilization, 100.0, 105.0,
            )  # fmt: skip
            yield _Measure(
                "queueing", "mean queueing delay (ms)", f"Queueing delay of {who}", subjects,
                lambda run: run.queueing_ms,
            )  # fmt: skip

    def _share_measures(self) -> "Iterator[_Measure]":
        """Yield the share of the first of two controllers; its fair share is a line if it is the same everywhere."""
        two = [line_up for line_up in self._shared if len(line_up.labels) == 2]
        for at in range(0, len(two), _MOST_LINES):
            part = two[at : at + _MOST_LINES]
            names = [[self._asked.name(label) for label in line_up.labels] for line_up in part]
            fair = {100.0 * up.members.count(up.labels[0]) / len(up.members) for up in part}
            (one, other), is_one = names[0], len(part) == 1
            said = f"{one} has against {other}" if is_one else "the first has against the second"
            yield _Measure(
                f"share-{at // _MOST_LINES + 1}" if len(two) > _MOST_LINES else "share",
                f"{one}'s share (%)" if is_one else "share of the first (%)",
                f"Share of the goodput that {said}",
                [(" against ".join(name), line_up) for name, line_up in zip(names, part, strict=True)],
                lambda run: run.parts[run.trial.line_up.labels[0]].share,
                100.0, 105.0, fair.pop() if len(fair) == 1 else None,
            )  # fmt: skip

    def _by_line_up(self) -> Iterator[Drawn]:
        """Yield dot plots for studies without a figure over a numeric axis."""
        for measure in self._measures():
            if measure.name.startswith(("share", "jain")):
                continue
            found = self._arranged(self._estimates(measure), measure.subjects)
            panels = {
                name: [Dot(item.label, item.label, item.value.mean, item.value.half) for item in items]
                for name, items in found.panels.items()
            }
            draw = partial(dots, x=measure.axis, look_of=found.looks)
            yield from pages(measure.name, f"{measure.caption}{self._bars}", panels, draw, group=COMPARED)
        yield from self._goodputs()

    def _goodputs(self) -> Iterator[Drawn]:
        """Yield the goodput of each controller in each mix of several flows."""
        shared = [line_up for line_up in self._shared if line_up.kind != "itself"]
        if not shared or sum(len(line_up.labels) for line_up in shared) > 24:
            return

        def of(cell: int) -> list[Dot]:
            found = []
            for line_up in shared:
                for label in line_up.labels:
                    value = estimate(run.parts[label].goodput_bps / 1e6 for run in self._group(cell, line_up))
                    if value:
                        name = self._asked.name(label)
                        found.append(Dot(f"{name}, in {self._name(line_up)}", name, value.mean, value.half))
            return found

        x = Axis("goodput (Mbit/s)", low=0.0)
        caption = f"Goodput of each controller in each line-up{self._bars}"
        known = looks(self._asked.name(entry.label) for entry in self._plan.controllers)
        yield from pages("goodput", caption, self._by_cell(of), partial(dots, x=x, look_of=known), group=COMPARED)

    def _by_cell(self, of: Callable[[int], Any]) -> dict[str, Any]:
        """Return the items of each cell, by the cell's title; empty cells are left out."""
        cells = range(len(self._plan.cells))
        titles = distinct([title(self._plan.cells[cell], list(self._plan.axes), self._asked.name) for cell in cells])
        return {name: found for name, cell in zip(titles, cells, strict=True) if (found := of(cell))}

    def _distributions(self) -> Iterator[Drawn]:
        for name, label, caption, values in (
            ("rtt", "RTT (ms)", "RTT, sampled at even intervals", _rtts),
            ("queueing", "queueing delay (ms)", "queueing delay, sampled at even intervals", _waits),
            ("goodput", "goodput of a flow (Mbit/s)", "goodput of each flow in each second", _goodputs),
        ):
            found = self._arranged(partial(self._samples, values))
            panels: dict[str, dict[str, list[float]]] = {}
            for panel, items in found.panels.items():
                for item in items:
                    panels.setdefault(panel, {}).setdefault(item.label, []).extend(item.value)
            every = [value for panel in panels.values() for samples in panel.values() for value in samples]
            is_log = name == "rtt" and bool(every) and is_wide([min(every), max(every)])
            x = Axis(label, is_log=is_log, low=None if name == "rtt" else 0.0)
            draw = partial(distributions, x=x, look_of=found.looks)
            said = f"Cumulative distribution over all seeds: {caption}"
            yield from pages(f"cdf-{name}", said, panels, draw, group=SPREAD)

    def _samples(self, values: "_Values", cell: int, line_up: LineUp) -> list[float] | None:
        """Return the samples of all runs of a mix on a path."""
        group = self._group(cell, line_up)
        return [value for run in group if run.samples for value in values(run, run.samples)] or None

    def _convergence(self) -> Iterator[Drawn]:
        for name, kinds in (("itself", ("itself",)), ("others", ("pair", "group"))):
            chosen = [line_up for line_up in self._shared if line_up.kind in kinds][:_MOST_LINES]
            found = self._arranged(
                lambda cell, line_up: _jain(self._group(cell, line_up)),
                [(self._name(line_up), line_up) for line_up in chosen],
            )
            panels = {
                panel: [replace(item.value, label=item.label) for item in items]
                for panel, items in found.panels.items()
            }
            x, y = Axis("time (s)", low=0.0), Axis("Jain's index", low=0.0, high=1.03)
            caption = f"Jain's index of each second over time{intervals(self._plan.seeds, 'bands')}"
            draw = partial(bands, x=x, y=y, look_of=found.looks)
            yield from pages(f"convergence-{name}", caption, panels, draw, group=FAIRNESS)


@dataclass(frozen=True, slots=True)
class _Measure:
    """Metric over an axis: its file name, label, caption, subjects, its value for a run, and its fair value."""

    name: str
    label: str
    caption: str
    subjects: Subjects
    value: Callable[[Measured], float | None]
    factor: float = 1.0
    high: float | None = None
    reference: float | None = None

    @property
    def axis(self) -> Axis:
        """Vertical axis of the metric."""
        return Axis(self.label, low=0.0, high=self.high, reference=self.reference)

    @property
    def reference_in_words(self) -> str:
        """Explanation of the line at the fair value."""
        return "" if self.reference is None else f"; dotted: the fair share, {self.reference:.3g} %"


def _over(curves: Mapping[str, Sequence[Curve]], wrong: str, **asked: Any) -> Picture:  # noqa: ANN401
    """Draw curves over an axis, or refuse curves from elsewhere, but only when the figure is asked for."""
    if wrong:
        raise ValueError(wrong)
    return over(curves, **asked)


def _curves(points: Iterable[tuple[str, float, Estimate]]) -> list[Curve]:
    """Return a curve for each label."""
    lines: dict[str, list[tuple[float, Estimate]]] = {}
    for label, at, value in points:
        lines.setdefault(label, []).append((at, value))
    return [curve(label, line) for label, line in lines.items()]


def _jain(group: Sequence[Measured]) -> Curve | None:
    series = [jain_over_time(run.samples) for run in group if run.samples]
    if not series or not series[0][0].size:
        return None
    stacked = np.array([values for _, values in series])
    known = ~np.isnan(stacked).any(axis=0)
    if not known.any():
        return None
    halves = [half_width(deviation(list(column)), len(column)) or 0.0 for column in stacked[:, known].T]
    return Curve("", series[0][0][known], stacked[:, known].mean(axis=0), halves)


def _lesser(run: Measured) -> float | None:
    """Return the share of the slower of two flows, from their samples, or else from Jain's index of their summary.

    The index of two shares a and 1 - a is 1 / (2 (a^2 + (1 - a)^2)), so that a = (1 - sqrt(1 / J - 1)) / 2.
    """
    return None if not run.jain else (1.0 - max(0.0, 1.0 / run.jain - 1.0) ** 0.5) / 2


_Values = Callable[[Measured, Samples], Iterable[float]]
"""Reader of values from the samples of a run within its window."""


def _within(run: Measured, time_s: Sequence[float], values: Sequence[float | None]) -> Iterator[float]:
    for at, value in zip(time_s, values, strict=False):
        if value is not None and run.window.begin_s < at <= run.window.end_s:
            yield value


def _rtts(run: Measured, samples: Samples) -> Iterator[float]:
    for flow in samples["flows"].values():
        yield from _within(run, samples["time_s"], flow["rtt_ms"])


def _waits(run: Measured, samples: Samples) -> Iterator[float]:
    return _within(run, samples["time_s"], samples.get("queueing_ms", {}).get(run.link, []))


def _goodputs(run: Measured, samples: Samples) -> list[float]:
    ends_s, flows = seconds_of(samples)
    is_in = (ends_s - SECOND >= run.window.begin_s) & (ends_s <= run.window.end_s)
    return [float(value) / 1e6 for rates in flows.values() for value in rates[is_in] if not np.isnan(value)]


def _slug(text: str) -> str:
    return "".join(sign if sign.isalnum() else "-" for sign in text.lower()).strip("-")
