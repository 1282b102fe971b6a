"""The results of the rounds: ratios with their intervals, and the tables."""

import dataclasses
import math
import statistics
from collections.abc import Sequence
from typing import Any

from ns3_builds import Ns3Build
from peer_cases import Case
from peer_rounds import OURS, Round
from rich.console import Console
from rich.table import Table

from ackclock.stats import student_t

LEVEL = 0.95


def interval(ratios: Sequence[float]) -> dict[str, float | None]:
    """Return what several ratios tell of the one behind them.

    The geometric mean, and Student's interval of the mean of their logarithms: of three rounds it has two degrees of
    freedom, and is wide for that reason. The extremes of three would enclose the median in three cases of four only.

    Args:
        ratios: One for each round.

    Returns:
        `mean`, `low`, `high`: the mean and its 95 % interval, without ends for a single round; `min`, `max`: the
        extremes.
    """
    logs = [math.log(ratio) for ratio in ratios]
    mean, count = statistics.fmean(logs), len(logs)
    ends: dict[str, float | None] = {"low": None, "high": None}
    if count > 1:
        half = student_t.quantile(count - 1, LEVEL) * statistics.stdev(logs) / math.sqrt(count)
        ends = {"low": math.exp(mean - half), "high": math.exp(mean + half)}
    return {"mean": math.exp(mean), **ends, "min": min(ratios), "max": max(ratios)}


def report(case: Case, rounds: Sequence[Round]) -> dict[str, Any]:
    """Put the figures of a case together.

    Args:
        case: Measured case.
        rounds: All of it.
    """
    speeds = {name: statistics.median(done[name].packets_per_cpu_s for done in rounds) for name in rounds[0]}
    ratios = {
        name: interval([done[OURS].packets_per_cpu_s / done[name].packets_per_cpu_s for done in rounds])
        for name in rounds[0]
        if name != OURS
    }
    return {
        "case": case.name,
        "title": case.title,
        "packets_per_cpu_s": speeds,
        "cpu_time_of_a_packet_to_ackclock": ratios,
        "rounds": [{name: dataclasses.asdict(side) for name, side in done.items()} for done in rounds],
    }


def print_case(figures: dict[str, Any], builds: Sequence[Ns3Build], console: Console) -> None:
    """Print one case: speed, ratio, and the results side by side.

    Args:
        figures: Measurements, as `report` makes them.
        builds: Builds of ns-3.
        console: To print to.
    """
    table = Table(title=f"({figures['case']}) {figures['title']}", title_justify="left")
    columns = ("", "packets per CPU second", "CPU time of a packet", "95 % interval", "extremes")
    for column in (*columns, "packets", "Mbit/s", "retransmitted", "drops"):
        table.add_column(column, justify="right" if column else "left")
    labels = {OURS: OURS} | {build.name: f"ns-3 {build.version}, {build.name}" for build in builds}
    for name, label in labels.items():
        side = figures["rounds"][-1][name]
        results = [side["delivered_packets"], side["goodput_bps"] / 1e6, side["retransmitted_segments"], side["drops"]]
        speed = f"{figures['packets_per_cpu_s'][name]:,.0f}"
        table.add_row(label, speed, *_ratio_cells(figures, name), *(f"{value:,.0f}" for value in results))
    console.print(table)


def _ratio_cells(figures: dict[str, Any], name: str) -> tuple[str, str, str]:
    if name == OURS:
        return "1", "", ""
    ratio = figures["cpu_time_of_a_packet_to_ackclock"][name]
    ends = "one round has none" if ratio["low"] is None else f"{ratio['low']:.3g} to {ratio['high']:.3g}"
    return f"{ratio['mean']:.3g} times", ends, f"{ratio['min']:.3g} to {ratio['max']:.3g}"
