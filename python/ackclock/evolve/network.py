"""The policy that is evolved: what it is shown and may do, and its parameters as an ONNX file."""

import json
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from ackclock._core import policy_file

Vector = NDArray[np.float64]

INPUTS: Final[dict[str, tuple[float, float]]] = {
    "queue_share": (0.2, 0.25),
    "queued_segments": (0.25, 0.15),
    "window_ratio": (0.18, 0.05),
    "recent_delivery_ratio": (0.85, 0.2),
    "delivery_trend": (0.05, 0.15),
    "window_trend": (0.05, 0.15),
    "rtt_trend": (0.0, 0.1),
    "latency_gradient": (0.0, 0.2),
    "standing_queue_share": (0.3, 0.3),
    "peak_queue_share": (0.4, 0.3),
    "loss_fraction": (0.0, 0.05),
    "recent_loss_fraction": (0.25, 0.25),
    "send_ratio": (0.15, 0.03),
    "cwnd_segments": (0.35, 0.15),
    "srtt_ms": (0.3, 0.07),
}
"""What it is shown, scaled, with the middle and the width that bring each to about 1: set by hand from a few runs."""

AGENT: Final[dict[str, Any]] = {
    "observations": list(INPUTS),
    "scaled": True,
    "decide": {"rounds": 0.5},
    "action": {"kind": "paced_window", "step": 0.5, "gain": 1.25},
    "slow_start": "agent",
    "on_loss": "agent",
    "reward": "none",
}
"""The agent: asked twice a round trip, at most a doubling or halving in one, from the first ACK on; only timeouts are the
stack's."""

HIDDEN = 5
"""Nodes of the one layer between."""
PARAMETERS = HIDDEN * (len(INPUTS) + 2) + 1
"""Weights and biases."""


RULE: Final[dict[str, float]] = {
    "queue_share": -0.5,
    "queued_segments": -0.15,
    "window_ratio": -0.1,
    "delivery_trend": 0.35,
    "loss_fraction": -0.5,
}
"""Weights, on inputs brought to size, of the rule of thumb that a search starts from: grow while nothing waits, shrink
while much does, so that the first generation neither stands still nor loses everything."""
RULE_BIAS: Final = 0.1
"""What the rule does when every input is at its middle."""


def rule() -> Vector:
    """Return the rule of thumb: a weight for each input, and a bias."""
    return np.array([*(RULE.get(name, 0.0) for name in INPUTS), RULE_BIAS])


def from_rule(weights: Vector, seed: int) -> Vector:
    """Return parameters of a network that does what a rule does: in two nodes, beside nodes that say nothing yet.

    The first of these sees a queue that never empties, which is how a flow that fills it shows.

    Args:
        weights: One for each input, and a bias.
        seed: Draws the silent nodes' inputs.
    """
    generator = np.random.default_rng([seed, 0])
    inputs = len(INPUTS)
    hidden = generator.normal(0.0, 1.0 / np.sqrt(inputs), (HIDDEN, inputs))
    biases = generator.normal(0.0, 0.3, HIDDEN)
    hidden[0], hidden[1], biases[:2] = weights[:-1], -weights[:-1], 0.0
    outputs = np.zeros(HIDDEN)
    outputs[0], outputs[1] = 1.0, -1.0
    hidden[2], biases[2] = 0.0, -0.5
    hidden[2, list(INPUTS).index("standing_queue_share")] = 1.0
    return np.concatenate([hidden.ravel(), biases, outputs, weights[-1:]])


def layers(parameters: Vector) -> list[tuple[list[list[float]], list[float]]]:
    """Return weights and biases of both layers, for inputs as the agent gives them.

    Args:
        parameters: For inputs brought to size.
    """
    count = len(INPUTS)
    weights = parameters[: HIDDEN * count].reshape(HIDDEN, count)
    biases, outputs, last = np.split(parameters[HIDDEN * count :], [HIDDEN, 2 * HIDDEN])
    middles, widths = np.array(list(INPUTS.values())).T
    folded = weights / widths
    return [
        (folded.tolist(), (biases - folded @ middles).tolist()),
        ([outputs.tolist()], last.tolist()),
    ]


def onnx(parameters: Vector) -> bytes:
    """Return the policy's file, which names the agent in its metadata.

    Args:
        parameters: `PARAMETERS` numbers.
    """
    return policy_file(json.dumps(AGENT), layers(parameters))
