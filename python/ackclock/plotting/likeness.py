"""Similarity of two runs, metric by metric: a recording or a run on a kernel beside a simulated one."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ackclock.plotting.tables import Column, Table, columns_of_runs, figure
from ackclock.plotting.tables.table import Figure
from ackclock.stats.run_window import until_completed

if TYPE_CHECKING:
    from ackclock.results import Results


def score(one: float, other: float) -> float:
    """Return the smaller of two amounts divided by the larger: 1 if they are equal, 0 if one is zero.

    Args:
        one: An amount, not negative.
        other: Another.

    Examples:
        >>> score(8.0, 10.0), score(0.0, 0.0), score(0.0, 3.0)
        (0.8, 1.0, 0.0)
    """
    least, most = sorted((abs(one), abs(other)))
    return 1.0 if most == 0 else least / most


def table(runs: Sequence["Results"], names: Sequence[str]) -> Table | None:
    """Return the scores of a measured and a simulated run; None for any other runs."""
    if len(runs) != 2 or _is_measured(runs[0]) == _is_measured(runs[1]):
        return None
    of_runs = columns_of_runs(("thing", "figure", "score"), names)
    rows = [
        {"thing": flow, "figure": quantity, "score": Figure(f"{score(one, other):.3f}", score(one, other))}
        | {column.key: Figure(figure(value), value) for column, value in zip(of_runs, (one, other), strict=True)}
        for flow in _common(runs)
        for quantity, (one, other) in _quantities(runs, flow)
    ]
    if not rows:
        return None
    words = [Column("thing", "flow", is_text=True), Column("figure", "quantity", is_text=True)]
    note = "score: the lesser of the two over the greater; means of series are over time"
    return Table("likeness", "", [*words, *of_runs, Column("score", "score")], rows, (note,))


def _is_measured(run: "Results") -> bool:
    return run.is_recorded or run.is_of_kernel


def _common(runs: Sequence["Results"]) -> list[str]:
    first, second = ([flow["name"] for flow in run.summary["flows"]] for run in runs)
    return [name for name in first if name in second]


def _quantities(runs: Sequence["Results"], flow: str) -> list[tuple[str, tuple[float, float]]]:
    found = []
    for quantity, scale, of in _QUANTITIES:
        values = [of(run, flow) for run in runs]
        known = [scale * value for value in values if value is not None]
        if len(known) == len(values):
            found.append((quantity, (known[0], known[1])))
    return found


def _share(run: "Results", name: str) -> float | None:
    flow = run.flow(name)
    sent, again = flow["sent_segments"], flow["retransmitted_segments"]
    return again / sent if sent and again is not None else None


def _of_flow(key: str, part: str = "") -> Callable[["Results", str], float | None]:
    def value(run: "Results", name: str) -> float | None:
        found: Any = run.flow(name)
        return (found[key] or {}).get(part) if part else found[key]

    return value


def _over_time(column: str) -> Callable[["Results", str], float | None]:
    return lambda run, flow: mean_over_time(run, flow, column)


_QUANTITIES: tuple[tuple[str, float, Callable[["Results", str], float | None]], ...] = (
    ("goodput (Mbit/s)", 1e-6, _of_flow("goodput_bps")),
    ("retransmitted (%)", 100.0, _share),
    ("recoveries", 1, _of_flow("fast_recoveries")),
    ("timeouts", 1, _of_flow("timeouts")),
    ("least RTT (ms)", 1.0, _of_flow("rtt_ms", "min")),
    ("mean RTT (ms)", 1.0, _of_flow("rtt_ms", "mean")),
    ("RTT p95 (ms)", 1.0, _of_flow("rtt_ms", "p95")),
    ("mean cwnd (kB)", 1e-3, _over_time("cwnd_bytes")),
    ("mean SRTT (ms)", 1e3, _over_time("srtt_s")),
)


def mean_over_time(run: "Results", flow: str, column: str) -> float | None:
    """Return the time-weighted mean of a series until its flow completes; None without samples."""
    table = run.flows
    if column not in table.columns:
        return None
    rows = until_completed(run, flow)
    rows = rows.filter(rows[column].is_not_null() & rows[column].cast(float).is_not_nan())
    if rows.height < 2:
        return None
    times, values = rows["time_s"].to_numpy(), rows[column].cast(float).to_numpy()
    lasts = np.diff(times)
    total = float(lasts.sum())
    return float((values[:-1] * lasts).sum() / total) if total > 0 else float(values.mean())
