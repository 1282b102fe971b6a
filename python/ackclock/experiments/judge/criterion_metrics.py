"""Metrics of a run's summary, each a pure function; what a run lacks is None.

Sources: harm is that of Ware, Mukerjee, Seshan and Sherry, HotNets 2019: for more-is-better (x - y) / x, for
less-is-better (y - x) / y, of x alone and y beside another. The rate of TCP is that of Mathis et al., CCR 27(3), 1997,
as in RFC 8083 section 4.3. The quality of a call is that of ITU-T G.107 for G.711, as reduced to delay and loss by Cole
and Rosenbluth, CCR 31(2), 2001.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from ackclock.results.summaries import RunSummary
from ackclock.stats.metrics import jain_fairness
from ackclock.stats.run_window import count, window_of

MOST: Final = 1000.0
"""Value in place of a slowdown if no short flow completed."""

_LINK: Final = "bottleneck"
_TCP: Final = math.sqrt(1.5)
"""Constant of the square-root law for an ACK of every segment."""


@dataclass(frozen=True, slots=True)
class Run:
    """Measured run.

    Attributes:
        summary: Its summary.
        alone: Summary of the same path and seed without the judged flows; None for metrics that do not need it.
        of: Beginning of the names of the measured flows.
        capacity_bps: Mean capacity of the bottleneck in the window.
        rtt_s: Two-way propagation delay at the beginning of the run.
        mss_bytes: Payload of a full segment.
    """

    summary: RunSummary
    alone: RunSummary | None
    of: str
    capacity_bps: float
    rtt_s: float
    mss_bytes: float

    @property
    def flows(self) -> list[Any]:
        """Measured flows."""
        return _named(self.summary["flows"], self.of)


Metric = Callable[[Run], float | None]


def used(run: Run) -> float | None:
    """Return goodput as a fraction of the capacity."""
    goodput_bps = math.fsum(flow["goodput_bps"] for flow in run.flows)
    return goodput_bps / run.capacity_bps if run.capacity_bps else None


def jain(run: Run) -> float | None:
    """Return Jain's index of the goodputs; 1 / n if all are zero, as if one flow had everything."""
    rates = [flow["goodput_bps"] for flow in run.flows]
    return jain_fairness(np.array(rates)) if any(rates) else 1.0 / len(rates)


def dropped(run: Run) -> float | None:
    """Return the share of the packets that the bottleneck's queue dropped."""
    link = _link(run.summary)
    arrived = link["delivered_packets"] + link["losses"] + link["drops"]
    return float(link["drops"] / arrived) if arrived else None


def queueing(run: Run) -> float | None:
    """Return the mean queueing delay at the bottleneck, in base RTTs."""
    return float(_link(run.summary)["queueing_delay_ms"]["mean"]) / 1e3 / run.rtt_s


def sent_again(run: Run) -> float | None:
    """Return the share of the segments that had been sent before."""
    sent = sum(count(flow, "sent_segments") or 0 for flow in run.flows)
    again = sum(count(flow, "retransmitted_segments") or 0 for flow in run.flows)
    return again / sent if sent else None


def segments(run: Run) -> float | None:
    """Return the segments that the busiest flow sent."""
    return float(max(count(flow, "sent_segments") or 0 for flow in run.flows))


def rate_over_tcp(run: Run) -> float | None:
    """Return the largest of the flows' rates of sending, divided by that of the TCP equation for its RTT and losses."""
    found = []
    for flow in run.flows:
        sent, again = count(flow, "sent_segments") or 0, count(flow, "retransmitted_segments") or 0
        if again and flow["rtt_ms"]:
            equation_bps = _TCP * 8 * run.mss_bytes / (flow["rtt_ms"]["mean"] / 1e3 * math.sqrt(again / sent))
            found.append(flow["throughput_bps"] / equation_bps)
    return max(found, default=0.0)


def slowdown(run: Run) -> float | None:
    """Return the mean completion time of short flows over that on an idle path; `MOST` if none completed.

    All are of one size. A flow that has not ended counts with the time from the end of the window to that of the run,
    which it has lasted at least.
    """
    left_s = run.summary["duration_s"] - window_of(run.summary).measured_s[1]
    total, found = 0, []
    for group in _named(run.summary.get("groups", []), run.of):
        total += group["started"]
        if group["slowdown"]:
            idle_s = group["fct_ms"]["min"] / 1e3 / group["slowdown"]["min"]
            open_flows = group["started"] - group["completed"]
            found.append(group["completed"] * group["slowdown"]["mean"] + open_flows * left_s / idle_s)
    return (math.fsum(found) / total if found else MOST) if total else None


def completion(run: Run) -> float | None:
    """Return the mean time from a flow's start to its completion, ms; to the end of the run if it has none."""
    lasted_s = [(flow["completion_s"] or run.summary["duration_s"]) - flow["start_s"] for flow in run.flows]
    return 1e3 * math.fsum(lasted_s) / len(lasted_s)


def opinion(run: Run) -> float | None:
    """Return the mean opinion score of the worst call, 1 to 4.5; frames that are lost or late for playback count alike.

    The receiver plays each frame after a fixed delay: of the 50th, 95th and 99th percentile of the frames' delays that
    which gives the best score.
    """
    return min((_opinion(call) for call in _datagrams(run.summary, run.of)), default=None)


def _opinion(call: Any) -> float:  # noqa: ANN401  datagrams of the summary
    delay, arrived = call["one_way_delay_ms"], call["received"] / call["sent"]
    if not delay:
        return 1.0
    return max(_score(delay[at], 1 - share * arrived) for at, share in (("p50", 0.5), ("p95", 0.95), ("p99", 0.99)))


def _score(delay_ms: float, lost: float) -> float:
    """Return the mean opinion score of G.711 with a delay and a share of missing frames."""
    by_delay = 0.024 * delay_ms + 0.11 * max(0.0, delay_ms - 177.3)
    rating = min(100.0, max(0.0, 94.2 - by_delay - 30 * math.log(1 + 15 * lost)))
    return max(1.0, 1 + 0.035 * rating + 7e-6 * rating * (rating - 60) * (100 - rating))


def datagrams_lost(run: Run) -> float | None:
    """Return the share of the datagrams that did not arrive."""
    flows = _datagrams(run.summary, run.of)
    sent = sum(flow["sent"] for flow in flows)
    return 1 - sum(flow["received"] for flow in flows) / sent if sent else None


def harm_goodput(run: Run) -> float | None:
    """Return the harm to the flows' goodput."""
    return _less(run, lambda summary: _sum(_named(summary["flows"], run.of), "goodput_bps"))


def harm_received(run: Run) -> float | None:
    """Return the harm to the datagrams' goodput."""
    return _less(run, lambda summary: _sum(_datagrams(summary, run.of), "goodput_bps"))


def harm_rtt(run: Run) -> float | None:
    """Return the harm to the flows' mean RTT; that of a flow that got no sample is 1."""
    assert run.alone is not None
    alone, beside = (_mean_rtt(_named(summary["flows"], run.of)) for summary in (run.alone, run.summary))
    if beside is None or alone is None:
        return 1.0 if beside is None else None
    return (beside - alone) / beside


def _less(run: Run, of: Callable[[RunSummary], float]) -> float | None:
    """Return the harm to a quantity of which more is better."""
    assert run.alone is not None
    alone = of(run.alone)
    return (alone - of(run.summary)) / alone if alone else None


def _sum(entries: Sequence[Any], key: str) -> float:
    return math.fsum(entry[key] for entry in entries)


def _mean_rtt(flows: Sequence[Any]) -> float | None:
    means = [flow["rtt_ms"]["mean"] for flow in flows if flow["rtt_ms"]]
    return math.fsum(means) / len(means) if means else None


def _named(entries: Sequence[Any], name: str) -> list[Any]:
    return [entry for entry in entries if entry["name"].startswith(name)]


def _datagrams(summary: RunSummary, name: str) -> list[Any]:
    return _named(summary.get("datagrams", []), name)


def _link(summary: RunSummary) -> Any:  # noqa: ANN401  a link of the summary
    return next(link for link in summary["links"] if link["name"] == _LINK)


METRICS: Final[Mapping[str, Metric]] = {
    metric.__name__: metric
    for metric in (
        used, jain, dropped, queueing, sent_again, segments, rate_over_tcp, slowdown, completion, opinion,
        datagrams_lost, harm_goodput, harm_received, harm_rtt,
    )
}  # fmt: skip
"""Metrics by the names in a suite."""

MORE_IS_BETTER: Final = frozenset({"used", "jain", "opinion"})
"""Metrics of which more is better; of all others, less is."""

NEED_ALONE: Final = frozenset({"harm_goodput", "harm_received", "harm_rtt"})
"""Metrics that compare with a run without the judged flows."""
