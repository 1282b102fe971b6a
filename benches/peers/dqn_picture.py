"""The papers' tables, ns-3 and ackclock in one picture: a row for each throughput, intervals of 95 % over the runs.

    python benches/peers/dqn_picture.py [-o FILE]

Source of the form: as ackclock.claims.forest. Departures: nothing counts as agreement here; three are set side by side.
"""

import argparse
import sys
from pathlib import Path

import matplotlib as mpl
from dqn_cases import FOLDER
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ackclock.claims.figures import STYLE
from ackclock.claims.intervals import of_mean

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "docs" / "site" / "records"))

from twin import OTHER, OURS, Line, read

IMAGE = Path(__file__).resolve().parents[2] / "docs" / "images" / "claims-dqn-twin.png"
TITLES = {
    "D2": "two controllers, 60 ms each",
    "D3": "40 and 60 ms, the same controller",
    "D4": "rates 100, 50, 100 Mbit/s; flow 2's access 10, 50, 100",
}
COLOURS = {OTHER: "#c8501e", OURS: "#1f5fa8"}


def draw(lines: list[Line]) -> Figure:
    """Draw the throughputs of each table that has numbers in the papers.

    Args:
        lines: The record.
    """
    tables = {name: [line for line in lines if line.table == name and line.unit == "Mbit/s"] for name in TITLES}
    tables = {name: [each for each in found if each.quantity != "both"] for name, found in tables.items() if found}
    with mpl.rc_context({**STYLE, "axes.grid": False}):
        heights = [len(found) for found in tables.values()]
        figure = Figure(figsize=(9.6, 1.6 + 0.26 * sum(heights)), layout="constrained")
        axes = figure.subplots(len(tables), 1, sharex=True, height_ratios=heights, squeeze=False)
        for axis, (name, found) in zip(axes[:, 0], tables.items(), strict=True):
            _panel(axis, found, TITLES[name])
        axes[-1, 0].set_xlabel("throughput with headers, Mbit/s")
        handles = dict(zip(*reversed(axes[0, 0].get_legend_handles_labels()), strict=True))
        figure.legend(handles.values(), handles.keys(), loc="outside lower center", ncols=3)
    return figure


def _panel(axis: Axes, lines: list[Line], title: str) -> None:
    for place, line in enumerate(lines):
        if line.source is not None:
            axis.plot(line.source, place, "D", color="black", markersize=6, fillstyle="none", label="the papers")
        for shift, (name, values) in zip((-0.18, 0.18), ((OTHER, line.other), (OURS, line.ours)), strict=True):
            if values:
                interval = of_mean(values)
                half = interval.half if interval.freedom else 0.0
                axis.errorbar(
                    interval.middle,
                    place + shift,
                    xerr=half,
                    fmt="o",
                    color=COLOURS[name],
                    markersize=4,
                    capsize=2.5,
                    linewidth=1.2,
                    label=name,
                )
    axis.set_title(title, loc="left")
    axis.set_yticks(range(len(lines)), [f"{line.row}: {line.quantity}" for line in lines])
    axis.set_ylim(len(lines) - 0.5, -0.5)
    axis.set_xlim(0, 100)
    axis.tick_params(axis="y", length=0)


def main() -> int:
    """Draw the record; return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-o", dest="image", type=Path, default=IMAGE, metavar="FILE", help=f"picture ({IMAGE})")
    image = parser.parse_args().image
    try:
        draw(read(FOLDER)).savefig(image, dpi=110)
    except LookupError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
