"""H5: where the added latency holds, over rates, round trips, flows and losses; and what other disciplines do."""

from collections.abc import Callable, Sequence
from pathlib import Path

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, NullLocator

from ackclock.claims.figures import STYLE, Picture
from ackclock.claims.folder import Study, load_module
from ackclock.claims.ledger import Choices, Laboratory
from ackclock.claims.measured import Measured, Runs, mean
from ackclock.claims.panels import WIDTH

_latency = load_module(Path(__file__).parent / "measure_latency.py")

LOSSES = {"none": "#1f5fa8", "0.01 %": "#e0a030", "0.1 %": "#c8501e"}
DISCIPLINES = {
    "credit": ("o", "#1f5fa8"),
    "drain_rate": ("s", "#2f8f5b"),
    "codel_window": ("^", "#e0a030"),
    "not_sent": ("D", "#8a5fb0"),
}
FLOOR_MS = 0.01
"""Where the axis ends; less is drawn there."""


def _mean(
    laboratory: Laboratory, study: Study, repetitions: Sequence[Choices], measure: Callable[[Runs], Measured]
) -> Measured:
    return mean([measure(laboratory.runs(study, choices)) for choices in repetitions])


def grid(laboratory: Laboratory, study: Study) -> Figure:
    """Draw the 99th percentile over the far rate: a row for each round trip, a column for each number of flows."""
    settings = laboratory.settings(study)
    trips = list(dict.fromkeys(path.name.split(", ")[1] for path, _, _ in settings))
    counts = list(dict.fromkeys(flows.name for _, flows, _ in settings))
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(WIDTH, 7.6), layout="constrained")
        axes = figure.subplots(len(trips), len(counts), sharex=True, sharey=True, squeeze=False)
        for (path, flows, loss), repetitions in settings.items():
            axis = axes[trips.index(path.name.split(", ")[1])][counts.index(flows.name)]
            _mark(axis, laboratory, study, repetitions, list(LOSSES).index(loss.name))
        for row, trip in zip(axes, trips, strict=True):
            row[0].set_ylabel(f"{trip}: added latency (ms)")
        for column, count in enumerate(counts):
            axes[0][column].set_title(count)
            axes[-1][column].set_xlabel("far rate")
            for row in axes:
                _rates(row[column])
        figure.legend(handles=_legend(), loc="outside lower center", ncols=3)
    return figure


def _mark(axis: Axes, laboratory: Laboratory, study: Study, repetitions: Sequence[Choices], place: int) -> None:
    flows, rate = _latency.cell(laboratory.runs(study, repetitions[0])["credit"])
    latency = _mean(laboratory, study, repetitions, _latency.latency())
    passed = _mean(laboratory, study, repetitions, _latency.kept())
    holds = latency.value is not None and latency.value <= 1.0
    passes = passed.value is not None and passed.value >= _latency.KEPT
    color = list(LOSSES.values())[place]
    at, value = rate * 1.35 ** (place - 1), max(latency.also["99th percentile ms"], FLOOR_MS)
    axis.plot([at], [value], "o", color=color, markersize=6, fillstyle="full" if holds else "none")
    if not passes:
        axis.plot([at], [value], "x", color="#222222", markersize=9, markeredgewidth=1.2)
    limit = _latency.allowed_ms(flows, rate)
    axis.plot([rate / 1.7, rate * 1.7], [limit, limit], color="#444444", linewidth=1.1)


def _rates(axis: Axes) -> None:
    axis.set_xscale("log")
    axis.set_yscale("log")
    axis.xaxis.set_minor_locator(NullLocator())
    axis.yaxis.set_minor_locator(NullLocator())
    axis.set_xticks([1e7, 1e8, 1e9], ["10 Mbit/s", "100 Mbit/s", "1 Gbit/s"])
    axis.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))


def _legend() -> list[Line2D]:
    losses = [
        Line2D([], [], color=color, marker="o", linestyle="", label="no loss" if name == "none" else f"loss {name}")
        for name, color in LOSSES.items()
    ]
    return [
        *losses,
        Line2D([], [], color="#444444", label="allowed"),
        Line2D([], [], color="#444444", marker="o", fillstyle="none", linestyle="", label="more than allowed"),
        Line2D([], [], color="#222222", marker="x", linestyle="", label="less than 98 % of the throughput"),
    ]


def disciplines(laboratory: Laboratory, study: Study) -> Figure:
    """Draw each discipline's 99th percentile and throughput, a row for each cell."""
    settings = laboratory.settings(study)
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(WIDTH, 1.3 + 0.42 * len(settings)), layout="constrained")
        left, right = figure.subplots(1, 2, sharey=True)
        for row, repetitions in enumerate(settings.values()):
            found = _mean(laboratory, study, repetitions, _latency.rivals).also
            limit = _latency.allowed_ms(*_latency.cell(laboratory.runs(study, repetitions[0])["credit"]))
            left.plot([limit, limit], [row - 0.4, row + 0.4], color="#444444", linewidth=1.1)
            for index, (name, (marker, color)) in enumerate(DISCIPLINES.items()):
                at = row + 0.18 * (index - 1.5)
                left.plot([max(found[f"{name} ms"], FLOOR_MS)], [at], marker, color=color, markersize=5)
                right.plot([100 * found[f"{name} of throughput"]], [at], marker, color=color, markersize=5, label=name)
        left.set_xscale("log")
        left.xaxis.set_minor_locator(NullLocator())
        left.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        left.set_xlabel("99th percentile (ms); line: allowed")
        right.axvline(100 * _latency.KEPT, color="#444444", linewidth=1.1)
        right.set_xlabel("throughput (%); line: 98 %")
        left.set_yticks(range(len(settings)), [setting[0].name for setting in settings])
        left.set_ylim(len(settings) - 0.5, -0.5)
        handles, labels = right.get_legend_handles_labels()
        figure.legend(handles[: len(DISCIPLINES)], labels[: len(DISCIPLINES)], loc="outside lower center", ncols=4)
    return figure


PICTURES = [
    Picture("credit", "H5b1", "latency", "Where credit holds the added latency", grid),
    Picture("credit-disciplines", "H5f4", "disciplines", "Four disciplines that bound latency", disciplines),
]
