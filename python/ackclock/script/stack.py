"""The endpoint under test in virtual time, and what it has sent that the script has not looked at yet."""

import json
from collections import deque
from dataclasses import dataclass, field

from ackclock import _core
from ackclock.script.host import Host

_NS = 1_000_000_000


@dataclass(frozen=True, slots=True)
class Sent:
    """A segment that the endpoint sent, and when, in seconds."""

    time: float
    segment: _core.Segment


@dataclass(slots=True)
class Connection:
    """A connected, or connecting, socket."""

    endpoint: _core.Endpoint
    is_accepted: bool = False


@dataclass(slots=True)
class Stack:
    """The host of a script: its endpoints and the virtual clock."""

    host: Host
    now_ns: int = 0
    listening: bool = False
    listener_options: list[tuple[str, int]] = field(default_factory=list)
    connections: list[Connection] = field(default_factory=list)
    sent: deque[Sent] = field(default_factory=deque)

    @property
    def now(self) -> float:
        """Seconds since the script began."""
        return self.now_ns / _NS

    @property
    def current(self) -> Connection | None:
        """The connection that packets belong to: the latest."""
        return self.connections[-1] if self.connections else None

    def new_connection(self, options: list[tuple[str, int]], controller: str | None) -> Connection:
        """A closed endpoint with the host's options and its socket's."""
        overrides = self.host.as_list()
        if controller is not None:
            overrides.append(f'controller="{controller}"')
        connection = Connection(_core.Endpoint("{}", overrides))
        self.connections.append(connection)
        for name, value in options:
            connection.endpoint.set_option(self.now_ns, name, value)
        return connection

    def take(self, segments: list[_core.Segment]) -> None:
        """Note what an endpoint has sent just now."""
        self.sent.extend(Sent(self.now, segment) for segment in segments)

    def deliver(self, segment: _core.Segment) -> None:
        """A segment arrives from the network."""
        is_syn = segment.flags & 0x12 == 0x02
        fresh = self.current is None or self.current.endpoint.state in ("TCP_CLOSE", "TCP_TIME_WAIT")
        if is_syn and self.listening and (fresh or self._is_new_peer(segment)):
            self.new_connection(self.listener_options, None).endpoint.listen()
        if self.current is not None:
            self.take(self.current.endpoint.on_segment(self.now_ns, segment))

    def _is_new_peer(self, segment: _core.Segment) -> bool:
        return self.current is not None and self.current.is_accepted and segment.payload == 0

    def next_timer_ns(self) -> int | None:
        """When the first timer of any connection is due."""
        deadlines = [connection.endpoint.deadline_ns for connection in self.connections]
        return min((deadline for deadline in deadlines if deadline is not None), default=None)

    def step(self, until_ns: int) -> bool:
        """Let the clock run to the next timer, if one is due by `until_ns`; otherwise to that time."""
        due = self.next_timer_ns()
        if due is None or due > until_ns:
            self.now_ns = max(self.now_ns, until_ns)
            return False
        self.now_ns = max(self.now_ns, due)
        for connection in self.connections:
            deadline = connection.endpoint.deadline_ns
            if deadline is not None and deadline <= self.now_ns:
                self.take(connection.endpoint.on_timer(self.now_ns))
        return True


def controller_json(name: str) -> str:
    """Options that name a controller alone."""
    return json.dumps({"controller": name})
