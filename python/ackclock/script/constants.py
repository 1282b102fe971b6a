"""Constants of Linux's socket interface, by name.

Source: Linux's user-space headers; values known to Python's own modules are taken from there.
"""

import errno
import fcntl
import os
import select
import socket
from types import ModuleType

_MORE = {
    "SOL_TCP": 6,
    "SIOCINQ": 0x541B,
    "FIONREAD": 0x541B,
    "SIOCOUTQ": 0x5411,
    "SIOCOUTQNSD": 0x894B,
    "SO_MAX_PACING_RATE": 47,
    "SO_INCOMING_NAPI_ID": 56,
    "SO_ZEROCOPY": 60,
    "MSG_ZEROCOPY": 0x4000000,
    "MSG_FASTOPEN": 0x20000000,
    "IP_RECVERR": 11,
    "IP_MTU_DISCOVER": 10,
    "IP_PMTUDISC_DONT": 0,
    "IP_PMTUDISC_WANT": 1,
    "IP_PMTUDISC_DO": 2,
    "IP_PMTUDISC_PROBE": 3,
    "TCP_WINDOW_CLAMP": 10,
    "TCP_THIN_LINEAR_TIMEOUTS": 16,
    "TCP_THIN_DUPACK": 17,
    "TCP_REPAIR": 19,
    "TCP_TIMESTAMP": 24,
    "TCP_NOTSENT_LOWAT": 25,
    "TCP_CC_INFO": 26,
    "TCP_SAVE_SYN": 27,
    "TCP_INQ": 36,
    "TCP_CM_INQ": 36,
    "TCP_TX_DELAY": 37,
    "POLLRDHUP": 0x2000,
    "EPOLLRDHUP": 0x2000,
    "EPOLL_CTL_ADD": 1,
    "EPOLL_CTL_DEL": 2,
    "EPOLL_CTL_MOD": 3,
}

_PREFIXES: tuple[tuple[ModuleType, tuple[str, ...]], ...] = (
    (socket, ("SO_", "SOL_", "AF_", "PF_", "IPPROTO_", "TCP_", "MSG_", "SHUT_", "SOCK_", "IP_")),
    (select, ("POLL", "EPOLL")),
    (fcntl, ("F_", "FD_")),
    (os, ("O_",)),
    (errno, ("E",)),
)


def _collect() -> dict[str, int]:
    known = {
        name: int(getattr(module, name))
        for module, prefixes in _PREFIXES
        for name in dir(module)
        if name.startswith(prefixes) and isinstance(getattr(module, name), int)
    }
    return _MORE | known


CONSTANTS = _collect()
"""Constants for scripts, by name."""

STATES = {
    "TCP_ESTABLISHED": 1,
    "TCP_SYN_SENT": 2,
    "TCP_SYN_RECV": 3,
    "TCP_FIN_WAIT1": 4,
    "TCP_FIN_WAIT2": 5,
    "TCP_TIME_WAIT": 6,
    "TCP_CLOSE": 7,
    "TCP_CLOSE_WAIT": 8,
    "TCP_LAST_ACK": 9,
    "TCP_LISTEN": 10,
    "TCP_CLOSING": 11,
    "TCP_CA_Open": 0,
    "TCP_CA_Disorder": 1,
    "TCP_CA_CWR": 2,
    "TCP_CA_Recovery": 3,
    "TCP_CA_Loss": 4,
    "TCPI_OPT_TIMESTAMPS": 1,
    "TCPI_OPT_SACK": 2,
    "TCPI_OPT_WSCALE": 4,
    "TCPI_OPT_ECN": 8,
    "TCPI_OPT_ECN_SEEN": 16,
    "TCPI_OPT_SYN_DATA": 32,
    "TCP_INFINITE_SSTHRESH": 0x7FFFFFFF,
}
"""Names of TCP states that Python code in a script may compare TCP_INFO with."""


def errno_name(number: int) -> str:
    """Return the name of an error number."""
    return errno.errorcode.get(number, str(number))
