"""Theme of all figures: colours, markers, sizes, fonts. It imports nothing heavy.

The colours are those of Okabe and Ito (2008) with two more, distinguishable with colour blindness. Each comes with a
marker and a dash pattern, for readers of grey print. A column is 3.3 inches wide, which fits the two-column formats of
ACM and IEEE (3.33 and 3.5 in, from memory). PDF files embed fonts as Type 42 (TrueType), since submission checkers
refuse Type 3.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final

COLOURS: Final = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#7f7f7f", "#8c564b")
"""Colours, distinguishable with colour blindness."""

MARKS: Final = ("o", "s", "^", "D", "v", "P", "X", "<")
"""Matplotlib markers, one per colour."""

DASHES: Final[tuple[Any, ...]] = ("-", (0, (5, 1.2)), (0, (2.4, 1.0)), (0, (5, 1, 1, 1)))
"""Matplotlib dash patterns: solid, then those used once the colours are exhausted."""

INK: Final = "#1b1b1b"
FAINT: Final = "#e2e2e2"

COLUMN_IN: Final = 3.3
"""Width of a column of a paper, inches."""

PAGE_IN: Final = 6.9
"""Width of both columns, inches."""

_FONTS: dict[str, Any] = {
    "font.family": "DejaVu Sans",
    "pdf.fonttype": 42,
    "ps.fonttype": 42,
    "svg.fonttype": "none",  # text stays text
    "svg.hashsalt": "ackclock",  # the same drawing gives the same bytes
}

_FRAME: dict[str, Any] = {
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "axes.titlelocation": "left",
    "grid.color": FAINT,
    "axes.edgecolor": "#888888",
    "legend.frameon": False,
}

PAPER: Final[dict[Any, Any]] = (
    _FONTS
    | _FRAME
    | {
        "font.size": 7.5,
        "axes.titlesize": 7.5,
        "axes.labelsize": 7.5,
        "xtick.labelsize": 7,
        "ytick.labelsize": 7,
        "legend.fontsize": 7,
        "legend.handlelength": 3.0,
        "legend.columnspacing": 1.2,
        "legend.handletextpad": 0.5,
        "grid.linewidth": 0.5,
        "axes.linewidth": 0.6,
        "lines.linewidth": 1.1,
        "lines.markersize": 3.5,
        "xtick.major.width": 0.6,
        "ytick.major.width": 0.6,
    }
)
"""Matplotlib settings for a column of a paper, unscaled: the text is legible at its printed size."""

PAGE: Final[dict[Any, Any]] = _FONTS | _FRAME | {"font.size": 10, "axes.titlesize": 10, "grid.linewidth": 0.8}
"""Matplotlib settings for a figure as wide as an HTML page."""


@dataclass(frozen=True, slots=True)
class Look:
    """Style of one item, the same in every figure.

    Attributes:
        colour: Colour in hexadecimal digits.
        mark: Matplotlib marker.
        dash: Matplotlib dash pattern.
    """

    colour: str
    mark: str
    dash: Any


def look(place: int) -> Look:
    """Return the style for an index.

    Args:
        place: Index, from 0 on. Colours repeat after eight; marker and dash pattern differ then.

    Examples:
        >>> look(0).colour, look(8).colour == look(0).colour, look(8).dash == look(0).dash
        ('#0072b2', True, False)
    """
    around, rest = divmod(place, len(COLOURS))
    return Look(COLOURS[rest], MARKS[(rest + 3 * around) % len(MARKS)], DASHES[around % len(DASHES)])


def looks(labels: Iterable[str]) -> dict[str, Look]:
    """Return a style for each label, in order.

    Args:
        labels: Labels, such as names of controllers; repetitions do not count.
    """
    return {label: look(place) for place, label in enumerate(dict.fromkeys(labels))}
