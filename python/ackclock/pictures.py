"""Figures of Matplotlib that a notebook shows, whatever backend it has."""

from io import BytesIO

from matplotlib.figure import Figure

_PIXELS = 2
"""Of a screen of high resolution, in place of one."""


class Picture(Figure):
    """A figure that stands by itself, without pyplot; at the end of a notebook's cell it is shown as a picture."""

    def _repr_png_(self) -> tuple[bytes, dict[str, int]]:
        """Return the picture for IPython, twice as fine as it is large, and the size to show it in."""
        content = BytesIO()
        self.savefig(content, format="png", dpi=_PIXELS * self.dpi)
        width, height = self.get_size_inches() * self.dpi
        return content.getvalue(), {"width": round(width), "height": round(height)}
