"""Tidy tables from summaries: a row per point and flow, and means over the seeds."""

import json
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from ackclock.stats.estimates import half_width
from ackclock.stats.metrics import jain_fairness
from ackclock.stats.run_window import window_of

if TYPE_CHECKING:
    import polars as pl

_MEASURES = (
    "goodput_bps",
    "throughput_bps",
    "completion_s",
    "retransmitted_segments",
    "timeouts",
    "rtt_ms_mean",
    "rtt_ms_p95",
    "jain_index",
    "added_latency_ms_mean",
    "added_latency_ms_p99",
)

Row = tuple[Mapping[str, Any], Mapping[str, Any]]


def tables(rows: Iterable[Row]) -> "dict[str, pl.DataFrame]":
    """Make all tables of a sweep, by name."""
    kept = list(rows)
    flows = flow_table(kept)
    made = {"sweep": flows, "links": link_table(kept), "means": means(flows, kept[0][0])}
    groups = group_table(kept)
    return made if groups.is_empty() else made | {"groups": groups}


def flow_table(rows: Iterable[Row]) -> "pl.DataFrame":
    """Make the tidy table of flows.

    Returns:
        A row per point and flow: the parameters, the point's Jain index, the flow's metrics, and the latency that
        appliances added. Columns with `window_` cover the measurement window instead of the flow's own time.
    """
    return _table(
        parameters
        | {"jain_index": summary["jain_index"]}
        | _flat(_renamed(flow, "flow"))
        | _added(str(flow["name"]), summary)
        | _windowed(flow, summary)
        for parameters, summary in _plain(rows)
        for flow in summary["flows"]
    )


def _added(name: str, summary: Mapping[str, Any]) -> dict[str, float | None]:
    """Return the latency that appliances added to a flow in forward direction; percentiles of several are unknown."""
    taken = [flow for box in summary.get("appliances", ()) for flow in box["flows"] if flow["flow"] == name]
    found = [flow["forward"]["added_latency_ms"] for flow in taken if flow["forward"]]
    known = [latency for latency in found if latency]
    if not known:
        return {}
    last = known[0]["p99"] if len(known) == 1 else None
    return {"added_latency_ms_mean": sum(latency["mean"] for latency in known), "added_latency_ms_p99": last}


def _windowed(flow: Mapping[str, Any], summary: Mapping[str, Any]) -> dict[str, Any]:
    window = window_of(summary)
    goodputs = np.array([window.rate_bps(one) for one in summary["flows"]])
    return {
        "window_goodput_bps": window.rate_bps(flow),
        "window_throughput_bps": window.rate_bps(flow, "throughput_bps"),
        "window_jain_index": jain_fairness(goodputs) if goodputs.any() else None,
    }


def over_window(table: "pl.DataFrame") -> "pl.DataFrame":
    """Return a table whose metrics all cover the measurement window, taken from the `window_` columns.

    Counts of a run without a `measure` window cover the whole run. Values unknown for the window are null.
    """
    import polars as pl

    names = [name.removeprefix("window_") for name in table.columns if name.startswith("window_")]
    known = [name for name in names if name in table.columns]
    return table.with_columns(
        pl.col("window_utilization").cast(pl.Float64).alias(name)
        if name == "utilization"
        else pl.coalesce(f"window_{name}", name).alias(name)
        for name in known
    )


def link_table(rows: Iterable[Row]) -> "pl.DataFrame":
    """Make the tidy table of links."""
    return _table(
        parameters | _flat(_renamed(link, "link")) | {"window_utilization": window_of(summary).utilization(link)}
        for parameters, summary in _plain(rows)
        for link in summary["links"]
    )


def group_table(rows: Iterable[Row]) -> "pl.DataFrame":
    """Make the tidy table of groups of short flows.

    Returns:
        A row per point and group, without size classes.
    """
    return _table(
        parameters | _flat(_renamed({key: value for key, value in group.items() if key != "buckets"}, "group"))
        for parameters, summary in _plain(rows)
        for group in summary.get("groups", [])
    )


def means(flows: "pl.DataFrame", parameters: Iterable[str]) -> "pl.DataFrame":
    """Average over the seeds, with confidence intervals.

    Args:
        flows: Table made by `flow_table`.
        parameters: Names of the swept parameters, including the seed, which is averaged over.

    Returns:
        A row per combination and flow: the number of seeds, the number in which the flow finished, and for each metric
        the mean and the half width of its 95 % confidence interval (Student's t; null for fewer than two values). Seeds
        without a value are left out.
    """
    import polars as pl

    keys = [*(name for name in parameters if name != "seed"), "flow", "controller"]
    if flows.is_empty():
        return pl.DataFrame(schema=[*keys, "seeds", "completed"])
    measures = [name for name in _MEASURES if name in flows.columns]
    grouped = (
        over_window(flows)
        .group_by(keys, maintain_order=True)
        .agg(
            pl.len().alias("seeds"),
            pl.col("completion_s").count().alias("completed"),
            *(expression for name in measures for expression in _statistics(name)),
        )
    )
    columns = [expression for name in measures for expression in _interval(grouped, name)]
    return grouped.select(*keys, "seeds", "completed", *columns)


def _statistics(name: str) -> "list[pl.Expr]":
    import polars as pl

    column = pl.col(name).cast(pl.Float64)
    return [
        column.mean().alias(f"{name}_mean"),
        column.std(ddof=1).alias(f"{name}_std"),
        column.count().alias(f"{name}_count"),
    ]


def _interval(grouped: "pl.DataFrame", name: str) -> "list[pl.Series]":
    import polars as pl

    halves = [
        half_width(std, count)
        for std, count in zip(grouped[f"{name}_std"].to_list(), grouped[f"{name}_count"].to_list(), strict=True)
    ]
    return [grouped[f"{name}_mean"], pl.Series(f"{name}_ci95", halves, dtype=pl.Float64)]


def by_cell(values: Iterable[Any]) -> dict[Any, Any]:
    """Return the values of a parameter, by the values in its column.

    Examples:
        >>> by_cell([0, 0.01]), by_cell([["red"], "codel"])
        ({0.0: 0, 0.01: 0.01}, {'["red"]': ['red'], 'codel': 'codel'})
    """
    known = list(values)
    convert = _converter({type(value) for value in known})
    return {convert(value): value for value in known}


def _plain(rows: Iterable[Row]) -> Iterable[tuple[dict[str, Any], Mapping[str, Any]]]:
    """Convert parameters for columns: tables and arrays to JSON, mixed types to text, mixed numbers to floats."""
    kept = list(rows)
    types: dict[str, set[type]] = {}
    for parameters, _summary in kept:
        for key, value in parameters.items():
            types.setdefault(key, set()).add(type(value))
    convert = {key: _converter(kinds) for key, kinds in types.items()}
    for parameters, summary in kept:
        yield {key: convert[key](value) for key, value in parameters.items()}, summary


def _converter(kinds: set[type]) -> Callable[[Any], Any]:
    if kinds == {int, float}:
        return float
    return partial(_cell, as_text=len(kinds) > 1)


def _cell(value: Any, *, as_text: bool) -> Any:  # noqa: ANN401  a parameter of any type
    if isinstance(value, (dict, list)):
        return json.dumps(value, ensure_ascii=False)
    if as_text or not isinstance(value, (str, bool, int, float)):
        return str(value)
    return value


def _renamed(entry: Mapping[str, Any], kind: str) -> dict[str, Any]:
    return {kind: entry["name"]} | {key: value for key, value in entry.items() if key != "name"}


def _flat(entry: Mapping[str, Any]) -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for key, value in entry.items():
        if isinstance(value, Mapping):
            inner = _flat(value) if key == "window" else value
            flat |= {f"{key}_{name}": number for name, number in inner.items()}
        elif key not in ("rtt_ms", "limited_by"):
            flat[key] = value
    return flat


def _table(rows: Iterable[dict[str, Any]]) -> "pl.DataFrame":
    """Return a table of rows, with null for keys that a row lacks."""
    import polars as pl

    kept = list(rows)
    names = list(dict.fromkeys(name for row in kept for name in row))
    return pl.DataFrame([{name: row.get(name) for name in names} for row in kept], infer_schema_length=None)
