"""Small SVG pictures for notebooks: windows and queue of a run, and the network of a scenario.

They need neither Matplotlib nor Plotly, take a few kilobytes, and use the text colour of the surrounding page, so that
they are legible in dark mode, too.
"""

from collections.abc import Iterator, Mapping, Sequence
from html import escape
from typing import TYPE_CHECKING, Any, Final

from ackclock.base.printable import plain
from ackclock.plotting.figures.theme import COLOURS
from ackclock.stats.metrics import extremes_per_bucket

if TYPE_CHECKING:
    from ackclock.plotting.result_panels import Drawing, Line
    from ackclock.results import Results

_WIDTH, _HEIGHT, _LEFT, _TOP = 560, 84, 74, 8
_BUCKETS: Final = 110
_MOST_FLOWS: Final = 10
"""Number of flows above which single lines are illegible at this size."""

_MOST_HOSTS: Final = 6
_TEXT: Final = 'font-family="sans-serif" font-size="11" fill="currentColor"'


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
    last = f'<text x="{_WIDTH}" y="{height - 5}" text-anchor="end" {_TEXT}>{drawn[0].end_s:g} s</text>'
    return _svg(_WIDTH, height, rows + last, "Congestion windows above, queue below, over time")


def _svg(width: int, height: int, content: str, label: str) -> str:
    return (
        f'<svg viewBox="0 0 {width} {height}" width="{width}" height="{height}" role="img" aria-label="{label}" '
        f'style="max-width:100%">{content}</svg>'
    )


def _row(drawing: "Drawing", place: int) -> str:
    """Return one panel: label and limit of its axis on the left, a line for each flow or link."""
    lines = [line for line in drawing.lines if not line.column.is_reference]
    top = max((float(line.values.max(initial=0.0, where=line.values == line.values)) for line in lines), default=0.0)
    y = place * (_HEIGHT + _TOP) + _TOP
    frame = f'<path d="M{_LEFT} {y}V{y + _HEIGHT}H{_WIDTH}" fill="none" stroke="currentColor" stroke-opacity=".4"/>'
    name, unit = escape(drawing.panel.quantity), escape(drawing.unit)
    words = [(y + 10, f"{top:.3g}"), (y + 26, name), (y + 40, unit), (y + _HEIGHT, "0")]
    texts = "".join(f'<text x="{_LEFT - 6}" y="{at}" text-anchor="end" {_TEXT}>{said}</text>' for at, said in words)
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


def of_network(scenario: Mapping[str, Any], flows: Sequence[str]) -> str:
    """Return the picture of a dumbbell: senders, the bottleneck with its rate, delay and queue, receivers.

    Args:
        scenario: Tables of the scenario, as in `Scenario.to_json`.
        flows: Names of the flows.

    Returns:
        The picture; nothing for another kind of network.
    """
    topology = scenario["topology"]
    if topology["kind"] != "dumbbell" or not flows:
        return ""
    shown = list(flows[:_MOST_HOSTS])
    height = max(76, 26 * len(shown) + 16)
    content = "".join(_hosts(shown, len(flows), height)) + _middle(topology["bottleneck"], height / 2)
    return _svg(_WIDTH, height, content, "Senders, bottleneck and receivers")


def _hosts(flows: Sequence[str], count: int, height: int) -> Iterator[str]:
    for place, name in enumerate(flows):
        y = height * (place + 0.5) / len(flows)
        colour = COLOURS[place % len(COLOURS)]
        label = f"and {count - place} more" if place == _MOST_HOSTS - 1 and count > _MOST_HOSTS else plain(name)[:14]
        for x, router, anchor, at in ((110, 190, "end", 100), (_WIDTH - 110, _WIDTH - 190, "start", _WIDTH - 100)):
            yield f'<path d="M{x} {y:.0f}L{router} {height / 2:.0f}" stroke="{colour}" stroke-width="1.2"/>'
            yield f'<circle cx="{x}" cy="{y:.0f}" r="5" fill="{colour}"/>'
            if anchor == "end":
                yield f'<text x="{at}" y="{y + 4:.0f}" text-anchor="{anchor}" {_TEXT}>{escape(label)}</text>'


def _middle(bottleneck: Mapping[str, Any], y: float) -> str:
    left, right = 190, _WIDTH - 190
    queue = bottleneck.get("queue", "drop_tail")
    kind = queue.get("kind", "drop_tail") if isinstance(queue, Mapping) else queue
    limit = queue.get("limit") if isinstance(queue, Mapping) else None
    link = ", ".join(_value(bottleneck.get(key)) for key in ("rate", "delay"))
    waiting = f"{kind}, {limit}" if isinstance(limit, str) else str(kind)
    return (
        f'<path d="M{left} {y:.0f}H{right}" stroke="currentColor" stroke-width="3"/>'
        f'<rect x="{left - 8}" y="{y - 8:.0f}" width="16" height="16" rx="3" fill="currentColor"/>'
        f'<rect x="{right - 8}" y="{y - 8:.0f}" width="16" height="16" rx="3" fill="currentColor"/>'
        f'<text x="{_WIDTH / 2:.0f}" y="{y - 8:.0f}" text-anchor="middle" {_TEXT}>{escape(link)}</text>'
        f'<text x="{_WIDTH / 2:.0f}" y="{y + 18:.0f}" text-anchor="middle" {_TEXT}>{escape(waiting)}</text>'
    )


def _value(value: object) -> str:
    """Return a quantity as written, or a word for one that is random, scheduled or from a trace."""
    if isinstance(value, str):
        return plain(value)
    return "from a trace" if isinstance(value, Mapping) and "trace" in value else "varies"
