"""Metrics of flows and links in reports and comparisons, with their units."""

from collections.abc import Callable, Sequence
from functools import partial

from ackclock.plotting.tables import Cell, Entry, count_of, figure_of
from ackclock.plotting.tables.cells import count_text
from ackclock.plotting.tables.table import NONE, Figure
from ackclock.plotting.traffic_figures import rare_counts
from ackclock.stats.bottlenecks import of_run, ranked
from ackclock.stats.flow_limits import largest
from ackclock.stats.run_window import count

_figure = partial(figure_of, digits=3)


def _formed(key: str, form: str, *, per: float = 1.0) -> Callable[[Entry], Figure]:
    """Return a function that formats the number at a key in this form."""

    def text(entry: Entry) -> Figure:
        value = entry[key]
        return Figure(NONE, None) if value is None else Figure(form.format(value / per).replace("%", " %"), value / per)

    return text


def _mbit(key: str) -> Callable[[Entry], Figure]:
    return _formed(key, "{:,.2f}", per=1e6)


def _in_window(key: str) -> Callable[[Entry], Figure]:
    """Return a function that reads a counter over the same time as the rates beside it."""
    return lambda flow: count_text(count(flow, key))


FLOW_CELLS: tuple[Cell, ...] = (
    ("controller", lambda flow: str(flow["controller"] or NONE)),
    ("profile", lambda flow: str(flow.get("profile", NONE))),
    ("goodput (Mbit/s)", _mbit("goodput_bps")),
    ("limited by", lambda flow: largest(flow) or NONE),
    ("sent (segments)", _in_window("sent_segments")),
    ("retransmitted", _in_window("retransmitted_segments")),
    ("lost", _in_window("lost_segments")),
    ("timeouts", _in_window("timeouts")),
    ("recoveries", _in_window("fast_recoveries")),
    ("RTT mean (ms)", _figure("rtt_ms", "mean")),
    ("RTT p95 (ms)", _figure("rtt_ms", "p95")),
    ("completed at (s)", _formed("completion_s", "{:.3f}")),
)


def link_cells(links: Sequence[Entry]) -> list[Cell]:
    """Return the metrics of links, with the rare counts that these links have."""
    return [*_TRAFFIC_OF_LINK, *rare_counts(links), *_QUEUE_OF_LINK]


_TRAFFIC_OF_LINK: tuple[Cell, ...] = (
    ("utilization", _formed("utilization", "{:.1%}")),
    ("delivered (packets)", count_of("delivered_packets")),
    ("drops", count_of("drops")),
)

_QUEUE_OF_LINK: tuple[Cell, ...] = (
    ("queue mean (packets)", _figure("queue_packets", "mean")),
    ("queue p95", _figure("queue_packets", "p95")),
    ("queue max", _figure("queue_packets", "max")),
    ("delay mean (ms)", _figure("queueing_delay_ms", "mean")),
    ("delay p95 (ms)", _figure("queueing_delay_ms", "p95")),
)


CONTROLLER_CELLS: tuple[Cell, ...] = (
    ("flows", count_of("flows")),
    ("total goodput (Mbit/s)", _mbit("goodput_bps")),
    ("share", _formed("share", "{:.2%}")),
    ("Jain's index", _formed("jain", "{:.4f}")),
    ("slowest (Mbit/s)", _mbit("least_bps")),
    ("fastest (Mbit/s)", _mbit("most_bps")),
    ("sent again", _formed("retransmitted", "{:.2%}")),
    ("RTT mean (ms)", _figure("rtt_ms")),
)
"""Columns for the flows of a controller, as returned by `ackclock.stats.flow_groups.by_controller`."""


CONNECTION_CELLS: tuple[Cell, ...] = (
    ("connections", count_of("flows")),
    ("goodput of one (Mbit/s)", _mbit("goodput_bps")),
    ("RTT mean (ms)", _figure("rtt_ms")),
)
"""Columns for a group of connections, as returned by `ackclock.stats.flow_groups.of_groups`."""


GROUPED_CELLS: tuple[Cell, ...] = (
    ("flows", count_of("flows")),
    ("goodput mean (Mbit/s)", _figure("goodput_bps", "mean", per=1e6)),
    ("p5", _figure("goodput_bps", "p5", per=1e6)),
    ("p50", _figure("goodput_bps", "p50", per=1e6)),
    ("p95", _figure("goodput_bps", "p95", per=1e6)),
    ("retransmitted p50", _figure("retransmitted", "p50")),
    ("retransmitted p95", _figure("retransmitted", "p95")),
    ("timeouts mean", _figure("timeouts", "mean")),
    ("timeouts p95", _figure("timeouts", "p95")),
    ("mean RTT p50 (ms)", _figure("rtt_ms", "p50")),
    ("mean RTT p95 (ms)", _figure("rtt_ms", "p95")),
    ("completed flows", lambda group: count_text((group["completion_s"] or {"count": 0})["count"])),
    ("completed at p50 (s)", _figure("completion_s", "p50")),
    ("completed at p95 (s)", _figure("completion_s", "p95")),
)
"""Columns for a group of flows, as returned by `ackclock.stats.flow_groups.grouped`."""


def busy_links(summaries: Sequence[Entry]) -> list[list[Entry]]:
    """Return the relevant links of each run: those with a queue, drops or losses in any run, or else the busiest.

    Args:
        summaries: Summaries of the runs.
    """
    links = [link for summary in summaries for link in summary["links"]]
    wanted = {link["name"] for link in links if _is_busy(link)}
    wanted = wanted or set(ranked(link for summary in summaries for link in of_run(summary))[:1])
    return [[link for link in summary["links"] if link["name"] in wanted] for summary in summaries]


def _is_busy(link: Entry) -> bool:
    return bool(link["drops"] or link.get("losses")) or link["queue_packets"]["mean"] >= 1
