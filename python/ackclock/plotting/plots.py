"""Figures of results for papers and notebooks, by Matplotlib; `ackclock report` writes the interactive page."""

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal

from ackclock.base import extras
from ackclock.base.printable import for_matplotlib
from ackclock.plotting import completion_times
from ackclock.plotting.figures.figure_files import save
from ackclock.plotting.figures.theme import look
from ackclock.plotting.result_panels import PANELS, Drawing, Line, draw, panel
from ackclock.results import Results

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as StaticFigure

SeriesName = Literal[
    "cwnd", "flight_size", "goodput", "throughput", "rtt", "rttvar", "rto", "rwnd", "ack_ratio", "queue", "queue_bytes",
    "drops", "marks", "queue_delay", "drop_probability", "average_queue", "link_throughput", "in_socket",
    "added_latency", "far_cwnd", "media_rate", "media_delay", "media_queue", "slowdown",
]  # fmt: skip
"""Names of the panels; each needs the corresponding series in the results."""

_STATIC: Final = ("svg", "png")
"""Formats of static figures."""

SLOWDOWN: Final = "slowdown"
"""Name of the only plot that is not over time."""

_COUNTED: Final = ("packets",)
"""Units that are counted in whole numbers."""

_MEAN_COLOUR = "#111111"


def figure(results: Results | list[Results], series: SeriesName = "cwnd") -> "StaticFigure":
    """Draw one panel of results as a column-wide figure.

    Args:
        results: One run or several.
        series: Name of the panel: cwnd, flight_size, goodput, throughput, rtt, rttvar, rto or rwnd of flows; queue,
            queue_bytes, queue_delay, drops, marks or link_throughput of links; and others. All are over time except
            slowdown, which shows short flows and requests over their size.

    Returns:
        A Matplotlib figure, which a notebook shows; `ackclock.figures.save` writes it as PDF with embedded fonts for
        papers, as SVG or PNG.

    Raises:
        KeyError: If the panel is unknown.
        ValueError: If the results have no such series.
    """
    extras.require("report")
    if series == SLOWDOWN:
        return completion_times.static(_slowdown(results))
    return static(_drawing(results, series))


def _slowdown(results: Results | list[Results]) -> list[completion_times.SlowdownLine]:
    lines = completion_times.slowdown_lines(results if isinstance(results, list) else [results])
    if not lines:
        raise ValueError("no short flow or request was completed; add arrivals to a flow of the scenario")
    return lines


def _drawing(results: Results | list[Results], series: SeriesName) -> Drawing:
    runs = results if isinstance(results, list) else [results]
    drawing = draw(runs, panel(series))
    if drawing is None:
        raise ValueError(f"these results hold no {series}; record it with [trace] in the scenario")
    return drawing


def drawings(results: list[Results]) -> list[Drawing]:
    """Return every panel for which the results have series."""
    found = (draw(results, candidate) for candidate in PANELS)
    return [drawing for drawing in found if drawing is not None]


def static(drawing: Drawing) -> "StaticFigure":
    """Return a drawing as a column-wide Matplotlib figure."""
    from matplotlib.ticker import MaxNLocator

    from ackclock.plotting.figures.panel_grid import Axis, filled

    def draw(axes: "Axes", lines: Sequence[Line]) -> None:
        for line in lines:
            # One of many, or a single one that stands out from groups: thin, and not in the legend.
            is_faint = line.group >= 0 and (drawing.is_crowded or line.is_single)
            label = None if is_faint else for_matplotlib(line.label)
            axes.plot(line.time_s, line.values, label=label, **_style(line, is_faint=is_faint))

    x, y = Axis("time (s)", low=0, high=drawing.end_s), Axis(drawing.axis, low=0, high=drawing.top)
    figure, (axes,) = filled({"": drawing.lines}, x, y, draw)
    if drawing.unit in _COUNTED:
        axes.yaxis.set_major_locator(MaxNLocator("auto", integer=True, steps=[1, 2, 5, 10]))
    return figure


def _style(line: Line, *, is_faint: bool) -> dict[str, Any]:
    shown = look(max(line.group, 0))
    colour = _MEAN_COLOUR if line.group < 0 else shown.colour
    style: dict[str, Any] = {"color": colour, "rasterized": line.time_s.size > 20_000}
    if line.column.style == "dots":
        return style | {"linestyle": "none", "marker": ".", "markersize": 1.5, "alpha": 0.4}
    width = 0.8 if line.is_capacity else 1.8 if line.group < 0 else 0.5 if is_faint else 1.1
    dash = ":" if line.column.style == "dash" else shown.dash
    return style | {"linestyle": dash, "linewidth": width, "alpha": 0.4 if is_faint else 1.0}


def static_figures(results: list[Results]) -> "dict[str, Callable[[], StaticFigure]]":
    """Return the drawing functions of all panels with data, by name."""
    found: dict[str, Callable[[], StaticFigure]] = {one.panel.key: partial(static, one) for one in drawings(results)}
    lines = completion_times.slowdown_lines(results)
    return found | ({SLOWDOWN: partial(completion_times.static, lines)} if lines else {})


def static_files(results: list[Results], directory: Path) -> list[Path]:
    """Name the files that `write_static` would write."""
    return [directory / f"{name}.{form}" for name in static_figures(results) for form in _STATIC]


def write_static(results: list[Results], directory: Path) -> list[Path]:
    """Write every panel as SVG and PNG.

    Args:
        results: One run or several.
        directory: Where to; made if there is none.
    """
    found = static_figures(results).items()
    return [file for name, draw in found for file in save(draw(), directory / name, forms=_STATIC)]
