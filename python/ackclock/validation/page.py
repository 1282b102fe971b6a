"""The page of a validation: verdicts and overlays in one HTML file, with its figures and numbers beside it."""

import base64
import json
from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import Any

import numpy as np

from ackclock import storage
from ackclock._core import build_info
from ackclock.claims.figures import encode
from ackclock.claims.page import STYLE
from ackclock.claims.words import number
from ackclock.validation.comparison import Comparison, Row
from ackclock.validation.figures import overlay
from ackclock.validation.recorded import Recording


def as_json(comparisons: Sequence[Comparison]) -> dict[str, Any]:
    """Return what `validation.json` holds.

    Args:
        comparisons: All of them.
    """
    return {"ackclock": build_info()["version"], "scenarios": [comparison.as_dict() for comparison in comparisons]}


def values(row: Row, side: Sequence[float]) -> str:
    """Write the values of one side: a number, a range, or the mean of intervals with their count.

    Args:
        row: Whose values they are.
        side: The recorded or the simulated ones.
    """
    if not side:
        return "-"
    if row.quantity.key == "interval":
        return f"{number(float(np.mean(side)))} (of {len(side)})"
    low, high = _number(min(side)), _number(max(side))
    return low if low == high else f"{low} to {high}"


def _number(value: float) -> str:
    """Counts stay counts.

    Examples:
        >>> _number(25.0), _number(0.98664), _number(1136.0)
        ('25', '0.987', '1,136')
    """
    return f"{value:,.0f}" if value.is_integer() else number(value)


def agreement(row: Row) -> str:
    """Say what counts as agreement, and whether it took more than the recorded range.

    Args:
        row: Any.
    """
    return row.quantity.words() + (", widened" if row.is_by_widening else "")


def settings(recording: Recording) -> str:
    """Describe a recording in words.

    Args:
        recording: Any.
    """
    path = recording.path
    flows = "; ".join(_flow_settings(recording, index) for index in range(len(recording.flows)))
    where = f"{path.rate_mbps:g} Mbit/s, {path.queue_packets} packets of queue, {path.secs:g} s"
    missing = f", {len(recording.without_samples)} more without samples" if recording.without_samples else ""
    return f"{flows}; {where}; {len(recording.runs)} recorded{missing}"


def _flow_settings(recording: Recording, index: int) -> str:
    flow = recording.flows[index]
    marks = [
        "" if flow.hystart or flow.cc != "cubic" else "HyStart off",
        "" if flow.window_scaling else "no window scaling",
        "" if flow.tso else "no multi-segment sends",
    ]
    return ", ".join([flow.cc, f"{flow.rtt_ms:g} ms", *filter(None, marks)])


def write(target: Path, comparisons: Sequence[Comparison]) -> None:
    """Write page, figures, `validation.json` and `table.md`; an earlier folder is replaced when all is there.

    Args:
        target: The folder to be.
        comparisons: What came out.
    """
    with storage.new_folder(target, kind=storage.VALIDATION, renews=True) as partial:
        (partial / "figures").mkdir()
        body = "".join(_comparison(comparison, partial / "figures") for comparison in comparisons)
        (partial / "index.html").write_text(_page(body, comparisons), encoding="utf-8")
        content = json.dumps(as_json(comparisons), indent=2, ensure_ascii=False) + "\n"
        (partial / "validation.json").write_text(content, encoding="utf-8")
        (partial / "table.md").write_text(markdown(comparisons), encoding="utf-8")
        simulations = sum(len(comparison.runs) for comparison in comparisons)
        (partial / storage.MANIFEST).write_text(json.dumps({"simulations": simulations}) + "\n", encoding="utf-8")


_SHOWN = ("goodput", "retransmitted", "cwnd_mean", "srtt_mean", "interval", "growth")
"""The quantities of `table.md`."""


def markdown(comparisons: Sequence[Comparison]) -> str:
    """Return a short table for a text, recorded and simulated under each other.

    Args:
        comparisons: All of them.
    """
    titles = {row.quantity.key: row.quantity for one in comparisons for row in one.rows if row.quantity.key in _SHOWN}
    heads = [f"{titles[key].title} ({titles[key].unit})" for key in _SHOWN if key in titles]
    lines = [["flow", "", *heads], ["---"] * (2 + len(heads))]
    for comparison in comparisons:
        several = len(comparison.recording.flows) > 1
        for index, flow in enumerate(comparison.recording.flows if comparison.rows else ()):
            rows = {row.quantity.key: row for row in comparison.rows if row.flow == flow}
            shown = [rows.get(key) for key in _SHOWN if key in titles]
            theirs = [values(row, row.recorded) if row else "" for row in shown]
            ours = [_marked(row) if row else "" for row in shown]
            name = comparison.recording.name if not several else f"{comparison.recording.name}, flow {flow.flow}"
            lines += [[f"{name}: {_flow_settings(comparison.recording, index)}", "Linux", *theirs], ["", "here", *ours]]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def _marked(row: Row) -> str:
    """Write what was simulated, in bold where it differs."""
    text = values(row, row.simulated)
    return f"**{text}**" if row.verdict == "differs" else text


def tally(comparisons: Sequence[Comparison]) -> str:
    """Count the verdicts in words.

    Args:
        comparisons: All of them.
    """
    rows = [row for comparison in comparisons for row in comparison.rows]
    counts = [
        (sum(row.verdict == "agrees" for row in rows), "agree"),
        (sum(row.verdict == "differs" and not row.is_unexplained for row in rows), "differ for a known reason"),
        (sum(row.is_unexplained for row in rows), "differ"),
    ]
    widened = sum(row.is_by_widening for row in rows)
    note = f" ({widened} agree only with a range that was widened)" if widened else ""
    return ", ".join(f"{count} {word}" for count, word in counts if count) + note or "nothing to compare"


def _page(body: str, comparisons: Sequence[Comparison]) -> str:
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>ackclock: beside Linux</title>'
        f'<meta name="viewport" content="width=device-width"><style>{STYLE}</style></head><body><main>'
        f"<h1>Recorded Linux beside simulated Linux</h1><p>{escape(tally(comparisons))}; ackclock "
        f"{escape(build_info()['version'])}. Ranges are over the recorded runs, and over simulations whose "
        "round-trip time is shorter or longer by up to 0.5 %. Of a single recorded run, values within 10 % count as "
        "its range, and its square root either side of a single count of packets; a range of several runs is widened "
        "by 2 %, a number of loss events by one, a time by a sample.</p>"
        f"{body}</main></body></html>\n"
    )


def _comparison(comparison: Comparison, folder: Path) -> str:
    recording = comparison.recording
    head = f'<h2 id="{escape(recording.name)}">{escape(recording.name)}</h2><p>{escape(settings(recording))}</p>'
    if comparison.obstacle:
        return f"{head}<p>Not simulated: {escape(comparison.obstacle)}.</p>"
    rows = "".join(_row(comparison, row) for row in comparison.rows if row.verdict != "open")
    table = (
        "<table><thead><tr><th>quantity</th><th>recorded</th><th>simulated</th><th>unit</th><th>agreement</th>"
        f"<th>verdict</th></tr></thead><tbody>{rows}</tbody></table>"
    )
    causes = "".join(f"<p>Differs because {escape(because)}</p>" for because in comparison.causes())
    return f"{head}{table}{causes}{_figure(comparison, folder)}"


def _row(comparison: Comparison, row: Row) -> str:
    several = len(comparison.recording.flows) > 1
    flow = f"flow {row.flow.flow}: " if several and row.flow else ""
    cells = [values(row, row.recorded), values(row, row.simulated), row.quantity.unit, agreement(row)]
    return (
        f"<tr><td>{escape(flow + row.quantity.title)}</td>"
        f"{''.join(f'<td>{escape(cell)}</td>' for cell in cells)}"
        f'<td><span class="badge {row.verdict}">{row.verdict}</span></td></tr>'
    )


def _figure(comparison: Comparison, folder: Path) -> str:
    """Draw the overlay into the folder and return it for the page."""
    name = comparison.recording.name
    drawn = overlay(comparison)
    (folder / f"{name}.svg").write_bytes(encode(drawn, "svg"))
    pixels = encode(drawn, "png")
    (folder / f"{name}.png").write_bytes(pixels)
    data = base64.b64encode(pixels).decode("ascii")
    return f'<figure><img alt="{escape(name)}" src="data:image/png;base64,{data}"></figure>'
