"""The results of the rounds: ratios with their intervals, and the tables."""

import dataclasses
import math
import statistics
from collections.abc import Sequence
from typing import Any

from peer_cases import Case
from peer_programs import PeerBuild
from peer_rounds import OURS, Round, ours_with_tcp_of
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
    to_ours = {name: _ratio(rounds, name, OURS) for name in rounds[0] if name != OURS}
    to_same_tcp = {
        name: _ratio(rounds, name, ours_with_tcp_of(name)) for name in rounds[0] if ours_with_tcp_of(name) in rounds[0]
    }
    return {
        "case": case.name,
        "title": case.title,
        "packets_per_cpu_s": speeds,
        "cpu_time_of_a_packet_to_ackclock": to_ours,
        "cpu_time_of_a_packet_to_the_same_tcp": to_same_tcp,
        "rounds": [{name: dataclasses.asdict(side) for name, side in done.items()} for done in rounds],
    }


def print_case(figures: dict[str, Any], builds: Sequence[PeerBuild], console: Console) -> None:
    """Print one case: speed, ratio, and the results side by side.

    Args:
        figures: Measurements, as `report` makes them.
        builds: Builds of the peers.
        console: To print to.
    """
    table = Table(title=f"({figures['case']}) {figures['title']}", title_justify="left")
    columns = ("", "packets per CPU second", "CPU time of a packet", "95 % interval", "extremes")
    for column in (*columns, "packets", "Mbit/s", "retransmitted", "drops"):
        table.add_column(column, justify="right" if column else "left")
    labels = {build.name: build.label for build in builds}
    for name, side in figures["rounds"][-1].items():
        results = [side["delivered_packets"], side["goodput_bps"] / 1e6, side["retransmitted_segments"], side["drops"]]
        speed = f"{figures['packets_per_cpu_s'][name]:,.0f}"
        table.add_row(
            labels.get(name, name), speed, *_ratio_cells(figures, name), *(f"{value:,.0f}" for value in results)
        )
    console.print(table)
    for name, ratio in figures["cpu_time_of_a_packet_to_the_same_tcp"].items():
        line = f"{labels[name]} to {ours_with_tcp_of(name)}: {ratio['mean']:.3g} times, 95 % interval {_ends(ratio)}"
        console.print(line + "\n", markup=False, highlight=False, soft_wrap=True)


def _ratio_cells(figures: dict[str, Any], name: str) -> tuple[str, str, str]:
    if name == OURS:
        return "1", "", ""
    ratio = figures["cpu_time_of_a_packet_to_ackclock"][name]
    return f"{ratio['mean']:.3g} times", _ends(ratio), f"{ratio['min']:.3g} to {ratio['max']:.3g}"


def _ends(ratio: dict[str, float | None]) -> str:
    return "one round has none" if ratio["low"] is None else f"{ratio['low']:.3g} to {ratio['high']:.3g}"


def _ratio(rounds: Sequence[Round], name: str, ours: str) -> dict[str, float | None]:
    return interval([done[ours].packets_per_cpu_s / done[name].packets_per_cpu_s for done in rounds])
