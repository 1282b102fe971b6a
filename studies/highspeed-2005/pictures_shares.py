"""H1 and H6: goodput of the old flow over queues and networks, and what converting some of eleven flows does."""

import math
from collections.abc import Sequence
from pathlib import Path

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ackclock.claims.figures import STYLE, Picture
from ackclock.claims.folder import Study, load_module
from ackclock.claims.ledger import Choices, Laboratory
from ackclock.claims.panels import WIDTH

_shares = load_module(Path(__file__).parent / "measure_shares.py")

LOOKS = {
    "without": ("Reno, without the appliance", "#c8501e"),
    "with": ("through the appliance", "#1f5fa8"),
    "eleventh": ("an eleventh HighSpeed flow", "#2f8f5b"),
}
THESIS = {"without": 70.7, "with": 93.0}
EVEN = 1000 / 11
"""Mbit/s: the even share that the thesis names."""
CONVERTED = {"highspeed": ("HighSpeed", "#1f5fa8"), "cubic": ("CUBIC", "#e0a030"), "bbr3": ("BBRv3", "#2f8f5b")}
COUNTS = (1, 3, 5, 11)


def _old(laboratory: Laboratory, study: Study, repetitions: Sequence[Choices], case: str) -> list[float]:
    return [_shares.old(laboratory.runs(study, choices)[case]) for choices in repetitions]


def shares(laboratory: Laboratory, study: Study) -> Figure:
    """Draw the old flow's goodput, mean of the seeds with the least and the greatest, under each option."""
    settings = laboratory.settings(study)
    names = [setting[0].name for setting in settings]
    cases = [case.name for case in study.cases]
    height = 0.8 / len(cases)
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(WIDTH, 1.4 + 0.25 * len(cases) * len(names)), layout="constrained")
        axis = figure.subplots()
        for index, case in enumerate(cases):
            label, color = LOOKS[case]
            found = [_old(laboratory, study, repetitions, case) for repetitions in settings.values()]
            places = [place + (index - (len(cases) - 1) / 2) * height for place in range(len(names))]
            _bars(axis, places, found, height, label, color)
        for case, value in THESIS.items():
            axis.axvline(value, color=LOOKS[case][1], linewidth=1.2, linestyle="--")
        axis.axvline(EVEN, color="#444444", linewidth=0.9, linestyle=(0, (1, 2)))
        axis.set_yticks(range(len(names)), names)
        axis.set_ylim(len(names) - 0.5, -0.5)
        axis.grid(visible=False, axis="y")
        axis.set_xlabel("goodput (Mbit/s); dashed: the thesis'; dotted: an even share")
        handles, labels = axis.get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=len(labels))
    return figure


def _bars(
    axis: Axes, places: Sequence[float], found: Sequence[Sequence[float]], height: float, label: str, color: str
) -> None:
    means = [_shares.mean(values) for values in found]
    axis.barh(places, means, height=height * 0.9, color=color, label=label)
    for place, values, mean in zip(places, found, means, strict=True):
        axis.plot([min(values), max(values)], [place, place], color="#222222", linewidth=1.0)
        axis.annotate(
            f"{mean:.1f}", (max(values), place), xytext=(4, 0), textcoords="offset points", va="center", fontsize=8,
            bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.8},  # no line of reference runs through it
        )  # fmt: skip


def conversion(laboratory: Laboratory, study: Study) -> Figure:
    """Draw what the others lose, what the converted ones have, and Jain's index, over how many are converted."""
    settings = laboratory.settings(study)
    rows: list[tuple[str, str, tuple[int, ...]]] = [
        ("harm", "harm to the others", COUNTS[:-1]),
        ("converted, after / before", "converted, after / before", COUNTS),
        ("Jain after", "Jain's index of all", COUNTS),
    ]
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(WIDTH, 7.4), layout="constrained")
        axes = figure.subplots(len(rows), len(settings), sharey="row", squeeze=False)
        for column, (setting, repetitions) in enumerate(settings.items()):
            for row, (quantity, label, counts) in enumerate(rows):
                axis = axes[row][column]
                for name, (shown, color) in CONVERTED.items():
                    found = [
                        [
                            _shares.conversion(laboratory.runs(study, choices), name, count)[quantity]
                            for choices in repetitions
                        ]
                        for count in counts
                    ]
                    _line(axis, counts, found, shown, color)
                axis.set_xticks(counts)
                axis.axhline(0.0 if quantity == "harm" else 1.0, color="#444444", linewidth=0.9, linestyle=(0, (1, 2)))
                if column == 0:
                    axis.set_ylabel(label)
            axes[0][column].set_title(setting[0].name)
            axes[-1][column].set_xlabel("converted, of eleven")
        handles, labels = axes[0][0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=len(labels))
    return figure


def _line(axis: Axes, counts: Sequence[int], found: Sequence[Sequence[float]], label: str, color: str) -> None:
    means = [math.fsum(values) / len(values) for values in found]
    axis.plot(counts, means, "o-", color=color, label=label, markersize=4, linewidth=1.4)
    for count, values in zip(counts, found, strict=True):
        axis.plot([count, count], [min(values), max(values)], color=color, linewidth=0.9)


PICTURES = [
    Picture("shares-by-queue", "H1e", "share by queue", "The old flow beside ten HighSpeed flows, by queue", shares),
    Picture("shares-on-ethernet", "H1h", "share on ethernet", "The same, every sender on 100 Mbit/s Ethernet", shares),
    Picture("shares-by-network", "H1m", "share by network", "The same, by network and hosts", shares),
    Picture("conversion", "H6c", "conversion", "Converting some of eleven Reno flows", conversion),
]
