"""The `--name=value` lines of a script.

Source: packetdrill's own options and their defaults.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final, TypeVar

from ackclock.script.syntax import Script, ScriptError

_WITHOUT_EFFECT = """
    bind_port connect_port debug gateway_ip local_ip netmask_ip remote_ip send_omit_free speed verbose
    wire_client_dev wire_server_dev
"""

_ONLY: Mapping[str, tuple[str, ...]] = {
    "code_command": ("python", "python3"),
    "code_format": ("python",),
    "code_sockopt": ("TCP_INFO", ""),
    "ip_version": ("ipv4", "ipv4-mapped-ipv6"),
    "mtu": ("1500", "0"),
}
"""What could be seen at any other value."""


@dataclass(frozen=True, slots=True)
class Options:
    """How a script is judged.

    Attributes:
        tolerance_us: How far from its time an event may be.
        tolerance_percent: The same as a share of the time since the event before; the larger counts.
        tick_us: Microseconds of a tick of TSval, to check its values; zero does not check them.
        ecr_scaled: A TSecr that was never sent is taken from the first TSval that was.
        checks_echoes: Compare TSecr of packets that are sent, which packetdrill does not.
        definitions: Names with a value.
        chosen: Attributes that hold whatever a script's option lines say, as those of a command line do.
    """

    tolerance_us: int = 4_000
    tolerance_percent: float = 12.5
    tick_us: int = 0
    ecr_scaled: bool = False
    checks_echoes: bool = False
    definitions: Mapping[str, str] = field(default_factory=dict)
    chosen: Mapping[str, Any] = field(default_factory=dict)

    def tolerance_after(self, span_us: int) -> int:
        """Return the tolerance of an event `span_us` after the one before."""
        return max(self.tolerance_us, int(span_us * self.tolerance_percent / 100))


STRICT = Options(tolerance_percent=0.0, checks_echoes=True)
"""For scripts against a simulated clock, which is never late."""


def with_options_of(script: Script, base: Options) -> Options:
    """Return options as a script changes them.

    Raises:
        ScriptError: If an option is not known.
    """
    options = base
    for placed in script.options:
        name, _, value = placed.text.removeprefix("--").partition("=")
        try:
            options = _with(options, name, value)
        except ValueError as error:
            what, _, remedy = str(error).partition("; ")
            raise ScriptError(script.file, placed.line, what, remedy or "write a number") from None
    definitions = {**options.definitions, **base.chosen.get("definitions", {})}
    return replace(options, **{**base.chosen, "definitions": definitions})


def definition(text: str) -> tuple[str, str]:
    """Return what `NAME=VALUE` defines: a number, a name, a text in quotes or a command in backticks.

    Raises:
        ValueError: If it defines nothing: "what; remedy".
    """
    name, equals, value = text.partition("=")
    if not equals or not name.isidentifier():
        raise ValueError(f"--define={text} defines nothing; write --define=NAME=VALUE")
    return name, value


_Number = TypeVar("_Number", int, float)


def _from_zero(name: str, value: str, kind: Callable[[str], _Number]) -> _Number:
    number: _Number | None
    try:
        number = kind(value)
    except ValueError:
        number = None
    if number is None or not 0 <= number < _BOUND:
        what = "number" if kind is float else "whole number"
        raise ValueError(f"--{name}={value[:20]} must be a {what}; write 0 or more, below {_BOUND}")
    return number


_BOUND: Final = 10**9


def _with(options: Options, name: str, value: str) -> Options:
    match name:
        case "tolerance_usecs":
            return replace(options, tolerance_us=_from_zero(name, value, int))
        case "tolerance_percent":
            return replace(options, tolerance_percent=_from_zero(name, value, float))
        case "tcp_ts_tick_usecs":
            return replace(options, tick_us=_from_zero(name, value, int))
        case "tcp_ts_ecr_scaled":
            return replace(options, ecr_scaled=True)
        case "define":
            return replace(options, definitions={**options.definitions, **dict([definition(value)])})
    if name not in _ONLY and name not in _WITHOUT_EFFECT.split():
        raise ValueError(f"the option --{name} is not supported; leave it out")
    if value not in _ONLY.get(name, (value,)):
        raise ValueError(f"--{name}={value} is not supported; use {_ONLY[name][0]}")
    return options
