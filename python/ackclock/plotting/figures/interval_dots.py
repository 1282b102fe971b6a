"""Dot plots: a mean with its interval on a line for each item, for items without an order."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from matplotlib.axes import Axes

from ackclock.base.printable import for_matplotlib
from ackclock.plotting.figures.panel_grid import Axis, filled
from ackclock.plotting.figures.theme import Look, looks
from ackclock.plotting.notebook_figures import Picture


@dataclass(frozen=True, slots=True)
class Dot:
    """Mean with its interval.

    Attributes:
        label: Label of the line.
        look: Label whose style it has.
        value: The mean.
        half: Half width of its interval; None if unknown.
    """

    label: str
    look: str
    value: float
    half: float | None


def dots(groups: Mapping[str, Sequence[Dot]], x: Axis, look_of: Mapping[str, Look] | None = None) -> Picture:
    """Draw a line for each dot.

    Args:
        groups: Dots of each panel from above, by its title; all panels have the same lines.
        x: Horizontal axis.
        look_of: Style of each label; by default in order.
    """
    known = look_of or looks(dot.look for panel in groups.values() for dot in panel)
    lines = list(dict.fromkeys(dot.label for panel in groups.values() for dot in panel))

    def draw(axes: Axes, panel: Sequence[Dot]) -> None:
        for dot in panel:
            shown = known[dot.look]
            axes.errorbar(
                dot.value, lines.index(dot.label), xerr=dot.half, color=shown.colour, marker=shown.mark, capsize=1.8,
                elinewidth=0.9,
            )  # fmt: skip
        axes.set_yticks(range(len(lines)), [for_matplotlib(line) for line in lines])

    figure, (first, *_) = filled(groups, x, Axis(""), draw, 0.35 + 0.15 * len(lines), 0.55 + 0.17 * len(lines))
    first.set_ylim(len(lines) - 0.5, -0.5)
    return figure
