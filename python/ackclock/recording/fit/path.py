"""Path with its flows, and the scenario that they define."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np

from ackclock.recording.fit.path_figures import PACKET, SEGMENT, Burst
from ackclock.stats.metrics import Floats

PAYLOAD: Final = SEGMENT / PACKET
"""Share of payload in a packet with timestamps."""

_ACCESS_FACTOR: Final = 50
"""Ratio of access rate to bottleneck rate, large enough that only the bottleneck queues."""


class FitError(ValueError):
    """Error: a recording does not determine a path. The message says what is missing."""


@dataclass(frozen=True, slots=True)
class Sender:
    """Flow of the recording.

    Attributes:
        name: Name in the recording.
        controller: Congestion control.
        start_s: Start time.
        size_bytes: Delivered payload if it ended; None if it was still sending.
    """

    name: str
    controller: str
    start_s: float
    size_bytes: int | None


@dataclass(frozen=True, slots=True)
class Path:
    """Parameters of the path to be estimated.

    Attributes:
        rate_bps: Rate of the bottleneck.
        rtt_s: Two-way propagation delay of each flow.
        queue_packets: Limit of the queue.
        loss: Probability of random loss of a packet.
        burst: Cross traffic, as datagrams at a constant rate.
    """

    rate_bps: float
    rtt_s: Floats
    queue_packets: float
    loss: float
    burst: Burst | None

    def scaled(
        self, rate: float = 1.0, rtt: float = 1.0, queue: float = 1.0, loss: float = 1.0, cross: float = 1.0
    ) -> "Path":
        """Return a copy with scaled parameters.

        Args:
            rate: Factor for the rate.
            rtt: Factor for every round-trip time.
            queue: Factor for the queue limit.
            loss: Factor for the loss probability.
            cross: Factor for the rate of the cross traffic.
        """
        burst = None if self.burst is None else replace(self.burst, rate_bps=self.burst.rate_bps * cross)
        return Path(
            self.rate_bps * rate,
            self.rtt_s * rtt,
            max(self.queue_packets * queue, 2.0),
            min(self.loss * loss, 0.5),
            burst,
        )


def document(
    name: str, path: Path, senders: Sequence[Sender], duration_s: float, profile: str, jitter_s: float = 0.0
) -> dict[str, Any]:
    """Return the scenario as a tree, for `scenario_toml` and `Scenario`.

    Args:
        name: Name of the scenario.
        path: The path.
        senders: Flows over the path.
        duration_s: Simulated time.
        profile: Stack profile of the hosts.
        jitter_s: Delay of the flows' starts, to reveal effects of chance at the beginning.
    """
    # Whole microseconds, so that no flow's round trip is shorter than twice this.
    delay_s = (round(1e6 * float(np.min(path.rtt_s))) // 2) / 1e6
    bottleneck: dict[str, Any] = {
        "rate": f"{path.rate_bps:.0f} bit/s",
        "delay": _time(delay_s),
        "queue": {"kind": "drop_tail", "limit": f"{round(path.queue_packets)} packets"},
    }
    if path.loss > 0:
        bottleneck["loss"] = {"kind": "random", "p": float(f"{path.loss:.4g}")}
    flows = [_flow(sender, rtt_s, jitter_s) for sender, rtt_s in zip(senders, path.rtt_s, strict=True)]
    if path.burst is not None and path.burst.rate_bps > 0:
        flows.append(_cross(path.burst))
    access = {"rate": f"{_ACCESS_FACTOR * path.rate_bps:.0f} bit/s", "delay": "0 ns"}
    topology = {"kind": "dumbbell", "access": access, "bottleneck": bottleneck}
    return {
        "name": name,
        "duration": _time(duration_s),
        "topology": topology,
        "tcp": {"profile": profile},
        "flow": flows,
    }


def _flow(sender: Sender, rtt_s: float, jitter_s: float) -> dict[str, Any]:
    table: dict[str, Any] = {"name": sender.name, "controller": sender.controller, "rtt": _time(rtt_s)}
    if sender.start_s + jitter_s > 0:
        table["start"] = _time(sender.start_s + jitter_s)
    if sender.size_bytes is not None:
        table["app"] = {"kind": "file", "size": f"{sender.size_bytes} bytes"}
    return table


def _cross(burst: Burst) -> dict[str, Any]:
    lasts = _time(burst.until_s - burst.from_s)
    app = {"kind": "on_off", "on": lasts, "off": "80000 s", "rate": f"{burst.rate_bps:.0f} bit/s"}
    return {"name": "cross traffic", "protocol": "udp", "start": _time(max(burst.from_s, 0.0)), "app": app}


def _time(seconds: float) -> str:
    return f"{round(seconds * 1e6)} us"
