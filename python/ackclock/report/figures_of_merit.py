"""The figures that reports and comparisons show of each flow and link, with their units."""

from collections.abc import Callable, Sequence

from ackclock.bottlenecks import of_run, ranked
from ackclock.limits import largest
from ackclock.tables import Cell, Entry
from ackclock.windows import count


def _number(value: float | None, digits: int = 3) -> str:
    """Return a number with three significant digits, or a dash for none.

    Examples:
        >>> _number(95.8071), _number(1234.5), _number(None)
        ('95.8', '1,234', '–')
    """
    if value is None:
        return "–"
    if value == 0 or abs(value) >= 10 ** (digits - 1):
        return f"{value:,.0f}"
    return f"{value:.{digits}g}"


def _mbit(key: str) -> Callable[[Entry], str]:
    return lambda entry: "–" if entry[key] is None else f"{entry[key] / 1e6:,.2f}"


def _count(key: str) -> Callable[[Entry], str]:
    return lambda entry: "–" if entry[key] is None else f"{entry[key]:,}"


def _in_window(key: str) -> Callable[[Entry], str]:
    """A count over the time over which the rates beside it are."""
    return lambda flow: "–" if (found := count(flow, key)) is None else f"{found:,}"


def _rtt(key: str) -> Callable[[Entry], str]:
    return lambda entry: _number((entry["rtt_ms"] or {}).get(key))


FLOW_CELLS: tuple[Cell, ...] = (
    ("controller", lambda flow: str(flow["controller"] or "–")),
    ("profile", lambda flow: str(flow.get("profile", "–"))),
    ("goodput (Mbit/s)", _mbit("goodput_bps")),
    ("limited by", lambda flow: largest(flow) or "–"),
    ("sent (segments)", _in_window("sent_segments")),
    ("retransmitted", _in_window("retransmitted_segments")),
    ("lost", _in_window("lost_segments")),
    ("timeouts", _in_window("timeouts")),
    ("recoveries", _in_window("fast_recoveries")),
    ("RTT mean (ms)", _rtt("mean")),
    ("RTT p95 (ms)", _rtt("p95")),
    ("completed at (s)", lambda flow: "–" if flow["completion_s"] is None else f"{flow['completion_s']:.3f}"),
)

LINK_CELLS: tuple[Cell, ...] = (
    ("utilization", lambda link: f"{100 * link['utilization']:.1f} %"),
    ("delivered (packets)", _count("delivered_packets")),
    ("drops", _count("drops")),
    ("queue mean (packets)", lambda link: _number(link["queue_packets"]["mean"])),
    ("queue p95", lambda link: _number(link["queue_packets"]["p95"])),
    ("queue max", lambda link: _number(link["queue_packets"]["max"])),
    ("delay mean (ms)", lambda link: _number(link["queueing_delay_ms"]["mean"])),
    ("delay p95 (ms)", lambda link: _number(link["queueing_delay_ms"]["p95"])),
)


def _spread(key: str, part: str, scale: float = 1.0) -> Callable[[Entry], str]:
    """A figure of a group of flows."""
    return lambda group: "–" if group[key] is None else _number(group[key][part] * scale)


def _percent(key: str) -> Callable[[Entry], str]:
    return lambda entry: "–" if entry[key] is None else f"{100 * entry[key]:.2f} %"


CONTROLLER_CELLS: tuple[Cell, ...] = (
    ("flows", _count("flows")),
    ("total goodput (Mbit/s)", _mbit("goodput_bps")),
    ("share", _percent("share")),
    ("Jain's index", lambda entry: "–" if entry["jain"] is None else f"{entry['jain']:.4f}"),
    ("slowest (Mbit/s)", _mbit("least_bps")),
    ("fastest (Mbit/s)", _mbit("most_bps")),
    ("sent again", _percent("retransmitted")),
    ("RTT mean (ms)", lambda entry: _number(entry["rtt_ms"])),
)
"""Of the flows of a controller, as `ackclock.crowds.by_controller` makes it."""


CONNECTION_CELLS: tuple[Cell, ...] = (
    ("connections", _count("flows")),
    ("goodput of one (Mbit/s)", _mbit("goodput_bps")),
    ("RTT mean (ms)", lambda entry: _number(entry["rtt_ms"])),
)
"""The figures of a group of connections, as `ackclock.crowds.of_groups` makes it."""


GROUPED_CELLS: tuple[Cell, ...] = (
    ("flows", _count("flows")),
    ("goodput mean (Mbit/s)", _spread("goodput_bps", "mean", 1e-6)),
    ("p5", _spread("goodput_bps", "p5", 1e-6)),
    ("p50", _spread("goodput_bps", "p50", 1e-6)),
    ("p95", _spread("goodput_bps", "p95", 1e-6)),
    ("retransmitted p50", _spread("retransmitted", "p50")),
    ("retransmitted p95", _spread("retransmitted", "p95")),
    ("timeouts mean", _spread("timeouts", "mean")),
    ("timeouts p95", _spread("timeouts", "p95")),
    ("mean RTT p50 (ms)", _spread("rtt_ms", "p50")),
    ("mean RTT p95 (ms)", _spread("rtt_ms", "p95")),
    ("completed flows", lambda group: f"{(group['completion_s'] or {'count': 0})['count']:,}"),
    ("completed at p50 (s)", _spread("completion_s", "p50")),
    ("completed at p95 (s)", _spread("completion_s", "p95")),
)
"""Of a group of flows, as `ackclock.crowds.grouped` makes it."""


def busy_links(summaries: Sequence[Entry]) -> list[list[Entry]]:
    """Return of each run the links worth showing: those with a queue or drops in any of the runs, or else the busiest.

    Args:
        summaries: Of the runs, each as in `summary.json`.
    """
    links = [link for summary in summaries for link in summary["links"]]
    wanted = {link["name"] for link in links if link["drops"] or link["queue_packets"]["mean"] >= 1}
    wanted = wanted or set(ranked(link for summary in summaries for link in of_run(summary))[:1])
    return [[link for link in summary["links"] if link["name"] in wanted] for summary in summaries]
