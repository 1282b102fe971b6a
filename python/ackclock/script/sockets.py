"""Socket calls of a script, on the stack."""

from collections.abc import Callable
from dataclasses import dataclass, field

from ackclock._core import Endpoint
from ackclock.script.model import Anything, Name, ScriptError, Struct, Syscall, Value
from ackclock.script.stack import Connection, Stack, controller_json


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a call returns: a number, or -1 with an error; or, not yet, that it blocks."""

    value: int
    errno: str | None = None
    out: Value | None = None


class _WouldBlockError(Exception):
    """The call waits."""


@dataclass(slots=True)
class _Socket:
    options: list[tuple[str, int]] = field(default_factory=list)
    controller: str | None = None
    connection: Connection | None = None
    blocking: bool = True
    listening: bool = False
    shut_read: bool = False
    shut_write: bool = False
    linger: bool = False


_ENDPOINT_OPTIONS = {
    "TCP_NODELAY",
    "TCP_CORK",
    "TCP_QUICKACK",
    "TCP_NOTSENT_LOWAT",
    "TCP_USER_TIMEOUT",
    "TCP_MAXSEG",
    "SO_SNDBUF",
    "SO_RCVBUF",
    "SO_MAX_PACING_RATE",
}
# They change nothing that a script can see of an endpoint.
_IGNORED_OPTIONS = {
    "IPV6_RECVERR",
    "IP_MTU_DISCOVER",
    "IP_RECVERR",
    "IP_TOS",
    "SO_BINDTODEVICE",
    "SO_KEEPALIVE",
    "SO_MARK",
    "SO_PRIORITY",
    "SO_RCVLOWAT",
    "SO_RCVTIMEO",
    "SO_REUSEADDR",
    "SO_REUSEPORT",
    "SO_SNDTIMEO",
    "SO_TIMESTAMP",
    "TCP_DEFER_ACCEPT",
    "TCP_KEEPCNT",
    "TCP_KEEPIDLE",
    "TCP_KEEPINTVL",
    "TCP_SYNCNT",
}


@dataclass(slots=True)
class Sockets:
    """The descriptors of a script."""

    stack: Stack
    table: dict[int, _Socket] = field(default_factory=dict)

    def call(self, call: Syscall, place: str) -> Outcome | None:
        """Make a call. Returns None if it blocks for now: call again when something has happened.

        Raises:
            ScriptError: If there is no such call, descriptor or option here.
        """
        handler: Callable[[Syscall, str], Outcome] | None = getattr(self, f"_{call.name}", None)
        if handler is None:
            known = sorted(name[1:] for name in dir(self) if name[0] == "_" and name[1:2].isalpha() and name in _CALLS)
            raise ScriptError(place, f"calls {call.name}", f"use one of {', '.join(known)}")
        try:
            return handler(call, place)
        except _WouldBlockError:
            return None

    # ---- opening and closing

    def _socket(self, call: Syscall, _place: str) -> Outcome:
        fd = call.result if isinstance(call.result, int) else max(self.table, default=2) + 1
        kind = call.arguments[1] if len(call.arguments) > 1 else None
        blocking = not (isinstance(kind, Name) and "SOCK_NONBLOCK" in kind.text)
        self.table[fd] = _Socket(blocking=blocking)
        return Outcome(fd)

    def _bind(self, call: Syscall, place: str) -> Outcome:
        self._at(call, place)
        return Outcome(0)

    def _listen(self, call: Syscall, place: str) -> Outcome:
        socket = self._at(call, place)
        socket.listening = True
        self.stack.listening = True
        self.stack.listener_options = socket.options
        if socket.controller is not None:
            self.stack.host.overrides["controller"] = f'"{socket.controller}"'
        return Outcome(0)

    def _accept(self, call: Syscall, place: str) -> Outcome:
        listener = self._at(call, place)
        for connection in self.stack.connections:
            ready = connection.endpoint.state not in ("TCP_LISTEN", "TCP_SYN_RECV", "TCP_SYN_SENT", "TCP_CLOSE")
            if ready and not connection.is_accepted:
                connection.is_accepted = True
                fd = call.result if isinstance(call.result, int) and call.result >= 0 else max(self.table) + 1
                flags = call.arguments[3] if len(call.arguments) > 3 else None
                nonblocking = isinstance(flags, Name) and "SOCK_NONBLOCK" in flags.text
                self.table[fd] = _Socket(connection=connection, blocking=not nonblocking)
                return Outcome(fd)
        return self._block_or_again(listener)

    _accept4 = _accept

    def _connect(self, call: Syscall, place: str) -> Outcome:
        socket = self._at(call, place)
        if socket.connection is None:
            socket.connection = self.stack.new_connection(socket.options, socket.controller)
            socket.connection.is_accepted = True
            self.stack.take(socket.connection.endpoint.connect(self.stack.now_ns))
            if not socket.blocking:
                return Outcome(-1, "EINPROGRESS")
        endpoint = socket.connection.endpoint
        if endpoint.error is not None:
            return Outcome(-1, endpoint.error)
        if endpoint.state == "TCP_SYN_SENT":
            if socket.blocking:
                raise _WouldBlockError
            return Outcome(-1, "EALREADY")
        return Outcome(0) if socket.blocking else Outcome(-1, "EISCONN")

    def _close(self, call: Syscall, place: str) -> Outcome:
        socket = self._at(call, place)
        del self.table[self._number(call.arguments[0], place)]
        if socket.listening:
            self.stack.listening = False
        if socket.connection is not None:
            endpoint, now = socket.connection.endpoint, self.stack.now_ns
            self.stack.take(endpoint.abort(now) if socket.linger else endpoint.close(now))
        return Outcome(0)

    def _shutdown(self, call: Syscall, place: str) -> Outcome:
        socket = self._at(call, place)
        endpoint = self._connected(socket, place)
        if endpoint.state == "TCP_CLOSE":
            return Outcome(-1, "ENOTCONN")
        how = call.arguments[1]
        word = how.text if isinstance(how, Name) else ("SHUT_RD", "SHUT_WR", "SHUT_RDWR")[self._number(how, place)]
        socket.shut_read |= word in ("SHUT_RD", "SHUT_RDWR")
        if word in ("SHUT_WR", "SHUT_RDWR") and not socket.shut_write:
            socket.shut_write = True
            self.stack.take(endpoint.shutdown_write(self.stack.now_ns))
        return Outcome(0)

    # ---- data

    def _write(self, call: Syscall, place: str) -> Outcome:
        return self._send_octets(call, place, self._number(call.arguments[2], place), "")

    def _send(self, call: Syscall, place: str) -> Outcome:
        return self._send_octets(call, place, self._number(call.arguments[2], place), _words(call.arguments[3:4]))

    _sendto = _send

    def _writev(self, call: Syscall, place: str) -> Outcome:
        return self._send_octets(call, place, _vector_length(call.arguments[1]), "")

    def _sendmsg(self, call: Syscall, place: str) -> Outcome:
        return self._send_octets(call, place, _message_length(call.arguments[1], place), _words(call.arguments[2:3]))

    def _sendfile(self, call: Syscall, place: str) -> Outcome:
        return self._send_octets(call, place, self._number(call.arguments[-1], place), "")

    def _send_octets(self, call: Syscall, place: str, octets: int, flags: str) -> Outcome:
        socket = self._at(call, place)
        endpoint = self._connected(socket, place)
        if endpoint.error is not None:
            return Outcome(-1, endpoint.error)
        if socket.shut_write or endpoint.state == "TCP_CLOSE":
            return Outcome(-1, "EPIPE")
        if socket.connection is not None:
            socket.connection.wrote(octets)
        self.stack.take(endpoint.write(self.stack.now_ns, octets, "MSG_MORE" in flags))
        return Outcome(octets)

    def _read(self, call: Syscall, place: str) -> Outcome:
        return self._receive(call, place, self._number(call.arguments[2], place), "")

    def _recv(self, call: Syscall, place: str) -> Outcome:
        return self._receive(call, place, self._number(call.arguments[2], place), _words(call.arguments[3:4]))

    _recvfrom = _recv

    def _readv(self, call: Syscall, place: str) -> Outcome:
        return self._receive(call, place, _vector_length(call.arguments[1]), "")

    def _recvmsg(self, call: Syscall, place: str) -> Outcome:
        return self._receive(call, place, _message_length(call.arguments[1], place), _words(call.arguments[2:3]))

    def _receive(self, call: Syscall, place: str, octets: int, flags: str) -> Outcome:
        socket = self._at(call, place)
        endpoint = self._connected(socket, place)
        if endpoint.unread > 0 and "MSG_PEEK" in flags:
            return Outcome(min(octets, endpoint.unread))
        taken, sent = endpoint.read(self.stack.now_ns, octets)
        self.stack.take(sent)
        if taken > 0:
            return Outcome(taken)
        if endpoint.error is not None:
            return Outcome(-1, endpoint.error)
        if endpoint.is_peer_finished or socket.shut_read or endpoint.state == "TCP_CLOSE":
            return Outcome(0)
        return self._block_or_again(socket, "MSG_DONTWAIT" in flags)

    # ---- options

    def _setsockopt(self, call: Syscall, place: str) -> Outcome:
        socket = self._at(call, place)
        name = _words(call.arguments[2:3])
        value = call.arguments[3]
        while isinstance(value, tuple) and value:
            value = value[0]
        if name == "TCP_CONGESTION" and isinstance(value, str):
            return self._set_congestion(socket, value)
        if name == "SO_LINGER" and isinstance(value, Struct):
            numbers = [item for _, item in value.fields]
            socket.linger = numbers == [1, 0]
            return Outcome(0)
        if name in _IGNORED_OPTIONS:
            return Outcome(0)
        if name not in _ENDPOINT_OPTIONS or not isinstance(value, int):
            raise ScriptError(place, f"sets {name}", f"use one of {', '.join(sorted(_ENDPOINT_OPTIONS))}")
        if socket.connection is None:
            socket.options.append((name, value))
        else:
            self.stack.take(socket.connection.endpoint.set_option(self.stack.now_ns, name, value))
        return Outcome(0)

    def _set_congestion(self, socket: _Socket, name: str) -> Outcome:
        if name not in ("reno", "cubic"):
            return Outcome(-1, "ENOENT")
        if socket.connection is None:
            socket.controller = name
        else:
            profile = f'{{"tcp": {{"profile": "{self.stack.host.profile}"}}, {controller_json(name)[1:]}'
            self.stack.take(socket.connection.endpoint.set_congestion(self.stack.now_ns, profile))
        return Outcome(0)

    def _getsockopt(self, call: Syscall, place: str) -> Outcome:
        socket = self._at(call, place)
        name = _words(call.arguments[2:3])
        if isinstance(call.arguments[3], Anything) or name in ("TCP_CONGESTION", "TCP_INFO"):
            return Outcome(0)
        if name == "SO_ERROR":
            error = socket.connection.endpoint.error if socket.connection else None
            return Outcome(0, out=(Name(error) if error else 0,))
        if name == "TCP_MAXSEG":
            return Outcome(0, out=(socket.connection.endpoint.mss if socket.connection else 536,))
        set_before = [value for option, value in socket.options if option == name]
        if set_before:
            return Outcome(0, out=(set_before[-1],))
        raise ScriptError(place, f"asks for {name}", "use SO_ERROR, TCP_MAXSEG, or an option that the script has set")

    def _fcntl(self, call: Syscall, place: str) -> Outcome:
        socket = self._at(call, place)
        command = _words(call.arguments[1:2])
        if command == "F_SETFL":
            socket.blocking = "O_NONBLOCK" not in _words(call.arguments[2:3])
            return Outcome(0)
        return Outcome(call.result if isinstance(call.result, int) else 2, out=None)

    def _ioctl(self, call: Syscall, place: str) -> Outcome:
        endpoint = self._connected(self._at(call, place), place)
        command = _words(call.arguments[1:2])
        values = {
            "SIOCINQ": endpoint.unread,
            "FIONREAD": endpoint.unread,
            "SIOCOUTQ": endpoint.unsent + endpoint.flight_size,
            "SIOCOUTQNSD": endpoint.unsent,
        }
        if command not in values:
            raise ScriptError(place, f"asks ioctl for {command}", f"use one of {', '.join(values)}")
        return Outcome(0, out=(values[command],))

    def _poll(self, call: Syscall, place: str) -> Outcome:
        wanted = call.arguments[0]
        ready = 0
        for item in wanted if isinstance(wanted, tuple) else ():
            fields = dict(item.fields) if isinstance(item, Struct) else {}
            socket = self.table[self._number(fields.get("fd", -1), place)]
            ready += bool(self._events(socket) & set(_words((fields.get("events", 0),)).split("|")))
        timeout = self._number(call.arguments[2], place)
        if ready == 0 and timeout != 0:
            raise _WouldBlockError
        return Outcome(ready)

    def _events(self, socket: _Socket) -> set[str]:
        events: set[str] = set()
        if socket.listening:
            waiting = any(not c.is_accepted and c.endpoint.state == "TCP_ESTABLISHED" for c in self.stack.connections)
            return {"POLLIN"} if waiting else events
        if socket.connection is None:
            return events
        endpoint = socket.connection.endpoint
        if endpoint.unread or endpoint.is_peer_finished or endpoint.error or socket.shut_read:
            events |= {"POLLIN", "POLLRDNORM"}
        if (endpoint.state in ("TCP_ESTABLISHED", "TCP_CLOSE_WAIT") and endpoint.writable > 0) or endpoint.error:
            events |= {"POLLOUT", "POLLWRNORM"}
        return events

    # ---- common to all

    def _at(self, call: Syscall, place: str) -> _Socket:
        fd = self._number(call.arguments[0], place)
        if fd not in self.table:
            raise ScriptError(place, f"uses descriptor {fd}, which is not open", "open it with socket() or accept()")
        return self.table[fd]

    @staticmethod
    def _connected(socket: _Socket, place: str) -> Endpoint:
        if socket.connection is None:
            raise ScriptError(place, "uses a socket that is not connected", "connect() it, or use an accepted one")
        return socket.connection.endpoint

    @staticmethod
    def _number(value: Value, place: str) -> int:
        if isinstance(value, int):
            return value
        raise ScriptError(place, f"has {value!r} where a number is needed", "write a number")

    @staticmethod
    def _block_or_again(socket: _Socket, dont_wait: bool = False) -> Outcome:
        if socket.blocking and not dont_wait:
            raise _WouldBlockError
        return Outcome(-1, "EAGAIN")


_CALLS = frozenset(name for name in vars(Sockets) if name.startswith("_") and not name.startswith("__"))


def _words(values: tuple[Value, ...]) -> str:
    return "|".join(value.text if isinstance(value, Name) else str(value) for value in values)


def _vector_length(vector: Value) -> int:
    """Octets of an array of `{base, length}`."""
    total = 0
    for item in vector if isinstance(vector, tuple) else ():
        fields = [value for _, value in item.fields] if isinstance(item, Struct) else []
        total += next((value for value in reversed(fields) if isinstance(value, int)), 0)
    return total


def _message_length(message: Value, place: str) -> int:
    if isinstance(message, Struct):
        for name, value in message.fields:
            if name == "msg_iov":
                return _vector_length(value)
    raise ScriptError(place, "has a message without msg_iov", "write {msg_iov(1)=[{..., 1000}], ...}")
