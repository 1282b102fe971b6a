"""What happens in a run, as typed events, and a run as an iterator of them.

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
from ackclock.results import Results
from ackclock.results.manifests import Partition
from ackclock.running.engine import EngineFigures, results_of, watched

_T = TypeVar("_T")
_CLASSES: dict[str, Any] = {}
"""The classes of events, by name."""


@dataclass(frozen=True, slots=True)
class Source:
    """Where events come from.

    Attributes:
        kind: The sending end of a `flow`, an end of an appliance that sends on (a `relay`), or a `link`.
        name: As results name it; of a relay the names of the appliance and the flow, and the direction.
        controller: The controller at work there; empty for a link.
    """

    kind: Literal["flow", "relay", "link"]
    name: str
    controller: str


@dataclass(frozen=True, slots=True)
class Packet:
    """A packet, as a link sees it.

    Attributes:
        flow: Number of the flow, in the scenario's order; datagrams and short flows come after.
        is_forward: It is on the way from the end that opened the connection.
        sequence: Sequence number on the wire; of a datagram its number.
        acknowledgment: Acknowledgement number on the wire; 0 for a datagram.
        tcp_flags: TCP's flags, as the header has them; 0 for a datagram.
        payload_bytes: Payload.
        size_bytes: The IP packet.
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
    """Something that happened.

    Attributes:
        kind: Its name, as `events` chooses it.
        time_s: When, in simulated time.
        source: Where.
    """

    kind: ClassVar[str]
    time_s: float
    source: Source

    def __init_subclass__(cls) -> None:
        """Name the class as `events` does, and keep it under that name."""
        cls.kind = re.sub(r"\B([A-Z])", r"_\1", cls.__name__).lower()
        _CLASSES[cls.kind] = cls


@dataclass(frozen=True, slots=True)
class PacketSent(Event):
    """The first bit of a packet entered the wire of a link, for which it had waited since its arrival there."""

    packet: Packet
    waited_s: float


@dataclass(frozen=True, slots=True)
class PacketDropped(Event):
    """A packet went no further, by cause of the `queue`, a `discarder` or policer, or a `loss` on the link."""

    packet: Packet
    cause: str


@dataclass(frozen=True, slots=True)
class PacketMarked(Event):
    """A queue set a packet's ECN field to CE."""

    packet: Packet


@dataclass(frozen=True, slots=True)
class PacketDelivered(Event):
    """The last bit of a packet came out at the far end of a link."""

    packet: Packet


@dataclass(frozen=True, slots=True)
class SegmentSent(Event):
    """A data segment left a sender; the SYN is at offset 0, the first octet of data at 1."""

    offset_bytes: int
    size_bytes: int
    is_retransmission: bool
    flight_size_bytes: int


@dataclass(frozen=True, slots=True)
class AckArrived(Event):
    """An ACK arrived at a sender; the values are those after it. None stands for what there is not (yet)."""

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
    """A sender took data for lost, by cause of `acks`, `time` (RACK) or a `timeout`."""

    lost_bytes: int
    cause: str


@dataclass(frozen=True, slots=True)
class RecoveryEntered(Event):
    """A recovery began, or the answer to a mark, by cause of a `loss`, `ecn` or a `timeout`."""

    cause: str
    until_bytes: int
    cwnd_before_bytes: int
    cwnd_bytes: int
    ssthresh_bytes: int | None


@dataclass(frozen=True, slots=True)
class RecoveryLeft(Event):
    """Nothing is to be repaired any more."""

    cwnd_bytes: int


@dataclass(frozen=True, slots=True)
class TimedOut(Event):
    """The retransmission timer expired: so many times for the same data; the next timeout comes after `rto_s`."""

    in_a_row: int
    rto_s: float


@dataclass(frozen=True, slots=True)
class Undone(Event):
    """The last recovery was found to be a mistake, and was taken back."""

    cwnd_bytes: int


@dataclass(frozen=True, slots=True)
class ProbeSent(Event):
    """A probe left, for a `tail_loss` or of a `zero_window`."""

    cause: str


@dataclass(frozen=True, slots=True)
class ControllerState(Event):
    """A controller went from one of its states to another."""

    from_state: str
    to_state: str


@dataclass(frozen=True, slots=True)
class SlowStartExited(Event):
    """Slow start ended: `loss`, `ecn`, `timeout`, `threshold`, `delay`, `ack_train` or `path_full`."""

    cause: str
    cwnd_bytes: int


@dataclass(frozen=True, slots=True)
class RelayHeld(Event):
    """An appliance began to hold data back, to bound its latency."""

    buffered_bytes: int


@dataclass(frozen=True, slots=True)
class RelayReleased(Event):
    """An appliance lets go again."""

    buffered_bytes: int
    held_s: float


KINDS: tuple[str, ...] = tuple(_CLASSES)
"""The names of all events."""

_WITH_PACKET = frozenset(kind for kind in KINDS if kind.startswith("packet_"))


class Watch:
    """A run under way, which goes on as its events are taken.

    Leaving the loop early leaves nothing behind: no more of the run is simulated unless `results` is asked for. An
    event that was taken is not in the results' table.
    """

    def __init__(self, scenario: Scenario) -> None:
        """Prepare a run; nothing is simulated yet.

        Args:
            scenario: One whose `trace` names events.
        """
        self._scenario = scenario
        self._simulation = Simulation(scenario)
        self._partition: Partition = json.loads(self._simulation.partition_json()) | {"threads": 1}
        self._ahead: deque[tuple[str, float, int, tuple[Any, ...]]] = deque()
        """What happened already, and is not taken yet."""
        self._is_over = False
        self._wall_s, self._cpu_s = 0.0, 0.0
        self._results: Results | None = None
        self.sources = tuple(Source(*source) for source in self._simulation.event_sources())  # type: ignore[arg-type]

    def __iter__(self) -> Iterator[Event]:
        """Return itself: what was taken does not come again."""
        return self

    def __next__(self) -> Event:
        """Return the next event, simulating until it happens.

        Raises:
            StopIteration: If the run is over.
            RuntimeError: If it was ended before that, by Ctrl-C or by a part that failed.
        """
        while not self._ahead:
            if self._is_over:
                raise StopIteration
            self._is_over = not self._timed(self._simulation.run_to_events)
            self._ahead.extend(self._simulation.take_events())
        return self._event(*self._ahead.popleft())

    @property
    def now_s(self) -> float:
        """How far the run has come, which may be later than the last event taken."""
        return self._simulation.now_s

    @property
    def results(self) -> Results:
        """The results; what is left of the run is simulated first, and its events are in their table."""
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
        wall, cpu = time.perf_counter(), time.thread_time()
        try:
            return call()
        finally:
            self._wall_s += time.perf_counter() - wall
            self._cpu_s += time.thread_time() - cpu


def watch(scenario: Scenario, events: str | Sequence[str] = "all", *, seed: int | None = None) -> Watch:
    """Simulate a scenario as its events are taken.

    Args:
        scenario: What to simulate.
        events: "all", a name, or names; `KINDS` has them.
        seed: In place of the scenario's own; it draws all that the scenario has drawn, too.

    Returns:
        An iterator of events, in the order in which they happen, with the `results` afterwards.

    Raises:
        ValueError: If there is no such event, or none is named.
    """
    return Watch(watched(scenario if seed is None else scenario.draw(seed), events))
