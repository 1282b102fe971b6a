"""Figures: BBR's share by the depth of the buffer, DCTCP's sawtooth, and what a longer round trip costs."""

from pathlib import Path

import matplotlib as mpl
import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from ackclock.claims.figures import STYLE, Picture
from ackclock.claims.folder import Study, load_module
from ackclock.claims.ledger import Laboratory
from ackclock.claims.panels import WIDTH

_bbr = load_module(Path(__file__).parent / "measure_bbr.py")
_loss = load_module(Path(__file__).parent / "measure_loss.py")
_marks = load_module(Path(__file__).parent / "measure_marks.py")

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
        capped = [0.5 * (1 - _bbr.probe_time(d * _bbr.PATH_S, _bbr.PATH_S)) for d in places if d >= 2]
        left.plot([d for d in places if d >= 2], capped, ":", color=GREY, label="half, less ProbeRTT")
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


def sawtooth(laboratory: Laboratory, study: Study) -> Figure:
    """Draw DCTCP's queue over 20 ms, segments one by one and in Linux' bursts, with the ends of the law."""
    settings = list(laboratory.settings(study).items())
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(WIDTH, 3.4), layout="constrained")
        axes = figure.subplots(1, len(settings), sharey=True, squeeze=False)[0]
        for axis, (setting, repetitions) in zip(axes, settings, strict=True):
            results = laboratory.runs(study, repetitions[0])["2 K=20"]
            link = results.links.filter((pl.col("link") == "bottleneck") & pl.col("time_s").is_between(1.5, 1.52))
            axis.plot((link["time_s"] - 1.5) * 1e3, link["queue_packets"], color=BLUE, linewidth=1.2)
            for value, name in ((22.0, "K + N"), (22.0 - _marks.amplitude(2, 20), "K + N - A")):
                axis.axhline(value, color=GREY, linewidth=0.9, linestyle=(0, (1, 2)))
                axis.annotate(name, (20.3, value), va="center", fontsize=8.5, color=GREY, annotation_clip=False)
            axis.set(title=setting[0].name, xlabel="time (ms)", xlim=(0, 20), ylim=(0, 40))
        axes[0].set_ylabel("queue (packets)")
    return figure


def round_trips(laboratory: Laboratory, study: Study) -> Figure:
    """Draw by how much flows over 40 ms have more than those over 80 ms, each seed."""
    runs = [laboratory.runs(study, choices) for choices in laboratory.grid(study)]
    names = sorted(
        (case.name for case in study.cases if "," not in case.name),
        key=lambda name: sum(_loss.near_over_far(each[name])[0] for each in runs),
    )
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(WIDTH, 3.2), layout="constrained")
        axis = figure.subplots()
        for each in runs:
            axis.plot([_loss.near_over_far(each[name])[0] for name in names], range(len(names)), "o", color=BLUE)
        for value, name in ((1.0, "alike"), (2.0, "inverse of the round trips"), (4.0, "of their squares")):
            axis.axvline(value, color=GREY, linewidth=0.9, linestyle=(0, (1, 2)))
            axis.annotate(name, (value, -0.9), xytext=(3, 0), textcoords="offset points", fontsize=8.5, color=GREY)
        axis.set_xscale("log")
        axis.xaxis.set_major_locator(FixedLocator([0.5, 1, 2, 4, 8, 16]))
        axis.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        axis.xaxis.set_minor_locator(NullLocator())
        axis.set_yticks(range(len(names)), names)
        axis.set(xlabel="goodput over 40 ms over that over 80 ms", ylim=(-1.2, len(names) - 0.5))
    return figure


PICTURES = [
    Picture("bbr-by-depth", "C5e", "depths", "One BBR flow beside one loss-based flow, 10 Mbit/s, 40 ms", depths),
    Picture("dctcp-sawtooth", "C9", "dctcp", "Two DCTCP flows, 1 Gbit/s, 1 ms, K = 20", sawtooth),
    Picture("round-trips", "C13", "round trips", "What a round trip twice as long costs, 100 Mbit/s", round_trips),
]
