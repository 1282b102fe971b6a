"""Completion times over flow size: percentiles of the slowdown in classes of size, and their picture."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ackclock.base.printable import for_matplotlib
from ackclock.plotting.figures.theme import COLOURS, COLUMN_IN, PAPER
from ackclock.plotting.result_panels import run_label
from ackclock.results import Results
from ackclock.stats.metrics import Floats

if TYPE_CHECKING:
    from matplotlib.figure import Figure as StaticFigure

CLASSES = 30
"""Largest number of size classes in a picture, each with the same number of flows."""

_LEAST = 20
"""Flows that a class has at least, so that its percentiles mean something."""

PERCENTILES = ((50, "-"), (99, ":"))
"""Percentiles that are drawn, with their line style."""

_X, _Y = "flow size (bytes)", "completion time / that on an empty path"


@dataclass(frozen=True, slots=True)
class SlowdownLine:
    """The slowdown of one group over size.

    Attributes:
        label: Run and group.
        size_bytes: Median size of each class.
        percentiles: Of the slowdown in each class, by percentile.
    """

    label: str
    size_bytes: Floats
    percentiles: dict[int, Floats]


def slowdown_by_size(
    size_bytes: NDArray[np.uint64], slowdown: Floats, classes: int = CLASSES
) -> tuple[Floats, dict[int, Floats]]:
    """Take percentiles of the slowdown in classes of size that have equally many flows.

    Args:
        size_bytes: Size of each flow.
        slowdown: Its completion time over that on an empty path.
        classes: How many classes, at most; fewer if a class would have less than 20 flows.

    Returns:
        The median size of each class, and for each percentile the slowdown in each class.

    Examples:
        >>> sizes, found = slowdown_by_size(np.arange(1, 41), np.linspace(1, 40, 40), classes=2)
        >>> sizes, found[50]
        (array([10.5, 30.5]), array([10.5, 30.5]))
    """
    order = np.argsort(size_bytes, kind="stable")
    count = max(1, min(classes, len(order) // _LEAST))
    parts = np.array_split(order, count) if len(order) else []
    sizes = np.array([np.median(size_bytes[part]) for part in parts])
    found = {p: np.array([np.percentile(slowdown[part], p) for part in parts]) for p, _ in PERCENTILES}
    return sizes, found


def slowdown_lines(results: list[Results]) -> list[SlowdownLine]:
    """Return the lines of every group and connection whose flows or requests were completed."""
    lines = []
    for position, result in enumerate(results):
        prefix = f"{run_label(results, position)}: " if len(results) > 1 else ""
        for (name,), rows in result.completions.group_by("flow", maintain_order=True):
            sizes, found = slowdown_by_size(rows["size_bytes"].to_numpy(), rows["slowdown"].to_numpy())
            lines.append(SlowdownLine(f"{prefix}{name}", sizes, found))
    return lines


def static(lines: list[SlowdownLine]) -> "StaticFigure":
    """Return the lines as a Matplotlib figure, as wide as a column of a paper."""
    import matplotlib as mpl

    with mpl.rc_context(PAPER):
        return _static(lines)


def _static(lines: list[SlowdownLine]) -> "StaticFigure":
    from ackclock.plotting.notebook_figures import Picture

    shown = Picture(figsize=(COLUMN_IN, 2.1), layout="constrained")
    axes = shown.add_subplot()
    for number, line in enumerate(lines):
        for percentile, style in PERCENTILES:
            axes.plot(
                line.size_bytes,
                line.percentiles[percentile],
                color=COLOURS[number % len(COLOURS)],
                linestyle=style,
                marker=".",
                markersize=3,
                linewidth=1.1,
                label=for_matplotlib(f"{line.label} p{percentile}"),
            )
    axes.set(xlabel=_X, ylabel=_Y, xscale="log", yscale="log")
    if lines:
        shown.legend(loc="outside upper left", ncols=2)
    return shown
