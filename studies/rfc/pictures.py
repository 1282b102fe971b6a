"""Mean window over the loss rate: laws as lines, packet-level runs as dots, the controller alone as crosses."""

from pathlib import Path
from types import ModuleType

import matplotlib as mpl
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from ackclock.claims.figures import STYLE, Picture
from ackclock.claims.folder import Study, load_module
from ackclock.claims.ledger import Laboratory

measure: ModuleType = load_module(Path(__file__).parent / "measure.py")
COLORS = {
    "Reno": "#777777",
    "CUBIC": "#1f5fa8",
    "HighSpeed": "#c8501e",
    "Scalable": "#2a8a4a",
    "H-TCP": "#7a4fa0",
    "BIC": "#e0a030",
}


def response(laboratory: Laboratory, study: Study) -> Figure:
    """Draw every response function on logarithmic axes."""
    runs = laboratory.runs(study)
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(9.6, 5.4), layout="constrained")
        axis = figure.subplots()
        for name, color in COLORS.items():
            rates = measure.loss_rates(name)
            axis.plot(rates, [measure.LAWS[name](p) for p in rates], color=color, linewidth=1.4, label=name)
            axis.plot(rates, [measure.alone(name, p) for p in rates], "x", color=color, markersize=7)
            packets = [measure.window_of(runs[f"{name} {p}"]) for p in measure.PACKET_LEVEL]
            axis.plot([float(p) for p in measure.PACKET_LEVEL], packets, "o", color=color, markersize=5)
        axis.set(xscale="log", yscale="log", xlabel="loss rate p", ylabel="mean window (segments)")
        axis.invert_xaxis()
        marks = [
            Line2D([], [], color="#444444", linewidth=1.4, label="law"),
            Line2D([], [], color="#444444", marker="o", linestyle="", label="packet by packet"),
            Line2D([], [], color="#444444", marker="x", linestyle="", label="controller alone"),
        ]
        handles, _ = axis.get_legend_handles_labels()
        axis.legend(handles=[*handles, *marks], loc="upper left", ncols=2)
    return figure


PICTURES = [Picture("response-functions", "R", "response", "Mean window under regular loss", response)]
