"""Figures of Matplotlib that a notebook shows, whatever backend it has."""

from io import BytesIO

from ackclock.base import extras

extras.require("report")

from matplotlib.figure import Figure

_PIXELS = 2
"""Of a screen of high resolution, in place of one."""


_COLUMN_IN, _LARGER = 5.0, 1.6
"""What is as narrow as a column of a paper is shown so much larger on a screen."""


class Picture(Figure):
    """A figure that stands by itself, without pyplot; at the end of a notebook's cell it is shown as a picture."""

    def _repr_png_(self) -> tuple[bytes, dict[str, int]]:
        """Return the picture for IPython, twice as fine as it is large, and the size to show it in."""
        content = BytesIO()
        inches = self.get_size_inches()
        scale = self.dpi * (_LARGER if inches[0] < _COLUMN_IN else 1.0)
        self.savefig(content, format="png", dpi=_PIXELS * scale)
        width, height = inches * scale
        return content.getvalue(), {"width": round(width), "height": round(height)}
