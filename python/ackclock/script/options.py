"""The `--name=value` lines of a script.

Source: packetdrill's own options and their defaults.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from ackclock.script.syntax import Script, ScriptError

_WITHOUT_EFFECT = """
    bind_port code_command code_format code_sockopt connect_port debug gateway_ip init_scripts local_ip mss mtu
    netmask_ip remote_ip send_omit_free speed verbose wire_client_dev wire_server_dev
"""


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
    """

    tolerance_us: int = 4_000
    tolerance_percent: float = 12.5
    tick_us: int = 0
    ecr_scaled: bool = False
    checks_echoes: bool = False
    definitions: Mapping[str, str] = field(default_factory=dict)

    def tolerance_after(self, span_us: int) -> int:
        """Return the tolerance of an event `span_us` after the one before."""
        return max(self.tolerance_us, int(span_us * self.tolerance_percent / 100))


STRICT = Options(tolerance_percent=0.0, checks_echoes=True)
"""For scripts against a simulated clock, which is never late."""


def with_options_of(script: Script, base: Options) -> Options:
    """Return options as a script changes them.

    Args:
        script: Whose option lines.
        base: What holds without.

    Raises:
        ScriptError: If an option is not known.
    """
    options = base
    for placed in script.options:
        name, _, value = placed.text.removeprefix("--").partition("=")
        try:
            options = _with(options, name, value.strip('"'))
        except ValueError as error:
            what, _, remedy = str(error).partition("; ")
            raise ScriptError(script.file, placed.line, what, remedy or "write a number") from None
    return options


def _with(options: Options, name: str, value: str) -> Options:
    match name:
        case "tolerance_usecs":
            return replace(options, tolerance_us=int(value))
        case "tolerance_percent":
            return replace(options, tolerance_percent=float(value))
        case "tcp_ts_tick_usecs":
            return replace(options, tick_us=int(value))
        case "tcp_ts_ecr_scaled":
            return replace(options, ecr_scaled=True)
        case "define":
            symbol, _, meaning = value.partition("=")
            return replace(options, definitions={**options.definitions, symbol: meaning.strip('"`')})
        case "ip_version" if value in ("ipv4", "ipv4-mapped-ipv6"):
            return options
        case "ip_version":
            raise ValueError(f"IP version {value} is not supported; use ipv4")
    if name in _WITHOUT_EFFECT.split():
        return options
    raise ValueError(f"the option --{name} is not supported; leave it out")
