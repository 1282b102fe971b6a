"""Completion times over flow size: percentiles of the slowdown by size class, and their figure."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ackclock.base.printable import for_matplotlib
from ackclock.plotting.figures.theme import COLOURS
from ackclock.results import Results
from ackclock.results.run_labels import prefixes
from ackclock.stats.metrics import Floats

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as StaticFigure

CLASSES = 30
"""Largest number of size classes in a picture, each with the same number of flows."""

_LEAST = 20
"""Minimum number of flows in a class, for meaningful percentiles."""

PERCENTILES = ((50, "-"), (99, ":"))
"""Percentiles drawn, with their line styles."""

_X, _Y = "flow size (bytes)", "slowdown"


@dataclass(frozen=True, slots=True)
class SlowdownLine:
    """Slowdown of one group over flow size.

    Attributes:
        label: Run and group.
        size_bytes: Median size of each class.
        percentiles: Slowdown in each class, by percentile.
    """

    label: str
    size_bytes: Floats
    percentiles: dict[int, Floats]


def slowdown_by_size(
    size_bytes: NDArray[np.uint64], slowdown: Floats, classes: int = CLASSES
) -> tuple[Floats, dict[int, Floats]]:
    """Return percentiles of the slowdown in size classes with equal numbers of flows.

    Args:
        size_bytes: Size of each flow.
        slowdown: Slowdown of each flow: its completion time divided by that on an idle path.
        classes: Largest number of classes; fewer if a class would have less than 20 flows.

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
    """Return the lines of every group and connection with completed flows or requests."""
    lines = []
    for result, prefix in zip(results, prefixes(results), strict=True):
        for (name,), rows in result.completions.group_by("flow", maintain_order=True):
            sizes, found = slowdown_by_size(rows["size_bytes"].to_numpy(), rows["slowdown"].to_numpy())
            lines.append(SlowdownLine(f"{prefix}{name}", sizes, found))
    return lines


def static(lines: list[SlowdownLine]) -> "StaticFigure":
    """Return the lines as a column-wide Matplotlib figure."""
    from ackclock.plotting.figures.panel_grid import Axis, filled

    def draw(axes: "Axes", _: object) -> None:
        for number, line in enumerate(lines):
            look: dict[str, Any] = {"color": COLOURS[number % len(COLOURS)], "marker": ".", "markersize": 3}
            for percentile, dash in PERCENTILES:
                label = for_matplotlib(f"{line.label} p{percentile}")
                axes.plot(line.size_bytes, line.percentiles[percentile], linestyle=dash, label=label, **look)

    return filled({"": lines}, Axis(_X, is_log=True), Axis(_Y, is_log=True), draw)[0]
