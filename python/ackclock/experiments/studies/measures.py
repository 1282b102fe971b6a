"""Metrics of a study's run: those of each controller and of the path, all over the run's measurement window.

Convergence follows the PCC papers (Dong et al., NSDI 2015 and 2018), whose numbers are from memory. It is the time
from the last flow's start to the first of five seconds in which each flow is within 25 % of an equal share.

Departures: the share is that of all flows' goodput in that second, not of the link's rate. Convergence must last: each
flow's mean over the rest of the run is also within 25 % of an equal share. The rest ends with the first flow to finish.
A flow that starves later never converged.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from ackclock.experiments.studies.design import Trial
from ackclock.experiments.studies.samples import Samples, until_completed
from ackclock.stats.bottlenecks import first_of
from ackclock.stats.flow_limits import buffer
from ackclock.stats.metrics import Floats, jain_fairness
from ackclock.stats.run_window import Window, count, window_of

SECOND: Final = 1.0
_WITHIN: Final = 0.25
_HOLDS: Final = 5


@dataclass(frozen=True, slots=True)
class Part:
    """Metrics of one controller's flows in a run.

    Attributes:
        label: Label of the controller.
        flows: Number of flows.
        goodput_bps: Total goodput.
        share: Share of the goodput of all flows, 0 to 1; None if there was none.
        rtt_ms: Mean over flows of their mean RTT; None without a sample.
        rtt_p95_ms: Mean over flows of their 95th percentile.
        retransmitted: Segments retransmitted divided by segments sent; None if nothing was sent.
        timeouts: Total number of timeouts.
        duration_s: Mean time of its flows from start to last byte; None unless all finished.
        buffers: Limit of each flow, if it was a buffer of its own ends.
    """

    label: str
    flows: int
    goodput_bps: float
    share: float | None
    rtt_ms: float | None
    rtt_p95_ms: float | None
    retransmitted: float | None
    timeouts: int
    duration_s: float | None
    buffers: tuple[str | None, ...]


@dataclass(frozen=True, slots=True)
class Measured:
    """Metrics of a run.

    Attributes:
        trial: The run.
        parts: Metrics of each controller, by label.
        utilization: Utilization of the bottleneck, 0 to 1; None if its rate changed and the window's value is unknown.
        queueing_ms: Mean queueing delay at the bottleneck.
        queueing_p95_ms: 95th percentile of the queueing delay.
        dropped: Packets dropped by the queue, divided by those that arrived; None if none arrived.
        jain: Jain's index of the flows' goodputs; None for one flow.
        convergence_s: Convergence time, as defined above; None without convergence, or with one flow only.
        samples: Time series of the flows; None if not kept.
        link: Name of the measured link.
        names: Names of the flows, with the label of each.
        profiles: Stack profiles of the senders.
        window: Window of all metrics.
    """

    trial: Trial
    parts: Mapping[str, Part]
    utilization: float | None
    queueing_ms: float
    queueing_p95_ms: float
    dropped: float | None
    jain: float | None
    convergence_s: float | None
    samples: Samples | None
    link: str
    names: Mapping[str, str]
    profiles: tuple[str, ...]
    window: Window


def measured(trial: Trial, summary: Mapping[str, Any], links: Sequence[str]) -> Measured:
    """Compute the metrics of a run.

    Args:
        trial: The run.
        summary: Summary of the run, with samples.
        links: Candidates for the measured link; the first that the run has is used.

    Raises:
        KeyError: If the run has none of them.
    """
    flows = summary["flows"]
    names = {flow["name"]: label for flow, label in zip(flows, trial.line_up.members, strict=True)}
    window = window_of(summary)
    goodputs = np.array([window.rate_bps(flow) for flow in flows])
    taken = {flow["flow"] for box in summary.get("appliances", ()) for flow in box["flows"]}
    found = first_of(links, summary["links"])
    samples: Samples | None = until_completed(summary["samples"], flows) if summary.get("samples") else None
    # What the link lost had left the queue, and of what it delivered twice one had come.
    came = found["delivered_packets"] - found["duplicates"] + found["losses"] + found["drops"]
    return Measured(
        trial=trial,
        parts={
            label: _part(
                label, [flow for flow in flows if names[flow["name"]] == label], window, float(goodputs.sum()), taken
            )
            for label in trial.line_up.labels
        },
        utilization=window.utilization(found),
        queueing_ms=found["queueing_delay_ms"]["mean"],
        queueing_p95_ms=found["queueing_delay_ms"]["p95"],
        dropped=found["drops"] / came if came else None,
        jain=jain_fairness(goodputs) if len(flows) > 1 and goodputs.any() else None,
        convergence_s=convergence_s(samples, [flow["start_s"] for flow in flows]) if samples else None,
        samples=samples,
        link=found["name"],
        names=names,
        profiles=tuple(dict.fromkeys(flow["profile"] for flow in flows if "profile" in flow)),
        window=window,
    )


def _part(label: str, flows: Sequence[Mapping[str, Any]], window: Window, total: float, taken: Collection[str]) -> Part:
    """Return the metrics of a controller's flows; an appliance limits its flows by its window."""
    goodput = sum(window.rate_bps(flow) for flow in flows)
    sent, again, timeouts = (
        sum(count(flow, key) or 0 for flow in flows) for key in ("sent_segments", "retransmitted_segments", "timeouts")
    )
    rtts = [flow["rtt_ms"] for flow in flows if flow["rtt_ms"]]
    lasted = [flow["completion_s"] - flow["start_s"] for flow in flows if flow.get("completion_s") is not None]
    return Part(
        label=label,
        flows=len(flows),
        goodput_bps=goodput,
        share=goodput / total if total else None,
        rtt_ms=sum(rtt["mean"] for rtt in rtts) / len(rtts) if rtts else None,
        rtt_p95_ms=sum(rtt["p95"] for rtt in rtts) / len(rtts) if rtts else None,
        retransmitted=again / sent if sent else None,
        timeouts=timeouts,
        duration_s=sum(lasted) / len(lasted) if len(lasted) == len(flows) else None,
        buffers=tuple(
            None if flow["name"] in taken else buffer(flow.get("window", flow).get("limited_by")) for flow in flows
        ),
    )


def seconds_of(samples: Samples) -> tuple[Floats, dict[str, Floats]]:
    """Return each flow's goodput averaged over each whole second.

    Returns:
        The ends of the seconds, and by flow the goodput in bit/s; NaN in a second in which the flow had not begun, or
        had finished, even if only at its end.
    """
    time_s = np.asarray(samples["time_s"], dtype=float)
    if not time_s.size:
        return np.array([]), {}
    numbers = np.ceil(time_s / SECOND - 1e-9).astype(int)
    last = int(time_s[-1] / SECOND + 1e-9)
    counts = np.bincount(numbers, minlength=last + 1)[1 : last + 1]
    found = {}
    for name, flow in samples["flows"].items():
        rates = np.array([np.nan if value is None else value for value in flow["goodput_bps"]])
        sums = np.bincount(numbers, weights=rates, minlength=last + 1)[1 : last + 1]
        found[name] = sums / np.maximum(counts, 1)
    return np.arange(1, last + 1, dtype=np.float64) * SECOND, found


def convergence_s(samples: Samples, starts_s: Sequence[float]) -> float | None:
    """Return the convergence time: from the last flow's start until each flow keeps about an equal share.

    Returns:
        Seconds; None without convergence, or with one flow only.
    """
    ends_s, flows = seconds_of(samples)
    if len(starts_s) < 2 or len(flows) < len(starts_s) or not ends_s.size:
        return None
    rates = np.array(list(flows.values()))
    fair = rates.mean(axis=0)
    is_near = (np.abs(rates - fair) <= _WITHIN * fair).all(axis=0) & (fair > 0)
    begun = max(starts_s)
    for place in range(len(ends_s) - _HOLDS + 1):
        begins = float(ends_s[place]) - SECOND
        if begins >= begun and is_near[place : place + _HOLDS].all() and _lasts(rates[:, place:]):
            return begins - begun
    return None


def _lasts(rates: Floats) -> bool:
    """Return whether each flow's mean is near an equal share, over the seconds in which all flows are active."""
    means = rates[:, ~np.isnan(rates).any(axis=0)].mean(axis=1)
    return bool((np.abs(means - means.mean()) <= _WITHIN * means.mean()).all())


def jain_over_time(samples: Samples) -> tuple[Floats, Floats]:
    """Return Jain's index of the flows' goodputs in each whole second.

    Returns:
        Ends of the seconds, and the index; NaN where nothing arrived, or a flow had not begun or had finished.
    """
    ends_s, flows = seconds_of(samples)
    rates = np.array(list(flows.values()))
    if not rates.size:
        return ends_s, np.array([])
    squares = rates.shape[0] * np.square(rates).sum(axis=0)
    with np.errstate(invalid="ignore", divide="ignore"):
        return ends_s, np.square(rates.sum(axis=0)) / squares
