"""From runs to the rows of the papers' tables: a value of each seed, of each simulator, beside what the paper has."""

import math
from collections.abc import Callable, Iterator
from typing import Any

from dqn_cases import Row
from dqn_runs import BIN_S, run_ackclock, run_ns3

Numbers = dict[str, Any]
Quantity = tuple[str, str, float | None, Callable[[Numbers], float]]


def table(row: Row, segment_bytes: int, seeds: int) -> Iterator[dict[str, Any]]:
    """Yield the entries of a row in the record.

    Args:
        row: Row of the tables.
        segment_bytes: The payload of a segment.
        seeds: Number of requested seeds.
    """
    runs = {
        name: [
            found
            for seed in range(1, seeds + 1)
            if (found := run_one(row, segment_bytes, seed, only_kept=True)) is not None
        ]
        for name, run_one in (("ns-3", run_ns3), ("ackclock", run_ackclock))
    }
    name = f"{row.table}-{segment_bytes}"
    for quantity, unit, published, measure in _quantities(row):
        values = {name: [round(measure(found), 4) for found in each] for name, each in runs.items()}
        yield {"table": name, "row": row.name, "quantity": quantity, "unit": unit, "source": published, **values}


def _quantities(row: Row) -> Iterator[Quantity]:
    for index, (begin, end) in enumerate(row.periods):
        said = row.published[index] if row.published else (None,) * len(row.controllers)
        when = f", {begin:g} to {end:g} s" if len(row.periods) > 1 else ""
        for flow, number in enumerate(said):
            name = f"flow {flow + 1}{when}" if len(said) > 1 else "throughput"
            yield name, "Mbit/s", number, _average(flow, begin, end)
        if len(row.controllers) > 1 and row.table != "D4":
            known = None not in said
            yield "Jain's index", "", round(_jain(*said), 4) if known else None, _index
            yield "both", "Mbit/s", round(sum(said), 2) if known else None, _both
    lost = {"DQN-NewReno / CUBIC": 88.0, "DQN-CUBIC / CUBIC": 44.0}.get(row.name) if row.table == "D4" else None
    yield "flow 1, retransmitted", "segments", lost, lambda found: float(found["flows"][0]["retransmitted"])
    if row.table == "D1":
        yield "reductions", "", None, lambda found: float(len(found["flows"][0]["reductions_s"]))


def average(found: Numbers, flow: int, begin_s: float, end_s: float) -> float:
    """Return a flow's throughput with headers in a part of the run, Mbit/s.

    Args:
        found: A run.
        flow: From 0 on.
        begin_s: From when on.
        end_s: Until when.
    """
    bins = found["flows"][flow]["mbps"][round(begin_s / BIN_S) : round(end_s / BIN_S)]
    return math.fsum(bins) / len(bins)


def _average(flow: int, begin_s: float, end_s: float) -> Callable[[Numbers], float]:
    return lambda found: average(found, flow, begin_s, end_s)


def _both(found: Numbers) -> float:
    return average(found, 0, 0.0, 50.0) + average(found, 1, 0.0, 50.0)


def _index(found: Numbers) -> float:
    return _jain(average(found, 0, 0.0, 50.0), average(found, 1, 0.0, 50.0))


def _jain(first: float, second: float) -> float:
    return (first + second) ** 2 / (2 * (first * first + second * second))
