"""State of an epoll descriptor: its watches, and their pending events.

Source: the manual pages epoll(7) and epoll_ctl(2).
"""

from dataclasses import dataclass
from typing import NamedTuple

from ackclock.script.constants import CONSTANTS

_ET, _ONESHOT = CONSTANTS["EPOLLET"], CONSTANTS["EPOLLONESHOT"]
_KNOWN_NAMES = "IN", "PRI", "OUT", "ERR", "HUP", "RDHUP", "RDNORM", "RDBAND", "WRNORM", "WRBAND", "ET", "ONESHOT"
_KNOWN = sum(CONSTANTS[f"EPOLL{name}"] for name in _KNOWN_NAMES)
_READABLE = CONSTANTS["EPOLLIN"] | CONSTANTS["EPOLLRDNORM"]


class Look(NamedTuple):
    """State of a socket whose changes are events.

    Attributes:
        state: State that wakes every watcher: connection, TCP state, error, end of the peer's data.
        arrived: Octets received in order so far.
        freed: Number of times that the send buffer got room again after it was found full.
    """

    state: tuple[object, ...]
    arrived: int
    freed: int


@dataclass(slots=True)
class Watch:
    """Watch of one descriptor.

    Attributes:
        events: Requested events, including `EPOLLET` and `EPOLLONESHOT`.
        reported: State of the socket at its last report; None before.
        is_armed: Whether it may be reported; false after a report with `EPOLLONESHOT`, until `EPOLL_CTL_MOD`.
    """

    events: int
    reported: Look | None = None
    is_armed: bool = True

    def __post_init__(self) -> None:
        """Refuse unsupported flags."""
        if unknown := self.events & ~_KNOWN:
            names = [name for name, number in CONSTANTS.items() if name.startswith("EPOLL") and number == unknown]
            raise ValueError(f"{names[0] if names else hex(unknown)} is not simulated; leave it out, or use --kernel")

    def report(self, ready: int, look: Look) -> int:
        """Return the events to report now, 0 for none, and mark them as reported.

        Args:
            ready: Requested events that are ready, as in polling.
            look: State of the socket.
        """
        if not ready or not self.is_armed or (self.events & _ET and not self._is_news(ready, look)):
            return 0
        self.reported, self.is_armed = look, not self.events & _ONESHOT
        return ready

    def _is_news(self, ready: int, look: Look) -> bool:
        before = self.reported
        return (
            before is None
            or before.state != look.state
            or (before.arrived != look.arrived and bool(ready & _READABLE))
            or before.freed != look.freed
        )
