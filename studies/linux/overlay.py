"""Overlay of recorded and simulated runs: cwnd, SRTT and queue over time, for the whole run and its start."""

from collections.abc import Sequence
from dataclasses import dataclass

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ackclock.plotting.figures.theme import COLOURS
from ackclock.plotting.figures.theme import PAGE as STYLE
from ackclock.stats.metrics import Floats

from .linux_comparison import Comparison
from .linux_recordings import RecordedRun
from .simulated_recordings import SimulatedRun

START_S = 3.0
_GREYS = ("#a8a8a8", "#c8c8c8", "#8c8c8c")
_BROAD, _THIN = 3.2, 1.1


def overlay(comparison: Comparison) -> Figure:
    """Draw the simulation at the nominal round-trip time over the recorded runs.

    All recorded runs of one flow are grey. Several flows show the first recorded run, pale in each flow's colour.

    Args:
        comparison: Comparison whose controllers are known.
    """
    secs = comparison.recording.path.secs
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(10.4, 6.6), layout="constrained")
        axes = figure.subplots(3, 2, sharex="col", sharey="row", width_ratios=(2, 1))
        for column, end_s in enumerate((secs, min(START_S, secs))):
            for one, colours in _runs(comparison):
                _draw(list(axes[:, column]), one, colours, comparison.recording.offsets_s())
            axes[2, column].set_xlim(0, end_s)
            axes[2, column].set_xlabel(
                "time since the first connection was up (s)"
                if len(comparison.recording.flows) > 1
                else "time since the connection was up (s)"
            )
        for axis, label in zip(axes[:, 0], ("cwnd (segments)", "SRTT (ms)", "queue (packets)"), strict=True):
            axis.set_ylabel(label)
            axis.set_ylim(bottom=0)
        axes[0, 0].set_title("the whole run")
        axes[0, 1].set_title("its start")
        handles, labels = axes[0, 0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=min(len(labels), 4))
    return figure


@dataclass(frozen=True, slots=True)
class _Style:
    """Line style of one flow of one run."""

    label: str
    colour: str
    width: float
    opacity: float = 1.0


_Drawn = tuple[RecordedRun | SimulatedRun, Sequence[_Style]]


def _runs(comparison: Comparison) -> list[_Drawn]:
    flows = comparison.recording.flows
    if len(flows) == 1:
        recorded: list[_Drawn] = [
            (one, [_Style(f"recorded {one.rep}", _GREYS[index % len(_GREYS)], _BROAD)])
            for index, one in enumerate(comparison.recording.runs)
        ]
        return [*recorded, (comparison.runs[0], [_Style("simulated", COLOURS[1], _THIN)])]
    named = [(f"flow {flow.flow} ({flow.cc})", COLOURS[index % len(COLOURS)]) for index, flow in enumerate(flows)]
    pale = [_Style(f"{name}, recorded", colour, _BROAD, 0.35) for name, colour in named]
    return [
        (comparison.recording.runs[0], pale),
        (comparison.runs[0], [_Style(f"{name}, simulated", colour, _THIN) for name, colour in named]),
    ]


def _draw(
    axes: list[Axes], one: RecordedRun | SimulatedRun, styles: Sequence[_Style], offsets_s: Sequence[float]
) -> None:
    for flow, style, offset_s in zip(one.flows, styles, offsets_s, strict=True):
        _line(axes[0], flow.time_s + offset_s, flow.cwnd_segments, style)
        _line(axes[1], flow.time_s + offset_s, flow.srtt_ms, style)
    if one.queue is not None:
        whole = _Style("", "#222222" if len(styles) > 1 else styles[0].colour, _THIN, styles[0].opacity)
        _line(axes[2], one.queue.time_s, one.queue.packets, whole)


def _line(axis: Axes, time_s: Floats, values: Floats, style: _Style) -> None:
    axis.plot(
        time_s,
        values,
        color=style.colour,
        linewidth=style.width,
        alpha=style.opacity,
        label=style.label,
        drawstyle="steps-post",
    )
