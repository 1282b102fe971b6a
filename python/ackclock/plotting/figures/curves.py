"""Curves: means with intervals over a quantity or over time, distributions, and time series of one run."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.transforms import ScaledTranslation

from ackclock.base.printable import for_matplotlib
from ackclock.plotting.figures.panel_grid import Axis, filled, legend
from ackclock.plotting.figures.theme import COLUMN_IN, PAPER, Look, looks
from ackclock.plotting.notebook_figures import Picture
from ackclock.stats.metrics import Floats, distribution


@dataclass(frozen=True, slots=True)
class Curve:
    """Curve with optional intervals.

    Attributes:
        label: Label in the legend.
        x: Horizontal values.
        y: Vertical values; NaN where missing.
        half: Half widths of the intervals; None without intervals.
        published: Whether it is from elsewhere, and drawn exactly where its points are.
    """

    label: str
    x: Sequence[float] | Floats
    y: Sequence[float] | Floats
    half: Sequence[float] | Floats | None = None
    published: bool = False


def over(curves: Mapping[str, Sequence[Curve]], x: Axis, y: Axis, look_of: Mapping[str, Look] | None = None) -> Picture:
    """Draw means with their intervals over a quantity.

    Args:
        curves: Curves of each panel, by its title.
        x: Horizontal axis.
        y: Vertical axis.
        look_of: Style of each label; by default in order.
    """
    known = look_of or _looks(curves)

    def draw(axes: Axes, panel: Sequence[Curve]) -> None:
        axes.margins(x=0.1)
        own = sum(not curve.published for curve in panel)
        for place, curve in enumerate(sorted(panel, key=lambda curve: curve.published)):
            shown = known[curve.label]
            bars = axes.errorbar(
                curve.x, curve.y, yerr=curve.half, color=shown.colour, marker=shown.mark, linestyle=shown.dash,
                capsize=1.8, elinewidth=0.8, label=for_matplotlib(curve.label),
            )  # fmt: skip
            # Afterwards, as the limits of the axes are those of data.
            for artist in () if curve.published else bars.get_children():
                artist.set_transform(axes.transData + _aside(axes, place - (own - 1) / 2))

    figure, drawn = filled(curves, x, y, draw)
    _ticks_where_values_are(drawn, curves, x)
    return figure


def _aside(axes: Axes, places: float) -> ScaledTranslation:
    """Return a sideways shift of three points per place, so that error bars at one value do not overlap."""
    return ScaledTranslation(3 * places / 72, 0, axes.figure.dpi_scale_trans)


def _ticks_where_values_are(drawn: Sequence[Axes], curves: Mapping[str, Sequence[Curve]], x: Axis) -> None:
    """Put a tick at each value of the axis, if there is room for all."""
    from matplotlib.ticker import FixedLocator, NullLocator

    places = sorted({float(value) for panel in curves.values() for curve in panel for value in curve.x})
    if x.is_log and len(places) <= (8 if len(drawn) == 1 else 6):
        for axes in drawn:
            axes.xaxis.set_major_locator(FixedLocator(places))
            axes.xaxis.set_minor_locator(NullLocator())


def bands(
    curves: Mapping[str, Sequence[Curve]], x: Axis, y: Axis, look_of: Mapping[str, Look] | None = None
) -> Picture:
    """Draw means over time, each with a band for its interval.

    Args:
        curves: Curves of each panel, by its title.
        x: Time axis.
        y: Vertical axis.
        look_of: Style of each label; by default in order.
    """
    known = look_of or _looks(curves)

    def draw(axes: Axes, panel: Sequence[Curve]) -> None:
        for curve in panel:
            shown = known[curve.label]
            middle = np.asarray(curve.y, dtype=float)
            axes.plot(curve.x, middle, color=shown.colour, linestyle=shown.dash, label=for_matplotlib(curve.label))
            if curve.half is not None:
                half = np.asarray(curve.half, dtype=float)
                low, high = middle - half, middle + half
                axes.fill_between(curve.x, low, high, color=shown.colour, alpha=0.18, linewidth=0)

    return filled(curves, x, y, draw)[0]


def distributions(
    samples: Mapping[str, Mapping[str, Sequence[float] | Floats]], x: Axis, look_of: Mapping[str, Look] | None = None
) -> Picture:
    """Draw cumulative distributions of samples.

    Args:
        samples: Samples by label of each panel, by its title.
        x: Axis of the sampled quantity.
        look_of: Style of each label; by default in order.
    """
    known = look_of or looks(name for panel in samples.values() for name in panel)

    def draw(axes: Axes, panel: Mapping[str, Sequence[float] | Floats]) -> None:
        for name, values in panel.items():
            at, share = distribution(values)
            shown = known[name]
            axes.step(at, share, where="post", color=shown.colour, linestyle=shown.dash, label=for_matplotlib(name))

    return filled(samples, x, Axis("share of samples", low=0.0, high=1.0), draw)[0]


def series(rows: Sequence[tuple[Axis, Sequence[Curve]]], look_of: Mapping[str, Look] | None = None) -> Picture:
    """Draw several quantities of one run over the same time, one above the other.

    Args:
        rows: Vertical axis and curves of each row, from above.
        look_of: Style of each label; by default in order.
    """
    known = look_of or looks(curve.label for _, curves in rows for curve in curves)
    with mpl.rc_context(PAPER):
        figure = Picture(figsize=(COLUMN_IN, 0.6 + 0.95 * len(rows)), layout="constrained")
        drawn = list(figure.subplots(len(rows), 1, sharex=True, squeeze=False).ravel())
        for axes, (axis, curves) in zip(drawn, rows, strict=True):
            for curve in curves:
                shown = known[curve.label]
                axes.plot(
                    curve.x, curve.y, color=shown.colour, linestyle=shown.dash, linewidth=0.9,
                    label=for_matplotlib(curve.label), rasterized=len(curve.x) > 20_000,
                )  # fmt: skip
            axes.set_ylabel(axis.label)
            axes.set_ylim(axis.low, axis.high)
        drawn[-1].set_xlabel("time (s)")
        drawn[-1].set_xlim(left=0)
        figure.align_ylabels(drawn)
        legend(figure, drawn, order=list(known))
    return figure


def _looks(curves: Mapping[str, Sequence[Curve]]) -> dict[str, Look]:
    return looks(curve.label for panel in curves.values() for curve in panel)
