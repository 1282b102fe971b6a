"""What a run over a path comes to: a share of what it offered, the delay added, what was lost."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ackclock.bounds import real

if TYPE_CHECKING:
    from ackclock.evolve.paths import Link

_LEAST_SHARE = 0.01


@dataclass(frozen=True, slots=True)
class Figures:
    """A controller on a path.

    Attributes:
        family: Kind of the path.
        goodput: The learner's, over what is its own: the link's rate, half of it beside CUBIC; for two of a kind the
            sum of both over the rate.
        other: Beside CUBIC, CUBIC's over half of the rate; else 0.
        delay: Mean queueing delay of the learner's packets (mean RTT less propagation) over the propagation RTT.
        delay_p95: The 95th percentile likewise.
        queueing_s: Mean queueing delay, s.
        loss: Segments taken for lost over segments sent.
        jain: Jain's index for two of a kind; else 1.
        worst: The lesser of two of a kind over half of the rate; else `goodput`.
    """

    family: str
    goodput: float
    other: float
    delay: float
    delay_p95: float
    queueing_s: float
    loss: float
    jain: float
    worst: float


def figures_of(family: str, summary: Mapping[str, Any], link: "Link") -> Figures:
    """Read them off a run's summary.

    Args:
        family: Kind of the path.
        summary: As of `summary.json`; the learner is the first flow.
        link: What the path offers.
    """
    flows = summary["flows"][:2] if family == "own" else summary["flows"][:1]
    half = link.capacity_bps / 2
    goodputs = [flow["goodput_bps"] for flow in flows]
    other = summary["flows"][1]["goodput_bps"] / half if family == "cubic" else 0.0
    goodput = sum(goodputs) / (half if family == "cubic" else link.capacity_bps)
    squares = sum(value * value for value in goodputs)
    jain = sum(goodputs) ** 2 / (len(goodputs) * squares) if squares else 0.0
    mean_s, p95_s = (max(_rtt_s(flows, name) - link.base_rtt_s, 0.0) for name in ("mean", "p95"))
    sent = sum(flow["sent_segments"] for flow in flows)
    loss = sum(flow["lost_segments"] for flow in flows) / sent if sent else 0.0
    worst = min(goodputs) / half if family == "own" else goodput
    return Figures(family, goodput, other, mean_s / link.base_rtt_s, p95_s / link.base_rtt_s, mean_s, loss, jain, worst)


def _rtt_s(flows: Sequence[Mapping[str, Any]], name: str) -> float:
    """Return the mean over flows, of those that had an RTT in the time that is measured."""
    values = [flow["rtt_ms"][name] / 1e3 for flow in flows if flow["rtt_ms"]]
    return math.fsum(values) / len(values) if values else 0.0


@dataclass(frozen=True, slots=True)
class Worth:
    """What training pays for a path.

    The logarithm of the share of the path, less that of the RTT's growth, less the loss, each with a weight, so that no
    path counts for more than another. Beside CUBIC more than the fair share is worth no more; two of a kind are paid
    for the mean of their logarithms, which is greatest when they share evenly.

    Attributes:
        delay_weight: Of ln(1 + mean queueing delay over propagation RTT).
        loss_weight: Of the loss rate.
    """

    delay_weight: float = 0.5
    loss_weight: float = 5.0

    def __post_init__(self) -> None:
        """Refuse weights that would pay for delay or loss, or make what a path is worth no number."""
        real("delay_weight", self.delay_weight, 0, 1e9)
        real("loss_weight", self.loss_weight, 0, 1e9)

    def of(self, figures: Figures) -> float:
        """Return what a path is worth.

        Args:
            figures: What came out.
        """
        share = min(figures.goodput, 1.0) if figures.family == "cubic" else figures.goodput
        utility = math.log(max(share, _LEAST_SHARE))
        if figures.family == "own":
            best = max(2 * figures.goodput - figures.worst, _LEAST_SHARE)
            utility = (math.log(max(figures.worst, _LEAST_SHARE)) + math.log(best)) / 2
        return utility - self.delay_weight * math.log1p(figures.delay) - self.loss_weight * figures.loss
