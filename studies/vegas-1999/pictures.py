"""The paper's figures 3 to 13, in pairs; what is left and what is gained over the grid; clocks; asymmetry."""

import itertools
import json
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import matplotlib as mpl
import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ackclock.claims import panels
from ackclock.claims.figures import STYLE, Curve, Picture
from ackclock.claims.folder import Study
from ackclock.claims.intervals import of_mean
from ackclock.claims.ledger import Choices, Laboratory
from ackclock.claims.panels import Axis, Bars, Panel, Table
from ackclock.results import Results

FIRST, SECOND, AVERAGE = "#1f5fa8", "#c8501e", "#333333"
GREEN, YELLOW, PURPLE = "#2f8f5b", "#e0a030", "#7a4fa0"
OBSERVED = {"A1": FIRST, "A2": SECOND}
BIN_S = 0.2
"""The paper's bins; the scenarios' traces have the same interval."""
SETTLED_S = 10.0
"""Goodputs are taken from here on, as the claims' are."""


def _rates(results: Results, flow: str) -> tuple[list[float], list[float]]:
    """Return times and goodput in bins, in kbit/s; 0 before the connection starts."""
    rows = results.flows.filter(pl.col("flow") == flow)
    values = rows["goodput_bps"].fill_nan(0.0).fill_null(0.0) / 1e3
    return rows["time_s"].to_list(), values.to_list()


def _goodput(results: Results, flows: Sequence[str] = tuple(OBSERVED)) -> float:
    """Return the goodput of connections together once all have started, in kbit/s."""
    rows = results.flows.filter(pl.col("flow").is_in(flows) & (pl.col("time_s") > SETTLED_S))
    bins = rows.filter(pl.col("flow") == flows[0]).height
    return float(rows["goodput_bps"].sum()) / bins / 1e3


def _column(results: Results, title: str) -> tuple[Panel, Panel]:
    """Return rates and their average above, cumulative bytes below."""
    above, below, all_values, all_sums = [], [], [], []
    for flow, color in OBSERVED.items():
        time, values = _rates(results, flow)
        sums = pl.Series(values).cum_sum() * (1e3 * BIN_S / 8 / 1e6)
        above.append(Curve(flow, time, values, color))
        below.append(Curve(flow, time, sums.to_list(), color))
        all_values.append(values)
        all_sums.append(sums.to_list())
    average, middle = ([sum(pair) / len(pair) for pair in zip(*rows, strict=True)] for rows in (all_values, all_sums))
    means = [Curve("average", time, values, AVERAGE) for values in (average, middle)]
    return Panel(title, [*above, means[0]]), Panel("", [*below, means[1]])


def beside(*cases: str) -> Callable[[Laboratory, Study], Figure]:
    """Draw cases side by side in the form of the paper's figures."""

    def draw(laboratory: Laboratory, study: Study) -> Figure:
        runs = laboratory.runs(study)
        above, below = zip(*(_column(runs[case], _named(case)) for case in cases), strict=True)
        rows = [(Axis("rate in bins of 0.2 s (kbit/s)"), above), (Axis("received (MB)"), below)]
        return panels.rows(rows, Axis("time (s)"))

    return draw


NAMES = {
    "tahoe": "Tahoe",
    "vegas": "Vegas",
    "first": "modified on A1",
    "second": "modified on A2",
    "both": "modified on both",
}
"""Names of the two connections' controllers, in the names of cases and in titles."""


def _named(case: str) -> str:
    experiment, _, rest = case.partition(" ")
    who, *more = rest.split(", ")
    return ", ".join([f"exp. {experiment}: {NAMES[who]}", *more])


def _over_grid(
    laboratory: Laboratory, study: Study, cells: Sequence[tuple[str, str, str]], ends: tuple[float, float], scale: str
) -> Figure:
    """Draw a table for each quotient of two cases: rates and delays down, queues across; first constants."""
    constants, rate, delay, queue = study.choices
    chosen = [choices for choices in laboratory.grid(study) if choices[0] == constants.options[0]]
    grid = {tuple(o.name for o in choices[1:]): choices for choices in chosen}
    tried = [sorted({key[i] for key in grid}, key=_leading) for i in range(3)]
    rows = [(r, d) for r in tried[0] for d in tried[1]]
    parts = []
    for title, above, below in cells:
        values = [[_quotient(laboratory, study, grid[r, d, q], above, below) for q in tried[2]] for r, d in rows]
        parts.append(Table(title, values, *ends, scale="log" if scale == "log" else "linear"))
    names = [f"{r}, {d}" for r, d in rows]
    return panels.tables(parts, (f"{rate.title}, {delay.title}", names), (f"{queue.title} (packets)", tried[2]))


def _leading(name: str) -> float:
    """Return the number that an option's name begins with: rates, delays and queues are drawn in its order."""
    return float(name.split()[0])


def _quotient(laboratory: Laboratory, study: Study, choices: Choices, above: str, below: str) -> float:
    runs = laboratory.runs(study, choices)
    base = _goodput(runs[below])
    return _goodput(runs[above]) / base if base > 0 else float("inf")


def left(laboratory: Laboratory, study: Study) -> Figure:
    """Draw the share that backward congestion leaves of each, over rates, delays and queues."""
    cells = [
        ("left of Tahoe", "3 tahoe", "1 tahoe"),
        ("left of Vegas", "3 vegas", "1 vegas"),
        ("left of Vegas with SGPQ", "3 vegas, SGPQ", "1 vegas"),
        ("left, modified on both", "3 both", "1 vegas"),
    ]
    return _over_grid(laboratory, study, cells, (0.0, 1.5), "linear")


def gains(laboratory: Laboratory, study: Study) -> Figure:
    """Draw the factor by which each remedy multiplies goodput of experiment 3, over rates, delays and queues."""
    cells = [
        ("Vegas, by SGPQ", "3 vegas, SGPQ", "3 vegas"),
        ("Tahoe, by SGPQ", "3 tahoe, SGPQ", "3 tahoe"),
        ("by modified Vegas", "3 both", "3 vegas"),
        ("... with the least RTT", "3 both, least RTT", "3 vegas"),
    ]
    return _over_grid(laboratory, study, cells, (0.1, 10.0), "log")


SKEWS = (-500, -100, 0, 1, 10, 100, 500)
TOLERANCE = (("modified", SECOND), ("tolerant", FIRST))


def skew(laboratory: Laboratory, study: Study) -> Figure:
    """Goodput over the skew of the receiver's clock, a panel for each delay."""
    parts = []
    for delay, starts in _each_delay(laboratory, study):
        goodput = partial(_goodput_of, laboratory, study, starts)
        xs = [float(value) for value in SKEWS]
        curves = []
        for kind, color in TOLERANCE:
            values, halves = zip(*[goodput(f"{kind}, {ppm} ppm") for ppm in SKEWS], strict=True)
            curves.append(Curve(kind, xs, values, color, halves=halves))
        value, _ = goodput("plain Vegas")
        plain = Curve("plain Vegas", xs, [value] * len(SKEWS), YELLOW, "--")
        parts.append(Panel(f"one-way delay {delay}", [*curves, plain]))
    axis = Axis("receiver's clock too fast (ppm)", "symlog", (-500, -10, 0, 10, 500))
    return panels.rows([(Axis("goodput of A1 and A2 (kbit/s)"), parts)], axis)


def _each_delay(laboratory: Laboratory, study: Study) -> list[tuple[str, list[Choices]]]:
    """Return each delay that was tried, in ascending order, and its starts under the first of all other choices."""
    settings = laboratory.settings(study)
    first = next(iter(settings))
    found = [(setting[0].name, starts) for setting, starts in settings.items() if setting[1:] == first[1:]]
    return sorted(found, key=lambda each: _leading(each[0]))


def _goodput_of(laboratory: Laboratory, study: Study, starts: Sequence[Choices], case: str) -> tuple[float, float]:
    """Return the mean goodput of both over the starts and how far it may be off, 95 %; 0 for a single start."""
    interval = of_mean([_goodput(laboratory.runs(study, choices)[case]) for choices in starts])
    return interval.middle, interval.half if interval.freedom else 0.0


STEPS = ("forward by 50 ms", "forward by 1 s", "back by 50 ms")


def steps(laboratory: Laboratory, study: Study) -> Figure:
    """Goodput over time around the moment at which the receiver's clock is set."""
    runs = laboratory.runs(study)
    parts = []
    for how in STEPS:
        curves = [_seconds(runs[f"{kind}, {how}"], kind, color) for kind, color in TOLERANCE]
        still = _seconds(runs["modified, never set"], "modified, never set", "#999999", "--")
        parts.append(Panel(f"set {how}", [*curves, still], step=20.0))
    return panels.rows([(Axis("goodput of A1 and A2 (kbit/s)"), parts)], Axis("time (s)"))


def _seconds(results: Results, label: str, color: str, dashes: str = "-") -> Curve:
    """Return the goodput of both in bins of 2 s."""
    count = round(2.0 / BIN_S)
    pairs = [_rates(results, flow) for flow in OBSERVED]
    sums = [sum(values) for values in zip(*(values for _, values in pairs), strict=True)]
    whole = range(0, len(sums) // count * count, count)
    middles = [pairs[0][0][i] - BIN_S + 1.0 for i in whole]
    return Curve(label, middles, [sum(sums[i : i + count]) / count for i in whole], color, dashes)


def ticks(laboratory: Laboratory, study: Study) -> Figure:
    """Goodput under each tick of the receiver's clock, with and without delayed ACKs."""
    cases = [case.name for case in study.cases]
    colors = (FIRST, GREEN, YELLOW, PURPLE)
    series = []
    for (delay, starts), color in zip(_each_delay(laboratory, study), colors, strict=False):
        goodputs = [_goodput_of(laboratory, study, starts, case) for case in cases]
        values, halves = zip(*goodputs, strict=True)
        series.append(Bars(f"one-way delay {delay}", color, values, halves))
    return panels.bars(cases, series, "goodput of A1 and A2 (kbit/s)")


CURES = ("plain", "SGPQ", "filter", "an ACK for 4", "an ACK for 16", "adaptive")
WHO = (("Tahoe", YELLOW), ("Vegas", SECOND), ("modified", FIRST))


def asymmetry(laboratory: Laboratory, study: Study) -> Figure:
    """Goodput at each ratio and under each remedy, nothing but ACKs on the way back."""
    runs = laboratory.runs(study)
    places = [("1:1", "plain"), *((ratio, cure) for ratio in ("10:1", "50:1") for cure in CURES)]
    series = [
        Bars(who, color, [_goodput(runs[_case(ratio, who, cure)]) for ratio, cure in places]) for who, color in WHO
    ]
    return panels.bars([f"{ratio}, {cure}" for ratio, cure in places], series, "goodput of A1 and A2 (kbit/s)")


def both_ways(laboratory: Laboratory, study: Study) -> Figure:
    """Goodput at each ratio and under each remedy beside eight connections that send the other way."""
    runs = laboratory.runs(study)
    places = [(ratio, cure) for ratio in ("10:1", "50:1") for cure in (*CURES, "SGPQ, an ACK for 16", "SGPQ, adaptive")]
    series = [
        Bars(who, color, [_goodput(runs[_case(f"{ratio}, 8 back", who, cure)]) for ratio, cure in places])
        for who, color in WHO
    ]
    return panels.bars([f"{ratio}, {cure}" for ratio, cure in places], series, "goodput of A1 and A2 (kbit/s)")


def _case(ratio: str, who: str, cure: str) -> str:
    return f"{ratio}, {who}" if cure == "plain" else f"{ratio}, {who}, {cure}"


FOLDER = Path(__file__).parent
"""Folder of the records of a `--full` run. `regions.json` has the statements of V1 to V6 in each cell of the whole
grid, and `recorded.json` has how those of V15 hold under other starts."""


def region(_laboratory: Laboratory | None, _study: Study | None) -> Figure:
    """Draw how many of the twelve statements hold in each cell on record, a panel for each kind of Vegas."""
    (record,) = json.loads((FOLDER / "regions.json").read_text(encoding="utf-8"))["regions"]
    options = [choice["options"] for choice in record["choices"]]
    constants, rates, delays, queues = options
    cells = {c: held.bit_count() for c, held in zip(itertools.product(*options), record["held"], strict=True)}
    starts = _starts()
    rows = [(r, d) for r in sorted(rates, key=_leading) for d in sorted(delays, key=_leading)]
    heads = sorted(queues, key=_leading)
    with mpl.rc_context(STYLE | {"axes.grid": False}):
        figure = Figure(figsize=(panels.WIDTH, 9.0), layout="constrained")
        axes = figure.subplots(2, (len(constants) + 1) // 2, sharey=True, sharex=True).flat
        for axis, name in zip(axes, sorted(constants), strict=False):
            whole = [[starts.get(f"{name}; {r}, {d}, {q}") for q in heads] for r, d in rows]
            _panel(axis, [[cells[name, r, d, q] for q in heads] for r, d in rows], whole, len(record["ids"]))
            axis.set_title(name.replace(", ", ",\n", 1), fontsize=8.5)
            axis.set_xticks(range(len(heads)), heads)
            axis.set_yticks(range(len(rows)), [f"{r}, {d}" for r, d in rows], fontsize=8)
        figure.supxlabel("queue (packets)", fontsize=10)
        figure.supylabel("bottleneck, one-way delay", fontsize=10)
    return figure


def _starts() -> dict[str, int]:
    """Return under how many of the five other starts all twelve hold, by the cells in which they do with the first."""
    claims = json.loads((FOLDER / "recorded.json").read_text(encoding="utf-8"))["claims"]
    others: list[dict[str, Any]] = next((claim["other_choices"] for claim in claims if claim["id"] == "V15"), [])
    found: dict[str, int] = {}
    for other in others:
        if other["choices"]["starts"] != "1":
            place = other["choices"]["place"]
            found[place] = found.get(place, 0) + (other["verdict"] == "agrees")
    return found


def _panel(axis: Axes, counts: list[list[int]], starts: list[list[int | None]], whole: int) -> None:
    axis.imshow(counts, cmap="Blues", vmin=2, vmax=whole + 3, aspect="auto")
    axis.spines[:].set_visible(False)
    axis.tick_params(length=0)
    shades = mpl.colormaps["Oranges"]
    for y, row in enumerate(counts):
        for x, count in enumerate(row):
            others = starts[y][x] if count == whole else None
            text = str(count) if others is None else f"{others}/5"
            colour = "black" if others is None or others < 3 else "white"
            weight = "normal" if others is None else "bold"
            box = (
                {"facecolor": shades(0.2 + 0.13 * others), "edgecolor": "#c8501e", "pad": 1.6}
                if others is not None
                else None
            )
            axis.text(x, y, text, ha="center", va="center", fontsize=7.5, color=colour, weight=weight, bbox=box)


PICTURES = [
    Picture(
        "region",
        "V6",
        "vegas",
        "How many of the twelve statements of V1 to V6 hold, on record, one run each; framed: all, and under how many "
        "of five other starts they all do",
        region,
        shows=("V1", "V2", "V3", "V4", "V5", "V6", "V15"),
    ),
    Picture(
        "experiment-1",
        "V1",
        "vegas",
        "Experiment 1, the paper's figures 3 and 4: alone; the first cell, one run each",
        beside("1 tahoe", "1 vegas"),
    ),
    Picture(
        "experiment-2",
        "V2",
        "vegas",
        "Experiment 2, figures 5 and 6: forward congestion; the first cell, one run each",
        beside("2 tahoe", "2 vegas"),
    ),
    Picture(
        "experiment-3",
        "V3",
        "vegas",
        "Experiment 3, figures 7 and 8: backward congestion; the first cell, one run each",
        beside("3 tahoe", "3 vegas"),
    ),
    Picture("left", "V3", "vegas", "Experiment 3 / experiment 1, over the grid, one run each", left),
    Picture(
        "sgpq",
        "V4",
        "vegas",
        "Experiment 3 with SGPQ, figures 9 and 10; the first cell, one run each",
        beside("3 tahoe, SGPQ", "3 vegas, SGPQ"),
    ),
    Picture(
        "modified",
        "V6",
        "vegas",
        "Experiment 3, modified Vegas, figures 11 to 13; the first cell, one run each",
        beside("3 first", "3 second", "3 both"),
    ),
    Picture(
        "gains", "V6", "vegas", "Experiment 3: goodput with a remedy / without, over the grid, one run each", gains
    ),
    Picture("ticks", "V7b", "ticks", "Ticks of the receiver's clock, means of the starts, 95 %", ticks),
    Picture("skew", "V8b", "skew", "Goodput over the skew between the clocks, 300 s, means of the starts, 95 %", skew),
    Picture(
        "steps", "V8d", "steps", "Goodput around the moment at which the receiver's clock is set, one run each", steps
    ),
    Picture(
        "asymmetry", "V9", "asymmetry", "A slower way back, 1.5 Mbit/s there; A1 and A2 alone, one run each", asymmetry
    ),
    Picture(
        "asymmetry-both-ways",
        "V9",
        "asymmetry",
        "A slower way back, with eight connections on it, one run each",
        both_ways,
    ),
]
