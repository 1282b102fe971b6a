"""Means with intervals of things without an order: a dot and a bar of its interval on a line for each."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import matplotlib as mpl

from ackclock.base.printable import for_matplotlib
from ackclock.plotting.figures.panel_grid import Axis, label, panels
from ackclock.plotting.figures.theme import PAPER, Look, looks
from ackclock.plotting.notebook_figures import Picture


@dataclass(frozen=True, slots=True)
class Dot:
    """A mean.

    Attributes:
        label: On its line.
        look: Label whose look it has.
        value: The mean.
        half: Half width of its interval; None if it is unknown.
    """

    label: str
    look: str
    value: float
    half: float | None


def dots(groups: Mapping[str, Sequence[Dot]], x: Axis, look_of: Mapping[str, Look] | None = None) -> Picture:
    """Draw a line for each dot.

    Args:
        groups: Of each panel, by its title: dots from above, the same lines in each.
        x: What is measured.
        look_of: Of each look; else by their order.
    """
    known = look_of or looks(dot.look for panel in groups.values() for dot in panel)
    lines = list(dict.fromkeys(dot.label for panel in groups.values() for dot in panel))
    row = 0.35 + 0.15 * len(lines)
    figure, drawn = panels(len(groups), height_in=row, alone_in=0.55 + 0.17 * len(lines))
    with mpl.rc_context(PAPER):
        for axes, panel in zip(drawn, groups.values(), strict=True):
            for dot in panel:
                shown = known[dot.look]
                axes.errorbar(
                    dot.value, lines.index(dot.label), xerr=dot.half, color=shown.colour, marker=shown.mark,
                    capsize=1.8, elinewidth=0.9,
                )  # fmt: skip
            axes.set_yticks(range(len(lines)), [for_matplotlib(line) for line in lines])
        label(figure, drawn, list(groups), x, Axis(""))
        drawn[0].set_ylim(len(lines) - 0.5, -0.5)
    return figure
