"""The cost of a run by its parts: CPU time per delivered packet, memory and set-up time per flow.

Every point is one simulation whose CPU time is measured after slow start. The points take turns, and the median of the
rounds counts, so that other load meets all alike. The formula of the planning page is fitted here.
"""

import json
import math
import statistics
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from cost_points import POINTS, Point
from numpy.typing import NDArray

from ackclock._core import Simulation

ROUNDS = 3


@dataclass(frozen=True, slots=True)
class PacketCost:
    """The cost of a delivered packet at a point.

    Attributes:
        table: The table in which the point stands.
        value: The value that is varied in it.
        flows: Number of flows.
        queues_by_flow: Whether the bottleneck has a queue for each flow.
        packets: Packets delivered in the measured part.
        events_per_packet: Events handled per delivered packet.
        ns_per_packet: CPU time in ns, the median of the rounds.
        ns_least: CPU time in ns, the least of the rounds.
        ns_most: CPU time in ns, the most of the rounds.
    """

    table: str
    value: str
    flows: int
    queues_by_flow: bool
    packets: int
    events_per_packet: float
    ns_per_packet: float
    ns_least: float
    ns_most: float


@dataclass(frozen=True, slots=True)
class FlowCost:
    """The cost of flows and packets besides CPU time of the loop.

    Attributes:
        setup_us_per_flow: CPU time per flow to read a scenario of many flows and make its simulation, in us.
        finish_us_per_flow: CPU time per flow to make the results of that scenario, in us.
        bytes_per_flow: Memory of a flow and its links before it runs.
        bytes_per_running_flow: Memory of a flow and its links that runs with a window of some 20 segments.
        bytes_per_packet: Memory of a packet in flight, with the sender's record of it.
        traced_bytes_per_flow_s: Memory of the default traces for each flow and simulated second.
    """

    setup_us_per_flow: float
    finish_us_per_flow: float
    bytes_per_flow: float
    bytes_per_running_flow: float
    bytes_per_packet: float
    traced_bytes_per_flow_s: float


@dataclass(frozen=True, slots=True)
class Model:
    """CPU time of a packet: so much, so much for each event, for each tenfold of the flows, and for a queue by flow.

    Attributes:
        packet_ns: Whatever it needs.
        event_ns: For each event handled for it.
        tenfold_ns: For each tenfold of the flows, whose state is then not in the caches.
        queue_by_flow_ns: Where the bottleneck has a queue for each flow.
        worst: The largest deviation of a point that it was fitted to, as a share.
    """

    packet_ns: float
    event_ns: float
    tenfold_ns: float
    queue_by_flow_ns: float
    worst: float

    def ns_per_packet(self, cost: PacketCost) -> float:
        """Return what it says of a packet.

        Args:
            cost: Content of the run: flows, events a packet, and the queue.
        """
        ns = (self.packet_ns, self.event_ns, self.tenfold_ns, self.queue_by_flow_ns)
        return sum(term * each for term, each in zip(_terms(cost), ns, strict=True))


def _terms(cost: PacketCost) -> tuple[float, float, float, float]:
    return 1.0, cost.events_per_packet, math.log10(cost.flows), float(cost.queues_by_flow)


def packet_costs(points: Sequence[Point] = POINTS, *, rounds: int = ROUNDS) -> list[PacketCost]:
    """Measure points in turn.

    Args:
        points: To measure.
        rounds: Turns of each.
    """
    turns = [[_run(point) for point in points] for _ in range(rounds)]
    return [_summed(point, [turn[i] for turn in turns]) for i, point in enumerate(points)]


@dataclass(frozen=True, slots=True)
class _Part:
    packets: int
    events: int
    cpu_s: float


def _run(point: Point) -> _Part:
    simulation = Simulation(point.scenario())
    simulation.run_until(point.from_s)
    packets, events, cpu_s = simulation.packets_delivered, simulation.events, time.process_time()
    simulation.run_until(point.to_s())
    cpu_s = time.process_time() - cpu_s
    return _Part(simulation.packets_delivered - packets, simulation.events - events, cpu_s)


def _summed(point: Point, parts: Sequence[_Part]) -> PacketCost:
    ns = [1e9 * part.cpu_s / part.packets for part in parts]
    packets, events = parts[0].packets, parts[0].events
    return PacketCost(
        table=point.table,
        value=point.value,
        flows=point.flows,
        queues_by_flow=point.queues_by_flow,
        packets=packets,
        events_per_packet=events / packets,
        ns_per_packet=statistics.median(ns),
        ns_least=min(ns),
        ns_most=max(ns),
    )


def fit(costs: Sequence[PacketCost]) -> Model:
    """Fit the model to points, all of which weigh alike by their relative deviation.

    Args:
        costs: Measured costs.
    """
    measured = np.array([cost.ns_per_packet for cost in costs])
    terms = np.array([_terms(cost) for cost in costs])
    found, *_ = np.linalg.lstsq(terms / measured[:, None], np.ones(len(costs)), rcond=None)
    off: NDArray[np.float64] = terms @ found / measured - 1
    packet, event, tenfold, queue_by_flow = (float(ns) for ns in found)
    return Model(packet, event, tenfold, queue_by_flow, float(np.max(np.abs(off))))


_FEW, _MANY = 100, 10_000
_SMALL, _LARGE = 1_000, 100_000
_TRACED_S = 20.0
_STEADY_S = 0.5


def flow_cost() -> FlowCost:
    """Measure set-up and memory, each in a process of its own.

    Raises:
        RuntimeError: If a process fails; the message has its last line.
    """
    few, many = _child(flows=_FEW), _child(flows=_MANY)

    def per_flow(figure: str) -> float:
        return (many[figure] - few[figure]) / (_MANY - _FEW)

    small, large = _child(window=_SMALL), _child(window=_LARGE)
    plain, traced = _child(flows=1, to_s=_TRACED_S), _child(flows=1, to_s=_TRACED_S, traced=1)
    return FlowCost(
        setup_us_per_flow=1e6 * per_flow("setup_s"),
        finish_us_per_flow=1e6 * per_flow("finish_s"),
        bytes_per_flow=per_flow("made_bytes"),
        bytes_per_running_flow=per_flow("running_bytes"),
        bytes_per_packet=(large["running_bytes"] - small["running_bytes"]) / (_LARGE - _SMALL),
        traced_bytes_per_flow_s=(traced["running_bytes"] - plain["running_bytes"]) / _TRACED_S,
    )


def _child(*, flows: int = 1, window: int = 0, to_s: float = _STEADY_S, traced: int = 0) -> Mapping[str, float]:
    numbers = [str(number) for number in (flows, window, to_s, traced)]
    command = [sys.executable, str(Path(__file__).with_name("cost_memory.py")), *numbers]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"the measurement of memory failed: {done.stderr.strip().splitlines()[-1:]}")
    figures: dict[str, float] = json.loads(done.stdout)
    return figures


def as_dict(costs: Sequence[PacketCost], flow: FlowCost, model: Model) -> dict[str, object]:
    """Return the JSON.

    Args:
        costs: Measured costs of the points.
        flow: Set-up and memory.
        model: Fitted model.
    """
    return {"packets": [asdict(cost) for cost in costs], "flow": asdict(flow), "model": asdict(model)}
