"""User-written congestion controllers: the base class, and how a scenario finds a subclass."""

import copy
import inspect
import sys
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from ackclock._core import (
    AckEvent,
    CongestionEvent,
    ControllerState,
    DeliveryReport,
    RateSample,
    RestartEvent,
    Scenario,
    SegmentReport,
    SendEvent,
    Start,
)
from ackclock.scenario.named_modules import RefusedError, module, source_of
from ackclock.scenario.part_names import Named

if TYPE_CHECKING:
    from ackclock.results.manifests import ControllerSource

__all__ = [
    "AckEvent",
    "CongestionController",
    "CongestionEvent",
    "DeliveryReport",
    "RateSample",
    "RestartEvent",
    "SegmentReport",
    "SendEvent",
    "Start",
]


class CongestionController(ControllerState, Named, ABC):
    """Congestion-control algorithm of one flow; the base class for your own.

    The sender detects loss, delimits congestion episodes and runs loss recovery. It notifies the controller by calling
    the methods below, and reads three attributes that the controller assigns, all integers:

    - `cwnd_bytes`: the congestion window, first the initial window.
    - `ssthresh_bytes`: the slow-start threshold; None while it is arbitrarily high.
    - `pacing_rate_bps`: the pacing rate, bits per second; None leaves pacing to the stack.

    `mss_bytes` is the payload of a full segment. `on_ack` and `on_congestion` are required. Methods that a class does
    not override are never called and cost nothing. An exception ends the run.

    Each end of a connection gets its own controller, once the handshake has settled the segment size. For reproducible
    runs, a controller must not read a clock, and must take random numbers only from a generator that it seeds with
    `start.seed`.

    Algorithms that model the path set `wants_samples`. They get `ack.delivery`, the fate of each segment, and a timer:
    `on_timer` is called at `deadline_ns`, once. While `limits_itself` is true, samples count as limited by the
    application.

    `state_name` is a word for the current state; observers of a run are notified when it changes.

    Attributes:
        wants_samples: Request delivery-rate samples with each ACK; required for the segment methods and the timer.
        wants_recovery_window: Limit sending by the window in fast recovery, too, without proportional rate reduction.
        wants_marks: Take marks from ACKs, instead of having them start a congestion episode.
    """

    wants_samples: ClassVar[bool] = False
    wants_recovery_window: ClassVar[bool] = False
    wants_marks: ClassVar[bool] = False
    _fraction_bytes: float = 0.0
    """Part of a byte that `grow` has yet to add."""

    def __init__(self, start: Start) -> None:
        """Start with the initial window.

        Args:
            start: Initial values of every controller. Parameters of the scenario are further keyword arguments.
        """

    @abstractmethod
    def on_ack(self, ack: AckEvent) -> None:
        """Handle an ACK that delivered data or revealed a loss; called for every such ACK, in recovery too.

        Args:
            ack: Acknowledged data, with the RTT and delivery-rate samples.
        """

    @abstractmethod
    def on_congestion(self, event: CongestionEvent) -> None:
        """Respond to congestion: reduce cwnd and ssthresh at the start of a congestion episode.

        It is called once per episode, not per lost segment. During fast recovery, the sender reduces the window to the
        threshold by itself.

        Args:
            event: Cause, and the FlightSize or cwnd from which to compute the reduction.
        """

    def on_feedback(self, counted: bool) -> bool:
        """Learn how the receiver reports marks; called once, before anything else.

        Args:
            counted: Whether ACKs report the number of marks (RFC 9768, RFC 8257, QUIC), and not just their presence
                (RFC 3168), or nothing.

        Returns:
            False to decline ECN on TCP: data is then sent as not ECN-capable. RFC 9331 section 4.2 requires that of an
            algorithm that relies on counted marks where they are not counted.
        """
        return True

    def on_spurious(self, now_ns: int) -> None:
        """Undo the response to the last congestion episode, which proved spurious.

        Args:
            now_ns: Simulated time.
        """

    def on_send(self, sent: SendEvent) -> None:
        """Handle the transmission of a data segment.

        Args:
            sent: Size of the segment, and how long the connection had been idle before it.
        """

    def on_delivered(self, segment: SegmentReport) -> None:
        """Handle a segment that an ACK newly acknowledges or SACKs; called before `on_ack`.

        Args:
            segment: Time of transmission, and data in flight at that time.
        """

    def on_lost(self, segment: SegmentReport) -> None:
        """Handle a segment that is marked lost; called before the `on_ack` or `on_congestion` of the same moment.

        Args:
            segment: Time of transmission, and data in flight at that time.
        """

    def on_timer(self, now_ns: int) -> None:
        """Handle the expiry of the timer set with `deadline_ns`, which is None again.

        Args:
            now_ns: Simulated time.
        """

    def grow(self, size_bytes: float) -> None:
        """Enlarge the window, and keep the fraction of a byte for the next call.

        Args:
            size_bytes: Growth; less than a byte adds up over calls.
        """
        self._fraction_bytes += size_bytes
        whole = int(self._fraction_bytes)
        self._fraction_bytes -= whole
        self.cwnd_bytes += whole

    def on_restart(self, restart: RestartEvent) -> None:
        """Restart after a lost SYN, a timeout, idle time, or an underused window.

        The default assigns the window and threshold of the event. Override it to respond differently, or to update
        state from which the window is computed.

        Args:
            restart: Reason, and the window that the standards or the stack prescribe.
        """
        if restart.ssthresh_bytes is not None:
            self.set_ssthresh(restart.ssthresh_bytes)
        self.set_cwnd(restart.window_bytes)

    def set_cwnd(self, cwnd_bytes: int) -> None:
        """Assign the window of a restart; override `on_restart` instead.

        Args:
            cwnd_bytes: `window_bytes` of the event that `on_restart` gets.
        """
        self.cwnd_bytes = cwnd_bytes

    def set_ssthresh(self, ssthresh_bytes: int | None) -> None:
        """Assign the threshold of a restart; override `on_restart` instead.

        Args:
            ssthresh_bytes: `ssthresh_bytes` of the event that `on_restart` gets.
        """
        self.ssthresh_bytes = ssthresh_bytes


_REQUIRED = tuple(sorted(CongestionController.__abstractmethods__))
_OF_SAMPLES = ("on_delivered", "on_lost", "on_timer")
_METHODS = (*_REQUIRED, *_OF_SAMPLES, "on_feedback", "on_spurious", "on_send", "on_restart", "set_cwnd", "set_ssthresh")


@dataclass(frozen=True, slots=True)
class Found:
    """Class that a scenario names.

    Attributes:
        constructor: The class.
        overridden: Names of the methods that it overrides.
    """

    constructor: type[CongestionController]
    overridden: list[str]

    @property
    def demands(self) -> type[CongestionController]:
        """Class with the attributes `wants_...`."""
        return self.constructor


def find(path: str, parameters: Mapping[str, Any], folder: Path) -> Found:
    """Find and check the class that a scenario names.

    Args:
        path: `module:Class`.
        parameters: Keyword arguments for its constructor.
        folder: Folder that is searched first for its module.

    Returns:
        The class, and its overridden methods.

    Raises:
        RefusedError: If the class is unknown, is not a controller, or does not take these parameters.
    """
    found = _member(path, folder)
    if not (isinstance(found, type) and issubclass(found, CongestionController)):
        raise RefusedError("class", "must be a controller", "derive the class from ackclock.CongestionController")
    overridden = overridden_by(found)
    _check_parameters(found, parameters)
    _source(found)
    _found[path, folder] = found
    return Found(found, overridden)


_found: dict[tuple[str, Path], object] = {}
"""Classes by folder and name, as last loaded: the file may be gone since then."""


def overridden_by(found: type[CongestionController]) -> list[str]:
    """Return the names of the methods that a class overrides.

    Raises:
        RefusedError: If required methods are missing, or need attributes that the class does not set.
    """
    overridden = [name for name in _METHODS if getattr(found, name) is not getattr(CongestionController, name)]
    missing = [name for name in _REQUIRED if name not in overridden]
    if missing:
        raise RefusedError("class", f"must define {' and '.join(missing)}", f"define {', '.join(missing)} in the class")
    unmet = [name for name in _OF_SAMPLES if name in overridden and not found.wants_samples]
    if unmet:
        raise RefusedError(
            "class", f"must want samples, as it defines {unmet[0]}", "add wants_samples = True to the class"
        )
    return overridden


def check_name(path: str) -> None:
    """Check that a text could name a class.

    Raises:
        RefusedError: If it could not.
    """
    module_name, _, class_name = path.partition(":")
    if not all(part.isidentifier() for part in [*module_name.split("."), *class_name.split(".")]):
        raise RefusedError("class", "must name a class", 'write it like "mymodule:MyController"')


def _member(path: str, folder: Path) -> object:
    check_name(path)
    module_name, _, class_name = path.partition(":")
    found: object = module(module_name, folder)
    for part in class_name.split("."):
        if not hasattr(found, part):
            classes = [name for name, value in vars(found).items() if isinstance(value, type)]
            known = ", ".join(classes) or "no classes"
            what = f"must be an existing class: {part} is not in {_place(found)}"
            raise RefusedError("class", what, f"it has {known}")
        found = getattr(found, part)
    return found


def _place(thing: object) -> str:
    return str(getattr(thing, "__file__", None) or getattr(thing, "__name__", thing))


def _check_parameters(found: type[CongestionController], parameters: Mapping[str, Any]) -> None:
    signature = inspect.signature(found)
    try:
        signature.bind(None, **parameters)
    except TypeError as error:
        taken = [name for name in list(signature.parameters)[1:] if name not in ("args", "kwargs")]
        remedy = f"{found.__name__} takes: {', '.join(taken) or 'none'}"
        raise RefusedError("parameters", f"do not fit the constructor: {error}", remedy) from error


def copy_of(part: object, start: object) -> object:
    """Copy a controller or another part with all its state; the caller handles the window."""
    kind: Any = type(part)
    twin: object = kind.__new__(kind, start)
    copies = {id(part): twin}
    for name, value in _attributes(part).items():
        setattr(twin, name, copy.deepcopy(value, copies))
    return twin


def _attributes(part: object) -> dict[str, Any]:
    slots = [name for kind in type(part).__mro__ for name in _slots(kind) if hasattr(part, name)]
    return {name: getattr(part, name) for name in slots} | vars(part)


def _slots(kind: type) -> tuple[str, ...]:
    named = vars(kind).get("__slots__", ())
    return (named,) if isinstance(named, str) else tuple(named)


def sources(scenario: Scenario) -> "dict[str, ControllerSource]":
    """Return the source files of a scenario's classes, for manifests.

    Returns:
        For each class, `module:Class`, its file and the file's SHA-256; nothing for a class without a file.
    """
    scenario.check_imported()
    described: dict[str, ControllerSource] = {}
    for path in scenario.python_classes:
        source = _source(_found.get((path, scenario.folder)) or _member(path, scenario.folder))
        if source is not None:
            described[path] = source
    return described


def _source(found: object) -> "ControllerSource | None":
    """Return the file that defines a class, which may have been imported into the module that a scenario names."""
    home = sys.modules.get(getattr(found, "__module__", ""))
    return None if home is None else source_of(home)
