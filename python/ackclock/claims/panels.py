"""Curves in rows of panels, tables side by side, and bars.

The numbers come from simulations; nothing is smoothed. Departures: none.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.colors import LogNorm, Normalize
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from ackclock.claims.figures import STYLE, Curve
from ackclock.plotting.traffic_figures import size_text

WIDTH = 9.6
"""Width of a page, inches."""

_WHISKERS: Mapping[str, Any] = {"elinewidth": 1.0, "capsize": 2.5}
"""Style of error bars."""

_REFERENCE: Mapping[str, Any] = {"color": "#444444", "linewidth": 0.9, "linestyle": (0, (1, 2))}

_FEW = 20
"""Number of values below which a curve has markers."""


@dataclass(frozen=True, slots=True)
class Panel:
    """Curves over a common quantity.

    Attributes:
        title: Title above the panel; that of the upper row stands for all rows.
        curves: Curves, drawn over each other.
        lines: Horizontal reference lines, with their names.
        labels_below: Whether those names stand below their lines.
        step: Position of a vertical line.
    """

    title: str
    curves: Sequence[Curve]
    lines: Sequence[tuple[float, str]] = ()
    labels_below: bool = False
    step: float | None = None


@dataclass(frozen=True, slots=True)
class Axis:
    """Label and scale of an axis; `ticks` replaces matplotlib's choice, `top` its upper end."""

    label: str
    scale: Literal["linear", "log", "symlog"] = "linear"
    ticks: Sequence[float] = field(default_factory=tuple)
    top: float | None = None


@dataclass(frozen=True, slots=True)
class Table:
    """Numbers in rows and columns, with colours on a scale.

    Attributes:
        title: Title above it.
        values: Values by row; all tables of a figure share their rows.
        low: Number of the first colour.
        high: Number of the last colour.
        scale: Scale between them: linear, or logarithmic around 1.
        text: Function that formats a number.
    """

    title: str
    values: Sequence[Sequence[float]]
    low: float
    high: float
    scale: Literal["linear", "log"] = "linear"
    text: Callable[[float], str] = lambda value: f"{value:.2f}" if value < 10 else f"{value:.1f}"


@dataclass(frozen=True, slots=True)
class Bars:
    """One bar per group; `halves`, if present, are the half widths of the values' intervals."""

    label: str
    color: str
    values: Sequence[float]
    halves: Sequence[float] = ()


def rows(parts: Sequence[tuple[Axis, Sequence[Panel]]], x: Axis, *, ends: bool = False) -> Figure:
    """Draw rows of panels, each with one vertical axis, and one legend below them.

    Args:
        parts: Vertical axis and panels of each row, from above.
        x: The horizontal axis.
        ends: Whether each panel ends where its curves do, with a dot at the end of each.
    """
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(WIDTH, 1.3 + 2.1 * len(parts)), layout="constrained")
        grid = figure.subplots(len(parts), len(parts[0][1]), sharex=not ends, sharey="row", squeeze=False)
        for axes, (y, panels) in zip(grid, parts, strict=True):
            for axis, panel in zip(axes, panels, strict=True):
                _panel(axis, panel, ends=ends)
            axes[0].set_ylabel(y.label)
            _scale(axes[0], "y", y)
            if y.scale == "linear" and not any(v < 0 for panel in panels for c in panel.curves for v in c.values):
                axes[0].set_ylim(0, y.top)
        for above, below, panel in zip(grid[0], grid[-1], parts[0][1], strict=True):
            above.set_title(panel.title)
            below.set_xlabel(x.label)
            _scale(below, "x", x)
            if x.scale == "linear":
                below.set_xlim(left=0)
        _legend(figure, max(grid[0], key=lambda axis: len(axis.get_lines())))
    return figure


def _panel(axis: Axes, panel: Panel, *, ends: bool) -> None:
    shift = (0, -11) if panel.labels_below else (0, 3)
    for value, name in panel.lines:
        axis.axhline(value, **_REFERENCE)
        axis.annotate(
            name, (1, value), xycoords=("axes fraction", "data"), xytext=shift, textcoords="offset points",
            ha="right", fontsize=8.5, color="#444444",
        )  # fmt: skip
    for curve in panel.curves:
        width, mark = 2.0 if curve.label == "average" else 1.3, "o" if len(curve.values) < _FEW else ""
        look: Any = {"marker": mark, "markersize": 4, "color": curve.color, "label": curve.label, "linewidth": width}
        axis.plot(curve.time_s, curve.values, curve.dashes, **look)
        if curve.halves:
            axis.errorbar(curve.time_s, curve.values, curve.halves, fmt="none", ecolor=curve.color, **_WHISKERS)
        if ends:
            axis.plot(curve.time_s[-1:], curve.values[-1:], "o", color=curve.color, markersize=4)
    if panel.step is not None:
        axis.axvline(panel.step, **_REFERENCE)


def _scale(axis: Axes, name: Literal["x", "y"], how: Axis) -> None:
    along = axis.xaxis if name == "x" else axis.yaxis
    if how.scale != "linear":
        options = {"linthresh": 1.0, "linscale": 0.6} if how.scale == "symlog" else {}
        getattr(axis, f"set_{name}scale")(how.scale, **options)
        along.set_minor_locator(NullLocator())
    if how.scale == "log":
        along.set_major_formatter(FuncFormatter(lambda value, _: size_text(value)))
    if how.ticks:
        along.set_major_locator(FixedLocator(list(how.ticks)))
        along.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))


def _legend(figure: Figure, axis: Axes) -> None:
    handles, labels = axis.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=min(len(labels), 5))


def tables(parts: Sequence[Table], rows: tuple[str, Sequence[str]], heads: tuple[str, Sequence[str]]) -> Figure:
    """Draw tables with the same rows and columns side by side, each number on its colour.

    Args:
        parts: Tables, from left to right.
        rows: Label of the rows, and their names.
        heads: Label of the columns, and their names.
    """
    with mpl.rc_context(STYLE | {"axes.grid": False}):
        figure = Figure(figsize=(WIDTH, 1.4 + 0.3 * len(rows[1])), layout="constrained")
        axes = figure.subplots(1, len(parts), sharey=True, squeeze=False)[0]
        for axis, part in zip(axes, parts, strict=True):
            _table(axis, part)
            axis.set_xticks(range(len(heads[1])), heads[1])
            axis.set_xlabel(heads[0])
        axes[0].set_yticks(range(len(rows[1])), rows[1])
        axes[0].set_ylabel(rows[0])
    return figure


def _table(axis: Axes, table: Table) -> None:
    kind = LogNorm if table.scale == "log" else Normalize
    norm = kind(table.low, table.high, clip=True)
    axis.imshow(table.values, cmap="RdYlBu", norm=norm, alpha=0.75, aspect="auto")
    axis.tick_params(length=0)
    axis.spines[:].set_visible(False)
    axis.set_title(table.title, fontsize=9.5)
    for y, row in enumerate(table.values):
        for x, value in enumerate(row):
            axis.text(x, y, table.text(value), ha="center", va="center", fontsize=9)


def percent(value: float) -> str:
    """Format a percentage without rounding up to 100.

    Examples:
        >>> percent(100.0), percent(99.97), percent(12.345)
        ('100', '99.9', '12.3')
    """
    return f"{value:.0f}" if value in (0.0, 100.0) else f"{min(value, 99.9):.1f}"


def bars(groups: Sequence[str], series: Sequence[Bars], label: str) -> Figure:
    """Draw groups of horizontal bars, with the number at the end of each bar or of its interval.

    Args:
        groups: Names of the groups, from above.
        series: Bars with a value for each group.
        label: Label of the horizontal axis.
    """
    height = 0.8 / len(series)
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(WIDTH, 1.2 + (0.12 + 0.2 * len(series)) * len(groups)), layout="constrained")
        axis = figure.subplots()
        for index, each in enumerate(series):
            places = [group + (index - (len(series) - 1) / 2) * height for group in range(len(groups))]
            axis.barh(places, each.values, height=height * 0.9, color=each.color, label=each.label)
            halves = each.halves or [0.0] * len(each.values)
            if each.halves:
                axis.errorbar(each.values, places, xerr=halves, fmt="none", ecolor="#333333", **_WHISKERS)
            for place, value, half in zip(places, each.values, halves, strict=True):
                axis.annotate(
                    f"{value:,.0f}", (value + half, place), (3, 0), textcoords="offset points", va="center", fontsize=8
                )
        axis.set_yticks(range(len(groups)), groups)
        axis.set_ylim(len(groups) - 0.5, -0.5)
        axis.margins(x=0.07)
        axis.grid(visible=False, axis="y")
        axis.set_axisbelow(True)
        axis.set_xlabel(label)
        _legend(figure, axis)
    return figure
