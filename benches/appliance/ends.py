"""The two ends of flows: streams of blocks that begin with when they were written."""

import select
import socket
import struct
import time
from collections.abc import Sequence
from typing import NamedTuple

BLOCK = 8192
TCP_NOTSENT_LOWAT = 25


class Arrived(NamedTuple):
    """The figures of a flow at its server, after the start of the flow was left out."""

    goodput_bps: float
    p50_s: float
    p99_s: float
    mean_s: float


def send(to: tuple[str, int], controller: str, seconds: float) -> None:
    """Write blocks as fast as they are taken; what waits here is little, so that waiting happens elsewhere."""
    with socket.socket() as s:
        s.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, controller.encode())
        s.setsockopt(socket.IPPROTO_TCP, TCP_NOTSENT_LOWAT, BLOCK)
        _connect(s, to)
        s.settimeout(seconds + 30)
        # A blocking write knows nothing of TCP_NOTSENT_LOWAT's lower bound: being writable does.
        writable = select.poll()
        writable.register(s, select.POLLOUT)
        rest, pad, start = b"", bytes(BLOCK - 8), time.monotonic()
        s.setblocking(False)
        while (now := time.monotonic()) - start < seconds:
            if not writable.poll(1000):
                continue
            rest = rest or struct.pack("d", now) + pad
            try:
                rest = rest[s.send(rest) :]
            except OSError:  # the server has seen enough
                return


def _connect(s: socket.socket, to: tuple[str, int]) -> None:
    for _ in range(50):
        try:
            return s.connect(to)
        except ConnectionRefusedError:
            time.sleep(0.1)
    raise SystemExit(f"nobody listens at {to}")


def receive(address: tuple[str, int], warm_up: float, seconds: float) -> Arrived:
    """Read one flow to its end or for so long; what came after the warm-up counts."""
    with socket.create_server(address) as listener:
        s, _ = listener.accept()
    rest, waits, counted = b"", [], 0
    s.settimeout(5.0)
    start = now = time.monotonic()
    while now - start < seconds:
        try:
            data = s.recv(1 << 18)
        except TimeoutError:
            now = time.monotonic()
            continue
        now = time.monotonic()
        if not data:
            break
        is_late = now - start > warm_up
        counted += len(data) if is_late else 0
        rest += data
        while len(rest) >= BLOCK:
            if is_late:
                waits.append(now - struct.unpack("d", rest[:8])[0])
            rest = rest[BLOCK:]
    s.close()
    waits.sort()
    if not waits:
        raise SystemExit("nothing arrived after the warm-up")
    at = [waits[len(waits) * part // 100] for part in (50, 99)]
    return Arrived(counted * 8 / max(now - start - warm_up, 1e-9), *at, sum(waits) / len(waits))


def send_many(to: Sequence[tuple[str, int]], controller: str, starts: Sequence[float], seconds: float) -> None:
    """Keep as many flows full as there are servers to send to, each from its own start on."""
    chunk, start = bytes(1 << 17), time.monotonic()
    writable = select.epoll()
    flows: dict[int, socket.socket] = {}
    waiting = sorted(zip(starts, to, strict=True))
    while (now := time.monotonic() - start) < seconds:
        while waiting and waiting[0][0] <= now:
            s = socket.socket()
            s.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, controller.encode())
            _connect(s, waiting.pop(0)[1])
            s.setblocking(False)
            flows[s.fileno()] = s
            writable.register(s, select.EPOLLOUT)
        for fd, _ in writable.poll(0.02):
            try:
                flows[fd].send(chunk)
            except BlockingIOError:
                continue
            except OSError:  # the server has seen enough
                writable.unregister(fd)
                flows.pop(fd).close()
    for s in flows.values():
        s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        s.close()


def receive_many(host: str, ports: Sequence[int], warm_up: float, seconds: float) -> list[float]:
    """Return the goodput of the flow to each port, bit/s, from the warm-up to the end."""
    readable = select.epoll()
    listeners = {s.fileno(): (s, port) for port in ports for s in [socket.create_server((host, port))]}
    flows: dict[int, tuple[socket.socket, int]] = {}
    counted, buffer, start = dict.fromkeys(ports, 0), bytearray(1 << 18), time.monotonic()
    for fd in listeners:
        readable.register(fd, select.EPOLLIN)
    while (now := time.monotonic() - start) < seconds:
        for fd, _ in readable.poll(0.1):
            if fd in listeners:
                s, _ = listeners[fd][0].accept()
                s.setblocking(False)
                flows[s.fileno()] = (s, listeners[fd][1])
                readable.register(s, select.EPOLLIN)
                continue
            try:
                octets = flows[fd][0].recv_into(buffer)
            except OSError:
                octets = 0
            if not octets:
                readable.unregister(fd)
                flows.pop(fd)[0].close()
            elif now > warm_up:
                counted[flows[fd][1]] += octets
    return [counted[port] * 8 / (now - warm_up) for port in ports]
