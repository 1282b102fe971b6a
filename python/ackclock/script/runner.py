"""Runs a packet script against the endpoint, in virtual time."""

import textwrap
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ackclock.script import packets
from ackclock.script.host import Host
from ackclock.script.model import (
    Anything,
    Code,
    Command,
    Direction,
    Event,
    Moment,
    Name,
    Packet,
    Script,
    ScriptError,
    Syscall,
)
from ackclock.script.parse import parse
from ackclock.script.sockets import Outcome, Sockets
from ackclock.script.stack import Sent, Stack

_NS = 1_000_000_000
#: How early or late an event may be, as packetdrill has it.
_TOLERANCE_S = 0.004
#: How long to wait for a packet that may come at any time.
_PATIENCE_S = 600.0
_CA_STATES = {"TCP_CA_Open": 0, "TCP_CA_Disorder": 1, "TCP_CA_CWR": 2, "TCP_CA_Recovery": 3, "TCP_CA_Loss": 4}
_TCP_STATES = (
    "TCP_ESTABLISHED",
    "TCP_SYN_SENT",
    "TCP_SYN_RECV",
    "TCP_FIN_WAIT1",
    "TCP_FIN_WAIT2",
    "TCP_TIME_WAIT",
    "TCP_CLOSE",
    "TCP_CLOSE_WAIT",
    "TCP_LAST_ACK",
    "TCP_LISTEN",
    "TCP_CLOSING",
)
_STATE_NUMBERS = {name: number for number, name in enumerate(_TCP_STATES, 1)}


@dataclass(frozen=True, slots=True)
class Failure:
    """Why a script failed: at which line, what was expected, what happened instead."""

    line: int
    what: str
    expected: str = ""
    actual: str = ""


@dataclass(frozen=True, slots=True)
class TraceLine:
    """Something that happened, at a time in seconds."""

    time: float
    kind: str
    text: str


@dataclass(slots=True)
class Verdict:
    """The result of a script: it passed if there is no failure."""

    path: Path
    trace: list[TraceLine] = field(default_factory=list)
    failure: Failure | None = None

    @property
    def passed(self) -> bool:
        """True if everything was as the script says."""
        return self.failure is None


class _FailedError(Exception):
    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.what)
        self.failure = failure


@dataclass(slots=True)
class _Blocked:
    """A call that waits, and when it should return."""

    event: Event
    call: Syscall
    until: float


@dataclass(slots=True)
class _Run:
    script: Script
    stack: Stack
    sockets: Sockets
    verdict: Verdict
    tolerance: float
    namespace: dict[str, Any]
    timestamps: packets.Timestamps = field(default_factory=lambda: packets.Timestamps({}))
    blocked: list[_Blocked] = field(default_factory=list)
    last_time: float = 0.0
    seen: int = 0

    # ---- time

    def place(self, event: Event) -> str:
        return f"{self.script.path}:{event.line}"

    def at(self, moment: Moment, base: float) -> float:
        return base + moment.seconds if moment.relative else moment.seconds

    def run_until(self, time: float) -> None:
        until = round(time * _NS)
        while self.stack.step(until):
            self.note_sent()
            self.resume()

    def note_sent(self) -> None:
        for sent in list(self.stack.sent)[self.seen :]:
            self.note(">", packets.text_of(sent.segment))
        self.seen = len(self.stack.sent)

    def note(self, kind: str, text: str) -> None:
        self.verdict.trace.append(TraceLine(self.stack.now, kind, text))

    # ---- events

    def handle(self, event: Event) -> None:
        action = event.action
        if isinstance(action, Packet) and action.direction is Direction.OUTBOUND:
            return self.expect(event, action)
        time = self.last_time if event.when.first is None else self.at(event.when.first, self.last_time)
        self.run_until(time)
        self.last_time = time
        match action:
            case Packet():
                self.note("<", packets.text_of(packets.inbound(action, self.timestamps)))
                self.stack.deliver(packets.inbound(action, self.timestamps))
            case Syscall():
                self.call(event, action)
            case Command():
                self.stack.host.run(action.text, self.place(event))
            case Code():
                self.execute(event, action)
        self.note_sent()
        self.resume()

    def expect(self, event: Event, packet: Packet) -> None:
        base = self.last_time
        first = None if event.when.first is None else self.at(event.when.first, base)
        last = first if event.when.last is None else self.at(event.when.last, base)
        sent = self.next_sent(_PATIENCE_S + base if last is None else last + self.tolerance + 1e-9)
        if sent is None:
            raise self.failed(event, "the packet was not sent", _packet_text(packet), "nothing was sent")
        sent = self.assemble(sent, packet.payload)
        wrong = packets.differences(packet, sent.segment, self.timestamps, ends_data=sent.ends_data)
        if wrong:
            actual = f"{sent.time:.6f} {packets.text_of(sent.segment)}"
            raise self.failed(event, f"another packet was sent: {', '.join(wrong)}", _packet_text(packet), actual)
        if first is not None and last is not None and not first - self.tolerance <= sent.time <= last + self.tolerance:
            moment = f"{first:.6f} s" if last == first else f"{first:.6f} to {last:.6f} s"
            raise self.failed(event, "the packet was sent at another time", moment, f"{sent.time:.6f} s")
        self.last_time = sent.time if first is None else first

    def next_sent(self, until: float) -> Sent | None:
        limit = round(until * _NS)
        while not self.stack.sent:
            if not self.stack.step(limit):
                return None
            self.note_sent()
            self.resume()
        self.seen -= 1
        return self.stack.sent.popleft()

    def assemble(self, sent: Sent, payload: int) -> Sent:
        """One packet of the script may stand for several segments sent back to back, or for a part of one."""
        while sent.segment.payload < payload and self.stack.sent and self.stack.sent[0].time == sent.time:
            joined = packets.joined(sent.segment, self.stack.sent[0].segment)
            if joined is None or joined.payload > payload:
                break
            sent = Sent(sent.time, joined, self.stack.sent.popleft().ends_data)
            self.seen -= 1
        if 0 < payload < sent.segment.payload:
            head, rest = packets.split(sent.segment, payload)
            self.stack.sent.appendleft(Sent(sent.time, rest, sent.ends_data))
            self.seen += 1
            sent = Sent(sent.time, head, ends_data=False)
        return sent

    def call(self, event: Event, call: Syscall) -> None:
        outcome = self.sockets.call(call, self.place(event))
        if outcome is not None:
            return self.check_result(event, call, outcome)
        if not event.when.blocks or event.when.last is None:
            raise self.failed(event, f"{call.name}() blocks", _result_text(call), "it has not returned")
        self.note("~", f"{call.name}() waits")
        until = self.at(event.when.last, self.last_time)
        self.blocked.append(_Blocked(event, call, until))

    def resume(self) -> None:
        """Calls that waited may return now."""
        for waiting in list(self.blocked):
            outcome = self.sockets.call(waiting.call, self.place(waiting.event))
            if outcome is None:
                if self.stack.now > waiting.until + self.tolerance:
                    raise self.failed(waiting.event, f"{waiting.call.name}() still waits", f"{waiting.until:.6f} s", "")
                continue
            self.blocked.remove(waiting)
            self.note_sent()
            if abs(self.stack.now - waiting.until) > self.tolerance:
                expected, actual = f"{waiting.until:.6f} s", f"{self.stack.now:.6f} s"
                raise self.failed(waiting.event, f"{waiting.call.name}() returned at another time", expected, actual)
            self.check_result(waiting.event, waiting.call, outcome)

    def check_result(self, event: Event, call: Syscall, outcome: Outcome) -> None:
        errno = f" {outcome.errno}" if outcome.errno else ""
        self.note("=", f"{call.name}() = {outcome.value}{errno}")
        matches = isinstance(call.result, Anything) or call.result == outcome.value
        if call.errno != outcome.errno or not matches:
            raise self.failed(
                event, f"{call.name}() returned something else", _result_text(call), f"{outcome.value}{errno}"
            )
        if outcome.out is not None and not _fits(call.arguments, outcome.out):
            raise self.failed(event, f"{call.name}() gave something else", str(call.arguments), str(outcome.out))

    def execute(self, event: Event, code: Code) -> None:
        connection = self.stack.current
        if connection is not None:
            info = connection.endpoint.tcp_info()
            info["tcpi_state"] = _STATE_NUMBERS[info["tcpi_state"]]
            self.namespace.update(info)
        try:
            exec(compile(textwrap.dedent(code.text).strip(), self.place(event), "exec"), self.namespace)
        except AssertionError as error:
            used = sorted(name for name in self.namespace if name.startswith("tcpi_") and name in code.text)
            values = ", ".join(f"{name} = {self.namespace[name]}" for name in used)
            said = f" ({error})" if str(error) else ""
            raise self.failed(event, f"the assertion does not hold{said}", code.text.strip(), values) from None
        except Exception as error:
            name = type(error).__name__
            raise self.failed(event, f"the code fails: {name}: {error}", code.text.strip(), "") from None

    def failed(self, event: Event, what: str, expected: str = "", actual: str = "") -> _FailedError:
        return _FailedError(Failure(event.line, what, expected, actual))

    def finish(self) -> None:
        for waiting in list(self.blocked):
            self.run_until(waiting.until + self.tolerance)
            if waiting in self.blocked:
                raise self.failed(waiting.event, f"{waiting.call.name}() still waits", f"{waiting.until:.6f} s", "")


def run_script(path: Path, *, profile: str = "linux-6.x", overrides: dict[str, str] | None = None) -> Verdict:
    """Run one script file.

    Args:
        path: The file.
        profile: The stack profile to begin from.
        overrides: More options of the endpoint, as a scenario's paths (`tcp.sack`) and values.

    Raises:
        ScriptError: If the script cannot be read, or asks for what there is not.
        OSError: If the file cannot be read.
    """
    script = parse(path.read_text(), path)
    host = Host(profile)
    for line, command in script.setup:
        host.run(command.text, f"{path}:{line}")
    _apply_options(script, host)
    host.overrides.update(overrides or {})
    stack = Stack(host)
    verdict = Verdict(path)
    namespace: dict[str, Any] = {**_CA_STATES, **_STATE_NUMBERS, "TCP_INFINITE_SSTHRESH": 0x7FFFFFFF}
    tolerance = int(script.options.get("tolerance_usecs", _TOLERANCE_S * 1e6)) / 1e6
    run = _Run(script, stack, Sockets(stack), verdict, tolerance, namespace)
    try:
        for event in script.events:
            run.handle(event)
        run.finish()
    except _FailedError as error:
        verdict.failure = error.failure
    return verdict


def _apply_options(script: Script, host: Host) -> None:
    """Options at the head of a script that are not packetdrill's own business."""
    mtu = int(script.options.get("mtu", "1500") or 1500)
    if script.options.get("ip_version", "ipv4") not in ("ipv4", "ipv4_mapped_ipv6"):
        raise ScriptError(str(script.path), "is about IPv6", "the endpoint speaks IPv4; remove --ip_version")
    host.overrides["tcp.mss"] = str(mtu - 52)


def _packet_text(packet: Packet) -> str:
    parts = [f"[{packet.ecn}]"] if packet.ecn else []
    parts += [packet.flags, f"{packet.seq}:{packet.seq + packet.payload}({packet.payload})"]
    if packet.ack is not None:
        parts.append(f"ack {packet.ack}")
    if packet.window is not None:
        parts.append(f"win {packet.window}")
    options = packet.options
    if options is None:
        return " ".join([*parts, "<...>"])
    words = [f"mss {options.mss}"] if options.mss else []
    words += ["sackOK"] if options.sack_ok else []
    words += [f"TS val {options.timestamps[0]} ecr {options.timestamps[1]}"] if options.timestamps else []
    words += [f"wscale {options.wscale}"] if options.wscale is not None else []
    words += ["sack " + " ".join(f"{start}:{end}" for start, end in options.sack)] if options.sack else []
    return " ".join([*parts, *([f"<{','.join(words)}>"] if words else [])])


def _result_text(call: Syscall) -> str:
    result = "..." if isinstance(call.result, Anything) else str(call.result)
    return f"{result} {call.errno}" if call.errno else result


def _fits(arguments: object, out: object) -> bool:
    """True if the value that a call gives stands among its arguments as the script has them."""
    if isinstance(arguments, tuple):
        return arguments == out or any(_fits(item, out) for item in arguments)
    if isinstance(out, tuple) and len(out) == 1:
        return bool(arguments == out[0])
    return isinstance(arguments, Name) and arguments == out
