"""Lines for the shell as changes of the machine under test. No shell runs: what is not known here is an error."""

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Sysctl:
    """A kernel parameter.

    Attributes:
        name: With dots.
        value: As text.
    """

    name: str
    value: str


@dataclass(frozen=True, slots=True)
class Defaults:
    """The settings that packetdrill's own scripts start from."""


@dataclass(frozen=True, slots=True)
class InitialWindow:
    """The initial window of a route."""

    segments: int


@dataclass(frozen=True, slots=True)
class Discipline:
    """The queueing discipline of the interface."""

    name: str


Setting = Sysctl | Defaults | InitialWindow | Discipline

_NO_EFFECT = ("sleep", "true", "nstat", "cat", "echo", "sync")
_REDIRECTION = re.compile(r"\d?>>?\s*(?:&\d|\S+)")


def settings(text: str) -> Iterator[Setting]:
    """Yield what the lines of a command change.

    Args:
        text: One or more commands as the script has them.

    Raises:
        ValueError: If a command is not known: "what; remedy".

    Examples:
        >>> list(settings("../common/defaults.sh; sysctl -q net.ipv4.tcp_sack=0"))
        [Defaults(), Sysctl(name='net.ipv4.tcp_sack', value='0')]
    """
    joined = text.replace("\\\n", " ")
    for line in re.split(r"\n|;|&&|\|\|", joined):
        written = re.match(r"\s*echo\s+(.+?)\s*>\s*(/proc/sys/\S+)\s*$", line)
        if written:
            yield _sysctl(f"{written[2]}={written[1].strip(chr(34))}")
            continue
        initial_window = re.match(r"\s*ip\s.*\binitcwnd\s+(\d+)", line)
        if initial_window:
            yield InitialWindow(int(initial_window[1]))
            continue
        words = shlex.split(_REDIRECTION.sub("", line), comments=True)
        if words:
            yield from _command(words)


def _command(words: list[str]) -> Iterator[Setting]:
    program, arguments = words[0].rsplit("/", 1)[-1], words[1:]
    if program == "defaults.sh":
        yield Defaults()
    elif program == "set_sysctls.py":
        yield from (_sysctl(argument) for argument in arguments)
    elif program == "sysctl":
        yield from (_sysctl(word) for word in _sysctl_words(arguments))
    elif program == "ip" and arguments[:1] not in (["tcp_metrics"], ["tcpmetrics"], ["link"]):
        raise ValueError(f"the command 'ip {' '.join(arguments)}' is not known; use ip route ... initcwnd N")
    elif program == "tc":
        yield from _tc(arguments)
    elif program not in (*_NO_EFFECT, "ip") and not program.startswith("sysctl_restore"):
        raise ValueError(f"the command {' '.join(words)!r} is not known; use sysctl, tc qdisc or ip route ... initcwnd")


def _sysctl_words(arguments: list[str]) -> Iterator[str]:
    """`a=b`, `a = b` and options before them."""
    plain = [word for word in arguments if not word.startswith("-")]
    for word in re.sub(r"\s*=\s*", "=", "\0".join(plain).replace("\0=\0", "=")).split("\0"):
        if "=" in word:
            yield word


def _sysctl(assignment: str) -> Sysctl:
    name, equals, value = assignment.partition("=")
    if not equals:
        raise ValueError(f"{assignment!r} sets nothing; write net.ipv4.name=value")
    return Sysctl(name.strip().removeprefix("/proc/sys/").replace("/", "."), " ".join(value.split()))


def _tc(arguments: list[str]) -> Iterator[Setting]:
    known = [word for word in arguments if word in ("fq", "fq_codel", "pfifo", "pfifo_fast", "noqueue")]
    if arguments[:1] != ["qdisc"] or not known:
        raise ValueError(f"the command 'tc {' '.join(arguments)}' is not known; use tc qdisc with fq or pfifo")
    yield Discipline(known[0])
