"""The points that `cost.py` measures: one thing at a time is changed, and everything else stays.

The program runs a tenth of some points, for `valgrind` to count, as `counted` does.
"""

import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from ackclock._core import Scenario, Simulation

sys.path.insert(0, str(Path(__file__).parents[1]))

from speed.cases import Case

FLOWS = (1, 10, 100, 1_000, 10_000)
WINDOWS = (10, 100, 1_000, 10_000, 100_000)
LOSS = 1e-4

_PACKETS = 300_000
_LEAST_OF_A_FLOW = 100
_WARM_UP_S = 0.5
_RATE_OF_A_FLOW_BPS = 10e6
_WIRE_BITS = 1_500 * 8
_RTT_OF_D_S = 0.02
_FLOWS_BESIDE = 100
"""Number of flows at the points that vary something else."""

_QUEUES = ("red", "codel", "pie", "dualpi2")
_QUEUES_BY_FLOW = ("drr", "sfq", "fq", "fq_codel", "fq_pie", "cake")
_PROFILES = ("linux-6.x",)
_CONTROLLERS = ("reno", "vegas", "bbr", "bbr3")


@dataclass(frozen=True, slots=True)
class Point:
    """A run, of which the part between two times is measured.

    Attributes:
        table: The table in which the point stands: `flows`, `window`, `window-loss`, `queue`, `profile`, `controller`
            or `trace`.
        value: The value that is varied in it.
        flows: Number of flows.
        case: The scenario.
        from_s: Simulated time at which the measured part begins.
        packets: About how many packets are delivered in it.
        per_s: About how many packets are delivered in a simulated second.
    """

    table: str
    value: str
    flows: int
    case: Case
    from_s: float
    packets: float
    per_s: float

    @property
    def name(self) -> str:
        """The point's unique name."""
        return f"{self.table}/{self.value}"

    @property
    def queues_by_flow(self) -> bool:
        """Whether the bottleneck has a queue for each flow."""
        return self.value in _QUEUES_BY_FLOW

    def to_s(self, share: float = 1.0) -> float:
        """Return the simulated time at which the measured part ends.

        Args:
            share: Fraction of its packets.
        """
        return self.from_s + share * self.packets / self.per_s

    def scenario(self, *changes: str) -> Scenario:
        """Read the scenario.

        Args:
            changes: Overrides of the scenario.
        """
        return replace(self.case, overrides=(*self.case.overrides, *changes)).scenario()


def shared(table: str, value: str, *changes: str, flows: int = _FLOWS_BESIDE) -> Point:
    """Return a point of CUBIC flows that share a bottleneck, 10 Mbit/s for each.

    Args:
        table: Name of the table that is changed.
        value: To what.
        changes: Overrides of the scenario.
        flows: Number of flows.
    """
    rate_bps = flows * _RATE_OF_A_FLOW_BPS
    size = (
        f"flow[0].count={flows}",
        f'topology.bottleneck.rate="{rate_bps / 1e6:.0f} Mbit/s"',
        f'flow[0].start.spacing="{1e8 / flows:.0f} ns"',
    )
    case = Case("cost", f"{table}/{value}", f"{flows} CUBIC flows", (*size, *changes))
    packets = max(_PACKETS, _LEAST_OF_A_FLOW * flows)
    return Point(table, value, flows, case, _WARM_UP_S, packets, rate_bps / _WIRE_BITS)


def window(segments: int, loss: float) -> Point:
    """Return a point of one flow with a fixed window.

    Args:
        segments: The window.
        loss: Probability with which a packet is lost.
    """
    table = "window-loss" if loss else "window"
    changes = (f'flow[0].controller.window="{segments} segments"', f"topology.bottleneck.discard[0].p={loss}")
    case = Case("d", f"{table}/{segments}", "a fixed window", (*changes, 'duration="1000 s"'))
    return Point(table, str(segments), 1, case, 10 * _RTT_OF_D_S, _PACKETS, segments / _RTT_OF_D_S)


POINTS: tuple[Point, ...] = (
    *(shared("flows", str(flows), flows=flows) for flows in FLOWS),
    *(window(segments, 0.0) for segments in WINDOWS),
    *(window(segments, LOSS) for segments in WINDOWS),
    shared("queue", "drop_tail"),
    *(shared("queue", kind, f'topology.bottleneck.queue="{kind}"') for kind in (*_QUEUES, *_QUEUES_BY_FLOW)),
    *(shared("profile", name, f'tcp.profile="{name}"') for name in _PROFILES),
    *(shared("controller", name, f'flow[0].controller="{name}"') for name in _CONTROLLERS),
    shared("trace", "one flow, default traces", "trace={}", flows=1),
    shared("trace", "100 flows, default traces", "trace={}"),
)
"""All of them, in the order in which they run."""

_SHARE_COUNTED = 0.1
_COUNTED = (
    *("flows/1", "flows/10", "flows/100", "window/10", "window/1000", "window/10000"),
    *("queue/codel", "queue/fq_codel", "queue/cake", "profile/linux-6.x"),
)
"""Some, as valgrind is slow: a minute of CPU for these."""


def counted() -> Iterator[tuple[str, int]]:
    """Run a tenth of each point that is counted.

    Yields:
        Its name, and how many data packets were delivered in the measured part.
    """
    for point in (point for point in POINTS if point.name in _COUNTED):
        simulation = Simulation(point.scenario())
        simulation.run_until(point.from_s)
        before = simulation.packets_delivered
        simulation.run_until(point.to_s(_SHARE_COUNTED))
        yield point.name, simulation.packets_delivered - before


def main() -> None:
    """Print the packets of each as they are counted."""
    for name, packets in counted():
        print(name, packets)


if __name__ == "__main__":
    main()
