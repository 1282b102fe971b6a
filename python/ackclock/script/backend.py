"""Interface to the endpoint under test: a connection that takes calls and packets, and sends packets.

Times are microseconds from the start of the script.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from ackclock.script.packets import Packet
from ackclock.script.shell_lines import Setting


@dataclass(frozen=True, slots=True)
class Sent:
    """Packet sent by the endpoint under test.

    Attributes:
        at_us: Time of transmission.
        packet: Packet, with the numbers of the wire.
    """

    at_us: int
    packet: Packet


@dataclass(frozen=True, slots=True)
class Request:
    """System call with its arguments as numbers.

    Attributes:
        name: Operation; calls with the same effect share one.
        fd: File descriptor of the script.
        numbers: Further arguments, in the operation's order.
        text: Text argument of an option.
        polls: Descriptors and events, for poll and epoll_wait.
    """

    name: str
    fd: int = -1
    numbers: tuple[int, ...] = ()
    text: str | None = None
    polls: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True, slots=True)
class Outcome:
    """Result of a system call.

    Attributes:
        result: Return value; -1 for an error.
        errno: Name of the error.
        value: Values written to memory, by the name of the place.
    """

    result: int
    errno: str | None = None
    value: Mapping[str, int | str | tuple[int, ...]] = field(default_factory=dict)


def failed(errno: str) -> Outcome:
    """Return the result of a failed call."""
    return Outcome(-1, errno)


class Ticket(Protocol):
    """System call, active or finished."""

    @property
    def outcome(self) -> Outcome | None:
        """Result; None while it blocks."""

    @property
    def finished_us(self) -> int:
        """Time at which it returned."""

    def settle(self, until_us: int) -> None:
        """Advance time until the call has returned, or up to `until_us`.

        Raises:
            ValueError: If the call is not possible.
        """


class Backend(Protocol):
    """Endpoint under test; see the module."""

    @property
    def now_us(self) -> int:
        """Current time."""

    @property
    def patience_us(self) -> int:
        """Time that an overdue packet is waited for, so that its lateness can be reported."""

    def apply(self, setting: Setting) -> None:
        """Change a setting of the machine, for a command of the script.

        Raises:
            ValueError: If that is not possible.
        """

    def advance_to(self, time_us: int) -> None:
        """Advance time."""

    def inject(self, packet: Packet) -> None:
        """Pass a packet to the endpoint under test.

        Raises:
            ValueError: If it cannot be taken: "what; remedy".
        """

    def next_sent(self, until_us: int) -> Sent | None:
        """Return the next packet sent, advancing time up to `until_us` if needed."""

    def begin(self, request: Request, *, blocks: bool = False) -> Ticket:
        """Start a system call.

        Raises:
            ValueError: If the call is not possible.
        """

    def tcp_info(self) -> Mapping[str, int]:
        """Return TCP_INFO of the connection under test, with names without `tcpi_`.

        Raises:
            ValueError: If there is no connection.
        """

    def close(self) -> None:
        """Release all resources."""
