"""Figures with several rows, tables side by side, curves over any axis, and bars.

The numbers come from simulations; nothing is smoothed. Departures: none.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.colors import LogNorm, Normalize
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from ackclock.claims.figures import STYLE, Curve

WIDTH = 9.6
"""Width of a page, inches."""

_WHISKERS: Mapping[str, Any] = {"elinewidth": 1.0, "capsize": 2.5}
"""Style of error bars."""


@dataclass(frozen=True, slots=True)
class Column:
    """Two panels over the same time, one above the other."""

    title: str
    above: Sequence[Curve]
    below: Sequence[Curve]


@dataclass(frozen=True, slots=True)
class Table:
    """Numbers in rows and columns, with colours on a scale.

    Attributes:
        title: Title above it.
        values: Values by row; all tables of a figure share their rows.
        low: Number of the first colour.
        high: Number of the last colour.
        scale: Scale between them: linear, or logarithmic around 1.
    """

    title: str
    values: Sequence[Sequence[float]]
    low: float
    high: float
    scale: Literal["linear", "log"] = "linear"


@dataclass(frozen=True, slots=True)
class Axis:
    """Label and scale of an axis; `ticks` replaces matplotlib's choice."""

    label: str
    scale: Literal["linear", "symlog"] = "linear"
    ticks: Sequence[float] = field(default_factory=tuple)


@dataclass(frozen=True, slots=True)
class Bars:
    """One bar per group; `halves`, if present, are the half widths of the values' intervals."""

    label: str
    color: str
    values: Sequence[float]
    halves: Sequence[float] = ()


def columns(parts: Sequence[Column], above: str, below: str) -> Figure:
    """Draw columns side by side; each row has one vertical axis.

    Args:
        parts: Columns, from left to right.
        above: Label of the upper vertical axis.
        below: Label of the lower vertical axis.
    """
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(WIDTH, 5.2), layout="constrained")
        axes = figure.subplots(2, len(parts), sharex=True, sharey="row", squeeze=False)
        for index, part in enumerate(parts):
            upper, lower = axes[0][index], axes[1][index]
            _curves(upper, part.above)
            _curves(lower, part.below)
            upper.set_title(part.title)
            lower.set_xlabel("time (s)")
        rows = (above, [part.above for part in parts]), (below, [part.below for part in parts])
        for axis, (label, curves) in zip((axes[0][0], axes[1][0]), rows, strict=True):
            axis.set_ylabel(label)
            if not any(value < 0 for row in curves for curve in row for value in curve.values):
                axis.set_ylim(bottom=0)
        axes[0][0].set_xlim(left=0)
        _legend(figure, max(axes[0], key=lambda axis: len(axis.get_lines())))
    return figure


def _curves(axis: Axes, curves: Sequence[Curve]) -> None:
    for curve in curves:
        width = 2.0 if curve.label == "average" else 1.2
        axis.plot(curve.time_s, curve.values, curve.dashes, color=curve.color, label=curve.label, linewidth=width)


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
            axis.text(x, y, f"{value:.2f}" if value < 10 else f"{value:.1f}", ha="center", va="center", fontsize=9)


def over(parts: Sequence[tuple[str, Sequence[Curve]]], axis: Axis, label: str, step: float | None = None) -> Figure:
    """Draw panels of curves over one horizontal axis, with markers if there are few values.

    Args:
        parts: Title and curves of each panel; a curve's `time_s` are its values on the horizontal axis.
        axis: The horizontal axis.
        label: Label of the vertical axis.
        step: Position of a vertical line.
    """
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(WIDTH, 3.8), layout="constrained")
        axes = figure.subplots(1, len(parts), sharey=True, sharex=True, squeeze=False)[0]
        for panel, (title, curves) in zip(axes, parts, strict=True):
            for curve in curves:
                mark = "o" if len(curve.values) < 20 else ""
                panel.plot(
                    curve.time_s, curve.values, curve.dashes, marker=mark, markersize=4, color=curve.color,
                    label=curve.label, linewidth=1.4,
                )  # fmt: skip
                if curve.halves:
                    panel.errorbar(
                        curve.time_s, curve.values, yerr=curve.halves, fmt="none", ecolor=curve.color, **_WHISKERS
                    )
            if step is not None:
                panel.axvline(step, color="#444444", linewidth=0.9, linestyle=(0, (1, 2)))
            panel.set_title(title)
            _horizontal(panel, axis)
        axes[0].set_ylim(bottom=0)
        axes[0].set_ylabel(label)
        _legend(figure, axes[0])
    return figure


def _horizontal(panel: Axes, axis: Axis) -> None:
    panel.set_xlabel(axis.label)
    if axis.scale == "symlog":
        panel.set_xscale("symlog", linthresh=1.0, linscale=0.6)
        panel.xaxis.set_minor_locator(NullLocator())
    if axis.ticks:
        panel.xaxis.set_major_locator(FixedLocator(list(axis.ticks)))
        panel.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))


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
