"""Panels of a figure: at most two beside each other in a column of a paper, one legend above all of them."""

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
"""More are not legible in one figure of a column's width."""

Content = TypeVar("Content")

_BESIDE: Final = 2
_LEGEND_CHARACTERS: Final = 56
"""What fits beside each other above a figure of a column's width, in the legend's font."""


@dataclass(frozen=True, slots=True)
class Axis:
    """An axis: what is on it, and how.

    Attributes:
        label: With the unit.
        is_log: Whether it is logarithmic.
        low: Where it begins; None leaves it to the data.
        high: Where it ends.
    """

    label: str
    is_log: bool = False
    low: float | None = None
    high: float | None = None


def filled(
    content: Mapping[str, Content],
    x: Axis,
    y: Axis,
    draw: Callable[[Axes, Content], None],
    height_in: float = 1.5,
    alone_in: float = 2.1,
) -> tuple[Picture, list[Axes]]:
    """Return a figure with a panel for each content, titles, labels and the legend of all.

    Args:
        content: Of each panel, by its title.
        x: The horizontal axis of all.
        y: The vertical one.
        draw: Draws a content into its panel.
        height_in: Of each row of panels, inches.
        alone_in: Of a single panel, inches.
    """
    figure, drawn = panels(len(content), height_in, alone_in)
    with mpl.rc_context(PAPER):
        for axes, one in zip(drawn, content.values(), strict=True):
            draw(axes, one)
        label(figure, drawn, list(content), x, y)
        legend(figure, drawn)
    return figure, drawn


def panels(count: int, height_in: float = 1.5, alone_in: float = 2.1) -> tuple[Picture, list[Axes]]:
    """Return a figure of a column's width with so many panels of the same axes, at most `MOST_PANELS`.

    Args:
        count: Of panels.
        height_in: Of each row of panels, inches.
        alone_in: Of a single panel, inches.
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
    """Write titles and labels, and set how the axes are."""
    for axes, title in zip(drawn, titles, strict=True):
        if title:
            axes.set_title(_folded(for_matplotlib(title)))
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
    """Numbers as people write them; between powers of ten only where there is room."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    for axes in drawn:
        axis = getattr(axes, f"{name}axis")
        low, high = axis.get_view_interval()
        decades = (high / low) if low > 0 else 1e9
        axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0) if decades < 40 else (1.0,)))
        axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.9g}"))
        axis.set_minor_formatter(NullFormatter())


def _folded(text: str) -> str:
    """A title on two lines where it is too long for a panel."""
    if len(text) <= 26 or ", " not in text:
        return text
    parts = text.split(", ")
    half = min(range(1, len(parts)), key=lambda at: abs(len(", ".join(parts[:at])) - len(text) / 2))
    return ", ".join(parts[:half]) + ",\n" + ", ".join(parts[half:])


def legend(figure: Picture, drawn: Sequence[Axes], order: Sequence[str] = ()) -> None:
    """Put one legend of all panels above them, each label once.

    Args:
        figure: As of `panels`.
        drawn: Its panels.
        order: Of the labels; else that in which they were drawn.
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
    longest = max(map(len, labels)) + 6  # the handle and the gap to the next column
    return max(1, min(len(labels), 4, _LEGEND_CHARACTERS // longest))
