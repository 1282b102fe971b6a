"""Panels of results, shared by the interactive page and the static figures."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from ackclock.base.printable import unknown
from ackclock.plotting.traffic_figures import way_label
from ackclock.results import Results
from ackclock.results.run_labels import prefixes
from ackclock.stats.capacity import over_time
from ackclock.stats.flow_groups import OTHERS, SHOWN_SINGLY, group_names, outermost_places
from ackclock.stats.metrics import Floats, extremes_per_bucket, mean_per_bucket
from ackclock.stats.run_window import under_way

if TYPE_CHECKING:
    import polars as pl

TableName = Literal["flows", "links", "appliances", "media"]

MANY = 10
"""Number of lines above which single lines are thin and without a legend, and their mean is added."""

_POINTS = 2000
_BINS = 400
_GROUPED_BINS = 200
_SPREAD, _MIDDLE = (5, 50, 95), 50
"""Percentiles drawn for a group."""

_OUTERMOST = 4
"""Number of fastest and of slowest flows drawn beside groups."""

_ABOVE_CAPACITY = 1.25
"""Factor of the bottleneck's rate up to which rates are drawn."""

_REFERENCE_REACH = 3.0
"""Factor above the main column beyond which a reference does not extend the axis."""


@dataclass(frozen=True, slots=True)
class Column:
    """Column of a panel: its name in the table, its label in the legend, and its style."""

    name: str
    label: str = ""
    style: Literal["line", "dash", "dots"] = "line"
    is_rate: bool = False
    is_reference: bool = False
    """Whether it is drawn beside the main column without affecting the axis: a high ssthresh must not flatten cwnd."""


@dataclass(frozen=True, slots=True)
class Panel:
    """Plot of columns of one table over time."""

    key: str
    title: str
    table: TableName
    quantity: str
    scale: tuple[tuple[float, str], ...]
    """Factors from the column's unit to units of the axis; the largest suitable one is used."""

    columns: tuple[Column, ...]

    def unit_for(self, largest: float) -> tuple[float, str]:
        """Return the factor and the unit of the axis on which the largest value is 1 or more."""
        return next(((factor, unit) for factor, unit in self.scale if largest * factor >= 1.0), self.scale[-1])


_BYTES = ((1e-6, "MB"), (1e-3, "kB"), (1.0, "bytes"))
_RATE = ((1e-9, "Gbit/s"), (1e-6, "Mbit/s"), (1e-3, "kbit/s"))
_SECONDS = ((1.0, "s"), (1e3, "ms"))
_PACKETS = ((1.0, "packets"),)


def _panel(
    key: str, title: str, table: TableName, quantity: str, scale: tuple[tuple[float, str], ...], *columns: str | Column
) -> Panel:
    known = (column if isinstance(column, Column) else Column(column) for column in columns)
    rates = (replace(one, is_rate=scale is _RATE and not one.is_reference) for one in known)
    return Panel(key, title, table, quantity, scale, tuple(rates))


_WINDOWS = (Column("cwnd_bytes", "cwnd"), Column("ssthresh_bytes", "ssthresh", "dash", is_reference=True))
_ROUND_TRIPS = (Column("rtt_sample_s", "sample", "dots"), Column("srtt_s", "SRTT"))
_MEDIA_RATES = (Column("received_bps", "received"), Column("target_bps", "target", "dash", is_reference=True))

PANELS = (
    _panel("cwnd", "Congestion window", "flows", "window", _BYTES, *_WINDOWS),
    _panel("flight_size", "Flight size", "flows", "outstanding", _BYTES, "flight_size_bytes"),
    _panel("goodput", "Goodput", "flows", "goodput", _RATE, "goodput_bps"),
    _panel("throughput", "Throughput", "flows", "throughput", _RATE, "throughput_bps"),
    _panel("rtt", "Round-trip time", "flows", "RTT", _SECONDS, *_ROUND_TRIPS),
    _panel("rttvar", "RTT variation", "flows", "RTTVAR", _SECONDS, "rttvar_s"),
    _panel("rto", "Retransmission timeout", "flows", "RTO", _SECONDS, "rto_s"),
    _panel("rwnd", "Receive window", "flows", "advertised", _BYTES, "rwnd_bytes"),
    _panel("ack_ratio", "ACK ratio", "flows", "segments an ACK", ((1.0, "segments"),), "ack_ratio"),
    _panel("queue", "Queue length", "links", "waiting", _PACKETS, "queue_packets"),
    _panel("queue_bytes", "Queue size", "links", "waiting", _BYTES, "queue_bytes"),
    _panel("drops", "Drops", "links", "dropped per sample", _PACKETS, "drops"),
    _panel("marks", "Marks", "links", "marked per sample", _PACKETS, "marks"),
    _panel("queue_delay", "Queueing delay", "links", "wait", _SECONDS, "queue_delay_s"),
    _panel("drop_probability", "Drop probability", "links", "p", ((1.0, "fraction"),), "drop_probability"),
    _panel("average_queue", "Average queue", "links", "average waiting", _PACKETS, "average_queue_packets"),
    _panel("link_throughput", "Link throughput", "links", "carried", _RATE, "throughput_bps"),
    _panel("in_socket", "Kept by appliances", "appliances", "not acknowledged", _BYTES, "in_socket_bytes"),
    _panel("added_latency", "Latency that appliances add", "appliances", "stay", _SECONDS, "added_latency_s"),
    _panel("far_cwnd", "Congestion window behind appliances", "appliances", "window", _BYTES, *_WINDOWS),
    _panel("media_rate", "Rate of media", "media", "payload", _RATE, *_MEDIA_RATES),
    _panel("media_delay", "One-way delay of media", "media", "delay", _SECONDS, "one_way_delay_s"),
    _panel("media_queue", "Media waiting at the sender", "media", "waiting", _BYTES, "queued_bytes"),
)

_CAPACITY = Column("capacity", "capacity", "dash", is_reference=True)

_WHO = {"flows": ("flow",), "links": ("link",), "appliances": ("flow", "appliance", "direction"), "media": ("flow",)}
"""Columns that identify the subject of a row."""


@dataclass(frozen=True, slots=True)
class Line:
    """Column of one flow, link or direction through an appliance over time, or of a group of them.

    Attributes:
        label: Label in the legend.
        column: The column.
        group: Index of the flow or link, which selects the colour; negative for all together.
        time_s: Times, seconds.
        values: Values in the unit of the column, or of the axis.
        run: Index of the run; negative for all together.
        who: Name of the flow, link or direction; empty for a group.
        is_single: Whether it is an outermost flow beside groups.
        is_capacity: Whether it is the rate of the bottleneck.
    """

    label: str
    column: Column
    group: int
    time_s: Floats
    values: Floats
    run: int = -1
    who: str = ""
    is_single: bool = False
    is_capacity: bool = False

    @property
    def largest(self) -> float:
        """Largest value; 0 without any."""
        return 0.0 if np.isnan(self.values).all() else float(np.nanmax(self.values))

    def thinned(self, bins: int, buckets: int) -> "Line":
        """Return fewer points: means per bin for a rate, both extremes per bucket for anything else."""
        thin, size = (mean_per_bucket, bins) if self.column.is_rate else (extremes_per_bucket, buckets)
        time_s, values = thin(self.time_s, self.values, size)
        return replace(self, time_s=time_s, values=values)


@dataclass(frozen=True, slots=True)
class Drawing:
    """Panel with its lines."""

    panel: Panel
    unit: str
    lines: tuple[Line, ...]
    groups: int
    end_s: float
    """End of the time axis."""
    is_grouped: bool = False
    """Whether there are too many single lines, so that percentiles of groups and outermost flows are drawn."""

    @property
    def axis(self) -> str:
        """Label of the vertical axis."""
        return f"{self.panel.quantity} ({self.unit})"

    @property
    def top(self) -> float | None:
        """Upper end of the vertical axis, if a reference or a spike would stretch it too far; else None.

        A filled gap releases all waiting data at once, a spike of goodput that is not a rate of the link.
        """
        capacity = max((float(line.values.max()) for line in self.lines if line.is_capacity), default=None)
        if capacity is not None:
            return _ABOVE_CAPACITY * capacity
        largest = _largest(line for line in self.lines if not line.column.is_reference)
        references = [line.values for line in self.lines if line.column.is_reference]
        limit = _REFERENCE_REACH * largest
        if largest == 0 or not any((values > limit).any() for values in references):
            return None
        shown = (float(np.max(values[values <= limit], initial=0.0)) for values in references)
        return 1.06 * max(largest, *shown)

    @property
    def is_crowded(self) -> bool:
        """True if there are too many flows or links for a legend."""
        return self.groups > MANY and not self.is_grouped


def panel(key: str) -> Panel:
    """Return a panel by its name.

    Args:
        key: Name such as `cwnd`.

    Raises:
        KeyError: If it is unknown; the message lists the known ones.
    """
    for candidate in PANELS:
        if candidate.key == key:
            return candidate
    raise KeyError(unknown("plot", key, [p.key for p in PANELS]))


def draw(results: list[Results], wanted: Panel) -> Drawing | None:
    """Fill a panel with lines from results.

    Args:
        results: One run or several; for several, labels begin with their differences.
        wanted: The panel.

    Returns:
        The drawing, or None if no result has the panel's columns.
    """
    count = count_of(results, wanted)
    is_grouped = count > SHOWN_SINGLY
    lines = lines_of(results, wanted)
    if not lines:
        return None
    if not is_grouped:
        lines = [line.thinned(_BINS, _POINTS) for line in lines]
    factor, unit = wanted.unit_for(_largest(line for line in lines if not line.column.is_reference) or _largest(lines))
    lines = [replace(line, values=line.values * factor) for line in lines]
    groups = count if is_grouped else 1 + max(line.group for line in lines)
    if not is_grouped and groups > MANY:
        lines = _thinner(lines, wanted.columns[0]) + _means(lines, wanted.columns[0])
    end_s = end_of(results, (float(line.time_s[-1]) for line in lines if line.time_s.size))
    lines += _capacity(results, wanted, factor, end_s)
    return Drawing(wanted, unit, tuple(lines), groups, end_s, is_grouped)


def _capacity(results: list[Results], wanted: Panel, factor: float, end_s: float) -> list[Line]:
    """Return the rate of the bottleneck, if it is the same in all runs."""
    if not wanted.columns[0].is_rate:
        return []
    found = [over_time(result.scenario, end_s) for result in results]
    first = found[0]
    if first is None or any(one is None or not np.array_equal(one, first) for one in found):
        return []
    # Corners of a line that stays at each value until the next time.
    time_s, rates = np.repeat(first[0], 2)[1:], np.repeat(first[1], 2)[:-1]
    return [Line("capacity", _CAPACITY, -1, time_s, rates * factor, is_capacity=True)]


def _largest(lines: Iterable[Line]) -> float:
    return max((line.largest for line in lines), default=0.0)


def end_of(results: list[Results], ends_s: Iterable[float]) -> float:
    """Return the end of a time axis: where the lines end, or soon after the last flow of all runs completes.

    Args:
        results: One run or several.
        ends_s: End of each line.
    """
    completions = [flow["completion_s"] for result in results for flow in result.summary["flows"]]
    known = [time_s for time_s in completions if time_s is not None]
    if known and len(known) == len(completions):
        return min(max(result.summary["duration_s"] for result in results), 1.05 * max(known))
    return max(ends_s, default=1.0)


def count_of(results: list[Results], wanted: Panel) -> int:
    """Return the number of flows, links or directions that a panel would draw."""
    tables = (getattr(result, wanted.table) for result in results)
    return sum(
        table.select(_WHO[wanted.table]).n_unique()
        for table in tables
        if not table.is_empty() and any(column.name in table.columns for column in wanted.columns)
    )


def _rows(result: Results, wanted: Panel) -> "pl.DataFrame":
    """Return a panel's table, without the values of completed flows."""
    table: pl.DataFrame = getattr(result, wanted.table)
    return under_way(result, table) if wanted.table == "flows" else table


def lines_of(results: list[Results], wanted: Panel) -> list[Line]:
    """Return the recorded series of a panel; with too many, those of groups."""
    return (_grouped if count_of(results, wanted) > SHOWN_SINGLY else _singly)(results, wanted)


def _grouped(results: list[Results], wanted: Panel) -> list[Line]:
    """Return percentiles over time of the main column in each group, and the lines of the outermost flows or links."""
    column, who = wanted.columns[-1 if wanted.columns[0].style == "dots" else 0], _WHO[wanted.table][0]
    lines: list[Line] = []
    for result, prefix in zip(results, prefixes(results), strict=True):
        table = _rows(result, wanted)
        if column.name not in table.columns or table.is_empty():
            continue
        entries: list[Any] = [*(result.summary["links"] if wanted.table == "links" else result.summary["flows"])]
        groups = dict(zip((entry["name"] for entry in entries), group_names(entries), strict=True))
        first = 1 + max((line.group for line in lines), default=-1)
        known = list(dict.fromkeys(groups.values()))
        rows = _in_bins(table, who, column.name, groups)
        for (group,), spread in rows.group_by("group", maintain_order=True):
            number = first + (known.index(group) if group in known else len(known))
            lines += _percentiles(f"{prefix}{group}", column, number, spread)
        if wanted.table != "links":
            single = [entries[place]["name"] for place in outermost_places(entries, _OUTERMOST)]
            lines += _standing_out(table, who, column, {n: first + known.index(groups[n]) for n in single}, prefix)
    return lines


def _in_bins(table: "pl.DataFrame", who: str, column: str, groups: Mapping[str, str]) -> "pl.DataFrame":
    """Return percentiles of each group in some hundred time bins."""
    import polars as pl

    times = table["time_s"].to_numpy()
    first = float(times.min())
    width = max((float(times.max()) - first) / _GROUPED_BINS, 1e-12)
    names = pl.DataFrame(
        {who: list(groups), "group": list(groups.values())}, schema={who: pl.String, "group": pl.String}
    )
    values = pl.col(column).cast(pl.Float64)
    return (
        table.lazy()
        .select("time_s", who, values.alias("value"))
        .filter(pl.col("value").is_not_null() & pl.col("value").is_not_nan())
        .join(names.lazy(), on=who, how="left")
        .with_columns(
            pl.col("group").fill_null(OTHERS),
            ((pl.col("time_s") - first) / width).floor().clip(0, _GROUPED_BINS - 1).alias("bin"),
        )
        .group_by("group", "bin")
        .agg(pl.col("time_s").max(), *(pl.col("value").quantile(p / 100, "linear").alias(f"p{p}") for p in _SPREAD))
        .sort("group", "bin")
        .collect()
    )


def _percentiles(label: str, column: Column, group: int, spread: "pl.DataFrame") -> Iterator[Line]:
    time_s = spread["time_s"].to_numpy()
    for p in _SPREAD:
        style: Literal["line", "dash"] = "line" if p == _MIDDLE else "dash"
        shown = replace(column, style=style, is_reference=False)
        yield Line(f"{label} p{p}", shown, group, time_s, spread[f"p{p}"].to_numpy())


def _standing_out(
    table: "pl.DataFrame", who: str, column: Column, wanted: Mapping[str, int], prefix: str
) -> Iterator[Line]:
    shown = replace(column, style="line")
    for (name,), own in table.filter(table[who].is_in(list(wanted))).group_by(who, maintain_order=True):
        line = Line(f"{prefix}{name}", shown, wanted[str(name)], *_points(own, column), is_single=True)
        if not np.isnan(line.values).all():
            yield line.thinned(_GROUPED_BINS, _GROUPED_BINS // 2)


def _points(rows: "pl.DataFrame", column: Column) -> tuple[Floats, Floats]:
    return rows["time_s"].to_numpy(), rows[column.name].cast(float).fill_null(float("nan")).to_numpy()


def _singly(results: list[Results], wanted: Panel) -> list[Line]:
    """Return the recorded series of a panel, without thinning."""
    group, found = -1, []
    for position, (result, prefix) in enumerate(zip(results, prefixes(results), strict=True)):
        table = _rows(result, wanted)
        columns = [column for column in wanted.columns if column.name in table.columns]
        if not columns or table.is_empty():
            continue
        for who, rows in table.group_by(_WHO[wanted.table], maintain_order=True):
            group += 1
            name = way_label(*who) if wanted.table == "appliances" else str(who[0])
            for column in columns:
                time_s, values = _points(rows, column)
                if result.is_recorded:
                    # A row has what its record tells; where one tells nothing of a column, the line goes on.
                    is_known = ~np.isnan(values)
                    time_s, values = time_s[is_known], values[is_known]
                    if not time_s.size:
                        continue
                label = f"{prefix}{name}" + (f" {column.label}" if len(columns) > 1 and column.label else "")
                found.append(Line(label, column, group, time_s, values, position, name))
    return found


def _thinner(lines: list[Line], main: Column) -> list[Line]:
    """Reduce many flows to the main column, with fewer points each."""
    kept = [line for line in lines if line.column == main]
    points = max(100, 40 * _POINTS // max(1, len(kept)))
    return [line.thinned(_BINS // 4, points // 2) for line in kept]


def _means(lines: list[Line], main: Column) -> list[Line]:
    """Return the mean over all flows, on the grid of the longest line."""
    kept = [line for line in lines if line.column == main and line.time_s.size > 1]
    if not kept:
        return []
    grid = max((line.time_s for line in kept), key=len)
    stacked = np.array([np.interp(grid, line.time_s, line.values, left=np.nan, right=np.nan) for line in kept])
    known = ~np.isnan(stacked).all(axis=0)
    mean = np.nanmean(stacked[:, known], axis=0)
    return [Line(f"mean of {len(kept)}", main, -1, grid[known], mean)]
