"""System calls of a script on the machine's own sockets.

Departures: contents of buffers are zeros.
"""

import errno
import fcntl
import select
import socket
import struct
from collections.abc import Callable, Mapping

from ackclock.script.backend import Outcome, Request, failed
from ackclock.script.constants import CONSTANTS, errno_name
from ackclock.script.namespace import Namespace
from ackclock.script.tcp_info import SIZE, decode

_INT = struct.Struct("i")
_RESET = struct.pack("ii", 1, 0)
_NOT_OPEN = (1 << 31) - 1
"""Descriptor that no process has."""
_CM_INQ = (CONSTANTS["SOL_TCP"], CONSTANTS["TCP_CM_INQ"])


class KernelSockets:
    """Descriptors of a script, by the script's numbers.

    Attributes:
        congestion: Controller of new sockets.
    """

    def __init__(self, namespace: Namespace, here: tuple[str, int], there: tuple[str, int]) -> None:
        """Begin without descriptors."""
        self.congestion = "cubic"
        self._namespace, self._here, self._there = namespace, here, there
        self._open: dict[int, socket.socket] = {}
        self._epolls: dict[int, select.epoll] = {}
        self._under_test: socket.socket | None = None

    def call(self, request: Request) -> Outcome:
        """Make a system call and wait for it."""
        try:
            return _HANDLERS[request.name](self, request)
        except OSError as error:
            return failed(errno_name(error.errno or errno.EIO))
        except KeyError:
            return failed("EBADF")

    def tcp_info(self) -> dict[str, int]:
        """Return TCP_INFO of the latest connection.

        Raises:
            ValueError: If there is none.
        """
        if self._under_test is None or self._under_test.fileno() < 0:
            raise ValueError("TCP_INFO needs an open connection; accept or connect one first")
        return decode(self._under_test.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, SIZE))

    def close(self) -> None:
        """Reset open connections, which ends blocking calls."""
        for epoll in self._epolls.values():
            epoll.close()
        for opened in self._open.values():
            try:
                opened.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
                opened.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass  # it was not connected
            opened.close()

    # ---- opening and closing ----------------------------------------------------------------------------------------

    def _socket(self, request: Request) -> Outcome:
        kind = request.numbers[0]
        made = self._namespace.run(lambda: socket.socket(socket.AF_INET, kind, socket.IPPROTO_TCP))
        if not kind & socket.SOCK_NONBLOCK:
            made.setblocking(True)
        made.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, self.congestion.encode())
        self._open[request.fd] = made
        return Outcome(request.fd)

    def _bind(self, request: Request) -> Outcome:
        self._open[request.fd].bind(self._here)
        return Outcome(0)

    def _listen(self, request: Request) -> Outcome:
        self._open[request.fd].listen(request.numbers[0])
        return Outcome(0)

    def _accept(self, request: Request) -> Outcome:
        child, flags = request.numbers
        accepted, _ = self._open[request.fd].accept()
        accepted.setblocking(not flags & socket.SOCK_NONBLOCK)
        self._open[child] = self._under_test = accepted
        return Outcome(child)

    def _connect(self, request: Request) -> Outcome:
        self._under_test = self._open[request.fd]
        self._under_test.connect(self._there)
        return Outcome(0)

    def _close(self, request: Request) -> Outcome:
        self._open.pop(request.fd).close()
        return Outcome(0)

    def _shutdown(self, request: Request) -> Outcome:
        self._open[request.fd].shutdown(request.numbers[0])
        return Outcome(0)

    # ---- data -------------------------------------------------------------------------------------------------------

    def _read(self, request: Request) -> Outcome:
        octets, flags = request.numbers
        data, control, _, _ = self._open[request.fd].recvmsg(octets, 64, flags)
        unread = [_INT.unpack(value[:4])[0] for level, kind, value in control if (level, kind) == _CM_INQ]
        return Outcome(len(data), value={"cmsg_data": unread[0]} if unread else {})

    def _write(self, request: Request) -> Outcome:
        octets, flags = request.numbers
        return Outcome(self._open[request.fd].send(bytes(octets), flags))

    # ---- options and readiness --------------------------------------------------------------------------------------

    def _set_option(self, request: Request) -> Outcome:
        level, option, *numbers = request.numbers
        value = (
            request.text.encode() if request.text is not None else struct.pack(f"{len(numbers)}i", *map(_int, numbers))
        )
        self._open[request.fd].setsockopt(level, option, value)
        return Outcome(0)

    def _get_option(self, request: Request) -> Outcome:
        level, option = request.numbers
        opened = self._open[request.fd]
        if (level, option) == (socket.IPPROTO_TCP, socket.TCP_CONGESTION):
            return Outcome(0, value={"option": opened.getsockopt(level, option, 16).rstrip(b"\0").decode()})
        if (level, option) == (socket.SOL_SOCKET, socket.SO_LINGER):
            return Outcome(0, value={"option": struct.unpack("ii", opened.getsockopt(level, option, 8))})
        return Outcome(0, value={"option": opened.getsockopt(level, option)})

    def _fcntl(self, request: Request) -> Outcome:
        return Outcome(fcntl.fcntl(self._open[request.fd], *request.numbers))

    def _ioctl(self, request: Request) -> Outcome:
        filled = fcntl.ioctl(self._open[request.fd], request.numbers[0], _INT.pack(0))
        return Outcome(0, value={"count": _INT.unpack(filled)[0]})

    def _poll(self, request: Request) -> Outcome:
        poll = select.poll()
        filenos = [self._fileno(fd) for fd, _ in request.polls]
        for fileno, (_, events) in zip(filenos, request.polls, strict=True):
            if fileno >= 0:  # others are passed over, and Python takes none
                poll.register(fileno, events)
        ready = dict(poll.poll(request.numbers[0]))
        value = {f"revents of {index}": ready.get(fileno, 0) for index, fileno in enumerate(filenos)}
        return Outcome(len(ready), value=value)

    def _fileno(self, fd: int) -> int:
        if fd in self._open:
            return self._open[fd].fileno()
        return fd if fd < 0 else _NOT_OPEN

    def _epoll_create(self, request: Request) -> Outcome:
        self._epolls[request.fd] = self._namespace.run(select.epoll)
        return Outcome(request.fd)

    def _epoll_ctl(self, request: Request) -> Outcome:
        operation, fd, events = request.numbers
        epoll, watched = self._epolls[request.fd], self._open[fd]
        if operation == CONSTANTS["EPOLL_CTL_DEL"]:
            epoll.unregister(watched)
        elif operation == CONSTANTS["EPOLL_CTL_MOD"]:
            epoll.modify(watched, events)
        else:
            epoll.register(watched, events)
        return Outcome(0)

    def _epoll_wait(self, request: Request) -> Outcome:
        limit_ms, room = request.numbers
        ready = self._epolls[request.fd].poll(None if limit_ms < 0 else limit_ms / 1000, room)
        ours = {opened.fileno(): fd for fd, opened in self._open.items()}
        told = [{f"events of {at}": events, f"fd of {at}": ours[fileno]} for at, (fileno, events) in enumerate(ready)]
        return Outcome(len(ready), value=dict(pair for one in told for pair in one.items()))


def _int(number: int) -> int:
    """Return the same 32 bits as a C int."""
    return (number + (1 << 31)) % (1 << 32) - (1 << 31)


_HANDLERS: Mapping[str, Callable[[KernelSockets, Request], Outcome]] = {
    "socket": KernelSockets._socket,
    "bind": KernelSockets._bind,
    "listen": KernelSockets._listen,
    "accept": KernelSockets._accept,
    "connect": KernelSockets._connect,
    "close": KernelSockets._close,
    "shutdown": KernelSockets._shutdown,
    "read": KernelSockets._read,
    "write": KernelSockets._write,
    "setsockopt": KernelSockets._set_option,
    "getsockopt": KernelSockets._get_option,
    "fcntl": KernelSockets._fcntl,
    "ioctl": KernelSockets._ioctl,
    "poll": KernelSockets._poll,
    "epoll_create": KernelSockets._epoll_create,
    "epoll_ctl": KernelSockets._epoll_ctl,
    "epoll_wait": KernelSockets._epoll_wait,
}
