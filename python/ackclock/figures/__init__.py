"""Figures for papers and pages: one theme, one width, and the forms that comparisons of controllers are drawn in.

    from ackclock import figures

    clouds = {"": [figures.Cloud("cubic", delays_ms, goodputs_mbps), ...]}
    figure = figures.scatter(clouds, figures.Axis("queueing delay (ms)"), figures.Axis("goodput (Mbit/s)"))
    figures.save(figure, Path("trade.pdf"))

They take plain numbers, and so draw measurements of any origin; `ackclock study` draws all that it ends with by them.
"""

from importlib import import_module as _import_module
from typing import TYPE_CHECKING

from ackclock import extras
from ackclock.figures.files import FORMS, encode, save
from ackclock.figures.theme import COLUMN_IN, Look, look, looks

if TYPE_CHECKING:
    from ackclock.figures.curves import Curve as Curve
    from ackclock.figures.curves import bands as bands
    from ackclock.figures.curves import distribution as distribution
    from ackclock.figures.curves import distributions as distributions
    from ackclock.figures.curves import over as over
    from ackclock.figures.curves import series as series
    from ackclock.figures.grid import Axis as Axis
    from ackclock.figures.intervals import Dot as Dot
    from ackclock.figures.intervals import dots as dots
    from ackclock.figures.matrices import Shares as Shares
    from ackclock.figures.matrices import matrix as matrix
    from ackclock.figures.planes import Cloud as Cloud
    from ackclock.figures.planes import scatter as scatter
    from ackclock.figures.planes import spread as spread

_DRAWN = {
    "Axis": "grid",
    "Cloud": "planes",
    "scatter": "planes",
    "spread": "planes",
    "Curve": "curves",
    "bands": "curves",
    "distribution": "curves",
    "distributions": "curves",
    "over": "curves",
    "series": "curves",
    "Shares": "matrices",
    "matrix": "matrices",
    "Dot": "intervals",
    "dots": "intervals",
}
"""What is loaded, with Matplotlib, when it is first asked for."""

__all__ = ["COLUMN_IN", "FORMS", "Look", "encode", "look", "looks", "save"]


def __getattr__(name: str) -> object:
    """Load what draws when it is used."""
    if name in _DRAWN:
        extras.require("report")
        return getattr(_import_module(f"{__name__}.{_DRAWN[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
