"""Pictures of results for papers and notebooks, by Matplotlib; `ackclock report` makes the page to look at closely."""

from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal

from ackclock.base import extras, storage
from ackclock.base.printable import for_matplotlib
from ackclock.plotting import completion_times
from ackclock.plotting.figures.figure_files import encode
from ackclock.plotting.figures.theme import COLOURS, COLUMN_IN, PAPER
from ackclock.plotting.result_panels import PANELS, Drawing, Line, draw, panel
from ackclock.results import Results

if TYPE_CHECKING:
    from matplotlib.figure import Figure as StaticFigure

SeriesName = Literal[
    "cwnd",
    "flight_size",
    "goodput",
    "throughput",
    "rtt",
    "rttvar",
    "rto",
    "rwnd",
    "ack_ratio",
    "queue",
    "queue_bytes",
    "drops",
    "marks",
    "queue_delay",
    "drop_probability",
    "average_queue",
    "link_throughput",
    "in_socket",
    "added_latency",
    "far_cwnd",
    "media_rate",
    "media_delay",
    "media_queue",
    "slowdown",
]
"""Names of the panels; each needs the corresponding series in the results."""

SLOWDOWN: Final = "slowdown"
"""The one plot that is not over time."""

_STATIC = (".svg", ".png")
"""Formats of static figures."""

_MEAN_COLOUR = "#111111"
_LEGEND_CHARACTERS = 60
"""Number of characters that fit side by side above a static figure, in the legend's font."""


def figure(results: Results | list[Results], series: SeriesName = "cwnd") -> "StaticFigure":
    """Draw one panel of results, as wide as a column of a paper.

    Args:
        results: One run or several.
        series: Which panel: cwnd, flight_size, goodput, throughput, rtt, rttvar, rto or rwnd of flows; queue,
            queue_bytes, queue_delay, drops, marks or link_throughput of links; and others. All are over time but
            slowdown, which is of short flows and requests over their size.

    Returns:
        A Matplotlib figure, which a notebook shows; `ackclock.figures.save` writes it as PDF with the
        fonts that papers ask for, as SVG or PNG.

    Raises:
        KeyError: If there is no such panel.
        ValueError: If the results hold no such series.
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
    """Return every panel for which the results hold series."""
    found = (draw(results, candidate) for candidate in PANELS)
    return [drawing for drawing in found if drawing is not None]


def _colour(line: Line) -> str:
    return _MEAN_COLOUR if line.group < 0 else COLOURS[line.group % len(COLOURS)]


def _is_faint(line: Line, drawing: Drawing) -> bool:
    """One of many, or a single one that stands out from groups: thin, and not in the legend."""
    return drawing.is_crowded or line.is_single


def static(drawing: Drawing) -> "StaticFigure":
    """Return a drawing as a Matplotlib figure, as wide as a column of a paper."""
    import matplotlib as mpl

    with mpl.rc_context(PAPER):
        return _static(drawing)


def _static(drawing: Drawing) -> "StaticFigure":
    from ackclock.plotting.notebook_figures import Picture

    shown = Picture(figsize=(COLUMN_IN, 2.1), layout="constrained")
    axes = shown.add_subplot()
    for line in drawing.lines:
        is_labelled = line.group < 0 or not _is_faint(line, drawing)
        label = for_matplotlib(line.label) if is_labelled else None
        axes.plot(line.time_s, line.values, label=label, **_matplotlib_style(line, drawing))
    axes.set_xlabel("time (s)")
    axes.set_ylabel(drawing.axis)
    axes.set_ylim(0, drawing.top)
    axes.set_xlim(0, drawing.end_s)
    if labels := axes.get_legend_handles_labels()[1]:
        columns = legend_columns(labels)
        shown.legend(loc="outside upper left", ncols=columns)
    return shown


def legend_columns(labels: list[str]) -> int:
    """Return how many columns of these labels fit above a figure.

    Examples:
        >>> legend_columns(["new cwnd", "new ssthresh"]), legend_columns(["a link of a network: Server->Discarder_1"])
        (3, 1)
    """
    longest = max(map(len, labels)) + 6  # the handle and the gap to the next column
    return max(1, min(4, _LEGEND_CHARACTERS // longest))


def _matplotlib_style(line: Line, drawing: Drawing) -> dict[str, Any]:
    style: dict[str, Any] = {"color": _colour(line), "rasterized": line.time_s.size > 20_000}
    if line.column.style == "dots":
        return style | {"linestyle": "none", "marker": ".", "markersize": 1.5, "alpha": 0.4}
    width = 0.8 if line.is_capacity else 1.8 if line.group < 0 else 0.5 if _is_faint(line, drawing) else 1.1
    alpha = 0.4 if _is_faint(line, drawing) and line.group >= 0 else 1.0
    return style | {"linestyle": ":" if line.column.style == "dash" else "-", "linewidth": width, "alpha": alpha}


def static_files(results: list[Results], directory: Path) -> list[Path]:
    """Name the files that `write_static` would write."""
    keys = [drawing.panel.key for drawing in drawings(results)]
    if completion_times.slowdown_lines(results):
        keys.append(SLOWDOWN)
    return [directory / f"{key}{suffix}" for key in keys for suffix in _STATIC]


def write_static(results: list[Results], directory: Path) -> list[Path]:
    """Write every panel as SVG and PNG.

    Args:
        results: One run or several.
        directory: Where to; made if there is none.
    """
    directory.mkdir(parents=True, exist_ok=True)
    shown_by_key = {drawing.panel.key: static(drawing) for drawing in drawings(results)}
    if lines := completion_times.slowdown_lines(results):
        shown_by_key[SLOWDOWN] = completion_times.static(lines)
    files = []
    for key, shown in shown_by_key.items():
        for suffix in _STATIC:
            files.append(directory / f"{key}{suffix}")
            storage.write_file(files[-1], encode(shown, suffix[1:]))
    return files
