"""Figures of a sweep: goodput over delay, means over its numeric axes, or dots without any."""

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Final

from ackclock.experiments.figure_list import GOODPUT, Drawn, curve, delay_axis, ellipses, intervals, numeric_axes, pages
from ackclock.experiments.grid import goes_with
from ackclock.experiments.sweep.sweep_results import MEANS, OF_LINK
from ackclock.plotting.figures import Axis, Cloud, Dot, dots, over, scatter
from ackclock.plotting.tables import Column
from ackclock.scenario.quantities import is_wide, scale
from ackclock.scenario.setting_values import value_key
from ackclock.stats.estimates import Estimate, estimate

if TYPE_CHECKING:
    from ackclock.experiments.sweep.sweep_results import Group, Sweep

_DRAWN: Final = ("goodput_bps", "rtt_ms_mean", "added_latency_ms_mean", "utilization", "queueing_delay_ms_mean")
_pages = partial(pages, counted=False)


def figures(sweep: "Sweep") -> Iterator[Drawn]:
    """Return the figures of a sweep."""
    yield from _trade(sweep)
    numeric = numeric_axes(sweep.axes, sweep.rows, sweep.titles)
    for axis, where, label in numeric:
        for column in _columns():
            yield from _over(sweep, axis, where, label, column)
    if not numeric:
        for column in _columns():
            yield from _dots(sweep, column)


def _columns() -> Iterator[Column]:
    return (column for column in MEANS if column.key in _DRAWN)


def _title(sweep: "Sweep", group: "Group", axes: Sequence[str]) -> str:
    return ", ".join(f"{sweep.titles[axis]} {sweep.text(axis, group.values[axis])}" for axis in axes)


def _alone(sweep: "Sweep", without: Sequence[str] = ()) -> list[str]:
    """Return the axes that distinguish panels, without excluded ones and those determined by an earlier axis."""
    kept: list[str] = []
    for axis in sweep.axes:
        if axis not in without and not any(goes_with(sweep.rows, axis, other) for other in (*without, *kept)):
            kept.append(axis)
    return kept


def _trade(sweep: "Sweep") -> Iterator[Drawn]:
    """Yield goodput over delay: a panel per combination and a cloud per flow, or per value of a non-numeric axis."""
    named = [axis for axis in sweep.axes if scale(sweep.titles[axis], sweep.axes[axis]) is None]
    apart = _alone(sweep, named)
    panels: dict[str, list[Cloud]] = {}
    for group in sweep.groups:
        known = ("goodput_bps", "queueing_delay_ms_mean")
        rows = [row for row in group.rows if all(row.get(column) is not None for column in known)]
        label = ", ".join(part for part in (_title(sweep, group, named), group.who) if part)
        if rows:
            delays = [row["queueing_delay_ms_mean"] for row in rows]
            cloud = Cloud(label, delays, [row["goodput_bps"] / 1e6 for row in rows])
            panels.setdefault(_title(sweep, group, apart), []).append(cloud)
    if not panels or max(len({cloud.label for cloud in panel}) for panel in panels.values()) > _MOST_CLOUDS:
        return
    caption = f"Goodput of each flow over queueing delay{ellipses(sweep.seeds)}"
    yield from _pages("trade-off", caption, panels, partial(scatter, x=delay_axis(panels), y=GOODPUT))


_MOST_CLOUDS: Final = 12
_NO_NAME: Final = re.compile(r"[^\w-]")
"""Characters unsuitable for file names."""


def _over(sweep: "Sweep", axis: str, where: Mapping[str, float], label: str, column: Column) -> Iterator[Drawn]:
    apart = _alone(sweep, [axis])
    panels: dict[str, dict[str, list[tuple[float, Estimate]]]] = {}
    for group in sweep.groups:
        found = estimate(row.get(column.key) for row in group.rows)
        if found is None:
            continue
        line = "the link" if column.key in OF_LINK else group.who
        points = panels.setdefault(_title(sweep, group, apart), {}).setdefault(line, [])
        at = where[value_key(group.values[axis])]
        if at not in {place for place, _ in points}:
            points.append((at, found.scaled(column.factor)))
    curves = {title: [curve(name, points) for name, points in lines.items()] for title, lines in panels.items()}
    x, y = Axis(label, is_log=is_wide(list(where.values()))), _axis(column)
    name = f"{_slug(column)}-over-{_NO_NAME.sub('-', sweep.titles[axis])}"
    caption = f"Mean {column.title} over {sweep.titles[axis]}{intervals(sweep.seeds)}"
    yield from _pages(name, caption, curves, partial(over, x=x, y=y))


def _dots(sweep: "Sweep", column: Column) -> Iterator[Drawn]:
    panels: dict[str, list[Dot]] = {"": []}
    for group in sweep.groups:
        found = estimate(row.get(column.key) for row in group.rows)
        who = "the link" if column.key in OF_LINK else group.who
        label = ", ".join(part for part in (_title(sweep, group, _alone(sweep)), who) if part)
        if found and label not in {dot.label for dot in panels[""]}:
            scaled = found.scaled(column.factor)
            panels[""].append(Dot(label, who, scaled.mean, scaled.half))
    if panels[""] and len(panels[""]) <= _MOST_DOTS:
        x = _axis(column)
        yield from _pages(_slug(column), f"Mean {column.title}{intervals(sweep.seeds)}", panels, partial(dots, x=x))


_MOST_DOTS: Final = 40


def _axis(column: Column) -> Axis:
    """Return an axis that starts at zero and extends above 1, so that values near 1 are not drawn on the edge."""
    return Axis(column.heading, low=0.0, high=105.0 if column.key == "utilization" else None)


def _slug(column: Column) -> str:
    return column.title.lower().replace(" ", "-")
