"""Conversion of a kernel's run of a case to a packet script, with the peer's part at fixed times."""

from collections.abc import Iterable, Iterator
from dataclasses import replace

from .cases import MSS, Write
from .compare import Comparison
from .play import COMPARED, SETTINGS, SHIFT, WINDOW, Departure, Play, in_order

_TOGETHER_US, _AT_ONCE_US = 1_500, 2_000
_EARLY_US, _LATE_US = 8_000, 8_000
"""Tolerance before and after each event, as kernel timers have ticks of some milliseconds."""


def script_of(found: Comparison) -> str:
    """Return a script that the kernel passes and a differing endpoint fails; it ends where the two diverge.

    Scripts cannot check which timestamp an ACK echoes.
    """
    case = found.case
    sysctls = " ".join(f"{name}={value.replace(' ', ',')}" for name, value in SETTINGS.items() if " " not in value)
    until = found.parting.moment + 1 if found.parting else len(found.theirs.moments)
    rtt_s, sack = case.rtt_us / 1e6, "sackOK" if case.has_sack else "nop,nop"
    lines = [
        f"// Seed {case.seed} of `ackclock script --differential`: {case}.",
        f"// {found.parting.message if found.parting else 'No difference'}, as simulated for as Linux has it.",
        f"`../common/defaults.sh; sysctl -q {sysctls} net.ipv4.tcp_timestamps=0 net.ipv4.tcp_slow_start_after_idle=1"
        f" net.ipv4.tcp_congestion_control={case.controller}`",
        "    0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3",
        "   +0 setsockopt(3, SOL_SOCKET, SO_SNDBUF, [4000000], 4) = 0",
        "   +0 bind(3, ..., ...) = 0",
        "   +0 listen(3, 1) = 0",
        f"   +0 < {'SEW' if case.marks else 'S'} 0:0(0) win 65535 <mss 1000,{sack},nop,nop,nop,wscale {SHIFT}>",
        f"   +0 > {'SE.' if case.marks else 'S.'} 0:0(0) ack 1 <...>",
        f" +{rtt_s:g} < . 1:1(0) ack 1 win {WINDOW}",
        "   +0 accept(3, ..., ...) = 4",
        *_events(replace(found.theirs, moments=found.theirs.moments[:until]), case.writes),
    ]
    return "\n".join(lines) + "\n"


def _events(played: Play, writes: Iterable[Write]) -> Iterator[str]:
    last_us = 0
    waiting = list(played.departures)
    writing = iter(writes)
    for number, (event_us, moment) in enumerate(in_order(played)):
        if moment is None and played.moments and event_us > played.moments[-1].at_us:
            break
        due = [sent for sent in waiting if sent.at_us < event_us]
        waiting = waiting[len(due) :]
        for first, last in _joined(due):
            at_us, start, end = first.at_us, first.start, last.end
            flags = ("P" if last.is_pushed else "") + ("W" if first.has_cwr else "") + "."
            since = max(0, at_us - last_us)
            when = "   +0" if since < _AT_ONCE_US else _about(since)
            yield f"{when} > {flags} {start + 1}:{end + 1}({end - start}) ack 1"
            last_us = last_us if since < _AT_ONCE_US else at_us  # a script's next time counts from when the packet left
        when = f"+{max(0, event_us - last_us) / 1e6:.6f}" if number else "  +.1"
        last_us = event_us
        if moment is None:
            write = next(writing)
            octets = (write.end - write.first) * MSS
            yield f"{when} write(4, ..., {octets}) = {octets}"
            continue
        edges = " ".join(f"{start + 1}:{end + 1}" for start, end in moment.answer.blocks)
        sack = f" <nop,nop,sack {edges}>" if edges else ""
        flags = "E." if moment.answer.echoes else "."
        yield f"{when} < {flags} 1:1(0) ack {moment.answer.ack + 1} win {WINDOW}{sack}"
    if played.moments:
        state = played.moments[-1].state
        wanted = " and ".join(f"tcpi_{name} == {state[name]}" for name in COMPARED)
        shown = ", ".join(f"tcpi_{name}" for name in COMPARED)
        yield f"+.000300 %{{ assert {wanted}, ({shown}) }}%"


def _about(since_us: int) -> str:
    return f"+{max(0, since_us - _EARLY_US) / 1e6:.6f}~+{(since_us + _LATE_US) / 1e6:.6f}"


def _joined(departures: list[Departure]) -> Iterator[tuple[Departure, Departure]]:
    """Yield the first and the last of segments that left together, in order."""
    first: Departure | None = None
    last: Departure | None = None
    for sent in departures:
        tells = sent.has_cwr or (first is not None and first.has_cwr)
        if first and last and not tells and last.end == sent.start and sent.at_us - first.at_us < _TOGETHER_US:
            last = sent
            continue
        if first and last:
            yield first, last
        first = last = sent
    if first and last:
        yield first, last
