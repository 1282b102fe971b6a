"""Linux's socket interface over simulated endpoints.

Source: the manual pages socket(7), tcp(7) and those of the calls; `tests/scripts/sockets` also passes on Linux 6.18.

Departures: a listening socket holds one connection at a time. Options without a visible effect are stored and read
back.
"""

import errno
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ackclock._core import Endpoint
from ackclock.script.backend import Outcome, Request, failed
from ackclock.script.constants import CONSTANTS
from ackclock.script.epoll import Look, Watch
from ackclock.script.packets import ACK, RST, SYN, Packet
from ackclock.script.socket_options import OptionError, as_kept, get_option, set_option, syn_retries

if TYPE_CHECKING:
    from ackclock.script.simulated_host import SimulatedHost

_O_NONBLOCK, _O_RDWR = CONSTANTS["O_NONBLOCK"], CONSTANTS["O_RDWR"]
_MSG_DONTWAIT, _MSG_MORE, _MSG_PEEK = (CONSTANTS[f"MSG_{name}"] for name in ("DONTWAIT", "MORE", "PEEK"))
_MSG_WAITALL, _MSG_EOR = CONSTANTS["MSG_WAITALL"], CONSTANTS["MSG_EOR"]
_READ_FLAGS = _MSG_DONTWAIT | _MSG_PEEK | _MSG_WAITALL | CONSTANTS["MSG_TRUNC"] | CONSTANTS["MSG_NOSIGNAL"]
_WRITE_FLAGS = _MSG_DONTWAIT | _MSG_MORE | _MSG_EOR | CONSTANTS["MSG_NOSIGNAL"] | CONSTANTS["MSG_ZEROCOPY"]
"""Accepted flags of writes, including some without effect here: signals, copies, and discarded contents."""
_INQ = (CONSTANTS["SOL_TCP"], CONSTANTS["TCP_INQ"])
_ZEROCOPY = (CONSTANTS["SOL_SOCKET"], CONSTANTS["SO_ZEROCOPY"])
_LINGER = (CONSTANTS["SOL_SOCKET"], CONSTANTS["SO_LINGER"])
_EPOLLET = CONSTANTS["EPOLLET"]
_EPOLL_ADD = CONSTANTS["EPOLL_CTL_ADD"]
_EPOLL_OPERATIONS = (_EPOLL_ADD, CONSTANTS["EPOLL_CTL_DEL"], CONSTANTS["EPOLL_CTL_MOD"])
_POLLIN, _POLLOUT, _POLLERR, _POLLHUP = (CONSTANTS[f"POLL{name}"] for name in ("IN", "OUT", "ERR", "HUP"))
_POLLRDNORM, _POLLWRNORM, _POLLRDHUP = (CONSTANTS[f"POLL{name}"] for name in ("RDNORM", "WRNORM", "RDHUP"))

_INFORMATION = frozenset((CONSTANTS["SOL_TCP"], CONSTANTS[name]) for name in ("TCP_INFO", "TCP_CC_INFO"))
"""Options that Python code in scripts reads in another way."""

ERRNO_OF = {"refused": "ECONNREFUSED", "reset": "ECONNRESET", "timed out": "ETIMEDOUT"}


@dataclass(slots=True)
class Socket:
    """Socket of the process under test.

    Attributes:
        is_blocking: Whether calls on it block.
        backlog: Backlog of a listening socket; None if it does not listen.
        endpoint: Its connection; for a listening socket, the next one to be accepted.
        is_accepted: Whether a listening socket's connection was accepted.
        is_connected: Whether it was accepted, or a call reported that the connection is open.
        reported: Whether the connection's error was returned once.
        pending: Error of a closed connection that the next call returns.
        reads: Whether it is not shut down for reading.
        writes: Whether it is not shut down for writing.
        written: Octets written in total.
        options: Options as set.
        lacks_room: Whether the send buffer was found full.
        freed: Number of times that it got room again after that.
        watches: Watches of an epoll descriptor.
    """

    is_blocking: bool = True
    backlog: int | None = None
    endpoint: Endpoint | None = None
    is_accepted: bool = False
    is_connected: bool = False
    reported: bool = False
    pending: str | None = None
    reads: bool = True
    writes: bool = True
    written: int = 0
    options: dict[tuple[int, int], tuple[int, ...] | str] = field(default_factory=dict)
    lacks_room: bool = False
    freed: int = 0
    watches: dict[int, Watch] | None = None

    @property
    def connection(self) -> Endpoint | None:
        """Connection to which calls on this socket refer; a listening socket has none."""
        return None if self.backlog is not None else self.endpoint

    def let_go(self, pending: str | None = None) -> None:
        """Reset to a socket that was never connected."""
        self.endpoint, self.is_connected, self.reported, self.pending = None, False, False, pending


@dataclass(slots=True)
class Progress:
    """Progress of a blocking call.

    Attributes:
        began_ns: Time of the call.
        octets: Octets written so far.
        waits: Whether it has waited for a connection that it began, or for room in the send buffer.
    """

    began_ns: int = 0
    octets: int = 0
    waits: bool = False


def deadline_ns(request: Request, progress: Progress) -> int | None:
    """Return when a blocking call times out."""
    limit_ms = request.numbers[0] if request.name in ("poll", "epoll_wait") else -1
    return None if limit_ms < 0 else progress.began_ns + limit_ms * 1_000_000


class Sockets:
    """Descriptors of the process under test."""

    def __init__(self, host: "SimulatedHost") -> None:
        """Begin without descriptors."""
        self._host = host
        self._open: dict[int, Socket] = {}
        self._progress = Progress()

    def attempt(self, request: Request, progress: Progress) -> Outcome | None:
        """Return the result of a call at this moment; None if it blocks.

        Args:
            request: The call.
            progress: Progress of the call; a blocking call is retried with the same object.
        """
        handler, self._progress = _HANDLERS[request.name], progress
        if request.name in ("socket", "epoll_create", "poll"):
            return handler(self, Socket(), request)
        socket = self._open.get(request.fd)
        return failed("EBADF") if socket is None else handler(self, socket, request)

    @property
    def listens(self) -> bool:
        """True if a socket listens."""
        return self._listening() is not None

    def _listening(self) -> Socket | None:
        return next((socket for socket in self._open.values() if socket.backlog is not None), None)

    def endpoint_for(self, packet: Packet, headers: bytes) -> Endpoint | None:
        """Return the endpoint for a packet, if there is one; a SYN for a listening socket makes one."""
        endpoint, listening = self._host.endpoint, self._listening()
        if listening is None:
            return endpoint
        is_gone = endpoint is None or endpoint.state in ("CLOSED", "LISTEN")
        if packet.flags & (SYN | ACK | RST) == SYN and (is_gone or (endpoint and endpoint.is_reopened_by(headers))):
            listening.endpoint, listening.is_accepted = self._opened(listening), False
            listening.endpoint.listen()
            return listening.endpoint
        return None if is_gone else endpoint

    def _opened(self, socket: Socket) -> Endpoint:
        listens = socket.backlog is not None
        endpoint = self._host.open_endpoint(listens=listens, syn_retries=syn_retries(socket.options))
        for (level, option), value in socket.options.items():
            set_option(self._host, endpoint, (level, option), value)
        return endpoint

    # ---- opening and closing ----------------------------------------------------------------------------------------

    def _socket(self, _socket: Socket, request: Request) -> Outcome:
        nonblocking = bool(request.numbers[0] & CONSTANTS["SOCK_NONBLOCK"])
        self._open[request.fd] = Socket(is_blocking=not nonblocking)
        return Outcome(request.fd)

    def _bind(self, _socket: Socket, _request: Request) -> Outcome:
        return Outcome(0)

    def _listen(self, socket: Socket, request: Request) -> Outcome:
        if socket.connection is not None:
            return failed("EINVAL")
        socket.backlog = request.numbers[0]
        return Outcome(0)

    def _accept(self, socket: Socket, request: Request) -> Outcome | None:
        child, flags = request.numbers
        if socket.backlog is None:
            return failed("EINVAL")
        waits = socket.endpoint is None or socket.is_accepted or socket.endpoint.state in ("LISTEN", "SYN-RECEIVED")
        if waits:
            return self._blocks(socket)
        socket.is_accepted = True
        blocking = not flags & CONSTANTS["SOCK_NONBLOCK"]
        options = dict(socket.options)
        self._open[child] = Socket(is_blocking=blocking, endpoint=socket.endpoint, is_connected=True, options=options)
        return Outcome(child)

    def _connect(self, socket: Socket, _request: Request) -> Outcome | None:
        if socket.is_connected or socket.backlog is not None:
            return failed("EISCONN")
        if socket.endpoint is None:
            socket.endpoint = self._opened(socket)
            socket.endpoint.connect(self._host.now_ns)
            self._progress.waits = True
            return None if socket.is_blocking else failed("EINPROGRESS")
        if socket.endpoint.state == "CLOSED":
            error = self._take_error(socket) or "ECONNABORTED"
            socket.let_go()
            return failed(error)
        if socket.endpoint.state in ("SYN-SENT", "SYN-RECEIVED"):
            return None if socket.is_blocking and self._progress.waits else failed("EALREADY")
        socket.is_connected = True
        return Outcome(0)

    def _close(self, socket: Socket, request: Request) -> Outcome:
        del self._open[request.fd]
        if socket.endpoint is not None and not socket.is_accepted:
            resets = socket.options.get(_LINGER) == (1, 0) or socket.backlog is not None
            end = socket.endpoint.abort if resets else socket.endpoint.close
            end(self._host.now_ns)
        return Outcome(0)

    def _shutdown(self, socket: Socket, request: Request) -> Outcome:
        (how,) = request.numbers
        if how not in (CONSTANTS["SHUT_RD"], CONSTANTS["SHUT_WR"], CONSTANTS["SHUT_RDWR"]):
            return failed("EINVAL")
        if socket.backlog is not None:
            return self._stop_listening(socket, how)
        if socket.endpoint is None or socket.endpoint.state in ("CLOSED", "TIME-WAIT"):
            return failed("ENOTCONN")
        if socket.endpoint.state == "SYN-SENT":
            socket.endpoint.abort(self._host.now_ns)
            socket.let_go(pending="ECONNRESET")
            return Outcome(0)
        if how in (CONSTANTS["SHUT_RD"], CONSTANTS["SHUT_RDWR"]):
            socket.reads = False
        if how in (CONSTANTS["SHUT_WR"], CONSTANTS["SHUT_RDWR"]):
            socket.writes = False
            socket.endpoint.shutdown_write(self._host.now_ns)
        return Outcome(0)

    def _stop_listening(self, socket: Socket, how: int) -> Outcome:
        if how != CONSTANTS["SHUT_WR"]:
            if socket.endpoint is not None and not socket.is_accepted:
                socket.endpoint.abort(self._host.now_ns)
            socket.backlog = None
            socket.let_go()
        return Outcome(0)

    # ---- data -------------------------------------------------------------------------------------------------------

    def _read(self, socket: Socket, request: Request) -> Outcome | None:
        octets, flags = request.numbers
        _refuse(flags & ~_READ_FLAGS)
        endpoint = socket.connection
        if endpoint is None:
            return failed("ENOTCONN")
        available = endpoint.unread_octets
        enough = octets if flags & _MSG_WAITALL else min(octets, self._low_water(socket))
        over = endpoint.is_peer_finished or not socket.reads or endpoint.state == "CLOSED"
        if available and (available >= enough or over or self._is_nonblocking(socket, flags)):
            taken = min(available, octets) if flags & _MSG_PEEK else endpoint.read(self._host.now_ns, octets)
            return Outcome(taken, value=self._unread(socket, endpoint))
        error = self._take_error(socket)
        if error:
            return failed(error)
        if over:
            return Outcome(0, value=self._unread(socket, endpoint))
        return self._blocks(socket, flags)

    def _unread(self, socket: Socket, endpoint: Endpoint) -> dict[str, int]:
        """Return the value of `TCP_INQ` for a message; after the peer's FIN at least one octet is reported."""
        if socket.options.get(_INQ, (0,)) == (0,):
            return {}
        return {"cmsg_data": endpoint.unread_octets or int(endpoint.is_peer_finished)}

    def _low_water(self, socket: Socket) -> int:
        value = socket.options.get((CONSTANTS["SOL_SOCKET"], CONSTANTS["SO_RCVLOWAT"]), (1,))
        return max(1, value[0]) if isinstance(value, tuple) else 1

    def _write(self, socket: Socket, request: Request) -> Outcome | None:
        octets, flags = request.numbers
        _refuse(flags & ~_WRITE_FLAGS)
        if socket.options.get(_ZEROCOPY, (0,)) != (0,):
            _refuse(flags & CONSTANTS["MSG_ZEROCOPY"])  # the socket would tell of the end of each such write
        endpoint = socket.connection
        if endpoint is None:
            return failed("EPIPE")
        error = self._take_error(socket)
        if error:
            return failed(error)
        if not socket.writes or endpoint.state in ("CLOSED", "LISTEN"):
            return failed("EPIPE")
        done = self._progress.octets
        is_open = endpoint.state not in ("SYN-SENT", "SYN-RECEIVED")
        goes_on = is_open and (not self._progress.waits or endpoint.is_writable)
        while goes_on and (taken := min(octets - done, endpoint.writable_octets)):
            # What is sent at once makes room for more.
            done, socket.written = done + taken, socket.written + taken
            ends_record = bool(flags & _MSG_EOR) and done == octets
            endpoint.write(self._host.now_ns, taken, more=bool(flags & _MSG_MORE), ends_record=ends_record)
        if done == octets:
            return Outcome(done)
        if is_open:
            self._lacks_room(socket, endpoint)
        if done and self._is_nonblocking(socket, flags):
            return Outcome(done)
        self._progress.octets, self._progress.waits = done, is_open
        return self._blocks(socket, flags)

    def _lacks_room(self, socket: Socket, endpoint: Endpoint) -> None:
        socket.lacks_room = True
        endpoint.wait_for_room(self._host.now_ns)

    def _is_nonblocking(self, socket: Socket, flags: int) -> bool:
        return not socket.is_blocking or bool(flags & _MSG_DONTWAIT)

    def _blocks(self, socket: Socket, flags: int = 0) -> Outcome | None:
        return failed("EAGAIN") if self._is_nonblocking(socket, flags) else None

    def _take_error(self, socket: Socket) -> str | None:
        if socket.pending is not None:
            pending, socket.pending = socket.pending, None
            return pending
        error = socket.connection.error if socket.connection is not None else None
        if error is None or socket.reported:
            return None
        socket.reported = True
        in_close_wait = socket.writes and socket.connection is not None and socket.connection.is_peer_finished
        return "EPIPE" if error == "reset" and in_close_wait else ERRNO_OF[error]

    # ---- options and readiness --------------------------------------------------------------------------------------

    def _set_option(self, socket: Socket, request: Request) -> Outcome:
        key = (request.numbers[0], request.numbers[1])
        value = request.text if request.text is not None else request.numbers[2:]
        try:
            kept = as_kept(key, value, socket.options.get(key))
            set_option(self._host, socket.connection, key, kept)
        except OptionError as error:
            return failed(error.errno)
        socket.options[key] = kept
        return Outcome(0)

    def _get_option(self, socket: Socket, request: Request) -> Outcome:
        key = (request.numbers[0], request.numbers[1])
        if key == (CONSTANTS["SOL_SOCKET"], CONSTANTS["SO_ERROR"]):
            error = self._take_error(socket)
            return Outcome(0, value={"option": getattr(errno, error) if error else 0})
        if key in _INFORMATION:
            return Outcome(0)
        return Outcome(0, value={"option": get_option(self._host, socket.connection, socket.options, key)})

    def _fcntl(self, socket: Socket, request: Request) -> Outcome:
        command, argument = request.numbers
        if command == CONSTANTS["F_GETFL"]:
            return Outcome(_O_RDWR | (0 if socket.is_blocking else _O_NONBLOCK))
        if command != CONSTANTS["F_SETFL"] or argument & ~(_O_NONBLOCK | _O_RDWR):
            what = f"fcntl({command}, {argument:#x})"
            raise ValueError(f"{what} is not simulated; use F_GETFL, or F_SETFL with O_RDWR and O_NONBLOCK")
        socket.is_blocking = not argument & _O_NONBLOCK
        return Outcome(0)

    def _ioctl(self, socket: Socket, request: Request) -> Outcome:
        endpoint, (what,) = socket.connection, request.numbers
        counts = dict.fromkeys((CONSTANTS[name] for name in ("SIOCINQ", "SIOCOUTQ", "SIOCOUTQNSD")), 0)
        if what not in counts:
            raise ValueError(f"ioctl {what:#x} is not simulated; use SIOCINQ, SIOCOUTQ or SIOCOUTQNSD")
        if socket.backlog is not None:
            return failed("EINVAL")
        if endpoint is not None:
            acknowledged = endpoint.tcp_info(self._host.now_ns)["bytes_acked"]
            counts[CONSTANTS["SIOCINQ"]] = endpoint.unread_octets
            counts[CONSTANTS["SIOCOUTQ"]] = max(0, socket.written + (not socket.writes) - acknowledged)
            counts[CONSTANTS["SIOCOUTQNSD"]] = endpoint.unsent_octets
        return Outcome(0, value={"count": counts[what]})

    def _poll(self, _socket: Socket, request: Request) -> Outcome | None:
        ready = [0 if fd < 0 else self._ready(fd, events) for fd, events in request.polls]
        if not any(ready) and not self._is_over(request):
            return None
        value = {f"revents of {index}": events for index, events in enumerate(ready)}
        return Outcome(sum(1 for events in ready if events), value=value)

    def _is_over(self, request: Request) -> bool:
        deadline = deadline_ns(request, self._progress)
        return deadline is not None and self._host.now_ns >= deadline

    def _ready(self, fd: int, wanted: int) -> int:
        socket = self._open.get(fd)
        if socket is None:
            return CONSTANTS["POLLNVAL"]
        endpoint, ready = socket.endpoint, 0
        if socket.backlog is not None:
            waiting = endpoint is not None and not socket.is_accepted
            waiting = waiting and endpoint is not None and endpoint.state not in ("LISTEN", "SYN-RECEIVED")
            return (_POLLIN | _POLLRDNORM) & wanted if waiting else 0
        if endpoint is None:
            error = _POLLERR if socket.pending else 0
            return (_POLLOUT | _POLLHUP | error) & (wanted | _POLLHUP | _POLLERR)
        ended = endpoint.is_peer_finished or not socket.reads or endpoint.state == "CLOSED"
        if endpoint.unread_octets >= self._low_water(socket) or ended:
            ready |= _POLLIN | _POLLRDNORM
        if ended:
            ready |= _POLLRDHUP
        if endpoint.state == "CLOSED" or (ended and not socket.writes):
            ready |= _POLLHUP
        if endpoint.error and not socket.reported:
            ready |= _POLLERR
        opening = endpoint.state in ("SYN-SENT", "SYN-RECEIVED")
        if not opening and (endpoint.is_writable or not socket.writes or endpoint.state == "CLOSED"):
            ready |= _POLLOUT | _POLLWRNORM
            socket.freed, socket.lacks_room = socket.freed + socket.lacks_room, False
        elif not opening and wanted & (_POLLOUT | _POLLWRNORM) and not wanted & _EPOLLET:
            self._lacks_room(socket, endpoint)  # who is told of edges alone does not ask before one
        return ready & (wanted | _POLLERR | _POLLHUP)

    def _epoll_create(self, _socket: Socket, request: Request) -> Outcome:
        self._open[request.fd] = Socket(watches={})
        return Outcome(request.fd)

    def _epoll_ctl(self, socket: Socket, request: Request) -> Outcome:
        operation, fd, events = request.numbers
        if socket.watches is None or operation not in _EPOLL_OPERATIONS or fd == request.fd:
            return failed("EINVAL")
        if fd not in self._open:
            return failed("EBADF")
        if (operation == _EPOLL_ADD) == (fd in socket.watches):
            return failed("EEXIST" if operation == _EPOLL_ADD else "ENOENT")
        if operation == CONSTANTS["EPOLL_CTL_DEL"]:
            del socket.watches[fd]
        else:
            socket.watches[fd] = Watch(events)
        return Outcome(0)

    def _epoll_wait(self, socket: Socket, request: Request) -> Outcome | None:
        most = request.numbers[1]
        if socket.watches is None or most <= 0:
            return failed("EINVAL")
        watched = [(fd, watch) for fd, watch in socket.watches.items() if fd in self._open]
        reports = [watch.report(self._ready(fd, watch.events), self._look(self._open[fd])) for fd, watch in watched]
        ready = [(fd, events) for (fd, _), events in zip(watched, reports, strict=True) if events]
        if not ready and not self._is_over(request):
            return None
        if len(ready) > most:
            raise ValueError(f"{len(ready)} events for room of {most} are not simulated; make room for more")
        told = [{f"events of {place}": events, f"fd of {place}": fd} for place, (fd, events) in enumerate(ready)]
        return Outcome(len(ready), value=dict(pair for one in told for pair in one.items()))

    def _look(self, socket: Socket) -> Look:
        endpoint = socket.endpoint
        if endpoint is None:
            return Look((), 0, socket.freed)
        arrived = endpoint.tcp_info(self._host.now_ns)["bytes_received"]
        return Look((id(endpoint), endpoint.state, endpoint.error, endpoint.is_peer_finished), arrived, socket.freed)


def _refuse(flags: int) -> None:
    """Refuse unsupported flags of a call."""
    if flags:
        names = [name for name, number in CONSTANTS.items() if name.startswith("MSG_") and number & flags]
        raise ValueError(f"{names[0] if names else hex(flags)} is not simulated; leave it out, or use --kernel")


_HANDLERS: Mapping[str, Callable[[Sockets, Socket, Request], Outcome | None]] = {
    "socket": Sockets._socket,
    "bind": Sockets._bind,
    "listen": Sockets._listen,
    "accept": Sockets._accept,
    "connect": Sockets._connect,
    "close": Sockets._close,
    "shutdown": Sockets._shutdown,
    "read": Sockets._read,
    "write": Sockets._write,
    "setsockopt": Sockets._set_option,
    "getsockopt": Sockets._get_option,
    "fcntl": Sockets._fcntl,
    "ioctl": Sockets._ioctl,
    "poll": Sockets._poll,
    "epoll_create": Sockets._epoll_create,
    "epoll_ctl": Sockets._epoll_ctl,
    "epoll_wait": Sockets._epoll_wait,
}
