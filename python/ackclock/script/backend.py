"""What a script is run against: a connection that can be called, handed packets, and listened to.

Times are microseconds from the start of the script.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from ackclock.script.packets import Packet
from ackclock.script.shell_lines import Setting


@dataclass(frozen=True, slots=True)
class Sent:
    """A packet that the thing under test sent.

    Attributes:
        at_us: When.
        packet: With the numbers of the wire.
    """

    at_us: int
    packet: Packet


@dataclass(frozen=True, slots=True)
class Request:
    """A system call with its arguments as numbers.

    Attributes:
        name: The operation: one for all calls that do the same.
        fd: File descriptor, the script's.
        numbers: Further arguments, in the operation's order.
        text: For options that take one.
        polls: For poll and epoll_wait: descriptors and events.
    """

    name: str
    fd: int = -1
    numbers: tuple[int, ...] = ()
    text: str | None = None
    polls: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a system call ended.

    Attributes:
        result: What it returned; -1 for an error.
        errno: The error's name.
        value: What it filled in, by the name of the place.
    """

    result: int
    errno: str | None = None
    value: Mapping[str, int | str | tuple[int, ...]] = field(default_factory=dict)


def failed(errno: str) -> Outcome:
    """Return the outcome of a call that failed."""
    return Outcome(-1, errno)


class Ticket(Protocol):
    """A system call under way or done."""

    @property
    def outcome(self) -> Outcome | None:
        """How it ended; `None` while it blocks."""

    @property
    def finished_us(self) -> int:
        """When it ended."""

    def settle(self, until_us: int) -> None:
        """Let time pass until the call has ended, or up to `until_us`.

        Raises:
            ValueError: If it cannot be made.
        """


class Backend(Protocol):
    """See the module."""

    @property
    def now_us(self) -> int:
        """The time."""

    @property
    def patience_us(self) -> int:
        """How long past its time a packet is waited for, to say when it came after all."""

    def apply(self, setting: Setting) -> None:
        """Change the machine as a command of the script asks.

        Raises:
            ValueError: If that cannot be.
        """

    def advance_to(self, time_us: int) -> None:
        """Let time pass."""

    def inject(self, packet: Packet) -> None:
        """Hand a packet to the thing under test.

        Raises:
            ValueError: If it cannot be taken: "what; remedy".
        """

    def next_sent(self, until_us: int) -> Sent | None:
        """Return the next packet that was sent, letting time pass up to `until_us` if there is none yet."""

    def begin(self, request: Request, *, blocks: bool = False) -> Ticket:
        """Start a system call.

        Raises:
            ValueError: If it cannot be made.
        """

    def tcp_info(self) -> Mapping[str, int]:
        """Return TCP_INFO of the connection under test, names without `tcpi_`.

        Raises:
            ValueError: If there is no connection.
        """

    def close(self) -> None:
        """Leave nothing behind."""
