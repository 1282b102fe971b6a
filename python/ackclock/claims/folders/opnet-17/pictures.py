"""The figures of the notes: throughput, flight size and cwnd over time, scaling off and on; RTO beside LBOUND."""

from collections.abc import Sequence

import polars as pl
from matplotlib.figure import Figure

from ackclock.claims import panels
from ackclock.claims.figures import Curve, Picture
from ackclock.claims.folder import Study
from ackclock.claims.ledger import Choices, Laboratory
from ackclock.claims.panels import Axis, Panel, Table
from ackclock.results import Results

FLOW, LINK = "ftp", "Server->Discarder_1"
OFF, ON, GROWN = "#c8501e", "#1f5fa8", "#e0a030"
BINS = {"lfn": 5, "lan": 5, "satellite": 12}
"""Number of throughput bins averaged for a point of a figure."""
LINK_RATE_MBPS = {"lfn": 44.736, "lan": 44.736, "satellite": 1.544}


def series(results: Results, column: str, factor: float, bins: int = 1) -> tuple[list[float], list[float]]:
    """Return times and values of a series while the file is on its way; means over `bins` hold to completion."""
    table, key, name = (results.links, "link", LINK) if column == "throughput_bps" else (results.flows, "flow", FLOW)
    end = results.flow(FLOW)["completion_s"]
    rows = table.filter((pl.col(key) == name) & (pl.col("time_s") <= end) & pl.col(column).is_not_null())
    if bins == 1:
        return rows["time_s"].to_list(), (rows[column] * factor).to_list()
    means = _means(rows, bins)
    values = (means[column] * factor).to_list()
    return [*means["time_s"].to_list(), end], [*values, values[-1]]


def _means(rows: pl.DataFrame, count: int) -> pl.DataFrame:
    """Average consecutive bins: a bin of about one RTT beats against it."""
    complete = rows[: rows.height // count * count]
    whole = complete.with_row_index("row").with_columns(pl.col("row") // count)
    return whole.group_by("row", maintain_order=True).agg(pl.col("time_s").mean(), pl.col("throughput_bps").mean())


def _curve(results: Results, column: str, factor: float, label: str, color: str, dashes: str = "-") -> Curve:
    time, values = series(results, column, factor)
    return Curve(label, time, values, color, dashes)


def _variant(laboratory: Laboratory, study: Study, **wanted: str) -> Choices:
    """Return the combination with these options, and the first of every other choice."""
    grid = laboratory.grid(study)
    names = [choice.name for choice in study.choices]
    first = dict(zip(names, (option.name for option in grid[0]), strict=True))
    return next(c for c in grid if dict(zip(names, (o.name for o in c), strict=True)) == first | wanted)


def _queues(study: Study) -> tuple[str, list[str]]:
    choice = study.choices[0]
    return choice.name, [option.name for option in choice.options]


def _over_time(y: Axis, parts: Sequence[Panel]) -> Figure:
    return panels.rows([(y, parts)], Axis("time (s); a dot: file complete"), ends=True)


def throughput(laboratory: Laboratory, study: Study) -> Figure:
    """Throughput of the link over time, off and on, a panel for each queue."""
    name, queues = _queues(study)
    rate, bins = LINK_RATE_MBPS[study.name], BINS[study.name]
    parts = []
    for queue in queues:
        runs = laboratory.runs(study, _variant(laboratory, study, **{name: queue}))
        on, off = (series(runs[case], "throughput_bps", 1e-6, bins) for case in ("on", "off"))
        curves = [
            Curve("scaling on", *on, ON),
            Curve("scaling off", *off, OFF, "--" if study.name == "lan" else "-"),
        ]
        parts.append(Panel(f"queues: {queue}", curves, lines=[(rate, f"link {rate} Mbit/s")]))
    return _over_time(Axis("throughput on the link (Mbit/s)", top=1.18 * rate), parts)


def flight_size(laboratory: Laboratory, study: Study) -> Figure:
    """Flight size over time, off and on, a panel for each queue."""
    return _windows(laboratory, study, "flight_size_bytes", "flight size (bytes)")


def cwnd(laboratory: Laboratory, study: Study) -> Figure:
    """Congestion window over time, off and on, a panel for each queue; a curve for each rule of growth."""
    return _windows(laboratory, study, "cwnd_bytes", "cwnd (bytes)", growth=True)


def _windows(laboratory: Laboratory, study: Study, column: str, label: str, *, growth: bool = False) -> Figure:
    name, queues = _queues(study)
    parts = []
    for queue in queues:
        runs = laboratory.runs(study, _variant(laboratory, study, **{name: queue}))
        curves = [
            _curve(runs["on"], column, 1.0, "scaling on", ON),
            _curve(runs["off"], column, 1.0, "scaling off", OFF),
        ]
        if growth:
            grown = laboratory.runs(study, _variant(laboratory, study, **{name: queue, "growth": "yes"}))
            curves.append(_curve(grown["off"], column, 1.0, "scaling off, cwnd grows unused", GROWN, "--"))
        parts.append(Panel(f"queues: {queue}", curves, lines=[(65_535, "65,535")]))
    return _over_time(Axis(label, "log"), parts)


def rto_over_time(laboratory: Laboratory, study: Study) -> Figure:
    """RTO, SRTT and RTO's lower bound over time at several RTTs and roundings."""
    parts = []
    for case, rounding in (("50 ms", "nearest"), ("300 ms", "nearest"), ("200 ms", "clock"), ("1500 ms", "nearest")):
        results = laboratory.runs(study, _variant(laboratory, study, rounding=rounding))[case]
        curves = [
            _curve(results, "rto_s", 1.0, "RTO", ON),
            _curve(results, "srtt_s", 1.0, "SRTT", OFF),
            _curve(results, "rtt_sample_s", 1.0, "RTT, measured", "#777777", ":"),
        ]
        parts.append(Panel(f"RTT {case}, {rounding}", curves, lines=[(1.0, "LBOUND")], labels_below=True))
    return _over_time(Axis("seconds", top=4.8), parts)


def rto_shares(laboratory: Laboratory, study: Study) -> Figure:
    """Share of ACKs with RTO at LBOUND, over RTT, for each rounding and first sample."""
    rounding, first_sample = study.choices[0], study.choices[1]
    cases = [case.name for case in study.cases]
    rows, values = [], []
    for how in rounding.options:
        for first in first_sample.options:
            variant = _variant(laboratory, study, rounding=how.name, first_sample=first.name)
            runs = laboratory.runs(study, variant)
            rows.append(f"{how.name}, {first.name}")
            values.append([_share(runs[case]) for case in cases])
    table = Table("ACKs with RTO = LBOUND (%)", values, -40.0, 135.0, text=panels.percent)
    return panels.tables([table], ("rounding of M, first sample", rows), ("RTT", cases))


def _share(results: Results) -> float:
    rows = results.flows.filter(pl.col("flow") == FLOW)[1:]
    return 100 * rows.filter((pl.col("rto_s") - 1.0).abs() < 1e-9).height / rows.height


PICTURES = [
    Picture("rto-shares", "O1", "rto", "Share of ACKs at which RTO is LBOUND", rto_shares),
    Picture("rto-over-time", "O1", "rto", "RTO beside LBOUND", rto_over_time),
    Picture("throughput-50ms", "O2", "lfn", "Throughput, DS3, 50 ms", throughput),
    Picture("flight-size-50ms", "O3", "lfn", "Flight size, DS3, 50 ms", flight_size),
    Picture("cwnd-50ms", "O4", "lfn", "Congestion window, DS3, 50 ms", cwnd),
    Picture("throughput-0ms", "O5", "lan", "Throughput, DS3, 0 ms", throughput),
    Picture("cwnd-0ms", "O6", "lan", "Congestion window, DS3, 0 ms", cwnd),
    Picture("throughput-513ms", "O7", "satellite", "Throughput, DS1, 513 ms", throughput),
]
