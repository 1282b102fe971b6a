"""Socket options of a simulated connection.

Source: the manual pages socket(7) and tcp(7).
"""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from ackclock._core import Endpoint
from ackclock.script.constants import CONSTANTS

if TYPE_CHECKING:
    from ackclock.script.simulated import SimulatedHost

Key = tuple[int, int]
OptionValue = tuple[int, ...] | str

_SOCKET, _TCP = CONSTANTS["SOL_SOCKET"], CONSTANTS["SOL_TCP"]
_CONGESTION = (_TCP, CONSTANTS["TCP_CONGESTION"])
_MAXSEG = (_TCP, CONSTANTS["TCP_MAXSEG"])
_SNDBUF, _RCVBUF = ((_SOCKET, CONSTANTS[name]) for name in ("SO_SNDBUF", "SO_RCVBUF"))
_USER_TIMEOUT = (_TCP, CONSTANTS["TCP_USER_TIMEOUT"])
_TIMESTAMPS_OCTETS, _MSS_WITHOUT_OPTION = 12, 536
_INT = (1 << 32) - 1
"""Options are ints of 32 bits, and sizes are taken without their sign."""


def _as_is(value: int) -> int:
    return value


def _doubled(value: int) -> int:
    """The kernel keeps twice what is asked for, for its own needs."""
    return 2 * value


_CHANGES: Mapping[Key, tuple[str, Callable[[int], int]]] = {
    (_TCP, CONSTANTS["TCP_NODELAY"]): ("nodelay", _as_is),
    (_TCP, CONSTANTS["TCP_CORK"]): ("cork", _as_is),
    (_TCP, CONSTANTS["TCP_QUICKACK"]): ("quickack", _as_is),
    (_TCP, CONSTANTS["TCP_NOTSENT_LOWAT"]): ("notsent_lowat", _as_is),
    _USER_TIMEOUT: ("user_timeout_ms", _as_is),
    _SNDBUF: ("send_buffer", _doubled),
    _RCVBUF: ("receive_buffer", _as_is),
    (_SOCKET, CONSTANTS["SO_MAX_PACING_RATE"]): ("pacing", _as_is),
}
_UNLIMITED = ("pacing", _INT)
"""The rate that turns no pacing on."""

_KEPT_NAMES = """
    SO_REUSEADDR SO_REUSEPORT SO_LINGER SO_RCVLOWAT SO_KEEPALIVE SO_ZEROCOPY SO_PRIORITY SO_MARK SO_OOBINLINE
    TCP_KEEPIDLE TCP_KEEPINTVL TCP_KEEPCNT TCP_INQ TCP_LINGER2 TCP_SYNCNT IP_TOS IP_TTL IP_RECVERR IP_MTU_DISCOVER
"""
_SYNCNT = (_TCP, CONSTANTS["TCP_SYNCNT"])
_MOST_SYNS = 127
_LEVELS = {"SO": _SOCKET, "TCP": _TCP, "IP": 0}
_KEPT = frozenset((_LEVELS[name.split("_")[0]], CONSTANTS[name]) for name in _KEPT_NAMES.split() if name in CONSTANTS)
_ONLY: Mapping[Key, OptionValue] = {
    (_TCP, CONSTANTS[name]): (value,)
    for name, value in (("TCP_KEEPIDLE", 7200), ("TCP_KEEPINTVL", 75), ("TCP_KEEPCNT", 9), ("TCP_LINGER2", 60))
} | {(0, CONSTANTS["IP_TOS"]): (0,), (0, CONSTANTS["IP_TTL"]): (64,)}
"""Two hours before a probe are more than a script waits. Packets would tell of the others, or FIN-WAIT-2."""
_UNSET: Mapping[Key, int] = {
    (_SOCKET, CONSTANTS["SO_RCVLOWAT"]): 1,
    (0, CONSTANTS["IP_MTU_DISCOVER"]): CONSTANTS["IP_PMTUDISC_WANT"],
    (_SOCKET, CONSTANTS["SO_MAX_PACING_RATE"]): _INT,
}
"""What an option is that nobody has set, where that is not zero. Source: Linux 6.18, asked."""
_NOT_SET_IS_NOT_KNOWN = {_SNDBUF, _RCVBUF, _SYNCNT, (_TCP, CONSTANTS["TCP_QUICKACK"])}
_LINGER = (_SOCKET, CONSTANTS["SO_LINGER"])


def set_option(host: "SimulatedHost", endpoint: Endpoint | None, key: Key, value: OptionValue) -> str | None:
    """Set an option; one of a socket without a connection counts once it has one.

    Returns:
        The name of an error, or `None`.

    Raises:
        ValueError: If the option is not simulated: "what; remedy".
    """
    if key == _CONGESTION and isinstance(value, str):
        return _set_congestion(host, endpoint, value)
    if key == _MAXSEG and isinstance(value, tuple):
        return _set_max_segment(host, endpoint, value[0])
    if key == _SYNCNT and isinstance(value, tuple):
        return _check_syns(endpoint, value[0])
    if key == _LINGER and value[0] and value[1]:
        raise ValueError(f"close that waits {value[1]} s is not simulated; use a linger of 0, or onoff=0")
    if key in _CHANGES and isinstance(value, tuple):
        if key == _USER_TIMEOUT and value[0] < 0:
            return "EINVAL"
        name, as_kept = _CHANGES[key]
        asked = min(value[0] & _INT, host.largest_of(key))
        if endpoint is not None and (name, asked) != _UNLIMITED:
            endpoint.set_option(host.now_ns, name, as_kept(asked))
    elif key in _ONLY and value != _ONLY[key]:
        raise ValueError(f"{_name(key)} is simulated with Linux's default only; use {_ONLY[key][0]}")
    elif key not in _KEPT:
        raise ValueError(f"{_name(key)} is not simulated; leave it out")
    return None


def _set_congestion(host: "SimulatedHost", endpoint: Endpoint | None, name: str) -> str | None:
    from ackclock._core import ScenarioError

    try:
        if endpoint is not None:
            endpoint.set_congestion(host.now_ns, host.options(name))
    except ScenarioError:
        return "ENOENT"
    return None


def _check_syns(endpoint: Endpoint | None, count: int) -> str | None:
    """`TCP_SYNCNT` counts when the connection is opened."""
    if not 1 <= count <= _MOST_SYNS:
        return "EINVAL"
    if endpoint is not None and endpoint.state in ("SYN-SENT", "SYN-RECEIVED"):
        raise ValueError("TCP_SYNCNT of a connection that is being opened is not simulated; set it before")
    return None


def syn_retries(options: Mapping[Key, OptionValue]) -> int | None:
    """Return how often a SYN is sent again as options have it; `None` if they say nothing."""
    value = options.get(_SYNCNT)
    return value[0] if isinstance(value, tuple) else None


def _set_max_segment(host: "SimulatedHost", endpoint: Endpoint | None, mss: int) -> str | None:
    if not 88 <= mss <= 32767:
        return "EINVAL"
    if endpoint is not None:
        endpoint.set_option(host.now_ns, "max_segment", mss - _TIMESTAMPS_OCTETS)
    return None


def get_option(
    host: "SimulatedHost", endpoint: Endpoint | None, kept: Mapping[Key, OptionValue], key: Key
) -> int | str | tuple[int, ...]:
    """Return an option's value.

    Raises:
        ValueError: If the option is not simulated: "what; remedy".
    """
    if key == _MAXSEG:
        return endpoint.mss if endpoint is not None else kept.get(key, (_MSS_WITHOUT_OPTION,))
    if key in (_SNDBUF, _RCVBUF) and key in kept:
        value = kept[key]
        return _doubled(min(value[0], host.largest_of(key))) if isinstance(value, tuple) else value
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
    return f"the socket option {names[0] if names else option}"
