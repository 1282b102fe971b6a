"""Matrices of shares between controllers, with the shares as numbers and colours."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from matplotlib.axes import Axes

from ackclock.base.printable import for_matplotlib
from ackclock.plotting.figures.panel_grid import Axis, filled
from ackclock.plotting.figures.theme import INK
from ackclock.plotting.notebook_figures import Picture


@dataclass(frozen=True, slots=True)
class Shares:
    """Square table of percentages.

    Attributes:
        names: Names of the rows and columns.
        values: Share of each row's item beside each column's; None without such a run.
        halves: Half widths of the intervals; None where unknown.
    """

    names: Sequence[str]
    values: Sequence[Sequence[float | None]]
    halves: Sequence[Sequence[float | None]]


def matrix(tables: Mapping[str, Shares]) -> Picture:
    """Draw tables of shares: 50 % white, larger shares blue, smaller ones red.

    Args:
        tables: Tables, by title.
    """
    size = max(len(table.names) for table in tables.values())
    draw = partial(_table, is_alone=len(tables) == 1)
    axes = Axis("competitor"), Axis("controller, share (%)")
    figure, (first, *_) = filled(tables, *axes, draw, 0.55 + 0.26 * size, 0.85 + 0.32 * size)
    first.set_ylim(size - 0.5, -0.5)
    return figure


def _table(axes: Axes, table: Shares, *, is_alone: bool) -> None:
    from numpy import array, nan

    shown = array([[nan if value is None else value for value in row] for row in table.values], dtype=float)
    axes.imshow(shown, cmap="RdBu", vmin=0, vmax=100, alpha=0.75, aspect="auto")
    names = [for_matplotlib(name) for name in table.names]
    longest = max(map(len, names))
    turned = longest * len(names) > (44 if is_alone else 17)
    axes.set_xticks(range(len(names)), names, rotation=40 if turned else 0, ha="right" if turned else "center")
    axes.set_yticks(range(len(names)), names)
    axes.grid(visible=False)
    axes.tick_params(length=0, pad=2)
    axes.spines[:].set_visible(False)
    room = is_alone or len(names) <= 2
    for y, (row, halves) in enumerate(zip(table.values, table.halves, strict=True)):
        for x, (value, half) in enumerate(zip(row, halves, strict=True)):
            if value is None:
                continue
            text = f"{value:.0f}" + (f" ±{_half(half)}" if half is not None and room else "")
            ink = "white" if not 18 < value < 82 else INK
            axes.text(x, y, text, ha="center", va="center", fontsize=6.5, color=ink)


def _half(half: float) -> str:
    """Return half of an interval; one below 1 keeps a decimal, as it is not zero."""
    return f"{half:.0f}" if half >= 0.95 or half == 0 else f"{half:.1f}" if half >= 0.05 else "<0.1"
