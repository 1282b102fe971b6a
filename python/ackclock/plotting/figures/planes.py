"""Scatter plots of throughput over delay: a point for each run, the mean, and an ellipse of one standard deviation.

The form is that of the literature on delay-based control (Winstein and Balakrishnan, SIGCOMM 2013: better is up and to
the right, delay grows to the left), from memory. The ellipse follows the eigenvectors of the sample's covariance, with
half axes of one standard deviation along each; for a normal distribution it contains 39 % of the runs. It needs three
runs. On a logarithmic axis, mean and covariance are those of the logarithms.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes

from ackclock.base.printable import for_matplotlib
from ackclock.plotting.figures.panel_grid import Axis, filled
from ackclock.plotting.figures.theme import PAPER, Look, looks
from ackclock.plotting.notebook_figures import Picture
from ackclock.stats.metrics import Floats


@dataclass(frozen=True, slots=True)
class Cloud:
    """Runs of one item.

    Attributes:
        label: Label in the legend.
        x: Horizontal value of each run.
        y: Vertical value of each run.
    """

    label: str
    x: Sequence[float]
    y: Sequence[float]


@dataclass(frozen=True, slots=True)
class Spread:
    """Ellipse: centre, half axes, and the angle of the first against the horizontal, degrees."""

    centre: tuple[float, float]
    half_axes: tuple[float, float]
    angle: float


def spread(x: Sequence[float] | Floats, y: Sequence[float]) -> Spread | None:
    """Return the ellipse of one standard deviation of a sample.

    Returns:
        None for fewer than three values.

    Examples:
        >>> found = spread([1.0, 3.0, 5.0], [2.0, 2.0, 2.0])
        >>> found.centre, found.half_axes
        ((3.0, 2.0), (2.0, 0.0))
    """
    if len(x) < 3:
        return None
    values, vectors = np.linalg.eigh(np.cov(x, y, ddof=1))
    first, second = np.sqrt(np.clip(values[::-1], 0.0, None))
    angle = float(np.degrees(np.arctan2(vectors[1, 1], vectors[0, 1])))
    return Spread((float(np.mean(x)), float(np.mean(y))), (float(first), float(second)), angle)


def outline(found: Spread) -> tuple[Floats, Floats]:
    """Return points around an ellipse, horizontal and vertical."""
    turn, angle = np.linspace(0.0, 2 * np.pi, 73), np.radians(found.angle)
    along, across = found.half_axes[0] * np.cos(turn), found.half_axes[1] * np.sin(turn)
    return (
        found.centre[0] + along * np.cos(angle) - across * np.sin(angle),
        found.centre[1] + along * np.sin(angle) + across * np.cos(angle),
    )


def scatter(
    clouds: Mapping[str, Sequence[Cloud]],
    x: Axis,
    y: Axis,
    look_of: Mapping[str, Look] | None = None,
    *,
    better_left: bool = True,
) -> Picture:
    """Draw clouds of runs.

    Args:
        clouds: Clouds of each panel, by its title.
        x: Axis of the cost, such as delay.
        y: Axis of the gain, such as throughput.
        look_of: Style of each label; by default in order.
        better_left: Reverse the horizontal axis, so that better is to the right.
    """
    known = look_of or looks(cloud.label for panel in clouds.values() for cloud in panel)

    def draw(axes: Axes, panel: Sequence[Cloud]) -> None:
        for cloud in panel:
            _cloud(axes, cloud, known[cloud.label], is_log=x.is_log)

    figure, (first, *_) = filled(clouds, x, y, draw)
    if better_left:
        first.invert_xaxis()
    with mpl.rc_context(PAPER):
        first.annotate(
            "better", (0.97, 0.95), xytext=(0.74, 0.78), xycoords="axes fraction", textcoords="axes fraction",
            ha="center", fontsize=6.5, color="#666666", arrowprops={"arrowstyle": "->", "color": "#999999", "lw": 0.7},
        )  # fmt: skip
    return figure


def _cloud(axes: Axes, cloud: Cloud, shown: Look, *, is_log: bool) -> None:
    axes.plot(cloud.x, cloud.y, ".", color=shown.colour, markersize=2.5, alpha=0.45)
    places = np.log(cloud.x) if is_log else np.asarray(cloud.x, dtype=float)
    found = spread(places, cloud.y)
    if found:
        x, y = outline(found)
        shape: dict[str, Any] = {"facecolor": shown.colour, "alpha": 0.16, "linewidth": 0}
        axes.fill(np.exp(x) if is_log else x, y, **shape)
    middle = float(np.mean(places))
    mean = (float(np.exp(middle)) if is_log else middle, float(np.mean(cloud.y)))
    axes.plot(*mean, shown.mark, color=shown.colour, markersize=5, label=for_matplotlib(cloud.label))
