"""What a packet script says, as values. Times are whole microseconds; sequence numbers are the script's own."""

from dataclasses import dataclass, field
from enum import Enum

US_PER_S = 1_000_000


class Timing(Enum):
    """How an event's time is meant."""

    ABSOLUTE = "absolute"
    RELATIVE = "relative"
    ANY = "any"


@dataclass(frozen=True, slots=True)
class When:
    """When an event happens, or is expected to.

    Attributes:
        timing: From the start of the script, from the event before, or whenever it comes.
        start_us: Earliest.
        end_us: Latest; `None` where the script gives a single instant.
    """

    timing: Timing
    start_us: int = 0
    end_us: int | None = None


class EcnCheck(Enum):
    """What is asked of the ECN field of an IP header."""

    NOT_ECT = 0
    ECT1 = 1
    ECT0 = 2
    CE = 3
    ANY_ECT = 4


@dataclass(frozen=True, slots=True)
class IpInfo:
    """What a script says of an IP header; `None` is nothing.

    Attributes:
        ecn: ECN field.
        tos: The whole octet that ends with the ECN field.
        ttl: Time to live.
    """

    ecn: EcnCheck | None = None
    tos: int | None = None
    ttl: int | None = None


@dataclass(frozen=True, slots=True)
class Option:
    """One TCP option.

    Attributes:
        kind: Its number.
        numbers: What it carries: the MSS, the shift, TSval and TSecr, the edges of SACK blocks.
        blob: What an option without numbers carries.
    """

    kind: int
    numbers: tuple[int, ...] = ()
    blob: bytes = b""


EOL, NOP, MSS, WSCALE, SACK_OK, SACK, TIMESTAMPS, MD5, FAST_OPEN, EXPERIMENTAL = 0, 1, 2, 3, 4, 5, 8, 19, 34, 254
ACCURATE_ORDERS = {174: ("e1b", "ceb", "e0b"), 172: ("e0b", "ceb", "e1b")}
"""Kinds of the accurate-ECN option, with the order of their counters of octets (RFC 9768 section 3.2.3)."""


@dataclass(frozen=True, slots=True)
class TcpPacket:
    """A TCP packet of a script.

    Attributes:
        inbound: Towards the endpoint under test.
        flags: The TCP flags as bits, the accurate-ECN flag as 0x100.
        ace: The three ECN flags were given as the number that accurate ECN makes of them.
        seq: Sequence number, relative as packetdrill has it.
        payload: Octets of payload.
        ack: Acknowledgement number.
        window: Window field as on the wire; `None` is any.
        urgent: Urgent pointer.
        options: In order; `None` is any.
        ip: The IP header.
    """

    inbound: bool
    flags: int
    seq: int
    payload: int
    ack: int = 0
    window: int | None = None
    urgent: int = 0
    options: tuple[Option, ...] | None = ()
    ip: IpInfo = field(default_factory=IpInfo)
    ace: bool = False


@dataclass(frozen=True, slots=True)
class Ellipsis_:
    """`...`: whatever."""


@dataclass(frozen=True, slots=True)
class Integer:
    """A number."""

    value: int


@dataclass(frozen=True, slots=True)
class Name:
    """A constant such as `SOL_SOCKET`."""

    name: str


@dataclass(frozen=True, slots=True)
class Text:
    """A quoted text."""

    value: str


@dataclass(frozen=True, slots=True)
class Either:
    """Flags joined by `|`."""

    terms: tuple["Value", ...]


@dataclass(frozen=True, slots=True)
class Sequence:
    """`[a, b]`."""

    items: tuple["Value", ...]


@dataclass(frozen=True, slots=True)
class Struct:
    """`{a, b}` or `{field=a, field=b}`."""

    items: tuple["Value", ...]
    fields: tuple[tuple[str, "Value"], ...]

    def get(self, name: str) -> "Value | None":
        """Return the field `name`, if the struct has it."""
        return dict(self.fields).get(name)


Value = Ellipsis_ | Integer | Name | Text | Either | Sequence | Struct


@dataclass(frozen=True, slots=True)
class SystemCall:
    """A system call and what it must return.

    Attributes:
        name: Such as `write`.
        arguments: As written.
        result: What it returns, in the call's own terms.
        errno: The error's name, if it must fail.
        end_us: When a call that blocks must return, in the terms of the event's time; `None` if it must not block.
    """

    name: str
    arguments: tuple[Value, ...]
    result: Value
    errno: str | None = None
    end_us: int | None = None


@dataclass(frozen=True, slots=True)
class Command:
    """A line for the shell.

    Attributes:
        line: What, or the name that a definition gives it.
        is_name: The latter.
    """

    line: str
    is_name: bool = False


@dataclass(frozen=True, slots=True)
class Code:
    """Python code, run with the connection's TCP_INFO at hand."""

    source: str


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happens, or must.

    Attributes:
        when: Its time.
        action: What.
        line: Where it starts, counted from 1.
        text: As the script has it, on one line.
    """

    when: When
    action: TcpPacket | SystemCall | Command | Code
    line: int
    text: str


@dataclass(frozen=True, slots=True)
class Placed:
    """A text and the line where it stands."""

    text: str
    line: int


@dataclass(frozen=True, slots=True)
class Script:
    """A whole script.

    Attributes:
        file: What it is called.
        options: The `--name=value` lines.
        init: The command before the first event, and its line.
        events: In order.
    """

    file: str
    options: tuple[Placed, ...]
    init: tuple[Command, int] | None
    events: tuple[Event, ...]


class ScriptError(ValueError):
    """A script that cannot be run."""

    def __init__(self, file: str, line: int, message: str, remedy: str) -> None:
        """See the class."""
        super().__init__(f"{file}:{line}: {message}; {remedy}")
        self.file: str = file
        self.line: int = line
        self.message: str = message
        self.remedy: str = remedy
