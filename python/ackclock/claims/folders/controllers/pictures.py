"""Figures: BBR's share beside CUBIC by the depth of the buffer, and what holds it."""

from pathlib import Path

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from ackclock.claims.figures import STYLE, Picture
from ackclock.claims.folder import Study, load_module
from ackclock.claims.ledger import Laboratory
from ackclock.claims.panels import WIDTH

_bbr = load_module(Path(__file__).parent / "measure_bbr.py")

BLUE, RED, GREEN, GREY = "#1f5fa8", "#c8501e", "#2f8f5b", "#777777"


def _by_depth(axis: Axes, depths: list[float], title: str) -> None:
    axis.set_xscale("log", base=2)
    axis.xaxis.set_major_locator(FixedLocator(depths))
    axis.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axis.xaxis.set_minor_locator(NullLocator())
    axis.set(xlabel="buffer (BDP)", ylim=(0, 1.02), title=title)


def depths(laboratory: Laboratory, study: Study) -> Figure:
    """Draw BBR's share beside CUBIC and Reno with the model's, and its flight over its cap."""
    runs = [laboratory.runs(study, choices) for choices in laboratory.grid(study)]
    places = [float(depth) for depth in _bbr.DEPTHS]
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(WIDTH, 3.8), layout="constrained")
        left, right = figure.subplots(1, 2)
        left.plot(places, [_bbr.model(d, 10e6) for d in places], "--", color=GREY, label="model (Ware et al. 2019)")
        for number, each in enumerate(runs):
            shares = [_bbr.share(each[f"{d:g}"]) for d in places]
            left.plot(places, shares, "o", color=BLUE, markersize=4, label="" if number else "beside CUBIC")
            reno = [_bbr.share(each[f"{d}, reno"]) for d in (32, 64)]
            left.plot((32, 64), reno, "s", color=RED, markersize=5, label="" if number else "beside Reno")
            caps = [_bbr.of_cap(each[f"{d:g}"]) for d in places]
            right.plot(places, caps, "o", color=GREEN, markersize=4, label="" if number else "mean flight / cap")
            times = [_bbr.in_probe(each[f"{d:g}"]) for d in places]
            right.plot(places, times, "^", color=RED, markersize=4, label="" if number else "time in ProbeRTT")
        law = [_bbr.probe_time(d * _bbr.PATH_S, _bbr.PATH_S) for d in places]
        right.plot(places, law, "--", color=GREY, label="the model's time in ProbeRTT")
        _by_depth(left, places, "BBR's share of the goodput, each seed")
        _by_depth(right, places, "what holds it, beside CUBIC")
        left.legend(loc="upper right")
        right.legend(loc="center left", bbox_to_anchor=(0.0, 0.45))
    return figure


PICTURES = [
    Picture("bbr-by-depth", "C5e", "depths", "One BBR flow beside one loss-based flow, 10 Mbit/s, 40 ms", depths)
]
