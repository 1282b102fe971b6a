"""Page of a validation: verdicts and overlays in one HTML file, with its figures and numbers beside it."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ackclock._core import build_info
from ackclock.base import storage
from ackclock.claims.measured import number
from ackclock.plotting.pages import render, written_picture
from ackclock.plotting.tables import Column, Table, Tag, html

from .linux_comparison import Comparison, Row
from .linux_recordings import Recording
from .overlay import overlay


def as_json(comparisons: Sequence[Comparison]) -> dict[str, Any]:
    """Return the content of `validation.json`.

    Args:
        comparisons: All comparisons.
    """
    return {"ackclock": build_info()["version"], "scenarios": [comparison.as_dict() for comparison in comparisons]}


def values(row: Row, side: Sequence[float]) -> str:
    """Format the values of one side: a number, a range, or the mean of intervals with their count.

    Args:
        row: Row with the values.
        side: Recorded or simulated.
    """
    if not side:
        return "-"
    if row.quantity.key == "interval":
        return f"{number(float(np.mean(side)))} (of {len(side)})"
    low, high = _number(min(side)), _number(max(side))
    return low if low == high else f"{low} to {high}"


def _number(value: float) -> str:
    """Format a number, counts as integers.

    Examples:
        >>> _number(25.0), _number(0.98664), _number(1136.0)
        ('25', '0.987', '1,136')
    """
    return f"{value:,.0f}" if value.is_integer() else number(value)


def agreement(row: Row) -> str:
    """Describe the criterion of agreement, and whether the recorded range had to be widened.

    Args:
        row: Row with the values.
    """
    return row.quantity.words() + (", widened" if row.is_by_widening else "")


def settings(recording: Recording) -> str:
    """Describe a recording in words.

    Args:
        recording: The recording.
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
    """Write page, figures, `validation.json` and `table.md`; an earlier folder is replaced once all is complete.

    Args:
        target: Destination.
        comparisons: All comparisons.
    """
    with storage.new_folder(target, kind=storage.VALIDATION, renews=True) as partial:
        (partial / "figures").mkdir()
        shown = [_comparison(comparison, partial / "figures") for comparison in comparisons]
        (partial / "index.html").write_text(_page(shown, comparisons), encoding="utf-8")
        content = json.dumps(as_json(comparisons), indent=2, ensure_ascii=False) + "\n"
        (partial / "validation.json").write_text(content, encoding="utf-8")
        (partial / "table.md").write_text(markdown(comparisons), encoding="utf-8")
        simulations = sum(len(comparison.runs) for comparison in comparisons)
        (partial / storage.MANIFEST).write_text(json.dumps({"simulations": simulations}) + "\n", encoding="utf-8")


_SHOWN = ("goodput", "retransmitted", "cwnd_mean", "srtt_mean", "interval", "growth")
"""Quantities in `table.md`."""


def markdown(comparisons: Sequence[Comparison]) -> str:
    """Return a short table for a text, with simulated below recorded values.

    Args:
        comparisons: All comparisons.
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
    """Format a simulated value, in bold if it differs."""
    text = values(row, row.simulated)
    return f"**{text}**" if row.verdict == "differs" else text


def tally(comparisons: Sequence[Comparison]) -> str:
    """Count the verdicts in words.

    Args:
        comparisons: All comparisons.
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


def _page(shown: Sequence[dict[str, Any]], comparisons: Sequence[Comparison]) -> str:
    return render(
        Path(__file__).with_name("validation.html"),
        title="ackclock: beside Linux",
        tally=tally(comparisons),
        simulations=sum(len(comparison.runs) for comparison in comparisons),
        version=build_info()["version"],
        comparisons=shown,
    )


_COLUMNS = (
    Column("quantity", "quantity", is_text=True),
    Column("recorded", "recorded"),
    Column("simulated", "simulated"),
    Column("unit", "unit", is_text=True),
    Column("agreement", "agreement", is_text=True),
    Column("verdict", "verdict", is_text=True),
)


def table(comparison: Comparison) -> Table:
    """Return recorded beside simulated values, a row for each comparable quantity.

    Args:
        comparison: Comparison of one recording.
    """
    rows = [_row(comparison, row) for row in comparison.rows if row.verdict != "open"]
    return Table(comparison.recording.name, settings(comparison.recording), _COLUMNS, rows)


def _row(comparison: Comparison, row: Row) -> dict[str, str | Tag]:
    several = len(comparison.recording.flows) > 1
    flow = f"flow {row.flow.flow}: " if several and row.flow else ""
    return {
        "quantity": flow + row.quantity.title,
        "recorded": values(row, row.recorded),
        "simulated": values(row, row.simulated),
        "unit": row.quantity.unit,
        "agreement": agreement(row),
        "verdict": Tag(row.verdict, row.verdict),
    }


def _comparison(comparison: Comparison, folder: Path) -> dict[str, Any]:
    recording = comparison.recording
    shown: dict[str, Any] = {
        "name": recording.name, "settings": settings(recording), "obstacle": comparison.obstacle,
    }  # fmt: skip
    if comparison.obstacle:
        return shown
    caption = f"{recording.name}: recorded and simulated, the whole run and its start."
    return shown | {
        "table": html(table(comparison)),
        "causes": list(comparison.causes()),
        "picture": written_picture(recording.name, caption, overlay(comparison), folder),
    }
