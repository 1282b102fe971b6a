"""Matplotlib figures that a notebook shows, whatever its backend."""

from io import BytesIO

from ackclock.base import extras

extras.require("report")

from matplotlib.figure import Figure

_PIXELS = 2
"""Scale factor of pixels, for high-resolution screens."""


_COLUMN_IN, _LARGER = 5.0, 1.6
"""Width up to which a figure counts as column-wide, inches; and the factor by which it is enlarged on a screen."""


class Picture(Figure):
    """Figure without pyplot; at the end of a notebook cell it is shown as a picture."""

    def _repr_png_(self) -> tuple[bytes, dict[str, int]]:
        """Return the picture for IPython, at double resolution, and its display size."""
        content = BytesIO()
        inches = self.get_size_inches()
        scale = self.dpi * (_LARGER if inches[0] < _COLUMN_IN else 1.0)
        self.savefig(content, format="png", dpi=_PIXELS * scale)
        width, height = inches * scale
        return content.getvalue(), {"width": round(width), "height": round(height)}
