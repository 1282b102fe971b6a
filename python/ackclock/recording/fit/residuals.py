"""Comparison of a recording with runs of its fitted scenario."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ackclock.plotting.likeness import score
from ackclock.recording.fit.path_figures import SEGMENT, Figures
from ackclock.stats.estimates import CONFIDENCE
from ackclock.stats.student_t import quantile


@dataclass(frozen=True, slots=True)
class Residual:
    """Quantity on both sides.

    Attributes:
        name: Description with unit.
        recorded: Value in the recording.
        simulated: Mean of several runs with other seeds and start times.
        spread: Half width around the mean of the 95 % range of a single run, including the path's uncertainty.
        score: Similarity: the smaller value divided by the larger, 1 if they are equal.
    """

    name: str
    recorded: float
    simulated: float
    spread: float
    score: float

    @property
    def is_within(self) -> bool:
        """Whether the recorded value is within the spread of the runs."""
        return abs(self.recorded - self.simulated) <= self.spread


def residuals(
    recorded: Figures, runs: Sequence[Figures], around: Sequence[Figures], flows: Sequence[str]
) -> list[Residual]:
    """Compare a recording with runs.

    Args:
        recorded: Observables of the recording.
        runs: Observables of each run over the path.
        around: Observables of at least as many runs, each over an equally plausible path.
        flows: Names of the flows.
    """
    found = []
    every = (recorded, *runs, *around)
    for place, name in enumerate(flows):
        of = f" of {name}" if len(flows) > 1 else ""
        found.append((f"goodput{of} (Mbit/s)", 1e-6, [float(one.goodput_bps[place]) for one in every]))
        found.append((f"least round trip{of} (ms)", 1e3, [float(one.base_s[place]) for one in every]))
    for name, scale, key in (
        ("mean round trip (ms)", 1e3, "rtt_mean_s"),
        ("95th percentile of round trips (ms)", 1e3, "rtt_p95_s"),
        ("mean cwnd (segments)", 1 / SEGMENT, "cwnd_bytes"),
        ("retransmitted (%)", 100.0, "retransmitted"),
    ):
        found.append((name, scale, [float(getattr(one, key)) for one in every]))
    return [
        _residual(name, [scale * value for value in values], len(runs))
        for name, scale, values in found
        if not any(math.isnan(value) for value in values)
    ]


def _residual(name: str, values: Sequence[float], runs: int) -> Residual:
    first, mean, around = values[0], float(np.mean(values[1 : 1 + runs])), np.array(values[1 + runs :])
    t = quantile(around.size - 1, CONFIDENCE)
    spread = t * float(around.std(ddof=1)) * math.sqrt(1 + 1 / around.size)
    return Residual(name, first, mean, spread, score(first, mean))
