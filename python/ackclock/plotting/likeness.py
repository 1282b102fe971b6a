"""Similarity of two runs, metric by metric: a recording or a run on a kernel beside a simulated one."""

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ackclock.plotting.tables import Column, Table, figure
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
    rows = [
        {"thing": flow, "figure": quantity, "run0": _text(one), "run1": _text(other), "score": _score(one, other)}
        for flow in _common(runs)
        for quantity, (one, other) in _quantities(runs, flow)
    ]
    if not rows:
        return None
    columns = [Column("thing", "flow", is_text=True), Column("figure", "quantity", is_text=True)]
    columns += [Column("run0", names[0]), Column("run1", names[1]), Column("score", "score")]
    note = "score: the lesser of the two over the greater; means of series are over time"
    return Table("likeness", "", columns, rows, (note,))


def _is_measured(run: "Results") -> bool:
    return run.is_recorded or run.is_of_kernel


def _common(runs: Sequence["Results"]) -> list[str]:
    first, second = ([flow["name"] for flow in run.summary["flows"]] for run in runs)
    return [name for name in first if name in second]


def _quantities(runs: Sequence["Results"], flow: str) -> list[tuple[str, tuple[float | None, float | None]]]:
    entries: list[Any] = [run.flow(flow) for run in runs]
    found: list[tuple[str, tuple[float | None, float | None]]] = []
    for quantity, of in _SUMMARY:
        found.append((quantity, (of(entries[0]), of(entries[1]))))
    for quantity, column, scale in (("mean cwnd (kB)", "cwnd_bytes", 1e-3), ("mean SRTT (ms)", "srtt_s", 1e3)):
        one, other = (mean_over_time(run, flow, column) for run in runs)
        found.append((quantity, (_scaled(one, scale), _scaled(other, scale))))
    return [pair for pair in found if None not in pair[1]]


def _scaled(value: float | None, scale: float) -> float | None:
    return None if value is None else value * scale


def _share(flow: Any) -> float | None:  # noqa: ANN401  an entry of either kind of summary
    sent, again = flow["sent_segments"], flow["retransmitted_segments"]
    return 100.0 * again / sent if sent and again is not None else None


_SUMMARY: tuple[tuple[str, Callable[[Any], float | None]], ...] = (
    ("goodput (Mbit/s)", lambda flow: _scaled(flow["goodput_bps"], 1e-6)),
    ("retransmitted (%)", _share),
    ("recoveries", lambda flow: flow["fast_recoveries"]),
    ("timeouts", lambda flow: flow["timeouts"]),
    ("least RTT (ms)", lambda flow: (flow["rtt_ms"] or {}).get("min")),
    ("mean RTT (ms)", lambda flow: (flow["rtt_ms"] or {}).get("mean")),
    ("RTT p95 (ms)", lambda flow: (flow["rtt_ms"] or {}).get("p95")),
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


def _text(value: float | None) -> str | None:
    return None if value is None or math.isnan(value) else figure(value)


def _score(one: float | None, other: float | None) -> str | None:
    return None if one is None or other is None else f"{score(one, other):.3f}"
