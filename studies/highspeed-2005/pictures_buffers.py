"""H2 to H4: latency over the size of the buffers, what an appliance holds over time, and grids of settings."""

from collections.abc import Callable, Sequence
from pathlib import Path

import matplotlib as mpl
import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ackclock.claims import panels
from ackclock.claims.figures import STYLE, Picture
from ackclock.claims.folder import Study, load_module
from ackclock.claims.ledger import Choices, Laboratory
from ackclock.claims.panels import WIDTH, Table
from ackclock.results import Results

_buffers = load_module(Path(__file__).parent / "measure_buffers.py")

FIRST, SECOND, GREEN = "#1f5fa8", "#c8501e", "#2f8f5b"
SHOWN_S = (30.0, 36.0)
"""Part of a run that is drawn, s."""


def latency(laboratory: Laboratory, study: Study) -> Figure:
    """Draw latency over the size of each buffer, with the law's, and the far rate below."""
    runs = laboratory.runs(study)
    sizes = [_buffers.size_bytes(case) for case in runs]
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(WIDTH, 4.0), layout="constrained")
        left, right = figure.subplots(1, 2)
        left.plot(
            sizes, [_buffers.latency_ms(results) for results in runs.values()], "o", color=FIRST, label="measured"
        )
        law = [_buffers.law_ms(results, size) for size, results in zip(sizes, runs.values(), strict=True)]
        left.plot(sizes, law, "-", color=SECOND, label="(both buffers - flight) / far rate - near RTT", linewidth=1.2)
        rate = _buffers.goodput(list(runs.values())[-1])
        left.plot(
            sizes, [16 * size / rate / 1e3 for size in sizes], ":", color="#444444", label="both buffers / far rate"
        )
        left.set_yscale("log")
        left.set_ylabel("mean added latency (ms)")
        right.plot(sizes, [_buffers.goodput(results) for results in runs.values()], "o-", color=GREEN)
        right.set_ylabel("goodput (Mbit/s)")
        right.set_ylim(bottom=0)
        for axis in (left, right):
            axis.set_xscale("log", base=2)
            axis.set_xticks(sizes, list(runs))
            axis.minorticks_off()
            axis.set_xlabel("near receive buffer, and far send buffer")
        left.legend(loc="upper left")
    return figure


# ---- over time -----------------------------------------------------------------------------------------------------


def _near(results: Results) -> tuple[list[float], list[float]]:
    rows = results.flows.filter(pl.col("flow") == "old")
    return _cut(rows, pl.col("cwnd_bytes") / 1448)


def _cut(rows: pl.DataFrame, value: pl.Expr) -> tuple[list[float], list[float]]:
    shown = rows.filter(pl.col("time_s").is_between(*SHOWN_S)).select("time_s", value=value)
    return shown["time_s"].to_list(), shown["value"].to_list()


def _appliance(value: pl.Expr) -> Callable[[Results], tuple[list[float], list[float]]]:
    return lambda results: _cut(results.appliances.filter(pl.col("direction") == "forward"), value)


ROWS: tuple[tuple[str, Callable[[Results], tuple[list[float], list[float]]], str], ...] = (
    ("in-socket data (kB)", _appliance(pl.col("in_socket_bytes") / 1e3), FIRST),
    ("near cwnd (segments)", _near, GREEN),
    ("far cwnd (segments)", _appliance(pl.col("cwnd_bytes") / 1448), "#e0a030"),
    ("added latency (ms)", _appliance(pl.col("added_latency_s").fill_null(0.0) * 1e3), SECOND),
)


def over_time(case: str, shown: tuple[int, int]) -> Callable[[Laboratory, Study], Figure]:
    """Draw in-socket data, both windows and latency over time, a column for each of up to four combinations.

    Args:
        case: Which simulation of each combination.
        shown: Number of options of the first and of the second choice, from the first on.
    """

    def draw(laboratory: Laboratory, study: Study) -> Figure:
        tried = _columns(laboratory, study, shown)
        with mpl.rc_context(STYLE):
            figure = Figure(figsize=(WIDTH, 7.2), layout="constrained")
            axes = figure.subplots(len(ROWS), len(tried), sharex=True, squeeze=False)
            for column, choices in enumerate(tried):
                results = laboratory.runs(study, choices)[case]
                axes[0][column].set_title(f"{choices[0].name} before it, {choices[1].name}", fontsize=9)
                axes[-1][column].set_xlabel("time (s)")
                for row, (label, series, color) in enumerate(ROWS):
                    _draw(axes[row][column], series(results), color, label if column == 0 else "")
        return figure

    return draw


def _columns(laboratory: Laboratory, study: Study, shown: tuple[int, int]) -> list[Choices]:
    """Return the first combination, and up to three in which one of the first two choices is another that is shown."""
    first, *grid = laboratory.grid(study)
    near = [choice.options[:count] for choice, count in zip(study.choices, shown, strict=False)]

    def is_beside(choices: Choices) -> bool:
        changed = [index for index, (option, other) in enumerate(zip(choices, first, strict=True)) if option != other]
        return len(changed) == 1 and changed[0] < 2 and choices[changed[0]] in near[changed[0]]

    return [first, *[choices for choices in grid if is_beside(choices)][:3]]


def _draw(axis: Axes, series: tuple[Sequence[float], Sequence[float]], color: str, label: str) -> None:
    axis.plot(*series, color=color, linewidth=1.1)
    axis.set_ylim(bottom=0)
    axis.set_ylabel(label)


# ---- grids ---------------------------------------------------------------------------------------------------------


def grid(case: str, column: str) -> Callable[[Laboratory, Study], Figure]:
    """Draw goodput and latency of every near round trip and every option of the second choice.

    Args:
        case: Which simulation of each combination.
        column: Name of the options of the second choice.
    """

    def draw(laboratory: Laboratory, study: Study) -> Figure:
        tried = laboratory.grid(study)
        first = [choices for choices in tried if choices[2:] == tried[0][2:]]
        rows, heads = (sorted({choices[index].name for choices in first}, key=_amount) for index in (0, 1))
        found = {(c[0].name, c[1].name): laboratory.runs(study, c)[case] for c in first}

        def table(title: str, measure: Callable[[Results], float], high: float) -> Table:
            return Table(title, [[measure(found[row, head]) for head in heads] for row in rows], 0.0, high)

        parts = [
            table("goodput (Mbit/s)", _buffers.goodput, 100.0),
            table("mean added latency (ms)", _buffers.latency_ms, 100.0),
        ]
        return panels.tables(parts, ("round trip before it", rows), (column, heads))

    return draw


def _amount(name: str) -> float:
    """Return the number that an option's name is, by whose size rows and columns are in order.

    Examples:
        >>> _amount("50 ms"), _amount("1 s"), _amount("800 kB")
        (50.0, 1000.0, 800.0)
    """
    value, unit = name.split()
    return float(value) * (1000.0 if unit == "s" else 1.0)


PICTURES = [
    Picture("latency", "H2d", "buffer size", "Latency over the size of the appliance's buffers", latency),
    Picture("intervals", "H3b", "intervals", "ECE at intervals", over_time("ece", (2, 3))),
    Picture("intervals-grid", "H3b", "intervals", "ECE at intervals", grid("ece", "interval")),
    Picture("droptail", "H4a4", "droptail", "ECE over a limit, DropTail-like", over_time("bounded", (3, 2))),
    Picture("droptail-grid", "H4a4", "droptail", "ECE over a limit, DropTail-like", grid("bounded", "limit")),
    Picture("red", "H4b4", "red", "ECE over a threshold, RED-like", over_time("bounded", (3, 2))),
    Picture("red-grid", "H4b4", "red", "ECE over a threshold, RED-like", grid("bounded", "limit")),
]
