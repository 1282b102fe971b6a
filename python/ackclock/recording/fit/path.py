"""A path, the flows over it, and the scenario that they make."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np

from ackclock.base.toml_text import toml_text
from ackclock.recording.fit.path_figures import PACKET, SEGMENT, Burst
from ackclock.stats.metrics import Floats

PAYLOAD: Final = SEGMENT / PACKET
"""Of a packet with timestamps, the share that is payload."""

_CONTROL: Final = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")
"""Signs that a comment of TOML must not have."""

_ACCESS_FACTOR: Final = 50
"""Access links are so much faster than the bottleneck, so that only it queues."""


class FitError(ValueError):
    """A recording does not tell enough of a path: wrong input; the message says what is missing."""


@dataclass(frozen=True, slots=True)
class Sender:
    """A flow of the recording.

    Attributes:
        name: As there.
        controller: Its congestion control.
        start_s: When it began.
        size_bytes: What it delivered, if it ended; None of one that was still sending.
    """

    name: str
    controller: str
    start_s: float
    size_bytes: int | None


@dataclass(frozen=True, slots=True)
class Path:
    """What is looked for.

    Attributes:
        rate_bps: Of the bottleneck.
        rtt_s: Two-way propagation delay of each flow.
        queue_packets: How many may wait.
        loss: Probability with which a packet is lost at random.
        burst: Cross traffic, as datagrams of a constant rate.
    """

    rate_bps: float
    rtt_s: Floats
    queue_packets: float
    loss: float
    burst: Burst | None

    def scaled(
        self, rate: float = 1.0, rtt: float = 1.0, queue: float = 1.0, loss: float = 1.0, cross: float = 1.0
    ) -> "Path":
        """Return it with its figures multiplied.

        Args:
            rate: Factor of the rate.
            rtt: Of every round trip.
            queue: Of the queue.
            loss: Of the loss.
            cross: Of the rate of the cross traffic.
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
    """Return a scenario as a tree, which `toml` writes and `Scenario` reads.

    Args:
        name: Of the scenario.
        path: The path.
        senders: The flows over it.
        duration_s: How long.
        profile: Of the hosts' TCP.
        jitter_s: By which flows begin later, to see what an accident of the beginning makes.
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


def toml(tree: dict[str, Any], comments: Sequence[str]) -> str:
    """Return a scenario as a file.

    Args:
        tree: As `document` makes it.
        comments: Lines at the top.
    """
    topology = tree["topology"]
    lines = [f"# {_CONTROL.sub(' ', comment)}" for comment in comments]
    lines += [f"name = {toml_text(tree['name'])}", f"duration = {toml_text(tree['duration'])}", "", "[topology]"]
    lines += [f"{key} = {toml_text(topology[key])}" for key in ("kind", "access", "bottleneck")]
    lines += ["", "[tcp]", f"profile = {toml_text(tree['tcp']['profile'])}"]
    for flow in tree["flow"]:
        lines += ["", "[[flow]]", *(f"{key} = {toml_text(value)}" for key, value in flow.items())]
    return "\n".join(lines) + "\n"
