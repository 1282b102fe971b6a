"""What a packet script says, read and not yet run."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path


class ScriptError(Exception):
    """A script that cannot be read or asks for what there is not: where, what, and what to do."""

    def __init__(self, place: str, what: str, remedy: str) -> None:
        """Say `place` as file:line."""
        super().__init__(f"{place}: {what}; {remedy}")
        self.place, self.what, self.remedy = place, what, remedy


@dataclass(frozen=True, slots=True)
class Moment:
    """A time in seconds, absolute or counted from the event before."""

    seconds: float
    relative: bool


@dataclass(frozen=True, slots=True)
class When:
    """When an event happens: at `first`; for a range or a blocking call, until `last`; `first` is None at any time."""

    first: Moment | None
    last: Moment | None = None
    blocks: bool = False


class Direction(Enum):
    """Of a packet, as the endpoint under test sees it."""

    INBOUND = "<"
    OUTBOUND = ">"


@dataclass(frozen=True, slots=True)
class Options:
    """TCP options of a packet."""

    mss: int | None = None
    sack_ok: bool = False
    wscale: int | None = None
    timestamps: tuple[int, int] | None = None
    sack: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True, slots=True)
class Packet:
    """A TCP packet of the script; `None` is whatever the endpoint says."""

    direction: Direction
    flags: str
    seq: int
    payload: int
    ack: int | None
    window: int | None
    options: Options | None
    ecn: str | None


@dataclass(frozen=True, slots=True)
class Name:
    """A constant of the socket interface, or several joined by `|`."""

    text: str


@dataclass(frozen=True, slots=True)
class Anything:
    """`...`: not looked at."""


@dataclass(frozen=True, slots=True)
class Struct:
    """`{...}`: fields by name, or by position."""

    fields: tuple[tuple[str | None, "Value"], ...]


Value = int | str | Name | Anything | Struct | tuple["Value", ...]


@dataclass(frozen=True, slots=True)
class Syscall:
    """A socket call and what it must return."""

    name: str
    arguments: tuple[Value, ...]
    result: Value
    errno: str | None


@dataclass(frozen=True, slots=True)
class Command:
    """A shell command, which sets something of the host."""

    text: str


@dataclass(frozen=True, slots=True)
class Code:
    """Python, run with the endpoint's TCP_INFO."""

    text: str


@dataclass(frozen=True, slots=True)
class Event:
    """One event, and the line that it begins on."""

    line: int
    when: When
    action: Packet | Syscall | Command | Code


@dataclass(frozen=True, slots=True)
class Script:
    """A whole script."""

    path: Path
    text: str
    options: dict[str, str]
    setup: Sequence[tuple[int, Command]]
    events: Sequence[Event] = field(default_factory=tuple)
