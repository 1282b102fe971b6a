"""Values of a packet script. Times are whole microseconds; sequence numbers are the script's own."""

from dataclasses import dataclass, field
from enum import Enum

US_PER_S = 1_000_000


class Timing(Enum):
    """Kind of an event's time."""

    ABSOLUTE = "absolute"
    RELATIVE = "relative"
    ANY = "any"


@dataclass(frozen=True, slots=True)
class When:
    """Time of an event, or of its expectation.

    Attributes:
        timing: Reference: the start of the script, the previous event, or any time.
        start_us: Earliest time.
        end_us: Latest time; None if the script gives a single instant.
    """

    timing: Timing
    start_us: int = 0
    end_us: int | None = None


class EcnCheck(Enum):
    """Condition on the ECN field of an IP header."""

    NOT_ECT = 0
    ECT1 = 1
    ECT0 = 2
    CE = 3
    ANY_ECT = 4


@dataclass(frozen=True, slots=True)
class IpInfo:
    """Conditions on an IP header; None for unspecified fields.

    Attributes:
        ecn: ECN field.
        tos: Whole octet that ends with the ECN field.
        ttl: Time to live.
    """

    ecn: EcnCheck | None = None
    tos: int | None = None
    ttl: int | None = None


@dataclass(frozen=True, slots=True)
class Option:
    """TCP option.

    Attributes:
        kind: Option number.
        numbers: Values: the MSS, the shift, TSval and TSecr, the edges of SACK blocks.
        blob: Content of an option without numbers.
    """

    kind: int
    numbers: tuple[int, ...] = ()
    blob: bytes = b""


EOL, NOP, MSS, WSCALE, SACK_OK, SACK, TIMESTAMPS, MD5, FAST_OPEN, EXPERIMENTAL = 0, 1, 2, 3, 4, 5, 8, 19, 34, 254
ACCURATE_ORDERS = {174: ("e1b", "ceb", "e0b"), 172: ("e0b", "ceb", "e1b")}
"""Kinds of the accurate-ECN option, with the order of their octet counters (RFC 9768 section 3.2.3)."""


@dataclass(frozen=True, slots=True)
class TcpPacket:
    """TCP packet of a script.

    Attributes:
        inbound: Whether it travels to the endpoint under test.
        flags: TCP flags as bits, the accurate-ECN flag as 0x100.
        ace: Whether the three ECN flags were given as the accurate-ECN number.
        seq: Sequence number, relative as in packetdrill.
        payload: Payload size, octets.
        ack: Acknowledgement number.
        window: Window field as on the wire; None for any.
        urgent: Urgent pointer.
        options: Options in order; None for any.
        ip: IP header.
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
    """Wildcard `...`."""


@dataclass(frozen=True, slots=True)
class Integer:
    """Number."""

    value: int


@dataclass(frozen=True, slots=True)
class Name:
    """Constant such as `SOL_SOCKET`."""

    name: str


@dataclass(frozen=True, slots=True)
class Text:
    """Quoted text."""

    value: str


@dataclass(frozen=True, slots=True)
class Either:
    """Flags joined by `|`."""

    terms: tuple["Value", ...]


@dataclass(frozen=True, slots=True)
class Sequence:
    """Sequence `[a, b]`."""

    items: tuple["Value", ...]


@dataclass(frozen=True, slots=True)
class Struct:
    """Struct `{a, b}` or `{field=a, field=b}`."""

    items: tuple["Value", ...]
    fields: tuple[tuple[str, "Value"], ...]

    def get(self, name: str) -> "Value | None":
        """Return the field `name`, if the struct has it."""
        return dict(self.fields).get(name)


Value = Ellipsis_ | Integer | Name | Text | Either | Sequence | Struct


@dataclass(frozen=True, slots=True)
class SystemCall:
    """System call with its expected result.

    Attributes:
        name: Name such as `write`.
        arguments: Arguments as written.
        result: Expected return value.
        errno: Name of the expected error, if it must fail.
        end_us: Time at which a blocking call must return, in the terms of the event's time; None if it must not block.
    """

    name: str
    arguments: tuple[Value, ...]
    result: Value
    errno: str | None = None
    end_us: int | None = None


@dataclass(frozen=True, slots=True)
class Command:
    """Shell command.

    Attributes:
        line: The command, or the name of a definition.
        is_name: Whether it is a name.
    """

    line: str
    is_name: bool = False


@dataclass(frozen=True, slots=True)
class Code:
    """Python code, run with access to the connection's TCP_INFO."""

    source: str


@dataclass(frozen=True, slots=True)
class Event:
    """Event that happens or is expected.

    Attributes:
        when: Time of the event.
        action: Action of the event.
        line: Line where it starts, from 1.
        text: Text in the script, in one line.
    """

    when: When
    action: TcpPacket | SystemCall | Command | Code
    line: int
    text: str


@dataclass(frozen=True, slots=True)
class Placed:
    """Text with its line number."""

    text: str
    line: int


@dataclass(frozen=True, slots=True)
class Script:
    """Packet script.

    Attributes:
        file: Name of the script.
        options: Its `--name=value` lines.
        init: Command before the first event, with its line.
        events: Events in order.
    """

    file: str
    options: tuple[Placed, ...]
    init: tuple[Command, int] | None
    events: tuple[Event, ...]


class ScriptError(ValueError):
    """Error: a script cannot be run."""

    def __init__(self, file: str, line: int, message: str, remedy: str) -> None:
        """Compose the message."""
        super().__init__(f"{file}:{line}: {message}; {remedy}")
        self.file: str = file
        self.line: int = line
        self.message: str = message
        self.remedy: str = remedy

    def __reduce__(self) -> tuple[type["ScriptError"], tuple[str, int, str, str]]:
        """Return what makes an equal error in another process."""
        return ScriptError, (self.file, self.line, self.message, self.remedy)
