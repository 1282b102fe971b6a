"""What an epoll descriptor watches, and what of it is news.

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
    """What of a socket makes news when it changes.

    Attributes:
        state: Whatever wakes everybody: the connection, its state, its error, its peer's end.
        arrived: Octets in order since the beginning.
        freed: How often room came back in the send buffer after somebody had found none.
    """

    state: tuple[object, ...]
    arrived: int
    freed: int


@dataclass(slots=True)
class Watch:
    """One descriptor that is watched.

    Attributes:
        events: What is wanted, `EPOLLET` and `EPOLLONESHOT` with it.
        reported: How the socket was when it was reported; `None` before.
        is_armed: May be reported; not after a report with `EPOLLONESHOT`, until `EPOLL_CTL_MOD`.
    """

    events: int
    reported: Look | None = None
    is_armed: bool = True

    def __post_init__(self) -> None:
        """Refuse what is not simulated."""
        if unknown := self.events & ~_KNOWN:
            names = [name for name, number in CONSTANTS.items() if name.startswith("EPOLL") and number == unknown]
            raise ValueError(f"{names[0] if names else hex(unknown)} is not simulated; leave it out, or use --kernel")

    def report(self, ready: int, look: Look) -> int:
        """Return the events to report now, 0 for none; they count as reported.

        Args:
            ready: Events of the socket that are wanted, as polling has them.
            look: The socket.
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
