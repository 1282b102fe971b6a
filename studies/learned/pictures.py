"""Goodput over delay by kind of path, a run in time, and how the policy was learnt."""

import json
import math
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from types import ModuleType

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import NullFormatter

from ackclock.claims.figures import STYLE, Picture
from ackclock.claims.folder import Study, load_module
from ackclock.claims.ledger import Laboratory
from ackclock.results import Results

measure: ModuleType = load_module(Path(__file__).parent / "measure.py")
CURVES = Path(__file__).parent / "curves.json"
"""Worth on the validation paths, every 20 generations, as `python -m studies.learned.evolve` wrote it."""
LOOKS = {
    "learned": ("learned", "#c8501e", "o"),
    "cubic": ("CUBIC", "#999999", "s"),
    "bbr3": ("BBRv3", "#1f5fa8", "^"),
    "copa": ("Copa", "#2f8f5b", "D"),
    "pcc_vivace": ("PCC Vivace", "#8a5fb0", "v"),
}
TITLES = {
    "alone": "one flow alone",
    "lossy": "random loss",
    "cubic": "beside CUBIC",
    "own": "two of a kind",
    "changing": "changing rate",
    "cellular": "recorded cells",
}


def trade(laboratory: Laboratory, study: Study) -> Figure:
    """Draw each controller's mean goodput over its mean delay, a panel for a kind of path: better is up and right."""
    kinds = [family for family in measure.FAMILIES if any(case.name.startswith(f"{family} ") for case in study.cases)]
    runs = [laboratory.runs(study, choices) for choices in laboratory.grid(study)]
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(9.6, 3.1 * math.ceil(len(kinds) / 3)), layout="constrained")
        axes = figure.subplots(math.ceil(len(kinds) / 3), 3, squeeze=False).ravel()
        for axis, kind in zip(axes, kinds, strict=False):
            for name, look in LOOKS.items():
                _dot(axis, [measure.figures(each[f"{kind} {name}"], kind) for each in runs], look)
            axis.set_title(TITLES[kind])
            axis.set_xscale("log")
            axis.invert_xaxis()
            axis.xaxis.set_major_formatter("{x:g}")
            axis.xaxis.set_minor_formatter(NullFormatter())
            axis.set_ylim(0, 110)
        for axis in axes[len(kinds) :]:
            axis.set_visible(False)
        figure.supxlabel("mean queueing delay (% of the propagation RTT; less to the right)")
        figure.supylabel("mean goodput (% of the fair share)")
        handles, labels = axes[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside upper center", ncols=len(labels))
    return figure


def _dot(axis: Axes, found: Sequence[object], look: tuple[str, str, str]) -> None:
    """Draw a mean with its standard errors."""
    label, color, marker = look
    delay, delay_error = _mean_and_error([measure.delay(each) for each in found])
    goodput, goodput_error = _mean_and_error([measure.goodput(each) for each in found])
    axis.errorbar(
        max(delay, 0.1), goodput, xerr=min(delay_error, 0.9 * max(delay, 0.1)), yerr=goodput_error,
        fmt=marker, color=color, markersize=6, linewidth=1, label=label,
    )  # fmt: skip


def _mean_and_error(values: Sequence[float]) -> tuple[float, float]:
    mean = math.fsum(values) / len(values)
    spread = math.fsum((value - mean) ** 2 for value in values) / max(len(values) - 1, 1)
    return mean, math.sqrt(spread / len(values))


def in_time(laboratory: Laboratory, study: Study) -> Figure:
    """Draw goodput and queueing delay of each controller on one path, with the link's rate behind."""
    runs = laboratory.runs(study)
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(9.6, 5.2), layout="constrained")
        above, below = figure.subplots(2, 1, sharex=True)
        at, rates = _rate(runs["learned"])
        above.step(at, rates, where="post", color="#bbbbbb", linewidth=3, label="the link's rate")
        for name, (label, color, _) in LOOKS.items():
            width = 2.0 if name == "learned" else 1.1
            flow = runs[name].flows
            above.plot(flow["time_s"], flow["goodput_bps"] / 1e6, color=color, linewidth=width, label=label)
            link = runs[name].links
            link = link.filter(link["link"] == "bottleneck")
            below.plot(link["time_s"], link["queue_delay_s"] * 1e3, color=color, linewidth=width)
        # What is handed over at once when a hole is filled goes beyond.
        above.set(ylabel="goodput (Mbit/s)", ylim=(0, 1.3 * max(rates)))
        below.set(ylabel="delay in the queue (ms)", xlabel="time (s)", ylim=(0, None))
        handles, labels = above.get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside upper center", ncols=6)
    return figure


def _rate(results: Results) -> tuple[list[float], list[float]]:
    schedule = results.manifest["scenario"]["topology"]["bottleneck"]["rate"]["schedule"]
    steps = [(float(e["at"].split()[0]) if e["at"] != "0 ns" else 0.0, float(e["rate"].split()[0])) for e in schedule]
    steps.append((float(results.summary["duration_s"]), steps[-1][1]))
    assert all(begin < end for (begin, _), (end, _) in pairwise(steps))
    return [at for at, _ in steps], [rate for _, rate in steps]


def curves(laboratory: Laboratory, study: Study) -> Figure:
    """Draw what the paths set aside were worth during each training, on average and by kind of path."""
    del laboratory, study
    trainings = json.loads(CURVES.read_text(encoding="utf-8"))
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(9.6, 4.2), layout="constrained")
        left, right = figure.subplots(1, 2)
        for name, training in trainings.items():
            at = [row["generation"] for row in training["curve"]]
            left.plot(at, [row["worth"] for row in training["curve"]], marker=".", linewidth=1.4, label=name)
        left.set(title="every training, all kinds", xlabel="generation", ylabel="mean worth of the paths set aside")
        left.legend(loc="upper center", bbox_to_anchor=(0.5, -0.18), ncols=2, fontsize=8)
        name, training = next(iter(trainings.items()))
        for family in measure.FAMILIES:
            at = [row["generation"] for row in training["curve"]]
            right.plot(at, [row[family]["worth"] for row in training["curve"]], linewidth=1.4, label=TITLES[family])
        right.set(title=f"{name}, by kind of path", xlabel="generation")
        right.legend(loc="upper center", bbox_to_anchor=(0.5, -0.18), ncols=3, fontsize=8)
    return figure


PICTURES = [
    Picture("trade", "L7", "all", "Goodput over delay, held-out paths", trade),
    Picture("trade-few", "L8", "few", "Goodput over delay, three held-out paths of each kind", trade),
    Picture("run", "L9", "run", "A path whose rate goes down and up again", in_time),
    Picture("curves", "L8", "few", "How the policy was learnt", curves, shows=("L8",)),
]
