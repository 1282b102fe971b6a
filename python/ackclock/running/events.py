"""Typed events of a run, and a run as an iterator over them.

for event in ackclock.watch(scenario, events=["timed_out", "packet_dropped"]):
    print(event.time_s, event.source.name, event)
"""

import json
import re
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, TypeVar

from ackclock._core import Scenario, Simulation
from ackclock.base import system
from ackclock.results import Results
from ackclock.results.manifests import Partition
from ackclock.running.engine import EngineFigures, results_of, watched

_T = TypeVar("_T")
_CLASSES: dict[str, Any] = {}
"""Event classes, by name."""


@dataclass(frozen=True, slots=True)
class Source:
    """Source of events.

    Attributes:
        kind: `flow` for its sender, `relay` for a forwarding end of an appliance, or `link`.
        name: Name as in results; for a relay the names of the appliance and the flow, and the direction.
        controller: Congestion controller at the source; empty for a link.
    """

    kind: Literal["flow", "relay", "link"]
    name: str
    controller: str


@dataclass(frozen=True, slots=True)
class Packet:
    """Packet, as a link sees it.

    Attributes:
        flow: Number of the flow, in the scenario's order; datagrams and short flows follow.
        is_forward: Whether it travels from the end that opened the connection.
        sequence: Sequence number on the wire; for a datagram its number.
        acknowledgment: Acknowledgement number on the wire; 0 for a datagram.
        tcp_flags: TCP flags, as in the header; 0 for a datagram.
        payload_bytes: Payload size.
        size_bytes: Size of the IP packet.
        ecn: The ECN field: `not_ect`, `ect0`, `ect1` or `ce`.
    """

    flow: int
    is_forward: bool
    sequence: int
    acknowledgment: int
    tcp_flags: int
    payload_bytes: int
    size_bytes: int
    ecn: str


@dataclass(frozen=True, slots=True)
class Event:
    """Event of a run.

    Attributes:
        kind: Name of the event in `events`.
        time_s: Simulated time.
        source: Source of the event.
    """

    kind: ClassVar[str]
    time_s: float
    source: Source

    def __init_subclass__(cls) -> None:
        """Register the class under its event name."""
        cls.kind = re.sub(r"\B([A-Z])", r"_\1", cls.__name__).lower()
        _CLASSES[cls.kind] = cls


@dataclass(frozen=True, slots=True)
class PacketSent(Event):
    """Transmission start: the first bit of a packet entered the link, after its wait in the queue."""

    packet: Packet
    waited_s: float


@dataclass(frozen=True, slots=True)
class PacketDropped(Event):
    """Packet drop, caused by the `queue`, a `discarder` or policer, or by `loss` on the link."""

    packet: Packet
    cause: str


@dataclass(frozen=True, slots=True)
class PacketMarked(Event):
    """A queue set a packet's ECN field to CE."""

    packet: Packet


@dataclass(frozen=True, slots=True)
class PacketDelivered(Event):
    """Delivery: the last bit of a packet left the link at its far end."""

    packet: Packet


@dataclass(frozen=True, slots=True)
class SegmentSent(Event):
    """Transmission of a data segment; the SYN is at offset 0, the first octet of data at 1."""

    offset_bytes: int
    size_bytes: int
    is_retransmission: bool
    flight_size_bytes: int


@dataclass(frozen=True, slots=True)
class AckArrived(Event):
    """Arrival of an ACK at a sender, with the values after its processing; None for values that do not exist (yet)."""

    newly_delivered_bytes: int
    acknowledged_bytes: int
    cwnd_bytes: int
    ssthresh_bytes: int | None
    flight_size_bytes: int
    rtt_sample_s: float | None
    srtt_s: float | None
    rttvar_s: float | None
    rto_s: float
    pacing_rate_bps: int | None


@dataclass(frozen=True, slots=True)
class MarkedLost(Event):
    """Loss detection: a sender marked data as lost, due to `acks`, `time` (RACK) or a `timeout`."""

    lost_bytes: int
    cause: str


@dataclass(frozen=True, slots=True)
class RecoveryEntered(Event):
    """Start of a recovery or of the response to a mark, caused by `loss`, `ecn` or a `timeout`."""

    cause: str
    until_bytes: int
    cwnd_before_bytes: int
    cwnd_bytes: int
    ssthresh_bytes: int | None


@dataclass(frozen=True, slots=True)
class RecoveryLeft(Event):
    """End of a recovery."""

    cwnd_bytes: int


@dataclass(frozen=True, slots=True)
class TimedOut(Event):
    """Retransmission timeout, with the number of timeouts of the same data; the next one follows after `rto_s`."""

    in_a_row: int
    rto_s: float


@dataclass(frozen=True, slots=True)
class Undone(Event):
    """Undo: the last recovery proved spurious and was reverted."""

    cwnd_bytes: int


@dataclass(frozen=True, slots=True)
class ProbeSent(Event):
    """Transmission of a probe, for `tail_loss` or a `zero_window`."""

    cause: str


@dataclass(frozen=True, slots=True)
class ControllerState(Event):
    """State change of a controller."""

    from_state: str
    to_state: str


@dataclass(frozen=True, slots=True)
class SlowStartExited(Event):
    """End of slow start, by `loss`, `ecn`, `timeout`, `threshold`, `delay`, `ack_train` or `path_full`."""

    cause: str
    cwnd_bytes: int


@dataclass(frozen=True, slots=True)
class RelayHeld(Event):
    """Start of backpressure: an appliance holds data back to bound its latency."""

    buffered_bytes: int


@dataclass(frozen=True, slots=True)
class RelayReleased(Event):
    """End of backpressure of an appliance."""

    buffered_bytes: int
    held_s: float


KINDS: tuple[str, ...] = tuple(_CLASSES)
"""The names of all events."""

_WITH_PACKET = frozenset(kind for kind in KINDS if kind.startswith("packet_"))


class Watch:
    """Run that advances as its events are consumed.

    Leaving the loop early ends the simulation, unless `results` is accessed. Consumed events are not in the table of
    the results.
    """

    def __init__(self, scenario: Scenario) -> None:
        """Prepare a run; nothing is simulated yet.

        Args:
            scenario: Scenario whose `trace` names events.
        """
        self._scenario = scenario
        self._simulation = Simulation(scenario)
        self._partition: Partition = json.loads(self._simulation.partition_json()) | {"threads": 1}
        self._ahead: deque[tuple[str, float, int, tuple[Any, ...]]] = deque()
        """Events that were simulated and not yet consumed."""
        self._is_over = False
        self._wall_s, self._cpu_s = 0.0, 0.0
        self._results: Results | None = None
        self.sources = tuple(Source(*source) for source in self._simulation.event_sources())  # type: ignore[arg-type]

    def __iter__(self) -> Iterator[Event]:
        """Return itself; consumed events are not repeated."""
        return self

    def __next__(self) -> Event:
        """Return the next event, simulating until it happens.

        Raises:
            StopIteration: If the run is over.
            RuntimeError: If the run was aborted by Ctrl-C or by a failing user-written part.
        """
        while not self._ahead:
            if self._is_over:
                raise StopIteration
            self._is_over = not self._timed(self._simulation.run_to_events)
            self._ahead.extend(self._simulation.take_events())
        return self._event(*self._ahead.popleft())

    @property
    def now_s(self) -> float:
        """Simulated time reached, which may be later than the last consumed event."""
        return self._simulation.now_s

    @property
    def results(self) -> Results:
        """Results; the rest of the run is simulated first, and its events are in their table."""
        if self._results is None:
            self._simulation.return_events(len(self._ahead))
            outcome = self._timed(self._simulation.finish)
            self._ahead.clear()
            self._is_over = True
            simulation = self._simulation
            figures = EngineFigures(
                simulation.events, simulation.packets_delivered, self._wall_s, self._cpu_s, self._partition
            )
            self._results = results_of(self._scenario, outcome, figures)
        return self._results

    def _event(self, kind: str, time_s: float, source: int, fields: tuple[Any, ...]) -> Event:
        if kind in _WITH_PACKET:
            fields = (Packet(*fields[0]), *fields[1:])
        event: Event = _CLASSES[kind](time_s, self.sources[source], *fields)
        return event

    def _timed(self, call: Callable[[], _T]) -> _T:
        wall, cpu = time.perf_counter(), system.thread_time()
        try:
            return call()
        finally:
            self._wall_s += time.perf_counter() - wall
            self._cpu_s += system.thread_time() - cpu


def watch(scenario: Scenario, events: str | Sequence[str] = "all", *, seed: int | None = None) -> Watch:
    """Simulate a scenario, yielding its events.

    Args:
        scenario: Scenario to simulate.
        events: "all", a name, or names of `KINDS`.
        seed: Replaces the scenario's seed, including all values drawn from it.

    Returns:
        An iterator over events in order of time, with `results` afterwards.

    Raises:
        ValueError: If an event is unknown, or none is named.
    """
    return Watch(watched(scenario if seed is None else scenario.draw(seed), events))
