"""Options of a script, its `--name=value` lines.

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
"""Options with only one supported value, as other values would have a visible effect."""


@dataclass(frozen=True, slots=True)
class Options:
    """Options of a script's evaluation.

    Attributes:
        tolerance_us: Allowed deviation of an event's time.
        tolerance_percent: Allowed deviation, as a share of the time since the previous event; the larger counts.
        tick_us: Tick of TSval in microseconds, to check its values; zero does not check them.
        ecr_scaled: Whether a TSecr that was never sent is derived from the first TSval.
        checks_echoes: Whether TSecr of sent packets is compared, which packetdrill does not do.
        definitions: Defined names with their values.
        chosen: Attributes that override the script's option lines, such as those from the command line.
    """

    tolerance_us: int = 4_000
    tolerance_percent: float = 12.5
    tick_us: int = 0
    ecr_scaled: bool = False
    checks_echoes: bool = False
    definitions: Mapping[str, str] = field(default_factory=dict)
    chosen: Mapping[str, Any] = field(default_factory=dict)

    def tolerance_after(self, span_us: int) -> int:
        """Return the tolerance of an event `span_us` after the previous one."""
        return max(self.tolerance_us, int(span_us * self.tolerance_percent / 100))


STRICT = Options(tolerance_percent=0.0, checks_echoes=True)
"""Options for a simulated clock, which is never late."""


def with_options_of(script: Script, base: Options) -> Options:
    """Return options updated by a script's option lines.

    Raises:
        ScriptError: If an option is unknown.
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
    """Parse a definition `NAME=VALUE`: a number, a name, a quoted text or a command in backticks.

    Raises:
        ValueError: If it is not a definition: "what; remedy".
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
