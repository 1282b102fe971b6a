"""Cost of calls into parts written in Python: the same run with a built-in part and with its equivalent in Python."""

import timeit
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

from ackclock.controllers import AckEvent, CongestionEvent, Start
from ackclock.parts import LinkStart, Packet, Queue
from ackclock.running import simulate
from ackclock.scenario.reno import Reno

from .cases import Case

GROUP = "python-controller"
BUILT_IN, IN_PYTHON = "python-controller-none", "python-controller"
"""Names of the two cases."""

QUEUE_BUILT_IN, QUEUE_IN_PYTHON = "python-queue-none", "python-queue"
"""Names of the two cases of queues."""

_ROOM = 500

_KEPT = 2_000
_REPETITIONS = 20
_PAIRS = 5


@dataclass(frozen=True, slots=True)
class CallCost:
    """CPU time of a call.

    Attributes:
        calls: Calls in one run.
        call_ns: CPU time per call by which the run takes longer. The two runs alternate, and the fastest of each
            counts: other load on the machine only makes runs slower.
        body_ns: Part spent in the method itself when called from Python; the rest is the crossing in both directions.
    """

    calls: int
    call_ns: float
    body_ns: float

    def as_dict(self) -> dict[str, float]:
        """Return the entry of the JSON."""
        return {"calls": self.calls, "call_ns": self.call_ns, "body_ns": self.body_ns}


class Counting(Reno):
    """Reno that counts its calls and keeps some of its ACKs."""

    calls: ClassVar[int] = 0
    kept: tuple[AckEvent, ...] = ()

    def on_ack(self, ack: AckEvent) -> None:
        """Count the call.

        Args:
            ack: Passed on.
        """
        Counting.calls += 1
        if len(Counting.kept) < _KEPT and ack.may_grow:
            Counting.kept += (ack,)
        super().on_ack(ack)

    def on_congestion(self, event: CongestionEvent) -> None:
        """Count the call.

        Args:
            event: Passed on.
        """
        Counting.calls += 1
        super().on_congestion(event)


def call_cost(built_in: Case, in_python: Case) -> CallCost:
    """Measure the cost of a call.

    Args:
        built_in: The run with the built-in Reno.
        in_python: The same with Reno in Python.
    """
    Counting.calls, Counting.kept = 0, ()
    simulate(Case(GROUP, "counting", in_python.title, (_controller(Counting),)).scenario())
    longer_s = _longer_s(built_in, in_python)
    return CallCost(Counting.calls, 1e9 * longer_s / Counting.calls, _body_ns(Counting.kept))


class Fifo(Queue, name="bench_fifo"):
    """First-in, first-out queue with room for 500 packets."""

    def __init__(self, start: LinkStart) -> None:
        """Begin with an empty queue.

        Args:
            start: Passed on.
        """
        self.waiting: deque[Packet] = deque()

    def enqueue(self, now_ns: int, packet: Packet) -> None:
        """Append a packet.

        Args:
            now_ns: Not used.
            packet: The packet.
        """
        if len(self.waiting) == _ROOM:
            self.drop(packet)
        else:
            self.waiting.append(packet)

    def dequeue(self, now_ns: int) -> Packet | None:
        """Remove and return the oldest packet.

        Args:
            now_ns: Not used.
        """
        return self.waiting.popleft() if self.waiting else None


class CountingFifo(Fifo, name="bench_counting_fifo"):
    """First-in, first-out queue that counts its calls."""

    calls = 0

    def enqueue(self, now_ns: int, packet: Packet) -> None:
        """Count the call.

        Args:
            now_ns: Passed on.
            packet: Passed on.
        """
        CountingFifo.calls += 1
        super().enqueue(now_ns, packet)

    def dequeue(self, now_ns: int) -> Packet | None:
        """Count the call.

        Args:
            now_ns: Passed on.
        """
        CountingFifo.calls += 1
        return super().dequeue(now_ns)


def queue_call_cost(built_in: Case, in_python: Case) -> CallCost:
    """Measure the mean cost of a call of `enqueue` or `dequeue`.

    Args:
        built_in: The run with a built-in queue.
        in_python: The same with one in Python.
    """
    CountingFifo.calls = 0
    counting = ('topology.bottleneck.queue="bench_counting_fifo"',)
    simulate(Case(in_python.group, "counting", in_python.title, counting).scenario())
    calls, longer_s = CountingFifo.calls, _longer_s(built_in, in_python)
    return CallCost(calls, 1e9 * longer_s / calls, _queue_body_ns())


def _longer_s(built_in: Case, in_python: Case) -> float:
    """Return the CPU time by which the run with Python takes longer, seconds."""
    scenarios = built_in.scenario(), in_python.scenario()
    pairs = [[simulate(scenario)[1].cpu_s for scenario in scenarios] for _ in range(_PAIRS)]
    without_s, with_s = (min(seconds) for seconds in zip(*pairs, strict=True))
    return float(with_s - without_s)


def _queue_body_ns() -> float:
    queue, packets = Fifo(LinkStart(rate_bps=100_000_000)), [Packet(sequence=number) for number in range(_ROOM)]

    def call_each() -> None:
        for packet in packets:
            queue.enqueue(0, packet)
        for _packet in packets:
            queue.dequeue(0)

    def call_nothing() -> None:
        for _packet in packets:
            pass
        for _packet in packets:
            pass

    return _difference_ns(call_each, call_nothing, 2 * _ROOM)


def _controller(kind: type[Reno]) -> str:
    return f'flow[0].controller="python:{kind.__module__}:{kind.__name__}"'


def _body_ns(acks: tuple[AckEvent, ...]) -> float:
    """Return the time of a call from Python with events of the run, nearly always in congestion avoidance."""
    start = Start(mss_bytes=1448, initial_window_bytes=14_480, initial_ssthresh_bytes=14_480)
    reno = Reno(start)

    def call_each() -> None:
        for ack in acks:
            reno.on_ack(ack)

    def call_nothing() -> None:
        for _ack in acks:
            pass

    return _difference_ns(call_each, call_nothing, len(acks))


def _difference_ns(loop: Callable[[], None], empty: Callable[[], None], calls: int) -> float:
    seconds = [min(timeit.repeat(one, number=1, repeat=_REPETITIONS)) for one in (loop, empty)]
    return 1e9 * (seconds[0] - seconds[1]) / calls
