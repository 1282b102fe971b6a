"""Figures for papers and pages: one theme, one width, and the common forms of comparing controllers.

    from ackclock import figures

    clouds = {"": [figures.Cloud("cubic", delays_ms, goodputs_mbps), ...]}
    figure = figures.scatter(clouds, figures.Axis("queueing delay (ms)"), figures.Axis("goodput (Mbit/s)"))
    figures.save(figure, Path("trade.pdf"))

They take plain numbers, so they can draw measurements of any origin; `ackclock study` uses them for all its figures.
"""

from importlib import import_module as _import_module
from typing import TYPE_CHECKING

from ackclock.base import extras
from ackclock.plotting.figures.figure_files import FORMS, encode, save
from ackclock.plotting.figures.theme import COLUMN_IN, Look, look, looks

if TYPE_CHECKING:
    from ackclock.plotting.figures.curves import Curve as Curve
    from ackclock.plotting.figures.curves import bands as bands
    from ackclock.plotting.figures.curves import distributions as distributions
    from ackclock.plotting.figures.curves import over as over
    from ackclock.plotting.figures.curves import series as series
    from ackclock.plotting.figures.interval_dots import Dot as Dot
    from ackclock.plotting.figures.interval_dots import dots as dots
    from ackclock.plotting.figures.matrices import Shares as Shares
    from ackclock.plotting.figures.matrices import matrix as matrix
    from ackclock.plotting.figures.panel_grid import Axis as Axis
    from ackclock.plotting.figures.planes import Cloud as Cloud
    from ackclock.plotting.figures.planes import scatter as scatter
    from ackclock.plotting.figures.planes import spread as spread
    from ackclock.stats.metrics import distribution as distribution

_DRAWN = {
    "panel_grid": ("Axis",),
    "planes": ("Cloud", "scatter", "spread"),
    "curves": ("Curve", "bands", "distribution", "distributions", "over", "series"),
    "matrices": ("Shares", "matrix"),
    "interval_dots": ("Dot", "dots"),
}
"""Names that are loaded, with Matplotlib, on first use."""

__all__ = ["COLUMN_IN", "FORMS", "Look", "encode", "look", "looks", "save"]


def __getattr__(name: str) -> object:
    """Load a drawing function on first use."""
    for module, names in _DRAWN.items():
        if name in names:
            extras.require("report")
            return getattr(_import_module(f"{__name__}.{module}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
