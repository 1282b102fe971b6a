"""The overlay of recorded and simulated runs: cwnd, SRTT and queue over time, the whole run and its start."""

from collections.abc import Sequence

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ackclock.claims.figures import STYLE
from ackclock.metrics import Floats
from ackclock.panels import COLOURS
from ackclock.validation.comparison import Comparison
from ackclock.validation.recorded import RecordedRun
from ackclock.validation.simulated import SimulatedRun

START_S = 3.0
_GREYS = ("#9a9a9a", "#bdbdbd", "#777777")


def overlay(comparison: Comparison) -> Figure:
    """Draw recorded runs in grey, and the simulation of the nominal round-trip time over them, a colour for each flow.

    Args:
        comparison: One whose controllers are known.
    """
    secs = comparison.recording.path.secs
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(10.4, 6.6), layout="constrained")
        axes = figure.subplots(3, 2, sharex="col", sharey="row", width_ratios=(2, 1))
        for column, end_s in enumerate((secs, min(START_S, secs))):
            for one, colours in _runs(comparison):
                _draw(list(axes[:, column]), one, colours)
            axes[2, column].set_xlim(0, end_s)
            axes[2, column].set_xlabel("time since the connection was up (s)")
        for axis, label in zip(axes[:, 0], ("cwnd (segments)", "SRTT (ms)", "queue (packets)"), strict=True):
            axis.set_ylabel(label)
            axis.set_ylim(bottom=0)
        axes[0, 0].set_title("the whole run")
        axes[0, 1].set_title("its start")
        handles, labels = axes[0, 0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=min(len(labels), 6))
    return figure


_Drawn = tuple[RecordedRun | SimulatedRun, Sequence[tuple[str, str, float]]]
"""A run, and for each of its flows a label, a colour and a line width."""


def _runs(comparison: Comparison) -> list[_Drawn]:
    flows = comparison.recording.flows
    names = [f", flow {flow.flow} ({flow.cc})" if len(flows) > 1 else "" for flow in flows]
    recorded: list[_Drawn] = [
        (one, [(f"recorded {one.rep}{name}", _GREYS[(index + shift) % 3], 1.8) for shift, name in enumerate(names)])
        for index, one in enumerate(comparison.recording.runs)
    ]
    ours = [(f"simulated{name}", COLOURS[index % len(COLOURS)], 1.0) for index, name in enumerate(names)]
    return [*recorded, (comparison.runs[0], ours)]


def _draw(axes: list[Axes], one: RecordedRun | SimulatedRun, styles: Sequence[tuple[str, str, float]]) -> None:
    for flow, (label, colour, width) in zip(one.flows, styles, strict=True):
        _line(axes[0], flow.time_s, flow.cwnd_segments, label, colour, width)
        _line(axes[1], flow.time_s, flow.srtt_ms, label, colour, width)
    if one.queue is not None:
        label, colour, width = styles[0]
        _line(axes[2], one.queue.time_s, one.queue.packets, label, colour, width)


def _line(axis: Axes, time_s: Floats, values: Floats, label: str, colour: str, width: float) -> None:
    axis.plot(time_s, values, color=colour, linewidth=width, label=label, drawstyle="steps-post")
