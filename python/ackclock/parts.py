"""User-written parts: classes that a scenario names like built-in parts.

A class derives from one of those below, or from `CongestionController`, and gives its name in scenarios. A scenario
whose `use` lists its module may use that name, with parameters that are parsed and checked:

    class Small(Queue, name="small"):
        def __init__(self, start: LinkStart, *, packets: Annotated[int, Parameter("Room", at_least=1)] = 10) -> None:
            super().__init__(start)
            self._room, self._waiting = packets, deque()

The first line of the docstring is the summary in lists. The optional attributes `source` and `departures` give the
model's source, and where the class departs from it.
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
    """Queue discipline of a link: the order of packets, drops and marks; the base class for your own.

    The link calls `enqueue` for each arrival, and `dequeue` when it is free. `self.drop(packet)` drops and
    `self.mark(packet)` marks; the link counts both, and tracks the queue length. `rate_bps` is the current link rate.

    For reproducible runs, a queue must not read a clock, and must take random numbers only from a generator that it
    seeds with `start.seed`. An exception ends the run.
    """

    def __init__(self, start: LinkStart) -> None:
        """Start with an empty queue.

        Args:
            start: Rate and seed. Parameters of the scenario are further keyword arguments.
        """

    @abstractmethod
    def enqueue(self, now_ns: int, packet: Packet) -> None:
        """Enqueue an arriving packet, or drop it or others.

        Args:
            now_ns: Simulated time.
            packet: The packet.
        """

    @abstractmethod
    def dequeue(self, now_ns: int) -> Packet | None:
        """Remove and return the next packet to send; None if the queue is empty, or none may leave yet.

        It is called on an empty queue, too, so that a queue knows when the link became idle.

        Args:
            now_ns: Simulated time.
        """

    def ready_at(self, now_ns: int) -> int | None:
        """Return when a packet may leave, in nanoseconds of simulated time; None if the queue is empty.

        Override it in a queue that delays packets. By default, packets may leave at once.

        Args:
            now_ns: Simulated time.
        """
        return now_ns

    def set_rate(self, now_ns: int, rate_bps: int) -> None:
        """Handle a new link rate; called before the first packet, and at each change to another rate above zero.

        Override it in a queue that derives state from the rate, such as a limit in time. It may drop packets.
        `self.rate_bps` already has the new rate.

        Args:
            now_ns: Simulated time.
            rate_bps: Rate, bits per second.
        """


class LinkEffect(Named, ABC):
    """Effect of a link on packets after transmission: loss, delay or duplication; the base class for your own.

    The rules for `Queue` on clocks, random numbers and exceptions apply.
    """

    __slots__ = ("rate_bps",)

    def __init__(self, start: LinkStart) -> None:
        """Begin.

        Args:
            start: Rate and seed. Parameters of the scenario are further keyword arguments.
        """
        self.rate_bps = start.rate_bps

    @abstractmethod
    def on_packet(self, now_ns: int, packet: Packet) -> Fate | None:
        """Return the fate of a packet; None if it is unaffected.

        Args:
            now_ns: Simulated time at which its last bit leaves.
            packet: The packet.
        """


class TrafficSource(Named, ABC):
    """Traffic of an application: the data it writes to a connection over time; the base class for your own.

    The rules for `Queue` on clocks, random numbers and exceptions apply.
    """

    __slots__ = ()

    def __init__(self, start: SourceStart) -> None:
        """Begin.

        Args:
            start: The seed. Parameters of the scenario are further keyword arguments.
        """

    @abstractmethod
    def next(self, now_ns: int, unsent_bytes: int) -> Supply:
        """Return the data to write now, and the time of the next call.

        It is called when the connection is established, and then at the time that the last call returned.

        Args:
            now_ns: Simulated time.
            unsent_bytes: Data written and not yet sent.
        """


class Observation(Named, ABC):
    """Observation of an agent, a number; the base class for your own, named among an agent's `observations`.

    Parameters are keyword arguments of the constructor. Each episode of an agent has its own instance, which may keep
    state; `copy.deepcopy` copies it with its environment. An exception ends the episode.

    Attributes:
        low: Lower bound; smaller values are clipped to it.
        high: Upper bound; larger values are clipped to it. With `scaled` low and high become -1 and 1.
        logarithmic_from: Value from which `scaled` maps logarithmically to 0 to 1, for values that span decades.
    """

    __slots__ = ()

    low: ClassVar[float] = float("-inf")
    high: ClassVar[float] = float("inf")
    logarithmic_from: ClassVar[float | None] = None

    @abstractmethod
    def value(self, values: Mapping[str, float]) -> float:
        """Return the value at a decision; called once per decision.

        Args:
            values: Every observation of the catalogue, by name and in its unit; `ackclock list agents` lists them.
        """


class Reward(Named, ABC):
    """Reward of an agent; the base class for your own, named as an agent's `reward`.

    The rules for `Observation` on parameters, instances and exceptions apply.
    """

    __slots__ = ()

    @abstractmethod
    def reward(self, values: Mapping[str, float]) -> float:
        """Return the reward of the interval between two decisions; called once, at the second.

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
"""Parts by class, each built once, since the core keeps it for the life of the process."""

_REMEDY = 'derive a class from one of ackclock.parts, and name it: class Mine(Queue, name="mine")'


def load(entry: str, folder: Path) -> list[OwnPart]:
    """Return the parts that an entry of a scenario's `use` defines.

    Args:
        entry: Name of a module, or a file that ends in `.py`.
        folder: Folder that is searched first.

    Raises:
        RefusedError: If the module is unknown, cannot be imported, has no parts, or has a wrong one.
    """
    classes = list(dict.fromkeys(_named(vars(used(entry, folder)).values())))
    if not classes:
        raise RefusedError("use", "has no part that has a name", _REMEDY)
    known: dict[tuple[str, str | None], type[Named]] = {}
    for found in classes:
        other = known.setdefault((_kind(found), found.scenario_name), found)
        if other is not found:
            what = f"has two parts called {found.scenario_name!r}: {other.__qualname__} and {found.__qualname__}"
            raise RefusedError("use", what, "rename one of them")
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
    """Return a class in the form of the core."""
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
    """Return the range of an observation in the form of the core, with null for an open end."""
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
