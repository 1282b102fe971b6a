"""Program inside a kernel in virtual time: sends packets through queue disciplines, and records which leave when.

Orders come as JSON on standard input, and the recordings go to standard output. The device behind the
disciplines takes every packet at once, so that a discipline needs a parent with a rate, or a rate of its own.
"""

import ctypes
import json
import os
import socket
import struct
import subprocess
import sys
import time
from typing import Any, Final

DEVICE: Final = "dummy0"
"""Device that every kernel has from its start. It drops what it sends, after sockets have seen it."""
HEADERS: Final = 14 + 20 + 8
"""Octets of the headers of Ethernet, IPv4 and UDP."""

_ALIGNMENT: Final = 1 << 20
"""Recordings begin at a multiple of this, ns, since CoDel counts time in units of 1024 ns."""
# Constants of Linux that Python lacks.
_SO_SNDBUFFORCE, _SO_RCVBUFFORCE, _SO_TIMESTAMPNS, _SO_TIMESTAMPING, _IP_RECVERR = 32, 33, 35, 37, 11
_STAMP_AT_QUEUE: Final = (
    1 << 8 | 1 << 4 | 1 << 7 | 1 << 11
)  # of software, where packets enter a discipline, with the packet's number alone
_OUTGOING, _PR_SET_TIMERSLACK, _TIMER_ABSTIME = 4, 29, 1

_libc = ctypes.CDLL(None, use_errno=True)


class _Timespec(ctypes.Structure):
    _fields_ = (("s", ctypes.c_long), ("ns", ctypes.c_long))


def _sleep_until(ns: int) -> None:
    _libc.clock_nanosleep(time.CLOCK_MONOTONIC, _TIMER_ABSTIME, ctypes.byref(_Timespec(*divmod(ns, 10**9))), None)


def _call(line: str) -> str:
    done = subprocess.run(line.split(), capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(f"{line}: {done.stderr.strip()}")
    return done.stdout


def _sender(flow: int, ecn: int, priority: int) -> socket.socket:
    sender = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    sender.setsockopt(socket.SOL_SOCKET, _SO_SNDBUFFORCE, 1 << 26)
    sender.setsockopt(socket.SOL_SOCKET, _SO_RCVBUFFORCE, 1 << 26)  # stamps wait there
    sender.setsockopt(socket.IPPROTO_IP, socket.IP_TOS, ecn)
    sender.setsockopt(socket.SOL_SOCKET, socket.SO_PRIORITY, priority)
    sender.setsockopt(socket.SOL_SOCKET, _SO_TIMESTAMPING, _STAMP_AT_QUEUE)
    sender.connect((f"10.0.0.{2 + flow}", 2000 + flow))
    return sender


def _stamp(data: bytes, offset_ns: int) -> int:
    seconds, ns = struct.unpack("qq", data[:16])
    return int(seconds * 10**9 + ns - offset_ns)


def _entered(sender: socket.socket, offset_ns: int) -> dict[int, int]:
    """Return the time at which each packet of a sender came to the discipline, by its number in the sender."""
    times: dict[int, int] = {}
    while True:
        try:
            _, notes, _, _ = sender.recvmsg(0, 1000, socket.MSG_ERRQUEUE | socket.MSG_DONTWAIT)
        except BlockingIOError:
            return times
        data = {(level, kind): value for level, kind, value in notes}
        number = struct.unpack("IBBBBII", data[socket.IPPROTO_IP, _IP_RECVERR][:16])[6]
        times[number] = _stamp(data[socket.SOL_SOCKET, _SO_TIMESTAMPING], offset_ns)


def _left(tap: socket.socket, offset_ns: int) -> list[tuple[int, int, int]]:
    """Return time, number and ECN field of each packet that left."""
    packets: list[tuple[int, int, int]] = []
    while True:
        try:
            frame, notes, _, address = tap.recvmsg(2000, 1000, socket.MSG_DONTWAIT)
        except BlockingIOError:
            return packets
        if address[2] == _OUTGOING and frame[23] == socket.IPPROTO_UDP:
            number = struct.unpack("!I", frame[HEADERS : HEADERS + 4])[0]
            packets.append((_stamp(notes[0][2], offset_ns), number, frame[15] & 3))


def _record(order: dict[str, Any], tap: socket.socket) -> dict[str, Any]:
    for line in order["tc"]:
        _call(f"tc qdisc {line}" if not line.startswith("class") else f"tc {line}")
    packets = order["packets"]
    senders: dict[tuple[int, int], socket.socket] = {}
    numbers: dict[tuple[int, int], list[int]] = {}
    for number, (_, flow, _, ecn) in enumerate(packets):
        if (flow, ecn) not in senders:
            # A priority with the number of a discipline names one of its classes or queues.
            priority = (order["handle"] << 16) + flow + 1 if order["handle"] else order["priority"]
            senders[flow, ecn], numbers[flow, ecn] = _sender(flow, ecn, priority), []
        numbers[flow, ecn].append(number)
    # Each look at a clock takes 256 ns of virtual time.
    offset_ns = time.clock_gettime_ns(time.CLOCK_REALTIME) - time.clock_gettime_ns(time.CLOCK_MONOTONIC) + 256
    start = (time.clock_gettime_ns(time.CLOCK_MONOTONIC) // _ALIGNMENT + 50) * _ALIGNMENT
    for number, (at, flow, octets, ecn) in enumerate(packets):
        payload = struct.pack("!I", number) + bytes(octets - HEADERS - 4)
        _sleep_until(start + at)
        senders[flow, ecn].send(payload)
    _sleep_until(start + order["until_ns"])
    entered: dict[int, int] = {}
    for key, sender in senders.items():
        entered |= {numbers[key][number]: at for number, at in _entered(sender, offset_ns + start).items()}
        sender.close()
    left = _left(tap, offset_ns + start)
    told = _call(f"tc -s qdisc show dev {DEVICE}")
    _call(f"tc qdisc del dev {DEVICE} root")
    return {"entered": [entered[number] for number in range(len(packets))], "left": left, "told": told}


def main() -> None:
    """Obey the orders on standard input."""
    os.environ["PATH"] = "/usr/sbin:/usr/bin:/sbin:/bin"
    _libc.prctl(_PR_SET_TIMERSLACK, 1, 0, 0, 0)
    _call(f"ip link set {DEVICE} up")
    _call(f"ip addr add 10.0.0.1/24 dev {DEVICE}")
    tap = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))  # every protocol
    tap.setsockopt(socket.SOL_SOCKET, _SO_RCVBUFFORCE, 1 << 27)
    tap.setsockopt(socket.SOL_SOCKET, _SO_TIMESTAMPNS, 1)
    tap.bind((DEVICE, 3))
    json.dump([_record(order, tap) for order in json.load(sys.stdin)], sys.stdout)


if __name__ == "__main__":
    main()
