"""Parts of your own: classes that a scenario names as it names those that are built in.

A class derives from one of those below, or from `CongestionController`, and says what scenarios call it; a scenario
whose `use` has its module may then name it, or an agent on it, with parameters that are read and checked:

    class Small(Queue, name="small"):
        def __init__(self, start: LinkStart, *, packets: Annotated[int, Parameter("Room", at_least=1)] = 10) -> None:
            super().__init__(start)
            self._room, self._waiting = packets, deque()

The first line of its docstring is its summary in lists; attributes `source` and `departures`, if it has them, say what
it is after and where it leaves that.
"""

import json
import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, ClassVar

from ackclock._core import Fate, LinkStart, OwnPart, Packet, QueueState, SourceStart, Supply, Values
from ackclock.controllers import CongestionController, overridden_by
from ackclock.scenario.named_modules import RefusedError, used
from ackclock.scenario.part_names import Named
from ackclock.scenario.part_parameters import BitsPerSecond, ByteCount, Parameter, Seconds, described

__all__ = [
    "BitsPerSecond",
    "ByteCount",
    "CongestionController",
    "Fate",
    "LinkEffect",
    "LinkStart",
    "Observation",
    "Packet",
    "Parameter",
    "Queue",
    "Reward",
    "Seconds",
    "SourceStart",
    "Supply",
    "TrafficSource",
]

Mapping.register(Values)


class Queue(QueueState, Named, ABC):
    """What waits for a link, in which order it leaves, and what of it is dropped or marked; derive yours from it.

    The link tells of each arrival and asks for the next packet when it is free. `self.drop(packet)` drops and
    `self.mark(packet)` marks; the link counts both, and knows how much waits. `rate_bps` is its rate at present.

    A queue must not look at a clock, or draw numbers from anything but a generator that it seeds with `start.seed`, or
    runs will not repeat. An exception ends the run.
    """

    def __init__(self, start: LinkStart) -> None:
        """Begin with nothing waiting.

        Args:
            start: Rate and seed. Parameters of a scenario come as keyword arguments besides.
        """

    @abstractmethod
    def enqueue(self, now_ns: int, packet: Packet) -> None:
        """Keep a packet that has just come, or drop it, or drop others.

        Args:
            now_ns: Simulated time.
            packet: The packet.
        """

    @abstractmethod
    def dequeue(self, now_ns: int) -> Packet | None:
        """Return the packet to send next, which leaves the queue; None if there is none, or none may leave yet.

        Asked when nothing waits, too, so that a queue knows since when the link has been idle.

        Args:
            now_ns: Simulated time.
        """

    def ready_at(self, now_ns: int) -> int | None:
        """Return when a packet may leave, in nanoseconds of simulated time; None if nothing waits.

        Define it in a queue that holds packets back. Without, whatever waits may leave at once.

        Args:
            now_ns: Simulated time.
        """
        return now_ns

    def set_rate(self, now_ns: int, rate_bps: int) -> None:
        """Take the rate of the link: called before the first packet, and whenever it has changed to another above zero.

        Define it in a queue that derives something from the rate, such as a limit that is a time. It may drop packets.
        `self.rate_bps` is that rate already.

        Args:
            now_ns: Simulated time.
            rate_bps: Rate, bits per second.
        """


class LinkEffect(Named, ABC):
    """What a link does to a packet after it has sent it: loses it, delays it, copies it; derive yours from it.

    What is said of `Queue` on clocks, random numbers and exceptions holds here too.
    """

    __slots__ = ("rate_bps",)

    def __init__(self, start: LinkStart) -> None:
        """Begin.

        Args:
            start: Rate and seed. Parameters of a scenario come as keyword arguments besides.
        """
        self.rate_bps = start.rate_bps

    @abstractmethod
    def on_packet(self, now_ns: int, packet: Packet) -> Fate | None:
        """Return what becomes of a packet; None if it arrives as it would without.

        Args:
            now_ns: When its last bit leaves, in simulated time.
            packet: The packet.
        """


class TrafficSource(Named, ABC):
    """What an application writes into a connection, and when; derive yours from it.

    What is said of `Queue` on clocks, random numbers and exceptions holds here too.
    """

    __slots__ = ()

    def __init__(self, start: SourceStart) -> None:
        """Begin.

        Args:
            start: The seed. Parameters of a scenario come as keyword arguments besides.
        """

    @abstractmethod
    def next(self, now_ns: int, unsent_bytes: int) -> Supply:
        """Return what to write now, and when to be asked again.

        Asked when the connection has opened, and then whenever the last answer said.

        Args:
            now_ns: Simulated time.
            unsent_bytes: What was written and has not left yet.
        """


class Observation(Named, ABC):
    """A number that an agent is shown; derive yours from it, and name it among an agent's `observations`.

    Parameters are keyword arguments of the constructor. There is an instance for each episode of an agent, so that it
    may remember; `copy.deepcopy` copies it with its environment. An exception ends the episode.

    Attributes:
        low: Least value; smaller ones are shown as this.
        high: Largest value; larger ones are shown as this. With `scaled` low and high become -1 and 1.
        logarithmic_from: If given, `scaled` goes from 0 to 1 by the logarithm, from this value on: for what spans
            decades.
    """

    __slots__ = ()

    low: ClassVar[float] = float("-inf")
    high: ClassVar[float] = float("inf")
    logarithmic_from: ClassVar[float | None] = None

    @abstractmethod
    def value(self, values: Mapping[str, float]) -> float:
        """Return the value at a decision; called once for each.

        Args:
            values: Every observation of the catalogue, by name and in its unit; `ackclock list agents` lists them.
        """


class Reward(Named, ABC):
    """What an agent is paid; derive yours from it, and name it as an agent's `reward`.

    What is said of `Observation` on parameters, instances and exceptions holds here too.
    """

    __slots__ = ()

    @abstractmethod
    def reward(self, values: Mapping[str, float]) -> float:
        """Return what the interval between two decisions pays; called once for each, at the second.

        Args:
            values: Every observation of the catalogue, by name and in its unit; `ackclock list agents` lists them.
        """


_KINDS: dict[type, str] = {
    CongestionController: "controller",
    Queue: "queue",
    LinkEffect: "effect",
    TrafficSource: "source",
    Observation: "observation",
    Reward: "reward",
}
_MADE: dict[type, OwnPart] = {}
"""Of each class, which is made once: the core keeps it for good."""

_REMEDY = 'derive a class from one of ackclock.parts, and name it: class Mine(Queue, name="mine")'


def load(entry: str, folder: Path) -> list[OwnPart]:
    """Return the parts that an entry of a scenario's `use` brings.

    Args:
        entry: The name of a module, or a file that ends in `.py`.
        folder: Where it is looked for first.

    Raises:
        RefusedError: If there is no such module, it cannot be imported, it has no parts, or one of them will not do.
    """
    classes = list(dict.fromkeys(_named(vars(used(entry, folder)).values())))
    if not classes:
        raise RefusedError("use", "has no part that has a name", _REMEDY)
    known: dict[tuple[str, str | None], type[Named]] = {}
    for found in classes:
        other = known.setdefault((_kind(found), found.scenario_name), found)
        if other is not found:
            what = f"has two parts called {found.scenario_name!r}: {other.__qualname__} and {found.__qualname__}"
            raise RefusedError("use", what, "call one of them otherwise")
    return [_MADE[found] if found in _MADE else _MADE.setdefault(found, _part(found)) for found in classes]


def _named(values: Iterable[object]) -> Iterator[type[Named]]:
    for value in values:
        if (
            isinstance(value, type)
            and issubclass(value, Named)
            and issubclass(value, tuple(_KINDS))
            and value.scenario_name
        ):
            yield value


def _kind(found: type) -> str:
    return next(kind for base, kind in _KINDS.items() if issubclass(found, base))


def _part(found: type[Named]) -> OwnPart:
    """A class as the core has it."""
    title = f"{found.__module__}.{found.__qualname__}"
    summary = (found.__doc__ or "").strip().partition("\n")[0].rstrip(".")
    description = {
        "kind": _kind(found),
        "name": found.scenario_name,
        "title": f"{found.scenario_name} ({title})",
        "summary": summary,
        "source": str(getattr(found, "source", "-")),
        "departures": str(getattr(found, "departures", "none")),
        "overridden": _overridden(found, title),
        "fields": described(found, starts=not issubclass(found, Observation | Reward)),
    }
    if issubclass(found, Observation):
        description |= _range(found)
    try:
        return OwnPart(found, json.dumps(description))
    except ValueError as error:
        raise RefusedError("use", f"has a class {title} whose declaration is wrong: {error}", "correct it") from error


def _range(found: type[Observation]) -> dict[str, Any]:
    """The range of an observation, as the core reads it: null for an end that there is none of."""
    ends = {"low": found.low, "high": found.high, "logarithmic_from": found.logarithmic_from}
    return {name: None if end is None or math.isinf(end) else end for name, end in ends.items()}


def _overridden(found: type[Named], title: str) -> list[str]:
    if missing := sorted(getattr(found, "__abstractmethods__", ())):
        what = f"has a class {title} that must define {' and '.join(missing)}"
        raise RefusedError("use", what, f"define {', '.join(missing)} in the class")
    if issubclass(found, Queue):
        return [name for name in ("ready_at", "set_rate") if getattr(found, name) is not getattr(Queue, name)]
    if not issubclass(found, CongestionController):
        return []
    try:
        return overridden_by(found)
    except RefusedError as error:
        raise RefusedError("use", f"has a class {title} that {error.message}", error.remedy) from error
