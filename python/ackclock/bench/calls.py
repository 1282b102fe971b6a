"""What a call of a controller written in Python costs: the same run with the built-in Reno and with Reno in Python."""

import timeit
from dataclasses import dataclass
from typing import ClassVar

from ackclock.bench.cases import Case
from ackclock.bench.reno import Reno
from ackclock.controllers import AckEvent, CongestionEvent, Start
from ackclock.running import simulate

GROUP = "python-controller"
BUILT_IN, IN_PYTHON = "python-controller-none", "python-controller"
"""Names of the two cases."""

_KEPT = 2_000
_REPETITIONS = 20
_PAIRS = 5


@dataclass(frozen=True, slots=True)
class CallCost:
    """CPU time of a call.

    Attributes:
        calls: In one run.
        call_ns: All of it: what the run takes longer, for each call. The two runs take turns, and the shortest of each
            counts: what else a machine does makes a run longer and never shorter.
        body_ns: The part that the method itself takes when Python calls it; the rest is the way there and back.
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
        """Count.

        Args:
            ack: Handed on.
        """
        Counting.calls += 1
        if len(Counting.kept) < _KEPT and ack.may_grow:
            Counting.kept += (ack,)
        super().on_ack(ack)

    def on_congestion(self, event: CongestionEvent) -> None:
        """Count.

        Args:
            event: Handed on.
        """
        Counting.calls += 1
        super().on_congestion(event)


def call_cost(built_in: Case, in_python: Case) -> CallCost:
    """Measure what a call costs.

    Args:
        built_in: The run with the built-in Reno.
        in_python: The same with Reno in Python.
    """
    Counting.calls, Counting.kept = 0, ()
    simulate(Case(GROUP, "counting", in_python.title, (_controller(Counting),)).scenario())
    scenarios = built_in.scenario(), in_python.scenario()
    pairs = [[simulate(scenario)[1].cpu_s for scenario in scenarios] for _ in range(_PAIRS)]
    without_s, with_s = (min(seconds) for seconds in zip(*pairs, strict=True))
    return CallCost(Counting.calls, 1e9 * (with_s - without_s) / Counting.calls, _body_ns(Counting.kept))


def _controller(kind: type[Reno]) -> str:
    return f'flow[0].controller="python:{kind.__module__}:{kind.__name__}"'


def _body_ns(acks: tuple[AckEvent, ...]) -> float:
    """Time for Python itself to call the method with events of the run, in congestion avoidance as nearly always."""
    start = Start(mss_bytes=1448, initial_window_bytes=14_480, initial_ssthresh_bytes=14_480)
    reno = Reno(start)

    def call_each() -> None:
        for ack in acks:
            reno.on_ack(ack)

    def call_nothing() -> None:
        for _ack in acks:
            pass

    seconds = [min(timeit.repeat(loop, number=1, repeat=_REPETITIONS)) for loop in (call_each, call_nothing)]
    return 1e9 * (seconds[0] - seconds[1]) / len(acks)
