"""Learning curve of a training, as a table and as a picture."""

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
"""Divisor of the number of episodes that gives the window of the running mean."""


def table(episodes: "Curve") -> bytes:
    """Return the episodes as a Parquet file.

    Args:
        episodes: Episodes, in the order in which they ended.
    """
    import polars as pl

    columns = {"steps": pl.Int64, "lane": pl.Int64, "decisions": pl.Int64, "return": pl.Float64}
    return parquet(pl.DataFrame(episodes, schema=columns, orient="row"))


def picture(episodes: "Curve", title: str) -> bytes:
    """Plot the mean reward per decision of each episode, with a running mean.

    Args:
        episodes: At least one episode.
        title: Title of the picture.

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
    """Return the means of every `window` consecutive values.

    Args:
        values: At least `window` values.
        window: Number of values per mean.
    """
    return np.convolve(values, np.full(window, 1 / window), "valid")
