"""Figures of a study, each with its caption; drawn one by one, when written."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final

import numpy as np
from matplotlib.figure import Figure

from ackclock.experiments.grid import goes_with
from ackclock.experiments.studies.measures import SECOND, Measured, jain_over_time, seconds_of
from ackclock.experiments.studies.plan import LineUp, Plan, title
from ackclock.experiments.studies.samples import Samples
from ackclock.experiments.studies.study_tables import Groups, grouped
from ackclock.plotting.figures import (
    Axis,
    Cloud,
    Curve,
    Dot,
    Look,
    Shares,
    bands,
    distributions,
    dots,
    looks,
    matrix,
    over,
    scatter,
)
from ackclock.plotting.figures.panel_grid import MOST_PANELS
from ackclock.results.run_labels import distinct
from ackclock.scenario.quantities import is_wide, scale
from ackclock.scenario.setting_values import value_key
from ackclock.stats.estimates import Estimate, deviation, estimate, half_width

BARS: Final = "bars: 95 % confidence intervals over seeds"
POINTS: Final = "a point a seed, means, ellipses of one standard deviation"
GOODPUT: Final = Axis("goodput (Mbit/s)")
_MOST_LINES: Final = 8


@dataclass(frozen=True, slots=True)
class Drawn:
    """Figure to be drawn."""

    name: str
    caption: str
    draw: Callable[[], Figure]


def distinctly(figures: Iterable[Drawn]) -> Iterator[Drawn]:
    """Make the names of figures unique, since they become file names."""
    taken: set[str] = set()
    for figure in figures:
        names = (figure.name, *(f"{figure.name}-{number}" for number in range(2, 3 + len(taken))))
        name = next(name for name in names if name.casefold() not in taken)
        taken.add(name.casefold())
        yield replace(figure, name=name)


def pages(
    name: str, caption: str, panels: Mapping[str, Any], draw: Callable[[Any], Figure], *, counted: bool = True
) -> Iterator[Drawn]:
    """Split panels into legible figures; with `counted`, captions are numbered."""
    items = list(panels.items())
    parts = [dict(items[at : at + MOST_PANELS]) for at in range(0, len(items), MOST_PANELS)]
    for number, part in enumerate(parts, 1):
        of = f" ({number} of {len(parts)})" if counted and len(parts) > 1 else ""
        suffix = f"-{number}" if len(parts) > 1 else ""
        yield Drawn(f"{name}{suffix}", f"{caption}{of}.", partial(draw, part))


def numeric_axes(
    axes: Mapping[str, Sequence[Any]], rows: Sequence[Mapping[str, Any]], titles: Mapping[str, str] | None = None
) -> list[tuple[str, dict[str, float], str]]:
    """Return the numeric axes, without those determined by an earlier axis: path, places of the values, and label."""
    found: list[tuple[str, dict[str, float], str]] = []
    for axis, values in axes.items():
        known = scale((titles or {}).get(axis, axis), values)
        if known and not any(goes_with(rows, axis, earlier) for earlier, *_ in found):
            found.append((axis, dict(zip(map(value_key, values), known[0], strict=True)), known[1]))
    return found


def delay_axis(panels: Mapping[str, Sequence[Cloud]]) -> Axis:
    """Return the axis of queueing delay for scatter plots."""
    values = [value for panel in panels.values() for cloud in panel for value in cloud.x]
    return Axis("mean queueing delay (ms)", is_log=bool(values) and min(values) > 0.01 and is_wide(values))


class Drawings:
    """All figures of a study."""

    def __init__(self, plan: Plan, runs: Sequence[Measured]) -> None:
        """Group the runs by cell and mix."""
        self._plan = plan
        self._groups: Groups = grouped(runs)
        self._numeric = numeric_axes(plan.axes, plan.cells)
        self._looks: dict[str, Look] = looks(entry.label for entry in plan.controllers)
        self._alone = [line_up for line_up in plan.line_ups if line_up.kind == "alone"]
        self._shared = [line_up for line_up in plan.line_ups if line_up.kind != "alone"]

    def all(self) -> Iterator[Drawn]:
        """Yield every figure for which the study has runs."""
        yield from self._trade()
        yield from self._shares()
        yield from self._over_axes()
        if not self._numeric:
            yield from self._by_line_up()
        yield from self._distributions()
        yield from self._convergence()

    # ---- panels: one a cell -----------------------------------------------------------------------------------------

    def _by_cell(self, of: Callable[[int], Any]) -> dict[str, Any]:
        """Return the items of each cell, by the cell's title; empty cells are left out."""
        cells = range(len(self._plan.cells))
        titles = distinct([self._title(cell) for cell in cells])
        found = {name: of(cell) for name, cell in zip(titles, cells, strict=True)}
        return {name: entry for name, entry in found.items() if entry}

    def _title(self, cell: int) -> str:
        return title(self._plan.cells[cell], list(self._plan.axes))

    def _subjects(self) -> list[tuple[str, LineUp]]:
        """Return the mixes whose path metrics are shown: each controller alone, or else all mixes."""
        if self._alone:
            return [(line_up.members[0], line_up) for line_up in self._alone]
        return [(line_up.name, line_up) for line_up in self._shared]

    def _subject_looks(self) -> dict[str, Look]:
        return self._looks if self._alone else looks(line_up.name for line_up in self._shared)

    # ---- the figures ------------------------------------------------------------------------------------------------

    def _trade(self) -> Iterator[Drawn]:
        def clouds(cell: int) -> list[Cloud]:
            found = []
            for name, line_up in self._subjects():
                group = self._groups.get((cell, line_up.name), [])
                if group:
                    goodputs = [sum(part.goodput_bps for part in run.parts.values()) / 1e6 for run in group]
                    found.append(Cloud(name, [run.queueing_ms for run in group], goodputs))
            return found

        panels = self._by_cell(clouds)
        who = "one flow alone" if self._alone else "all flows of a line-up"
        caption = f"Goodput over queueing delay of {who}: {POINTS}"
        draw = partial(scatter, x=delay_axis(panels), y=GOODPUT, look_of=self._subject_looks())
        yield from pages("trade-off", caption, panels, draw)

    def _shares(self) -> Iterator[Drawn]:
        pairs = [line_up for line_up in self._plan.line_ups if line_up.kind in ("pair", "itself")]
        if not any(line_up.kind == "pair" for line_up in pairs):
            return
        names = [entry.label for entry in self._plan.controllers]

        def table(cell: int) -> Shares | None:
            found = {(one, other): self._share(cell, pairs, one, other) for one in names for other in names}
            if not any(found.values()):
                return None
            means, halves = (
                [[getattr(found[one, other], part, None) for other in names] for one in names]
                for part in ("mean", "half")
            )
            return Shares(names, means, halves)

        caption = "Share of the goodput that the row's flow has beside the column's, in percent"
        if any(line_up.kind == "itself" for line_up in pairs):
            caption += "; on the diagonal, of the lesser of two of a kind"
        yield from pages("shares", caption, self._by_cell(table), matrix)

    def _share(self, cell: int, pairs: Sequence[LineUp], one: str, other: str) -> Estimate | None:
        for line_up in pairs:
            if sorted(line_up.members) != sorted((one, other)):
                continue
            group = self._groups.get((cell, line_up.name), [])
            if one == other:
                found = estimate(_lesser(run) for run in group)
            else:
                found = estimate(run.parts[one].share for run in group)
            return found.scaled(100.0) if found else None
        return None

    def _over_axes(self) -> Iterator[Drawn]:
        for key, where, label in self._numeric:
            others = [name for name in self._plan.axes if name != key and not goes_with(self._plan.cells, name, key)]
            x = Axis(label, is_log=is_wide(list(where.values())))
            for measure in self._measures():
                panels: dict[tuple[str, ...], dict[str, list[tuple[float, Estimate]]]] = {}
                titles: dict[tuple[str, ...], str] = {}
                for cell, settings in enumerate(self._plan.cells):
                    if key not in settings:
                        continue
                    place = tuple(value_key(settings.get(other)) for other in others)
                    titles.setdefault(place, title(settings, others))
                    lines = panels.setdefault(place, {})
                    for name, line_up in measure.subjects:
                        found = estimate(measure.value(run) for run in self._groups.get((cell, line_up.name), []))
                        if found:
                            lines.setdefault(name, []).append(
                                (where[value_key(settings[key])], found.scaled(measure.factor))
                            )
                curves = {
                    name: [curve(who, points) for who, points in lines.items()]
                    for name, lines in zip(distinct(list(titles.values())), panels.values(), strict=True)
                }
                curves = {name: lines for name, lines in curves.items() if any(len(line.x) > 1 for line in lines)}
                draw = partial(over, x=x, y=measure.axis, look_of=measure.looks)
                yield from pages(f"{measure.name}-over-{_slug(key)}", f"{measure.caption}; {BARS}", curves, draw)

    def _measures(self) -> "Iterator[_Measure]":
        subjects, known = self._subjects(), self._subject_looks()
        who = "one flow alone" if self._alone else "each line-up"
        if len(subjects) <= _MOST_LINES:
            yield _Measure(
                "utilisation", "link used (%)", f"Use of the bottleneck by {who}", subjects, known,
                lambda run: run.utilization, 100.0, 105.0,
            )  # fmt: skip
            yield _Measure(
                "queueing", "mean queueing delay (ms)", f"Queueing delay of {who}", subjects, known,
                lambda run: run.queueing_ms,
            )  # fmt: skip
        two = [line_up for line_up in self._shared if len(line_up.labels) == 2]
        for at in range(0, len(two), _MOST_LINES):
            part = [
                (f"{line_up.labels[0]} beside {line_up.labels[1]}", line_up) for line_up in two[at : at + _MOST_LINES]
            ]
            suffix = f"-{at // _MOST_LINES + 1}" if len(two) > _MOST_LINES else ""
            yield _Measure(
                f"share{suffix}", "share of the first (%)", "Share of the goodput that the first has beside the second",
                part, looks(name for name, _ in part), lambda run: run.parts[run.trial.line_up.labels[0]].share,
                100.0, 105.0,
            )  # fmt: skip
        same = [(line_up.members[0], line_up) for line_up in self._shared if line_up.kind == "itself"]
        if same:
            yield _Measure(
                "jain-itself", "Jain's index", "Jain's index of two flows of a kind", same, self._looks,
                lambda run: run.jain, 1.0, 1.05,
            )  # fmt: skip

    def _by_line_up(self) -> Iterator[Drawn]:
        """Yield dot plots for studies without a numeric axis."""
        for measure in self._measures():
            if measure.name.startswith(("share", "jain")):
                continue

            def of(cell: int, measure: _Measure = measure) -> list[Dot]:
                found = []
                for name, line_up in measure.subjects:
                    value = estimate(measure.value(run) for run in self._groups.get((cell, line_up.name), []))
                    if value:
                        scaled = value.scaled(measure.factor)
                        found.append(Dot(name, name, scaled.mean, scaled.half))
                return found

            draw = partial(dots, x=measure.axis, look_of=measure.looks)
            yield from pages(measure.name, f"{measure.caption}; {BARS}", self._by_cell(of), draw)
        yield from self._goodputs()

    def _goodputs(self) -> Iterator[Drawn]:
        """Yield the goodput of each controller in each mix of several flows."""
        shared = [line_up for line_up in self._shared if line_up.kind != "itself"]
        if not shared or sum(len(line_up.labels) for line_up in shared) > 24:
            return

        def of(cell: int) -> list[Dot]:
            found = []
            for line_up in shared:
                group = self._groups.get((cell, line_up.name), [])
                for label in line_up.labels:
                    value = estimate(run.parts[label].goodput_bps / 1e6 for run in group)
                    if value:
                        found.append(Dot(f"{label}, in {line_up.name}", label, value.mean, value.half))
            return found

        x = Axis("goodput (Mbit/s)", low=0.0)
        caption = f"Goodput of each controller in each line-up; {BARS}"
        yield from pages("goodput", caption, self._by_cell(of), partial(dots, x=x, look_of=self._looks))

    def _distributions(self) -> Iterator[Drawn]:
        known = self._subject_looks()
        for name, label, caption, values in (
            ("rtt", "RTT (ms)", "RTT samples, one an interval", _rtts),
            ("queueing", "queueing delay (ms)", "what a packet that came at each sample would have waited", _waits),
            ("goodput", "goodput of a flow (Mbit/s)", "Goodput of each flow in each second", _goodputs),
        ):

            def of(cell: int, values: "_Values" = values) -> dict[str, list[float]]:
                found: dict[str, list[float]] = {}
                for who, line_up in self._subjects():
                    for run in self._groups.get((cell, line_up.name), []):
                        found.setdefault(who, []).extend(values(run, run.samples) if run.samples else ())
                return {who: samples for who, samples in found.items() if samples}

            panels = self._by_cell(of)
            every = [value for panel in panels.values() for samples in panel.values() for value in samples]
            is_log = name == "rtt" and bool(every) and is_wide([min(every), max(every)])
            x = Axis(label, is_log=is_log, low=None if name == "rtt" else 0.0)
            draw = partial(distributions, x=x, look_of=known)
            yield from pages(f"cdf-{name}", f"Cumulative distribution over all seeds: {caption}", panels, draw)

    def _convergence(self) -> Iterator[Drawn]:
        for name, kinds in (("itself", ("itself",)), ("others", ("pair", "group"))):
            chosen = [line_up for line_up in self._shared if line_up.kind in kinds][:_MOST_LINES]
            known = looks(line_up.name for line_up in chosen)

            def of(cell: int, chosen: Sequence[LineUp] = chosen) -> list[Curve]:
                found = (_jain(line_up.name, self._groups.get((cell, line_up.name), [])) for line_up in chosen)
                return [curve for curve in found if curve]

            x, y = Axis("time (s)", low=0.0), Axis("Jain's index", low=0.0, high=1.03)
            caption = f"Jain's index of each second over time; {BARS.replace('bars', 'bands')}"
            draw = partial(bands, x=x, y=y, look_of=known)
            yield from pages(f"convergence-{name}", caption, self._by_cell(of), draw)


@dataclass(frozen=True, slots=True)
class _Measure:
    """Metric over an axis: its file name, label, caption, subject, and its value for a run."""

    name: str
    label: str
    caption: str
    subjects: Sequence[tuple[str, LineUp]]
    looks: Mapping[str, Look]
    value: Callable[[Measured], float | None]
    factor: float = 1.0
    high: float | None = None

    @property
    def axis(self) -> Axis:
        """Vertical axis of the metric."""
        return Axis(self.label, low=0.0, high=self.high)


def curve(name: str, points: Sequence[tuple[float, Estimate]]) -> Curve:
    """Return means over a quantity as a curve; points without a known interval have no error bar."""
    ordered = sorted(points, key=lambda point: point[0])
    means, halves = [found.mean for _, found in ordered], [found.half for _, found in ordered]
    known = [np.nan if half is None else half for half in halves] if any(half is not None for half in halves) else None
    return Curve(name, [at for at, _ in ordered], means, known)


def _jain(name: str, group: Sequence[Measured]) -> Curve | None:
    series = [jain_over_time(run.samples) for run in group if run.samples]
    if not series or not series[0][0].size:
        return None
    stacked = np.array([values for _, values in series])
    known = ~np.isnan(stacked).any(axis=0)
    if not known.any():
        return None
    halves = [half_width(deviation(list(column)), len(column)) or 0.0 for column in stacked[:, known].T]
    return Curve(name, series[0][0][known], stacked[:, known].mean(axis=0), halves)


def _lesser(run: Measured) -> float | None:
    """Return the share of the slower of two flows, from their samples, or else from Jain's index of their summary.

    Of two shares a and 1 - a the index is 1 / (2 (a^2 + (1 - a)^2)), so that a = (1 - sqrt(1 / J - 1)) / 2.
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
