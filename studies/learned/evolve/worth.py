"""The reward of training for a path."""

import math
from dataclasses import dataclass

from ackclock.base.bounds import real

from ..outcome import Figures

_LEAST_SHARE = 0.01


@dataclass(frozen=True, slots=True)
class Worth:
    """The reward of training for a path.

    It is the logarithm of the share of the path, less that of the RTT's growth, less the loss, each with a weight. No
    path therefore counts for more than another. Beside CUBIC a share above the fair one adds nothing. Two flows of a
    kind are paid the mean of their logarithms, which is greatest when they share evenly.

    Attributes:
        delay_weight: Weight of ln(1 + mean queueing delay over propagation RTT).
        loss_weight: Weight of the loss rate.
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
            figures: Results of the path.
        """
        share = min(figures.goodput, 1.0) if figures.family == "cubic" else figures.goodput
        utility = math.log(max(share, _LEAST_SHARE))
        if figures.family == "own":
            best = max(2 * figures.goodput - figures.worst, _LEAST_SHARE)
            utility = (math.log(max(figures.worst, _LEAST_SHARE)) + math.log(best)) / 2
        return utility - self.delay_weight * math.log1p(figures.delay) - self.loss_weight * figures.loss
