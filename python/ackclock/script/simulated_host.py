"""Simulated host: sockets, a clock that is never late, and one connection under test.

Departures: a second connection replaces the first as the one under test. System calls take no time.
"""

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ackclock._core import Endpoint, ScenarioError
from ackclock.script.backend import Outcome, Request, Sent
from ackclock.script.constants import CONSTANTS
from ackclock.script.packet_observer import Observed
from ackclock.script.packets import URG, Addresses, Packet, emit_packet, parse_packet
from ackclock.script.shell_lines import Discipline, InitialWindow, Setting, Sysctl
from ackclock.script.sockets import Progress, Sockets, deadline_ns
from ackclock.script.sysctl import Changes, changes

_START_NS = 1_000_250_000
"""Start time: a quarter of a millisecond into a tick, as packetdrill arranges on a real machine."""

_LARGEST_BUFFER = 4_194_304
"""Limit of `SO_SNDBUF` and `SO_RCVBUF`: `net.core.wmem_max` and `rmem_max` of Linux 6.18."""

_UNSET_BUFFERS = {"SO_SNDBUF": 16_384, "SO_RCVBUF": 131_072}
"""Default buffer sizes before there is a connection: the middle of `tcp_wmem` and `tcp_rmem`."""

LINUX_VARIANTS = {
    **dict.fromkeys(("bic", "dctcp", "highspeed", "htcp", "hybla", "illinois"), "linux"),
    **dict.fromkeys(("scalable", "veno", "westwood", "yeah"), "linux"),
    "vegas": "linux_module",
}
"""Variants of Linux's modules, where a controller's default is its paper's."""

_WINDOW_DIVISOR = 3
"""Default of Linux's `tcp_tso_win_divisor`; a script that sets this value does not request bursts."""

_HERE, _THERE = ("192.168.0.1", 8080), ("192.0.2.1", 54321)
_ENDS = (f"{_HERE[0]}:{_HERE[1]}", f"{_THERE[0]}:{_THERE[1]}")
_TO_HERE = Addresses(_THERE, _HERE)


def _first_mistake(place: str, error: ScenarioError) -> ValueError:
    first = error.diagnostics[0]
    remedy = first["remedy"] or "use another value"
    return ValueError(f"{place}: {first['field']} {first['message']}; {remedy}")


class SimulatedTicket:
    """System call that may have to wait."""

    def __init__(self, host: "SimulatedHost", request: Request) -> None:
        """Store the call."""
        self.request = request
        self.progress: Progress = Progress(began_ns=host.now_ns)
        self.outcome: Outcome | None = None
        self.finished_us = 0
        self._host = host

    def settle(self, until_us: int) -> None:
        """See `Ticket`."""
        while self.outcome is None and self._host.fire_timer(until_us):
            pass


class SimulatedHost:
    """Endpoint under test in the simulator."""

    patience_us = 130_000_000

    def __init__(self, profile: str | None = None, overrides: list[str] | None = None) -> None:
        """Make a host.

        Args:
            profile: Stack profile; None uses that of a scenario without one.
            overrides: Overrides as for scenarios, `path=value`: `tcp.sack=false`, `controller=reno`.
        """
        self._tcp: dict[str, Any] = {"profile": profile} if profile else {}
        self._controller = "cubic"
        self._tables: dict[str, dict[str, Any]] = {
            "cubic": {},
            "pacing": {},
            "passive": {},
            "tso": {},
            "largest": {"SO_SNDBUF": _LARGEST_BUFFER, "SO_RCVBUF": _LARGEST_BUFFER},
            "unset": dict(_UNSET_BUFFERS),
        }
        self._overrides = overrides or []
        self._now_ns = _START_NS
        self._sent: list[Sent] = []
        self._waiting: list[SimulatedTicket] = []
        self._endpoint: Endpoint | None = None
        self._observed = Observed()
        self._dscp = 0
        self._ttl: int | None = None
        self._sockets = Sockets(self)

    # ---- settings ---------------------------------------------------------------------------------------------------

    def apply(self, setting: Setting) -> None:
        """See `Backend`."""
        match setting:
            case Sysctl(name, value):
                self._change(changes(name, value))
                self._check(f"sysctl {name}={value}")
            case InitialWindow(segments):
                self._tcp["initial_window"] = f"{segments} segments"
                self._check(f"initcwnd {segments}")
            case Discipline("fq"):
                self._tcp["pacing"] = {**self._tables["pacing"], "by": "fq"}
                self._tcp["small_queues"] = True
            case Discipline():
                self._tcp["pacing"] = False

    def _change(self, wanted: Changes) -> None:
        for path, value in wanted.items():
            table, _, rest = path.partition(".")
            if table == "controller":
                self._controller = value
            elif table in self._tables:
                self._tables[table][rest] = value
            else:
                *tables, name = rest.split(".")
                place = self._tcp
                for inner in tables:
                    if not isinstance(place.get(inner), dict):
                        place[inner] = {}  # it was switched on or off as a whole
                    place = place[inner]
                place[name] = value

    def _check(self, setting: str) -> None:
        """Refuse settings that no endpoint can have."""
        try:
            Endpoint(self.options(), *_ENDS)
        except ScenarioError as error:
            raise _first_mistake(f"{setting} is not simulated", error) from None

    @property
    def controller(self) -> str:
        """Controller of new connections."""
        return self._controller

    def largest_of(self, option: tuple[int, int]) -> int:
        """Return the limit of a socket option."""
        sizes: dict[tuple[int, int], int]
        sizes = {(CONSTANTS["SOL_SOCKET"], CONSTANTS[name]): most for name, most in self._tables["largest"].items()}
        return sizes.get(option, (1 << 32) - 1)

    def unset_of(self, option: tuple[int, int]) -> int | None:
        """Return the default of a buffer option, before there is a connection to change it."""
        sizes = {(CONSTANTS["SOL_SOCKET"], CONSTANTS[name]): size for name, size in self._tables["unset"].items()}
        return sizes.get(option)

    def options(self, controller: str | None = None, own: Mapping[str, Any] | None = None) -> str:
        """Return the options of a new endpoint, as JSON.

        Args:
            controller: Controller in place of the host's.
            own: Switches of this endpoint alone.
        """
        kind = controller or self._controller
        own_switches = dict(self._tables["cubic"]) if kind == "cubic" else {}
        if kind in LINUX_VARIANTS:
            own_switches["variant"] = LINUX_VARIANTS[kind]
        chosen = {"kind": kind, **own_switches} if own_switches else kind
        tcp = self._tcp | dict(own or {})
        if self._tables["tso"].get("window_divisor", _WINDOW_DIVISOR) != _WINDOW_DIVISOR:
            bursts = tcp.get("tso")
            tcp["tso"] = {**(bursts if isinstance(bursts, dict) else {}), **self._tables["tso"]}
        return json.dumps({"tcp": tcp, "controller": chosen})

    # ---- the connection ---------------------------------------------------------------------------------------------

    def open_endpoint(self, *, listens: bool, syn_retries: int | None = None) -> Endpoint:
        """Make the endpoint of a new connection, and put it under test.

        Args:
            listens: Whether it belongs to a listening socket.
            syn_retries: Number of SYN retransmissions, in place of the host's.

        Raises:
            ValueError: If the settings are not valid.
        """
        own = (self._tables["passive"] if listens else {}) | (
            {} if syn_retries is None else {"syn_retries": syn_retries}
        )
        try:
            self._endpoint = Endpoint(self.options(own=own), *_ENDS, self._overrides)
        except ScenarioError as error:
            raise _first_mistake(error.diagnostics[0]["file"], error) from None
        self._observed, self._dscp, self._ttl = Observed(), 0, None
        return self._endpoint

    def mark(self, *, dscp: int | None = None, ttl: int | None = None) -> None:
        """Change the DSCP or TTL of the connection's packets from now on."""
        self._dscp = self._dscp if dscp is None else dscp
        self._ttl = self._ttl if ttl is None else ttl

    @property
    def endpoint(self) -> Endpoint | None:
        """The connection under test."""
        return self._endpoint

    @property
    def now_ns(self) -> int:
        """Time of the simulation."""
        return self._now_ns

    def tcp_info(self) -> Mapping[str, int]:
        """See `Backend`."""
        if self._endpoint is None:
            raise ValueError("TCP_INFO needs a connection; open one first")
        info: dict[str, int] = self._endpoint.tcp_info(self._now_ns)
        return info | self._observed.info(self._now_ns) | {"fackets": 0, "pmtu": 1500}

    # ---- time -------------------------------------------------------------------------------------------------------

    @property
    def now_us(self) -> int:
        """See `Backend`."""
        return (self._now_ns - _START_NS) // 1000

    def advance_to(self, time_us: int) -> None:
        """See `Backend`."""
        while self.fire_timer(time_us):
            pass
        self._now_ns = max(self._now_ns, _START_NS + 1000 * time_us)

    def stand_still_to(self, time_us: int) -> None:
        """Advance time without firing timers, as on a busy machine."""
        self._now_ns = max(self._now_ns, _START_NS + 1000 * time_us)

    def next_sent(self, until_us: int) -> Sent | None:
        """See `Backend`."""
        while not self._sent:
            if not self.fire_timer(until_us):
                return None
        return self._sent.pop(0)

    def fire_timer(self, until_us: int) -> bool:
        """Advance to the next timer, if one is due by then, and fire it."""
        deadline = self._next_deadline_ns()
        if deadline is None or deadline > _START_NS + 1000 * until_us:
            return False
        self._now_ns = max(self._now_ns, deadline)
        own = self._endpoint.deadline_ns if self._endpoint is not None else None
        if self._endpoint is not None and own is not None and own <= self._now_ns:
            self._endpoint.on_timer(self._now_ns)
        self.settle_calls()
        return True

    def _next_deadline_ns(self) -> int | None:
        own = self._endpoint.deadline_ns if self._endpoint is not None else None
        deadlines = [own, *(deadline_ns(ticket.request, ticket.progress) for ticket in self._waiting)]
        return min((deadline for deadline in deadlines if deadline is not None), default=None)

    # ---- packets and calls ------------------------------------------------------------------------------------------

    def inject(self, packet: Packet) -> None:
        """See `Backend`."""
        if packet.flags & URG:
            raise ValueError("urgent data is not simulated; leave the flag U out, or use --kernel")
        headers = emit_packet(packet, _TO_HERE)
        endpoint = self._sockets.endpoint_for(packet, headers)
        if endpoint is None:
            self._answer_without_connection(headers)
        else:
            had = endpoint.unread_octets
            endpoint.on_packet(self._now_ns, headers)
            self._observed.arrived(packet, self._now_ns, in_order=endpoint.unread_octets > had)
        self.settle_calls()

    def _answer_without_connection(self, headers: bytes) -> None:
        """Answer a segment without a connection, like a listening or closed port."""
        endpoint = Endpoint(self.options(), *_ENDS, self._overrides)
        if self._sockets.listens:
            endpoint.listen()
        endpoint.on_packet(self._now_ns, headers)
        answers = [parsed[1] for data in endpoint.take_packets() if (parsed := parse_packet(data)) is not None]
        self._sent += [Sent(self.now_us, packet) for packet in answers]

    def begin(self, request: Request, *, blocks: bool = False) -> SimulatedTicket:
        """See `Backend`."""
        ticket = SimulatedTicket(self, request)
        self._waiting.append(ticket)
        self.settle_calls()
        return ticket

    def settle_calls(self) -> None:
        """Complete calls that can proceed, and collect sent packets."""
        for ticket in list(self._waiting):
            ticket.outcome = self._sockets.attempt(ticket.request, ticket.progress)
            if ticket.outcome is not None:
                ticket.finished_us = self.now_us
                self._waiting.remove(ticket)
        for data in self._endpoint.take_packets() if self._endpoint is not None else ():
            parsed = parse_packet(data)
            if parsed is not None:
                packet = replace(parsed[1], tos=parsed[1].tos | self._dscp, ttl=self._ttl or parsed[1].ttl)
                self._observed.sent(packet, self._now_ns)
                self._sent.append(Sent(self.now_us, packet))

    def close(self) -> None:
        """See `Backend`."""
        self._waiting.clear()
