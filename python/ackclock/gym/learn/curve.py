"""Learning curve of a training, as a table and as a picture."""

from io import BytesIO
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ackclock.plotting.figures.theme import COLOURS
from ackclock.results import parquet

if TYPE_CHECKING:
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
    from matplotlib.figure import Figure

    steps, _, decisions, returns = (np.array(column, float) for column in zip(*episodes, strict=True))
    paid = returns / np.maximum(decisions, 1)
    figure = Figure(figsize=(7, 3.6), layout="constrained")
    axes = figure.add_subplot()
    axes.plot(steps, paid, ".", color=COLOURS[0], alpha=0.35, markersize=4, label="episode")
    window = max(1, len(paid) // _SHARE)
    axes.plot(steps[window - 1 :], running_mean(paid, window), color=COLOURS[1], label=f"mean of {window}")
    axes.set(title=title, xlabel="decisions", ylabel="reward for a decision")
    axes.set_xlim(left=0)
    axes.grid(alpha=0.3)
    axes.legend(loc="lower right")
    buffer = BytesIO()
    figure.savefig(buffer, format="png", dpi=140, metadata={"Software": None})
    return buffer.getvalue()


def running_mean(values: NDArray[np.float64], window: int) -> NDArray[np.float64]:
    """Return the means of every `window` consecutive values.

    Args:
        values: At least `window` values.
        window: Number of values per mean.
    """
    return np.convolve(values, np.full(window, 1 / window), "valid")
