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
"""Scaled observations, each with the centre and width that bring it to about 1: set by hand from a few runs."""

AGENT: Final[dict[str, Any]] = {
    "observations": list(INPUTS),
    "scaled": True,
    "decide": {"rounds": 0.5},
    "action": {"kind": "paced_window", "step": 0.5, "gain": 1.25},
    "slow_start": "agent",
    "on_loss": "agent",
    "reward": "none",
}
"""The agent: asked twice a round trip, at most a doubling or halving in one, from the first ACK on; timeouts are the
stack's."""

PARAMETERS: Final = 2 * (len(INPUTS) + 1)
"""A weight for each input and a bias, of the rule and of the hinge."""

RULE: Final[dict[str, float]] = {
    "queue_share": -1.0,
    "queued_segments": -0.5,
    "window_ratio": -1.0,
    "delivery_trend": 0.3,
    "window_trend": -0.3,
    "rtt_trend": 0.5,
    "standing_queue_share": 0.25,
    "peak_queue_share": 0.25,
    "loss_fraction": -0.7,
    "recent_loss_fraction": -0.3,
    "cwnd_segments": -0.4,
    "bias": -0.65,
}
"""The rule with which a search begins, on normalised inputs. It grows the window while nothing waits and delivery
grows, and shrinks it while much waits or is lost. The signs are plain; the sizes come from a first search over the
rule alone, on the same training paths, rounded."""
HINGE: Final[dict[str, float]] = {"standing_queue_share": 0.5, "bias": -0.5}
"""The second node at the beginning: it is active once the queue never empties, as with a flow that fills it."""


def start() -> Vector:
    """Return the parameters to start from."""
    names = [*INPUTS, "bias"]
    return np.array([part.get(name, 0.0) for part in (RULE, HINGE) for name in names])


def layers(parameters: Vector) -> list[tuple[list[list[float]], list[float]]]:
    """Return weights and biases of both layers, for inputs as the agent gives them.

    The action is r x + b + max(h x + c, 0): a rule, with a hinge where it bends upwards. As rectifiers are all that is
    between the layers, the rule takes two nodes.

    Args:
        parameters: r, b, h, c, for inputs brought to size.
    """
    rule, hinge = parameters.reshape(2, -1)
    weights = np.array([rule[:-1], -rule[:-1], hinge[:-1]])
    biases = np.array([0.0, 0.0, hinge[-1]])
    middles, widths = np.array(list(INPUTS.values())).T
    folded = weights / widths
    return [
        (folded.tolist(), (biases - folded @ middles).tolist()),
        ([[1.0, -1.0, 1.0]], [float(rule[-1])]),
    ]


def onnx(parameters: Vector) -> bytes:
    """Return the policy's file, which names the agent in its metadata.

    Args:
        parameters: `PARAMETERS` numbers.
    """
    single = [(np.array(weights, np.float32), np.array(biases, np.float32)) for weights, biases in layers(parameters)]
    return policy_file(json.dumps(AGENT), "relu", single)
