"""H1 over testbeds of 2005: the old flow without and through the appliance, by cards, queues and bottleneck."""

import textwrap
from collections.abc import Mapping, Sequence
from pathlib import Path

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from ackclock.claims.figures import STYLE, Picture
from ackclock.claims.folder import Study, load_module
from ackclock.claims.ledger import Choices, Laboratory
from ackclock.claims.panels import WIDTH

_shares = load_module(Path(__file__).parent / "measure_shares.py")

Cell = tuple[str, ...]
"""Names of the options: cards, queue, endpoints, bottleneck."""

RANGES = {"without": (63.6, 77.8), "with": (83.7, 102.3)}
"""Goodputs that agree with 70.7 and 93.0 Mbit/s."""
WORDS = {"without": "Reno, 70.7 in the thesis", "with": "through the appliance, 93.0"}
AGREES, DIFFERS = "#cfe3d4", "#f3f1ec"


def testbeds(laboratory: Laboratory, study: Study) -> Figure:
    """Draw what was simulated, mean of the seeds."""

    def mean(repetitions: Sequence[Choices], case: str) -> float:
        return float(_shares.mean([_shares.old(laboratory.runs(study, choices)[case]) for choices in repetitions]))

    found = {
        tuple(option.name for option in setting): {case: mean(repetitions, case) for case in RANGES}
        for setting, repetitions in laboratory.settings(study).items()
    }
    seeds = min(len(repetitions) for repetitions in laboratory.settings(study).values())
    return drawn(found, f"{study.title.split(':')[0]}, {seeds} {'seed' if seeds == 1 else 'seeds'} each")


def drawn(found: Mapping[Cell, Mapping[str, float]], how: str) -> Figure:
    """Draw a table for each bottleneck, a row for each queue and a column for each kind of cards.

    Args:
        found: Mbit/s without and with the appliance.
        how: For how long, and with how many seeds.
    """
    rows = sorted({cell[1] for cell in found}, key=lambda name: int(name.split()[0]))
    columns = list(dict.fromkeys(_column(cell) for cell in found))
    pipes = list(dict.fromkeys(cell[3] for cell in found))
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(WIDTH, 1.3 + 0.55 * len(rows) * len(pipes)), layout="constrained")
        ranges = " and ".join(f"{low:.1f} to {high:.1f}" for low, high in RANGES.values())
        figure.supxlabel(
            f"Goodput of the old flow in Mbit/s; {how}.\n"
            f"Shaded: within a tenth of the thesis' ({ranges}); bold: both are.",
            fontsize=8,
        )
        axes = figure.subplots(len(pipes), len(RANGES), squeeze=False, sharex=True, sharey=True)
        for line, pipe in zip(axes, pipes, strict=True):
            for axis, case in zip(line, RANGES, strict=True):
                _table(axis, found, (columns, rows, pipe, case))
    return figure


def _column(cell: Cell) -> str:
    """Return the name of a cell's column, in lines as short as a column is wide."""
    return "\n".join([*textwrap.wrap(cell[0], 12), *textwrap.wrap(cell[2], 12)])


def _table(
    axis: Axes, found: Mapping[Cell, Mapping[str, float]], what: tuple[Sequence[str], Sequence[str], str, str]
) -> None:
    columns, rows, pipe, case = what
    low, high = RANGES[case]
    for cell, values in found.items():
        if cell[3] != pipe or case not in values:
            continue
        place = columns.index(_column(cell)), rows.index(cell[1])
        agrees = low <= values[case] <= high
        whole = all(RANGES[each][0] <= values.get(each, 0.0) <= RANGES[each][1] for each in RANGES)
        axis.add_patch(
            Rectangle(
                (place[0] - 0.5, place[1] - 0.5), 1, 1, facecolor=AGREES if agrees else DIFFERS, edgecolor="white"
            )
        )
        axis.annotate(f"{values[case]:.1f}", place, ha="center", va="center", weight="bold" if whole else "normal")
    axis.set_xlim(-0.5, len(columns) - 0.5)
    axis.set_ylim(len(rows) - 0.5, -0.5)
    axis.set_xticks(range(len(columns)), columns, fontsize=6.5)
    axis.set_yticks(range(len(rows)), rows)
    axis.grid(visible=False)
    axis.set_title(f"{pipe}: {WORDS[case]}", fontsize=8)


PICTURES = [
    Picture("testbeds", "H1n", "map of testbeds", "The old flow over testbeds of 2005; shaded: as the thesis", testbeds)
]
