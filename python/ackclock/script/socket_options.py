"""Socket options of a simulated connection.

Source: the manual pages socket(7), tcp(7) and ip(7). Open questions were tried on Linux 6.18, and are repeated by
`tests/scripts/sockets`.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from ackclock._core import Endpoint
from ackclock.script.constants import CONSTANTS

if TYPE_CHECKING:
    from ackclock.script.simulated_host import SimulatedHost

Key = tuple[int, int]
OptionValue = tuple[int, ...] | str

_SOCKET, _TCP = CONSTANTS["SOL_SOCKET"], CONSTANTS["SOL_TCP"]
_CONGESTION = (_TCP, CONSTANTS["TCP_CONGESTION"])
_MAXSEG = (_TCP, CONSTANTS["TCP_MAXSEG"])
_SNDBUF, _RCVBUF = ((_SOCKET, CONSTANTS[name]) for name in ("SO_SNDBUF", "SO_RCVBUF"))
_USER_TIMEOUT = (_TCP, CONSTANTS["TCP_USER_TIMEOUT"])
_TIMESTAMPS_OCTETS, _MSS_WITHOUT_OPTION = 12, 536
_INT = (1 << 32) - 1
"""Mask of option values: ints of 32 bits; sizes are taken without their sign."""
_LEAST_BUFFERS: Mapping[Key, int] = {_SNDBUF: 4_608, _RCVBUF: 2_304}


class OptionError(Exception):
    """Error: Linux refuses the option."""

    def __init__(self, errno: str) -> None:
        """Store the error number."""
        super().__init__(errno)
        self.errno: str = errno


_CHANGES: Mapping[Key, str] = {
    (_TCP, CONSTANTS["TCP_NODELAY"]): "nodelay",
    (_TCP, CONSTANTS["TCP_CORK"]): "cork",
    (_TCP, CONSTANTS["TCP_QUICKACK"]): "quickack",
    (_TCP, CONSTANTS["TCP_NOTSENT_LOWAT"]): "notsent_lowat",
    _USER_TIMEOUT: "user_timeout_ms",
    _SNDBUF: "send_buffer",
    _RCVBUF: "receive_buffer",
    (_SOCKET, CONSTANTS["SO_MAX_PACING_RATE"]): "pacing",
}
_UNLIMITED = ("pacing", _INT)
"""Pacing rate that disables pacing."""

_KEPT_NAMES = """
    SO_REUSEADDR SO_REUSEPORT SO_LINGER SO_RCVLOWAT SO_KEEPALIVE SO_ZEROCOPY SO_PRIORITY SO_MARK SO_OOBINLINE
    TCP_KEEPIDLE TCP_KEEPINTVL TCP_KEEPCNT TCP_INQ TCP_LINGER2 TCP_SYNCNT IP_TOS IP_TTL IP_RECVERR IP_MTU_DISCOVER
"""
_SYNCNT = (_TCP, CONSTANTS["TCP_SYNCNT"])
_LEVELS = {"SO": _SOCKET, "TCP": _TCP, "IP": 0}
_KEPT = frozenset((_LEVELS[name.split("_")[0]], CONSTANTS[name]) for name in _KEPT_NAMES.split())
_ONLY: Mapping[Key, OptionValue] = {
    (_TCP, CONSTANTS[name]): (value,)
    for name, value in (("TCP_KEEPIDLE", 7200), ("TCP_KEEPINTVL", 75), ("TCP_KEEPCNT", 9), ("TCP_LINGER2", 60))
}
"""Options with one supported value, Linux's default; other values would be visible, and are not simulated."""
_TOS, _TTL = (0, CONSTANTS["IP_TOS"]), (0, CONSTANTS["IP_TTL"])
_ECN_BITS, _DEFAULT_TTL = 3, 64
_RCVLOWAT = (_SOCKET, CONSTANTS["SO_RCVLOWAT"])
_TRUTH_NAMES = "TCP_NODELAY TCP_CORK SO_KEEPALIVE SO_REUSEADDR SO_REUSEPORT SO_OOBINLINE IP_RECVERR"
_TRUTHS = frozenset((_LEVELS[name.split("_")[0]], CONSTANTS[name]) for name in _TRUTH_NAMES.split())
"""Options for which a nonzero number reads back as 1."""
_RANGES: Mapping[Key, range] = {
    (_TCP, CONSTANTS["TCP_INQ"]): range(2),
    (_SOCKET, CONSTANTS["SO_ZEROCOPY"]): range(2),
    (_TCP, CONSTANTS["TCP_KEEPIDLE"]): range(1, 32_768),
    (_TCP, CONSTANTS["TCP_KEEPINTVL"]): range(1, 32_768),
    (_TCP, CONSTANTS["TCP_KEEPCNT"]): range(1, 128),
    _SYNCNT: range(1, 128),
    _USER_TIMEOUT: range(1 << 31),
    (0, CONSTANTS["IP_MTU_DISCOVER"]): range(6),
    _TTL: range(1, 256),
}
"""Ranges of values; others are `EINVAL`."""
_SEGMENTS = (0, *range(88, 32_768))
_UNSET: Mapping[Key, int] = {
    _TTL: _DEFAULT_TTL,
    (_SOCKET, CONSTANTS["SO_RCVLOWAT"]): 1,
    (0, CONSTANTS["IP_MTU_DISCOVER"]): CONSTANTS["IP_PMTUDISC_WANT"],
    (_SOCKET, CONSTANTS["SO_MAX_PACING_RATE"]): _INT,
}
"""Default values of options, where not zero. Source: tried on Linux 6.18."""
_NOT_SET_IS_NOT_KNOWN = {_SNDBUF, _RCVBUF, _SYNCNT, (_TCP, CONSTANTS["TCP_QUICKACK"])}
_LINGER = (_SOCKET, CONSTANTS["SO_LINGER"])


def as_kept(key: Key, value: OptionValue, before: OptionValue | None) -> OptionValue:
    """Return an option's value as Linux stores it and reads it back.

    Args:
        key: Level and option.
        value: Value as in the call.
        before: Stored value.

    Raises:
        OptionError: If Linux refuses the value.
        ValueError: If the value is not supported: "what; remedy".
    """
    if isinstance(value, str):
        return value
    number = value[0]
    if key == _LINGER:
        lasts = before[1] if before is not None and not isinstance(before, str) else 0
        return (1, value[1]) if number else (0, lasts)
    if key in _TRUTHS:
        return (int(number != 0),)
    if key == _TOS:
        return (number & 0xFF & ~_ECN_BITS,)
    if key == _TTL and number == -1:
        return (_DEFAULT_TTL,)
    if key == _RCVLOWAT and number < 0:
        raise ValueError(f"SO_RCVLOWAT of {number} is not simulated; use 0 or more")
    if number not in _RANGES.get(key, (number,)) or (key == _MAXSEG and number not in _SEGMENTS):
        raise OptionError("EINVAL")
    return (max(number, 1),) if key == _RCVLOWAT else value


def set_option(host: "SimulatedHost", endpoint: Endpoint | None, key: Key, value: OptionValue) -> None:
    """Set an option; for a socket without a connection, it takes effect once there is one.

    Raises:
        OptionError: If Linux refuses it.
        ValueError: If the option is not supported: "what; remedy".
    """
    if isinstance(value, str):
        if key != _CONGESTION:
            raise ValueError(f"{_name(key)} is not simulated; leave it out")
        return _set_congestion(host, endpoint, value)
    if key == _LINGER and value[0] and value[1]:
        raise ValueError(f"close that waits {value[1]} s is not simulated; use a linger of 0, or onoff=0")
    if key in _ONLY and value != _ONLY[key]:
        raise ValueError(f"{_name(key)} is simulated with Linux's default only; use {_ONLY[key][0]}")
    if key not in _KEPT and key not in _CHANGES and key != _MAXSEG:
        raise ValueError(f"{_name(key)} is not simulated; leave it out")
    if endpoint is not None:
        _change(host, endpoint, key, value[0])
    return None


def _change(host: "SimulatedHost", endpoint: Endpoint, key: Key, number: int) -> None:
    """Apply an option to a connection."""
    if key == _SYNCNT and endpoint.state in ("SYN-SENT", "SYN-RECEIVED"):
        raise ValueError("TCP_SYNCNT of a connection that is being opened is not simulated; set it before")
    if key == _TOS:
        host.mark(dscp=number)
    elif key == _TTL:
        host.mark(ttl=number)
    elif key == _MAXSEG and number:
        endpoint.set_option(host.now_ns, "max_segment", number - _TIMESTAMPS_OCTETS)
    elif key in _LEAST_BUFFERS:
        kept = _buffer(host, key, number)
        endpoint.set_option(host.now_ns, _CHANGES[key], kept if key == _SNDBUF else kept // 2)
    elif key in _CHANGES and (_CHANGES[key], number & _INT) != _UNLIMITED:
        endpoint.set_option(host.now_ns, _CHANGES[key], number & _INT)


def _buffer(host: "SimulatedHost", key: Key, number: int) -> int:
    """Return a buffer size as the kernel stores it: twice the request, for its own overhead."""
    return max(2 * min(number & _INT, host.largest_of(key)), _LEAST_BUFFERS[key])


def _set_congestion(host: "SimulatedHost", endpoint: Endpoint | None, name: str) -> None:
    from ackclock._core import ScenarioError

    try:
        if endpoint is not None:
            endpoint.set_congestion(host.now_ns, host.options(name))
    except ScenarioError as error:
        raise OptionError("ENOENT") from error


def syn_retries(options: Mapping[Key, OptionValue]) -> int | None:
    """Return the number of SYN retransmissions that the options set; None if they do not."""
    value = options.get(_SYNCNT)
    return value[0] if isinstance(value, tuple) else None


def get_option(
    host: "SimulatedHost", endpoint: Endpoint | None, kept: Mapping[Key, OptionValue], key: Key
) -> int | str | tuple[int, ...]:
    """Return an option's value.

    Raises:
        ValueError: If the option is not supported: "what; remedy".
    """
    if key == _MAXSEG:
        return endpoint.mss if endpoint is not None else kept.get(key, (_MSS_WITHOUT_OPTION,))
    if key in (_SNDBUF, _RCVBUF) and key in kept:
        value = kept[key]
        return _buffer(host, key, value[0]) if isinstance(value, tuple) else value
    if key in (_SNDBUF, _RCVBUF) and endpoint is None and (unset := host.unset_of(key)) is not None:
        return unset
    if key == _CONGESTION:
        return str(kept.get(key, host.controller))
    if key not in _KEPT and key not in _CHANGES:
        raise ValueError(f"{_name(key)} is not simulated; leave it out")
    if key in _NOT_SET_IS_NOT_KNOWN and key not in kept:
        raise ValueError(f"{_name(key)} that was not set is not simulated; set it before, or use --kernel")
    return kept.get(key, _ONLY.get(key, _UNSET.get(key, 0)))


def _name(key: Key) -> str:
    level, option = key
    prefix = {_SOCKET: "SO_", _TCP: "TCP_"}.get(level, "IP_")
    names = [name for name, number in CONSTANTS.items() if number == option and name.startswith(prefix)]
    return f"the socket option {min(names, key=len) if names else option}"  # values of options have longer names
