"""Grid of panels: at most two side by side in a column of a paper, with one legend above all."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeVar

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.layout_engine import ConstrainedLayoutEngine

from ackclock.base.printable import for_matplotlib
from ackclock.plotting.figures.theme import COLUMN_IN, PAPER
from ackclock.plotting.notebook_figures import Picture

MOST_PANELS: Final = 6
"""Largest number of panels that are legible in one column-wide figure."""

Content = TypeVar("Content")

_BESIDE: Final = 2
_LEGEND_CHARACTERS: Final = 56
"""Number of characters that fit side by side above a column-wide figure, in the legend's font."""


@dataclass(frozen=True, slots=True)
class Axis:
    """Label, scale and limits of an axis.

    Attributes:
        label: Label with unit.
        is_log: Whether it is logarithmic.
        low: Lower end; None derives it from the data.
        high: Upper end; None derives it from the data.
        reference: Value with a line across, such as a fair share; None draws none.
    """

    label: str
    is_log: bool = False
    low: float | None = None
    high: float | None = None
    reference: float | None = None


def filled(
    content: Mapping[str, Content],
    x: Axis,
    y: Axis,
    draw: Callable[[Axes, Content], None],
    height_in: float = 1.5,
    alone_in: float = 2.1,
) -> tuple[Picture, list[Axes]]:
    """Return a figure with a panel for each content, with titles, labels and a common legend.

    Args:
        content: Content of each panel, by its title.
        x: Horizontal axis of all panels.
        y: Vertical axis of all panels.
        draw: Function that draws a content into its panel.
        height_in: Height of each row of panels, inches.
        alone_in: Height of a single panel, inches.
    """
    figure, drawn = panels(len(content), height_in, alone_in)
    with mpl.rc_context(PAPER):
        for axes, one in zip(drawn, content.values(), strict=True):
            draw(axes, one)
        label(figure, drawn, list(content), x, y)
        legend(figure, drawn)
    return figure, drawn


def panels(count: int, height_in: float = 1.5, alone_in: float = 2.1) -> tuple[Picture, list[Axes]]:
    """Return a column-wide figure with this number of panels with common axes, at most `MOST_PANELS`.

    Args:
        count: Number of panels.
        height_in: Height of each row of panels, inches.
        alone_in: Height of a single panel, inches.
    """
    rows = -(-count // _BESIDE)
    height = alone_in if count == 1 else 0.55 + height_in * rows
    with mpl.rc_context(PAPER):
        # Panels close together: a column has no room to give away.
        layout = ConstrainedLayoutEngine(w_pad=0.03, h_pad=0.03, wspace=0.02, hspace=0.02)
        figure = Picture(figsize=(COLUMN_IN, height), layout=layout)
        grid = figure.subplots(rows, min(count, _BESIDE), sharex=True, sharey=True, squeeze=False).ravel()
        for axes in grid[count:]:
            axes.set_visible(False)
        for place, axes in enumerate(grid[:count]):
            if place + _BESIDE >= count:  # nothing is below it
                axes.xaxis.set_tick_params(labelbottom=True)
    return figure, list(grid[:count])


def label(figure: Picture, drawn: Sequence[Axes], titles: Sequence[str], x: Axis, y: Axis) -> None:
    """Write titles and labels, and apply the settings of the axes."""
    for axes, title in zip(drawn, titles, strict=True):
        if title:
            axes.set_title(_folded(for_matplotlib(title)))
    if y.reference is not None:
        for axes in drawn:
            axes.axhline(y.reference, color="#777777", linestyle=":", linewidth=0.9, zorder=1)
    first, below, beside = drawn[0], for_matplotlib(x.label), for_matplotlib(y.label)
    for axis, name in ((x, "x"), (y, "y")):
        if axis.is_log:
            getattr(first, f"set_{name}scale")("log")
            _plain_ticks(drawn, name)
        getattr(first, f"set_{name}lim")(axis.low, axis.high)
    if len(drawn) == 1:
        first.set(xlabel=below, ylabel=beside)
    else:
        figure.supxlabel(below, fontsize=7.5)
        figure.supylabel(beside, fontsize=7.5)


def _plain_ticks(drawn: Sequence[Axes], name: str) -> None:
    """Format ticks as plain numbers; between powers of ten only where there is room."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    for axes in drawn:
        axis = getattr(axes, f"{name}axis")
        low, high = axis.get_view_interval()
        decades = (high / low) if low > 0 else 1e9
        axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0) if decades < 40 else (1.0,)))
        axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.9g}"))
        axis.set_minor_formatter(NullFormatter())


def _folded(text: str) -> str:
    """Break a title into two lines if it is too long for a panel."""
    if len(text) <= 26 or ", " not in text:
        return text
    parts = text.split(", ")
    half = min(range(1, len(parts)), key=lambda at: abs(len(", ".join(parts[:at])) - len(text) / 2))
    return ", ".join(parts[:half]) + ",\n" + ", ".join(parts[half:])


def legend(figure: Picture, drawn: Sequence[Axes], order: Sequence[str] = ()) -> None:
    """Add one legend above all panels, with each label once.

    Args:
        figure: The figure.
        drawn: Its panels.
        order: Order of the labels; by default that of drawing.
    """
    found: dict[str, Any] = {}
    for axes in drawn:
        for handle, text in zip(*axes.get_legend_handles_labels(), strict=True):
            found.setdefault(text, handle)
    rank = {for_matplotlib(label): place for place, label in enumerate(order)}
    found = dict(sorted(found.items(), key=lambda item: rank.get(item[0], len(rank))))
    if found:
        figure.legend(
            list(found.values()), list(found), loc="outside upper left", ncols=_columns(list(found)), borderpad=0.1
        )


def _columns(labels: Sequence[str]) -> int:
    longest = max(map(len, labels)) + 8  # the handle and the gap to the next column
    return max(1, min(len(labels), 4, _LEGEND_CHARACTERS // longest))
