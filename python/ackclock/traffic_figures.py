"""The figures that tables and reports show of traffic and of appliances, with their units."""

from collections.abc import Callable, Sequence
from typing import Final

from ackclock.tables import Cell, Entry

_SIZES = ((1e9, "GB"), (1e6, "MB"), (1e3, "kB"))


def size_text(size_bytes: float) -> str:
    """Return a size with a unit.

    Examples:
        >>> size_text(10_000), size_text(1_500_000), size_text(200)
        ('10 kB', '1.5 MB', '200 B')
    """
    for factor, unit in _SIZES:
        if size_bytes >= factor:
            return f"{size_bytes / factor:.4g} {unit}"
    return f"{size_bytes:.4g} B"


def size_rows(group: Entry) -> list[Entry]:
    """Return a group as rows: all flows, then those of each class of size that has any.

    Args:
        group: As in `summary.json`.
    """
    return [{**group, "name": "all"}, *({**b, "name": _class(b)} for b in group["buckets"] if b["completed"])]


def _class(bucket: Entry) -> str:
    above, up_to = bucket["above_bytes"], bucket["up_to_bytes"]
    if up_to is None:
        return f"over {size_text(above)}"
    return f"up to {size_text(up_to)}"


def _number(value: float | None) -> str:
    """Return four significant digits, or a dash for none.

    Examples:
        >>> _number(1.23456), _number(12345.6), _number(None)
        ('1.235', '12,346', '–')
    """
    if value is None:
        return "–"
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"


def _of(key: str, part: str) -> Callable[[Entry], str]:
    return lambda entry: _number((entry.get(key) or {}).get(part))


def _count(key: str) -> Callable[[Entry], str]:
    return lambda entry: "–" if entry.get(key) is None else f"{entry[key]:,}"


def _mbit(key: str) -> Callable[[Entry], str]:
    return lambda entry: "–" if entry.get(key) is None else _number(entry[key] / 1e6)


def _inner(name: str, cells: tuple[Cell, ...]) -> tuple[Cell, ...]:
    """Cells of a table inside an entry."""

    def within(text: Callable[[Entry], str]) -> Callable[[Entry], str]:
        return lambda entry: text(entry[name])

    return tuple((label, within(text)) for label, text in cells)


_TIMES: tuple[Cell, ...] = (
    ("mean (ms)", _of("fct_ms", "mean")),
    ("p50 (ms)", _of("fct_ms", "p50")),
    ("p95 (ms)", _of("fct_ms", "p95")),
    ("p99 (ms)", _of("fct_ms", "p99")),
    ("slowdown mean", _of("slowdown", "mean")),
    ("p50", _of("slowdown", "p50")),
    ("p99", _of("slowdown", "p99")),
)

GROUP_CELLS: tuple[Cell, ...] = (
    ("started", _count("started")),
    ("completed", _count("completed")),
    ("aborted", _count("aborted")),
    *_TIMES,
)

EXCHANGE_CELLS: tuple[Cell, ...] = _inner(
    "exchanges",
    (
        ("completed", _count("completed")),
        ("mean (ms)", _of("time_ms", "mean")),
        ("p50 (ms)", _of("time_ms", "p50")),
        ("p95 (ms)", _of("time_ms", "p95")),
        ("p99 (ms)", _of("time_ms", "p99")),
        ("slowdown mean", _of("slowdown", "mean")),
        ("p99", _of("slowdown", "p99")),
    ),
)

VIDEO_CELLS: tuple[Cell, ...] = _inner(
    "video",
    (
        ("segments", _count("segments")),
        ("bitrate (Mbit/s)", _mbit("mean_bitrate_bps")),
        ("switches", _count("switches")),
        ("startup (s)", lambda video: _number(video["startup_s"])),
        ("rebufferings", _count("rebufferings")),
        ("rebuffering (s)", lambda video: _number(video["rebuffering_s"])),
    ),
)

DATAGRAM_CELLS: tuple[Cell, ...] = (
    ("sent", _count("sent")),
    ("received", _count("received")),
    ("lost", _count("lost")),
    ("goodput (Mbit/s)", _mbit("goodput_bps")),
    ("delay mean (ms)", _of("one_way_delay_ms", "mean")),
    ("p99 (ms)", _of("one_way_delay_ms", "p99")),
    ("jitter (ms)", lambda entry: _number(entry["jitter_ms"])),
)

MEDIA_CELLS: tuple[Cell, ...] = _inner(
    "media",
    (
        ("controller", lambda media: str(media["controller"])),
        ("target (Mbit/s)", _mbit("target_bps")),
        ("frames", _count("frames")),
        ("whole", _count("frames_received")),
        ("frame mean (ms)", _of("frame_delay_ms", "mean")),
        ("p95 (ms)", _of("frame_delay_ms", "p95")),
        ("p99 (ms)", _of("frame_delay_ms", "p99")),
        ("at the sender (ms)", _of("queue_ms", "mean")),
    ),
)

APPLIANCE_CELLS: tuple[Cell, ...] = (
    ("arrived", lambda way: size_text(way["arrived_bytes"])),
    ("added mean (ms)", _of("added_latency_ms", "mean")),
    ("p99 (ms)", _of("added_latency_ms", "p99")),
    ("kept mean", lambda way: size_text(way["in_socket_bytes"]["mean"])),
    ("ECE", _count("ece_raised")),
    ("retransmitted", _count("retransmitted_segments")),
    ("timeouts", _count("timeouts")),
)


def media_flows(summary: Entry) -> list[Entry]:
    """Return the flows of datagrams that carry interactive media.

    Args:
        summary: As in `summary.json`.
    """
    return [flow for flow in summary.get("datagrams", []) if flow.get("media")]


def way_label(flow: str, appliance: str, direction: str) -> str:
    """Name a way through an appliance.

    Examples:
        >>> way_label("old", "box", "forward"), way_label("old", "box", "backward")
        ('old via box', 'old via box, back')
    """
    return f"{flow} via {appliance}" + (", back" if direction == "backward" else "")


def appliance_rows(summary: Entry) -> list[Entry]:
    """Return a row for each way of each flow through each appliance on which anything came.

    Args:
        summary: As in `summary.json`.
    """
    return [
        {**split[direction], "name": way_label(split["flow"], appliance["name"], direction)}
        for appliance in summary.get("appliances", [])
        for split in appliance["flows"]
        for direction in ("forward", "backward")
        if split[direction]
    ]


def _flows_with(key: str) -> Callable[[Entry], list[Entry]]:
    return lambda summary: [flow for flow in summary["flows"] if flow.get(key)]


TRAFFIC: Final[tuple[tuple[str, Sequence[Cell], Callable[[Entry], list[Entry]]], ...]] = (
    ("requests", EXCHANGE_CELLS, _flows_with("exchanges")),
    ("videos", VIDEO_CELLS, _flows_with("video")),
    ("datagrams", DATAGRAM_CELLS, lambda summary: list(summary.get("datagrams", []))),
    ("media", MEDIA_CELLS, media_flows),
    ("appliances", APPLIANCE_CELLS, appliance_rows),
)
"""Kinds of traffic beside flows and groups of short ones: title, figures, and the entries of a summary."""
