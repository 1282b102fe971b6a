"""Figures of claims, for papers and pages."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, NullLocator

from ackclock.claims.folder import Study
from ackclock.claims.ledger import Laboratory
from ackclock.plotting.figures.theme import PAGE

STYLE = PAGE
"""Style of every figure of a page."""


@dataclass(frozen=True, slots=True)
class Picture:
    """Figure with the claims that it belongs to.

    Attributes:
        name: Name of its files.
        claims: Prefix of the claims' ids.
        study: Name of the study that it shows.
        title: Title above it.
        draw: Function that draws it from the simulations.
        shows: Claims, as arguments of `ackclock claims`, whose records or region it shows; it is not drawn if one of
            them is of another scenario.
    """

    name: str
    claims: str
    study: str
    title: str
    draw: Callable[[Laboratory, Study], Figure]
    shows: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Curve:
    """Quantity over time; `halves`, if present, are the half widths of the values' intervals."""

    label: str
    time_s: Sequence[float]
    values: Sequence[float]
    color: str
    dashes: str = "-"
    halves: Sequence[float] = ()


@dataclass(frozen=True, slots=True)
class Panel:
    """Curves over a common time axis, with horizontal reference lines."""

    title: str
    curves: Sequence[Curve]
    lines: Sequence[tuple[float, str]] = field(default_factory=tuple)
    labels_below: bool = False


@dataclass(frozen=True, slots=True)
class Heat:
    """Matrix of percentages."""

    rows: Sequence[str]
    columns: Sequence[str]
    values: Sequence[Sequence[float]]
    row_label: str
    column_label: str
    title: str


def time_series(panels: Sequence[Panel], label: str, *, log: bool = False, top: float | None = None) -> Figure:
    """Draw panels side by side with one vertical axis and one legend.

    Args:
        panels: Panels, from left to right.
        label: Label of the vertical axis.
        log: Whether the vertical axis is logarithmic.
        top: Upper end of the vertical axis.
    """
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(9.6, 3.5), layout="constrained")
        axes = figure.subplots(1, len(panels), sharey=True, squeeze=False)[0]
        for axis, panel in zip(axes, panels, strict=True):
            _draw_panel(axis, panel)
        _scale(axes[0], log=log, top=top)
        axes[0].set_ylabel(label)
        handles, labels = axes[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=len(labels))
    return figure


def _draw_panel(axis: Axes, panel: Panel) -> None:
    shift = (0, -11) if panel.labels_below else (0, 3)
    for value, name in panel.lines:
        axis.axhline(value, color="#444444", linewidth=0.9, linestyle=(0, (1, 2)))
        axis.annotate(
            name, (1, value), xycoords=("axes fraction", "data"), xytext=shift, textcoords="offset points",
            ha="right", fontsize=8.5, color="#444444",
        )  # fmt: skip
    for curve in panel.curves:
        axis.plot(curve.time_s, curve.values, curve.dashes, color=curve.color, label=curve.label, linewidth=1.6)
        axis.plot(curve.time_s[-1:], curve.values[-1:], "o", color=curve.color, markersize=4)
    axis.set_title(panel.title)
    axis.set_xlabel("time (s); a dot: file complete")
    axis.set_xlim(left=0)


def _scale(axis: Axes, *, log: bool, top: float | None) -> None:
    if not log:
        axis.set_ylim(0, top)
        return
    axis.set_yscale("log")
    axis.yaxis.set_minor_locator(NullLocator())
    axis.yaxis.set_major_formatter(FuncFormatter(lambda value, _: _bytes(value)))


def _bytes(value: float) -> str:
    for factor, unit in ((1e9, "GB"), (1e6, "MB"), (1e3, "kB")):
        if value >= factor:
            return f"{value / factor:g} {unit}"
    return f"{value:g} B"


def heat(table: Heat) -> Figure:
    """Draw percentages as a table with matching colours."""
    with mpl.rc_context(STYLE | {"axes.grid": False}):
        figure = Figure(figsize=(9.6, 1.1 + 0.33 * len(table.rows)), layout="constrained")
        axis = figure.subplots()
        axis.imshow(table.values, cmap="RdYlBu", vmin=-40, vmax=135, alpha=0.8, aspect="auto")
        axis.set_xticks(range(len(table.columns)), table.columns)
        axis.set_yticks(range(len(table.rows)), table.rows)
        axis.tick_params(length=0)
        axis.spines[:].set_visible(False)
        axis.set_xlabel(table.column_label)
        axis.set_ylabel(table.row_label)
        axis.set_title(table.title)
        for y, row in enumerate(table.values):
            for x, value in enumerate(row):
                axis.text(x, y, _percent(value), ha="center", va="center", fontsize=9)
    return figure


def _percent(value: float) -> str:
    """Format a percentage without rounding up to 100.

    Examples:
        >>> _percent(100.0), _percent(99.97), _percent(12.345)
        ('100', '99.9', '12.3')
    """
    return f"{value:.0f}" if value in (0.0, 100.0) else f"{min(value, 99.9):.1f}"
