"""The papers' figures: one flow, what each seed learns, pairs, round trips, changing rates.

The papers print only averages of their curves; these are drawn next to ours where there are any.
"""

import math
from collections.abc import Callable, Mapping, Sequence

import matplotlib as mpl
import polars as pl
from matplotlib.figure import Figure

from ackclock.claims import panels
from ackclock.claims.figures import STYLE, Curve, Picture
from ackclock.claims.folder import Study
from ackclock.claims.intervals import of_mean
from ackclock.claims.ledger import Choices, Laboratory
from ackclock.claims.panels import Axis, Panel
from ackclock.results import Results

FIRST, SECOND, PALE, MEAN = "#1f5fa8", "#c8501e", "#b9cbe0", "#333333"
CONTROLLERS = {
    "newreno": ("NewReno", "#999999"),
    "cubic": ("CUBIC", "#e0a030"),
    "dqn_newreno": ("DQN-NewReno", "#2f8f5b"),
    "dqn_cubic": ("DQN-CUBIC", FIRST),
}
BINS = 5
"""Samples of half a second that a point of a figure stands for."""
SEGMENT_BYTES = 536
MBPS = 1e-6 * (SEGMENT_BYTES + 52) / SEGMENT_BYTES
"""Goodput in bit/s to throughput with headers in Mbit/s, which the papers have."""
GAINS_MBPS = {"cubic": 12.0, "dqn_newreno": 13.0, "dqn_cubic": 14.0}
"""The papers' lead of each over NewReno (D1b), at the larger of the two rates, in Mbit/s."""
SLOW_START_S = 3.0
"""Windows are drawn from here on: slow start and the recovery after it reach five times what follows."""

Averages = Mapping[str, Sequence[tuple[float, float]]]
"""Goodputs of both flows by case, Mbit/s, a pair for each part of the run; all parts have the same length."""
PAIRS: Averages = {
    "dqn_newreno, newreno": [(53.60, 43.19)],
    "dqn_newreno, cubic": [(48.39, 47.74)],
    "dqn_cubic, newreno": [(51.14, 43.58)],
    "dqn_cubic, cubic": [(49.07, 48.40)],
}
RTTS: Averages = {
    "newreno": [(49.94, 45.58)],
    "cubic": [(47.38, 49.22)],
    "dqn_newreno": [(80.64, 11.91)],
    "dqn_cubic": [(48.53, 48.02)],
}
CHANGING: Averages = {
    "dqn_newreno": [(83.36, 9.42), (23.51, 22.69), (50.79, 44.43)],
    "dqn_cubic": [(85.25, 9.53), (24.10, 23.39), (52.18, 44.70)],
}
DRAWN = 2
"""Number of testbeds drawn: the first, and the same with a step of learning for each action."""
PART_S = 50.0
"""Span of each of the papers' averages, s."""

Draw = Callable[[Laboratory, Study], Figure]


def _series(results: Results, flow: str, column: str, factor: float, bins: int = 1) -> tuple[list[float], list[float]]:
    """Return times and values of a flow's series, means over `bins` samples."""
    rows = results.flows.filter((pl.col("flow") == flow) & pl.col(column).is_not_null())
    grouped = rows.with_row_index("row").with_columns(pl.col("row") // bins).group_by("row", maintain_order=True)
    means = grouped.agg(pl.col("time_s").mean(), pl.col(column).mean())
    return means["time_s"].to_list(), (means[column] * factor).to_list()


def _window(results: Results) -> tuple[list[float], list[float]]:
    time, values = _series(results, "1", "cwnd_bytes", 1 / SEGMENT_BYTES)
    later = sum(at < SLOW_START_S for at in time)
    return time[later:], values[later:]


def _first_seed(laboratory: Laboratory, study: Study) -> list[tuple[str, Choices]]:
    """Return each testbed that is drawn with the combination of its first seed."""
    return [(setting[0].name, grid[0]) for setting, grid in _drawn(laboratory, study)]


def _drawn(laboratory: Laboratory, study: Study) -> list[tuple[Choices, list[Choices]]]:
    return list(laboratory.settings(study).items())[:DRAWN]


def _name(case: str) -> str:
    return " and\n".join(CONTROLLERS[part][0] for part in case.split(", "))


def _columns(parts: Sequence[tuple[Panel, Panel]], above: str, below: str) -> Figure:
    upper, lower = zip(*parts, strict=True)
    return panels.rows([(Axis(above), upper), (Axis(below), lower)], Axis("time (s)"))


def alone(rate: str) -> Draw:
    """Draw cwnd and throughput of one flow under each controller, a column for each testbed, seed 1."""

    def draw(laboratory: Laboratory, study: Study) -> Figure:
        parts = []
        for queue, choices in _first_seed(laboratory, study):
            runs = laboratory.runs(study, choices)
            found = [(runs[f"{rate} {key}"], *look) for key, look in CONTROLLERS.items() if f"{rate} {key}" in runs]
            above = [Curve(n, *_window(r), c) for r, n, c in found]
            below = [Curve(n, *_series(r, "1", "goodput_bps", MBPS, BINS), c) for r, n, c in found]
            parts.append((Panel(queue, above), Panel("", below)))
        return _columns(parts, "cwnd after 3 s (segments)", "throughput (Mbit/s)")

    return draw


def averages(laboratory: Laboratory, study: Study) -> Figure:
    """Draw one flow's mean throughput under each controller with its interval, at both rates, on the first testbed."""
    grid = next(iter(laboratory.settings(study).values()))
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(panels.WIDTH, 3.4), layout="constrained")
        for axis, rate in zip(figure.subplots(1, 2), ("50", "100"), strict=True):
            means = {}
            for place, (key, (_, color)) in enumerate(CONTROLLERS.items()):
                every = [laboratory.runs(study, choices)[f"{rate} {key}"].flow("1")["goodput_bps"] for choices in grid]
                interval = of_mean([MBPS * float(each) for each in every])
                means[key] = interval.middle
                half = interval.half if interval.freedom else 0.0
                label = "_" if place else "ours, 95 %"
                axis.errorbar(place, interval.middle, half, fmt="o", color=color, capsize=4, label=label)
            if rate == "100":
                places = [list(CONTROLLERS).index(key) for key in GAINS_MBPS]
                gains = [means["newreno"] + gain for gain in GAINS_MBPS.values()]
                axis.plot(places, gains, "D", color="black", fillstyle="none", label="NewReno + the papers' gain")
            axis.set_xticks(range(len(CONTROLLERS)), [name for name, _ in CONTROLLERS.values()])
            axis.set_title(f"{rate} Mbit/s")
            axis.set_ylabel("throughput (Mbit/s)")
        figure.legend(*axis.get_legend_handles_labels(), loc="outside lower center", ncols=2)
    return figure


def learning(case: str) -> Draw:
    """Draw throughput and reward of each seed over time with their average, a column for each testbed."""

    def draw(laboratory: Laboratory, study: Study) -> Figure:
        parts = []
        for setting, repetitions in _drawn(laboratory, study):
            every = [laboratory.runs(study, choices)[case] for choices in repetitions]
            above, below = _seeds(every, "goodput_bps", MBPS), _seeds(every, "reward", 1.0)
            parts.append((Panel(setting[0].name, above), Panel("", below)))
        return _columns(parts, "throughput (Mbit/s)", "reward")

    return draw


def _seeds(every: Sequence[Results], column: str, factor: float) -> list[Curve]:
    series = [_series(results, "1", column, factor, BINS) for results in every]
    curves = [
        Curve("each seed" if index == 0 else "_", time, values, PALE) for index, (time, values) in enumerate(series)
    ]
    shortest = min(len(time) for time, _ in series)
    average = [sum(values[at] for _, values in series) / len(series) for at in range(shortest)]
    return [*curves, Curve("average", series[0][0][:shortest], average, MEAN)]


def shared(names: tuple[str, str], papers: Averages) -> Draw:
    """Draw the throughput of both flows of each case, seed 1: above on the first testbed, below on the second.

    Where one testbed was simulated only, windows are below. Lines of dashes are the papers' averages; their curves are
    not known.

    Args:
        names: Names of the flows.
        papers: The averages.
    """

    def draw(laboratory: Laboratory, study: Study) -> Figure:
        settings = _first_seed(laboratory, study)
        (first, above), (second, below) = settings[0], settings[min(1, len(settings) - 1)]
        is_alone = first == second
        parts = [
            (
                Panel(
                    _name(case.name),
                    _both(laboratory.runs(study, above)[case.name], names)
                    + _averages(papers.get(case.name, ()), names),
                ),
                Panel("", _both(laboratory.runs(study, below)[case.name], names, is_alone)),
            )
            for case in study.cases
            if len(study.cases) <= 4 or "dqn" in case.name
        ]
        under = "cwnd (segments)" if is_alone else f"Mbit/s, {second}"
        return _columns(parts, f"Mbit/s, {first}", under)

    return draw


def _both(results: Results, names: tuple[str, str], windows: bool = False) -> list[Curve]:
    looks = zip(("1", "2"), names, (FIRST, SECOND), strict=True)
    column, factor = ("cwnd_bytes", 1 / SEGMENT_BYTES) if windows else ("goodput_bps", MBPS)
    return [Curve(name, *_series(results, flow, column, factor, BINS), color) for flow, name, color in looks]


def _averages(parts: Sequence[tuple[float, float]], names: tuple[str, str]) -> list[Curve]:
    """Return a curve of each flow, level in each part and broken between them."""
    time = [second for index in range(len(parts)) for second in (PART_S * index, PART_S * (index + 1), math.nan)]
    values = [[value for part in parts for value in (part[flow], part[flow], math.nan)] for flow in range(2)]
    looks = zip(names, values, (FIRST, SECOND), strict=True)
    return [Curve(f"{name}, average in the papers", time, level, color, "--") for name, level, color in looks if parts]


ROUND_TRIPS = ("40 ms", "60 ms")
PAIR = ("flow 1", "flow 2")

ONE, WHAT = "cwnd and throughput of one flow", "What each seed learns, 100 Mbit/s"

PICTURES = [
    Picture("averages", "D1a2", "one", "One flow's mean throughput, 95 % over the seeds (figure 8)", averages),
    Picture("one-flow-classic", "D1a1", "one classic", f"{ONE}, 100 Mbit/s", alone("100")),
    Picture("one-flow-50", "D1b", "one", f"{ONE}, 50 Mbit/s, seed 1", alone("50")),
    Picture("one-flow-100", "D1c", "one", f"{ONE}, 100 Mbit/s, seed 1", alone("100")),
    Picture("learning-dqn-newreno", "D1d", "one", f"{WHAT}, DQN-NewReno", learning("100 dqn_newreno")),
    Picture("learning-dqn-cubic", "D1e", "one", f"{WHAT}, DQN-CUBIC", learning("100 dqn_cubic")),
    Picture("pairs", "D2", "pairs", "Throughput of two flows, seed 1", shared(PAIR, PAIRS)),
    Picture("rtts", "D3", "rtts", "Two flows of the same kind, seed 1", shared(ROUND_TRIPS, RTTS)),
    Picture("changing", "D4", "changing", "Changing rates, beside CUBIC (flow 2), seed 1", shared(PAIR, CHANGING)),
]
