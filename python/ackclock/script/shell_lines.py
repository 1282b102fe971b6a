"""Shell lines of a script, as changes of the machine under test. No shell is run: unknown commands are errors."""

import math
import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Sysctl:
    """Kernel parameter."""

    name: str
    value: str


@dataclass(frozen=True, slots=True)
class Sleep:
    """Pause."""

    microseconds: int


@dataclass(frozen=True, slots=True)
class InitialWindow:
    """Initial window of a route."""

    segments: int


@dataclass(frozen=True, slots=True)
class Discipline:
    """Queueing discipline of the interface."""

    name: str


Setting = Sysctl | Sleep | InitialWindow | Discipline

_DEFAULTS = """
    tcp_timestamps=1 tcp_syn_retries=5 tcp_synack_retries=5 tcp_frto=2 tcp_sack=1 tcp_dsack=1 tcp_fack=0
    tcp_reordering=3 tcp_congestion_control=cubic tcp_slow_start_after_idle=0 tcp_early_retrans=4 tcp_recovery=1
    tcp_tso_win_divisor=3 tcp_ecn=0 tcp_pacing_ss_ratio=200 tcp_pacing_ca_ratio=120
    tcp_notsent_lowat=4294967295 tcp_syncookies=1
"""
"""Parameters that packetdrill's `defaults.sh` sets to numbers, except those of Fast Open."""

DEFAULTS: tuple[Setting, ...] = (
    Sysctl("net.ipv4.tcp_rmem", "4096 540000 15728640"),
    Sysctl("net.ipv4.tcp_wmem", "4096 262144 4194304"),
    *(Sysctl(f"net.ipv4.{name}", value) for name, value in (text.split("=") for text in _DEFAULTS.split())),
    Discipline("pfifo"),
)
"""Settings that packetdrill's own scripts start from, as far as a script can notice them."""

_NO_EFFECT = ("true", "nstat", "cat", "echo", "sync")
_READING = ("nstat",)
_REDIRECTION = re.compile(r"\d?>>?\s*(&\d|\S+)")
_SINKS = ("/dev/null", "/dev/stdout", "/dev/stderr", "/tmp/")
_ARITHMETIC = re.compile(r"\$\(\(([\d\s*+-]+)\)\)")
_QUOTED_OR_SEPARATOR = re.compile(r"""("[^"]*"|'[^']*'|#[^\n]*)|\n|;|&&|\|\||&(?![\d>])""")
_MOST = 1 << 63
_QUEUES = ("fq", "fq_codel", "pfifo", "pfifo_fast", "noqueue")
_ROUTE_WORDS = "initcwnd|mtu|advmss|rtt|rttvar|reordering|window|cwnd|initrwnd|features|quickack|rto_min|congctl"


def settings(text: str) -> Iterator[Setting]:
    """Yield the changes that the lines of a command make.

    Raises:
        ValueError: If a command is unknown: "what; remedy".

    Examples:
        >>> list(settings("../common/defaults.sh; sysctl -q net.ipv4.tcp_sack=0"))
        [..., Discipline(name='pfifo'), Sysctl(name='net.ipv4.tcp_sack', value='0')]
    """
    joined = _ARITHMETIC.sub(lambda found: str(_calculated(found[1])), text.replace("\\\n", " "))
    for line in _QUOTED_OR_SEPARATOR.sub(lambda found: found[1] or "\0", joined).split("\0"):
        written = re.match(r"\s*echo\s+(.+?)\s*>\s*(/proc/sys/\S+|/sys/module/\S+)\s*$", line)
        if written:
            yield _sysctl(f"{written[2]}={written[1].strip(chr(34))}")
            continue
        metrics = re.findall(rf"\b({_ROUTE_WORDS})\s+(\w+)", line) if line.lstrip().startswith("ip ") else []
        if metrics:
            yield from _route(metrics)
            continue
        words = shlex.split(_REDIRECTION.sub("", line), comments=True)
        if words:
            _see_where_it_writes(line)
            yield from _command(words)


def _calculated(text: str) -> int:
    """Evaluate products, sums and differences, such as `15*1024*1024`."""
    total = 0
    for sign, product in re.findall(r"([+-]?)\s*(\d+(?:\s*\*\s*\d+)*)", text):
        total += math.prod(map(int, product.split("*"))) * (-1 if sign == "-" else 1)
    if total >= _MOST:
        raise ValueError(f"$(({text[:20]}...)) is too large; write less than 2^63")
    return total


def _route(metrics: list[tuple[str, str]]) -> Iterator[Setting]:
    for name, value in metrics:
        if name != "initcwnd":
            raise ValueError(f"the metric {name} of a route is not simulated; leave it out, initcwnd N alone is")
        if not value.isdigit():
            raise ValueError(f"initcwnd {value} must be a number of segments; write initcwnd 10")
        yield InitialWindow(int(value))


def _see_where_it_writes(line: str) -> None:
    for target in _REDIRECTION.findall(line):
        if not target.startswith(("&", *_SINKS)):
            raise ValueError(f"what is written to {target} is not simulated; write to /proc/sys/... or /dev/null")


def _command(words: list[str]) -> Iterator[Setting]:
    program, arguments = words[0].rsplit("/", 1)[-1], words[1:]
    if "|" in words and program not in _READING:
        raise ValueError(f"the pipe of {' '.join(words)!r} is not simulated; set parameters with sysctl name=value")
    if program == "defaults.sh":
        yield from DEFAULTS
    elif program == "set_sysctls.py":
        yield from (_sysctl(argument) for argument in arguments)
    elif program == "sysctl":
        yield from (_sysctl(word) for word in _sysctl_words(arguments))
    elif program == "sleep":
        yield Sleep(_microseconds(arguments))
    elif program == "ip" and arguments[:2] not in (["tcp_metrics", "flush"], ["tcpmetrics", "flush"]):
        raise ValueError(f"the command 'ip {' '.join(arguments)}' is not known; use ip route ... initcwnd N")
    elif program == "tc":
        yield from _tc(arguments)
    elif program not in (*_NO_EFFECT, "ip") and not program.startswith("sysctl_restore"):
        raise ValueError(f"the command {' '.join(words)!r} is not known; use sysctl, tc qdisc or ip route ... initcwnd")


def _microseconds(arguments: list[str]) -> int:
    total = 0.0
    for argument in arguments:
        found = re.fullmatch(r"(\d{1,12}\.?\d*|\.\d+)([smh]?)", argument)
        if not found:
            raise ValueError(f"'sleep {argument}' is not a time; write seconds, as in sleep 0.1")
        total += float(found[1]) * {"m": 60, "h": 3600}.get(found[2], 1)
    return round(total * 1e6)


def _sysctl_words(arguments: list[str]) -> Iterator[str]:
    """Yield the settings `a=b` or `a = b` of a sysctl command, skipping options."""
    if {"-p", "--load", "--system"} & set(arguments):
        raise ValueError("sysctl reads no files here; write its lines as sysctl name=value")
    plain = [word for word in arguments if not word.startswith("-")]
    for word in re.sub(r"\s*=\s*", "=", "\0".join(plain).replace("\0=\0", "=")).split("\0"):
        if "=" not in word and word:
            raise ValueError(f"sysctl {word} sets nothing; write {word}=VALUE, or leave it out")
        if word:
            yield word


def _sysctl(assignment: str) -> Sysctl:
    name, equals, value = assignment.partition("=")
    if not equals:
        raise ValueError(f"{assignment!r} sets nothing; write net.ipv4.name=value")
    place = name.strip().removeprefix("/proc/sys/").removeprefix("/sys/module/").replace("/parameters/", "/")
    return Sysctl(place.replace("/", "."), " ".join(value.split()))


def _tc(arguments: list[str]) -> Iterator[Setting]:
    if arguments[:1] == ["qdisc"] and arguments[1:2] in (["del"], ["delete"]) and "root" in arguments:
        yield Discipline("pfifo")  # as without any
        return
    known = next((index for index, word in enumerate(arguments) if word in _QUEUES), None)
    if arguments[:1] != ["qdisc"] or arguments[1:2] not in (["add"], ["replace"], ["change"]) or known is None:
        raise ValueError(f"the command 'tc {' '.join(arguments)}' is not known; use tc qdisc replace with fq or pfifo")
    if more := arguments[known + 1 :]:
        raise ValueError(f"'{' '.join(more)}' of tc qdisc {arguments[known]} is not simulated; leave it out")
    yield Discipline(arguments[known])
