"""Small SVG pictures for notebooks: windows and queue of a run.

They need neither Matplotlib nor Plotly, take a few kilobytes, and use the text colour of the surrounding page, so that
they are legible in dark mode, too.
"""

from html import escape
from typing import TYPE_CHECKING, Final

from ackclock.plotting.figures.theme import COLOURS
from ackclock.stats.metrics import extremes_per_bucket

if TYPE_CHECKING:
    from ackclock.plotting.result_panels import Drawing, Line
    from ackclock.results import Results

_WIDTH, _HEIGHT, _LEFT, _TOP = 560, 84, 74, 8
_BUCKETS: Final = 110
_MOST_FLOWS: Final = 10
"""Number of flows above which single lines are illegible at this size."""

TEXT: Final = 'font-family="sans-serif" font-size="11" fill="currentColor"'


def of_results(results: "Results") -> str:
    """Return windows and queue over time; nothing if the run recorded neither, or has very many flows."""
    from ackclock.plotting.result_panels import draw, panel

    if not 0 < len(results.summary["flows"]) <= _MOST_FLOWS:
        return ""
    drawn = [drawing for key in ("cwnd", "queue") if (drawing := draw([results], panel(key))) is not None]
    rows = "".join(_row(drawing, place) for place, drawing in enumerate(drawn))
    if not rows:
        return ""
    height = len(drawn) * (_HEIGHT + _TOP) + 18
    last = f'<text x="{_WIDTH}" y="{height - 5}" text-anchor="end" {TEXT}>{drawn[0].end_s:g} s</text>'
    return svg(_WIDTH, height, rows + last, "Congestion windows above, queue below, over time")


def svg(width: float, height: float, content: str, label: str) -> str:
    """Return a picture for a page."""
    return (
        f'<svg viewBox="0 0 {width:g} {height:g}" width="{width:g}" height="{height:g}" role="img" '
        f'aria-label="{label}" style="max-width:100%">{content}</svg>'
    )


def _row(drawing: "Drawing", place: int) -> str:
    """Return one panel: label and limit of its axis on the left, a line for each flow or link."""
    lines = [line for line in drawing.lines if not line.column.is_reference]
    top = max((float(line.values.max(initial=0.0, where=line.values == line.values)) for line in lines), default=0.0)
    y = place * (_HEIGHT + _TOP) + _TOP
    frame = f'<path d="M{_LEFT} {y}V{y + _HEIGHT}H{_WIDTH}" fill="none" stroke="currentColor" stroke-opacity=".4"/>'
    name, unit = escape(drawing.panel.quantity), escape(drawing.unit)
    words = [(y + 10, f"{top:.3g}"), (y + 26, name), (y + 40, unit), (y + _HEIGHT, "0")]
    texts = "".join(f'<text x="{_LEFT - 6}" y="{at}" text-anchor="end" {TEXT}>{said}</text>' for at, said in words)
    paths = "".join(_path(line, drawing.end_s, top or 1.0, y) for line in lines)
    return frame + texts + paths


def _path(line: "Line", end_s: float, top: float, y: int) -> str:
    time_s, values = extremes_per_bucket(line.time_s, line.values, _BUCKETS)
    known = values == values
    points = " ".join(
        f"{_LEFT + t / end_s * (_WIDTH - _LEFT):.0f},{y + (1 - v / top) * _HEIGHT:.0f}"
        for t, v in zip(time_s[known], values[known], strict=True)
    )
    colour = COLOURS[line.group % len(COLOURS)]
    return f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="1.2"/>'
