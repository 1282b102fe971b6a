"""Metrics of traffic, of appliances and of links in tables and reports, with their units."""

from collections.abc import Callable, Sequence
from typing import Final

from ackclock.plotting.tables import Cell, Entry, count_of, figure_of

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
    """Return a group as rows: all flows, then each non-empty size class.

    Args:
        group: Group of `summary.json`.
    """
    return [{**group, "name": "all"}, *({**b, "name": _class(b)} for b in group["buckets"] if b["completed"])]


def _class(bucket: Entry) -> str:
    above, up_to = bucket["above_bytes"], bucket["up_to_bytes"]
    if up_to is None:
        return f"over {size_text(above)}"
    return f"up to {size_text(up_to)}"


def _inner(name: str, cells: tuple[Cell, ...]) -> tuple[Cell, ...]:
    """Return cells that read a table inside an entry."""

    def within(text: Callable[[Entry], str]) -> Callable[[Entry], str]:
        return lambda entry: text(entry[name])

    return tuple((label, within(text)) for label, text in cells)


_TIMES: tuple[Cell, ...] = (
    ("mean (ms)", figure_of("fct_ms", "mean")),
    ("p50 (ms)", figure_of("fct_ms", "p50")),
    ("p95 (ms)", figure_of("fct_ms", "p95")),
    ("p99 (ms)", figure_of("fct_ms", "p99")),
    ("slowdown mean", figure_of("slowdown", "mean")),
    ("p50", figure_of("slowdown", "p50")),
    ("p99", figure_of("slowdown", "p99")),
)

GROUP_CELLS: tuple[Cell, ...] = (
    ("started", count_of("started")),
    ("completed", count_of("completed")),
    ("aborted", count_of("aborted")),
    *_TIMES,
)

EXCHANGE_CELLS: tuple[Cell, ...] = _inner(
    "exchanges",
    (
        ("completed", count_of("completed")),
        ("mean (ms)", figure_of("time_ms", "mean")),
        ("p50 (ms)", figure_of("time_ms", "p50")),
        ("p95 (ms)", figure_of("time_ms", "p95")),
        ("p99 (ms)", figure_of("time_ms", "p99")),
        ("slowdown mean", figure_of("slowdown", "mean")),
        ("p99", figure_of("slowdown", "p99")),
    ),
)

VIDEO_CELLS: tuple[Cell, ...] = _inner(
    "video",
    (
        ("segments", count_of("segments")),
        ("bitrate (Mbit/s)", figure_of("mean_bitrate_bps", per=1e6)),
        ("switches", count_of("switches")),
        ("startup (s)", figure_of("startup_s")),
        ("rebufferings", count_of("rebufferings")),
        ("rebuffering (s)", figure_of("rebuffering_s")),
    ),
)

DATAGRAM_CELLS: tuple[Cell, ...] = (
    ("sent", count_of("sent")),
    ("received", count_of("received")),
    ("lost", count_of("lost")),
    ("goodput (Mbit/s)", figure_of("goodput_bps", per=1e6)),
    ("delay mean (ms)", figure_of("one_way_delay_ms", "mean")),
    ("p99 (ms)", figure_of("one_way_delay_ms", "p99")),
    ("jitter (ms)", figure_of("jitter_ms")),
)

MEDIA_CELLS: tuple[Cell, ...] = _inner(
    "media",
    (
        ("controller", lambda media: str(media["controller"])),
        ("target (Mbit/s)", figure_of("target_bps", per=1e6)),
        ("frames", count_of("frames")),
        ("whole", count_of("frames_received")),
        ("frame mean (ms)", figure_of("frame_delay_ms", "mean")),
        ("p95 (ms)", figure_of("frame_delay_ms", "p95")),
        ("p99 (ms)", figure_of("frame_delay_ms", "p99")),
        ("at the sender (ms)", figure_of("queue_ms", "mean")),
    ),
)

APPLIANCE_CELLS: tuple[Cell, ...] = (
    ("arrived", lambda way: size_text(way["arrived_bytes"])),
    ("added mean (ms)", figure_of("added_latency_ms", "mean")),
    ("p99 (ms)", figure_of("added_latency_ms", "p99")),
    ("kept mean", lambda way: size_text(way["in_socket_bytes"]["mean"])),
    ("ECE", count_of("ece_raised")),
    ("retransmitted", count_of("retransmitted_segments")),
    ("timeouts", count_of("timeouts")),
)


_RARE: Final = ("marks", "losses", "duplicates", "reordered")


def rare_counts(links: Sequence[Entry]) -> list[Cell]:
    """Return the counts of links that are zero in most networks, without those that are zero for all these links.

    Args:
        links: Links of `summary.json`.
    """
    return [(key, count_of(key)) for key in _RARE if any(link.get(key) for link in links)]


def media_flows(summary: Entry) -> list[Entry]:
    """Return the flows of datagrams that carry interactive media.

    Args:
        summary: Summary, as in `summary.json`.
    """
    return [flow for flow in summary.get("datagrams", []) if flow.get("media")]


def way_label(flow: str, appliance: str, direction: str) -> str:
    """Name a direction through an appliance.

    Examples:
        >>> way_label("old", "box", "forward"), way_label("old", "box", "backward")
        ('old via box', 'old via box, back')
    """
    return f"{flow} via {appliance}" + (", back" if direction == "backward" else "")


def appliance_rows(summary: Entry) -> list[Entry]:
    """Return a row for each direction of each flow through each appliance that carried data.

    Args:
        summary: Summary, as in `summary.json`.
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
"""Kinds of traffic other than long flows: title, metrics, and the entries of a summary."""
