"""The learning curve, as a table and as a picture."""

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ackclock.plotting.figures import encode
from ackclock.plotting.figures.theme import COLOURS
from ackclock.results import parquet

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ackclock.gym.learn.checkpoint import Curve

_SHARE = 20
"""The mean goes over so many-th of all episodes."""


def table(episodes: "Curve") -> bytes:
    """Return the episodes as a Parquet file.

    Args:
        episodes: In the order in which they ended.
    """
    import polars as pl

    columns = {"steps": pl.Int64, "lane": pl.Int64, "decisions": pl.Int64, "return": pl.Float64}
    return parquet(pl.DataFrame(episodes, schema=columns, orient="row"))


def picture(episodes: "Curve", title: str) -> bytes:
    """Draw what a decision was paid in each episode, and the running mean.

    Args:
        episodes: At least one.
        title: Above the picture.

    Returns:
        A PNG file.
    """
    from ackclock.plotting.figures.panel_grid import Axis, filled

    steps, _, decisions, returns = (np.array(column, float) for column in zip(*episodes, strict=True))
    paid = returns / np.maximum(decisions, 1)
    window = max(1, len(paid) // _SHARE)

    def draw(axes: "Axes", _: object) -> None:
        axes.plot(steps, paid, ".", color=COLOURS[0], alpha=0.35, label="episode")
        axes.plot(steps[window - 1 :], running_mean(paid, window), color=COLOURS[1], label=f"mean of {window}")

    figure, _ = filled({title: None}, Axis("decisions", low=0), Axis("reward for a decision"), draw)
    return encode(figure, "png")


def running_mean(values: NDArray[np.float64], window: int) -> NDArray[np.float64]:
    """Return the means of every `window` values that follow each other.

    Args:
        values: At least `window` of them.
        window: How many.
    """
    return np.convolve(values, np.full(window, 1 / window), "valid")
