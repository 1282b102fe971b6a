"""Runner of scripts: each event at its time, each packet and return value compared with the script.

Source: packetdrill's timing rules. An event with a relative time counts from when the previous event happened; for two
consecutive arriving packets, from their times in the script. A sent packet may be early or late by a tolerance, another
event late by a tolerance. A packet is awaited once the previous event is over. A blocking call continues beside further
events, until the next call.

Departures: Python code runs when its event comes, not after the script. A packet that never comes is a failure after
the backend's waiting time.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from ackclock.base.user_code import said as said_of
from ackclock.script.backend import Backend, Sent, Ticket
from ackclock.script.calls import CallError, Calls
from ackclock.script.constants import STATES
from ackclock.script.matching import Difference, differences, show
from ackclock.script.options import Options, with_options_of
from ackclock.script.packets import ACK, FIN, PSH, SYN, Packet
from ackclock.script.shell_lines import Sleep, settings
from ackclock.script.syntax import (
    Code,
    Command,
    Event,
    Script,
    ScriptError,
    SystemCall,
    TcpPacket,
    Timing,
)
from ackclock.script.translate import Numbers, TranslationError


@dataclass(frozen=True, slots=True)
class Step:
    """Step of a run, for the trace.

    Attributes:
        at_us: Time.
        kind: "<", ">", "call", "code" or "command".
        text: Text in script notation.
    """

    at_us: int
    kind: str
    text: str


@dataclass(frozen=True, slots=True)
class Failure:
    """Failure of a script.

    Attributes:
        event: Failed event.
        message: Reason, in one line.
        expected: Packet expected by the script, if that is what differs.
        actual: Packet sent, in the script's numbers; None if none was.
        differences: Differing fields.
        values: Values that code examined.
    """

    event: Event
    message: str
    expected: TcpPacket | None = None
    actual: Packet | None = None
    differences: tuple[Difference, ...] = ()
    values: Mapping[str, int] | None = None


@dataclass(frozen=True, slots=True)
class Verdict:
    """Outcome of a script.

    Attributes:
        script: The script.
        failure: Failure; None if it passed.
        steps: All steps, in order.
    """

    script: Script
    failure: Failure | None
    steps: tuple[Step, ...]

    @property
    def passed(self) -> bool:
        """True if everything matched the script."""
        return self.failure is None


class _Failed(Exception):
    def __init__(self, failure: Failure) -> None:
        self.failure = failure


def run(script: Script, backend: Backend, options: Options | None = None) -> Verdict:
    """Run a script to its end or its first failure.

    Args:
        script: The script.
        backend: Endpoint under test, closed afterwards.
        options: Options, updated by the script's own option lines.

    Raises:
        ScriptError: If the script uses an unsupported feature.
    """
    run_ = _Run(script, backend, with_options_of(script, options or Options()))
    try:
        failure = run_.to_end()
        run_.note_the_rest()
        return Verdict(script, failure, tuple(sorted(run_.steps, key=lambda step: step.at_us)))
    finally:
        backend.close()


@dataclass(frozen=True, slots=True)
class _Blocked:
    event: Event
    call: SystemCall
    ticket: Ticket
    end_us: int


class _Run:
    def __init__(self, script: Script, backend: Backend, options: Options) -> None:
        self.steps: list[Step] = []
        self._script, self._backend, self._options = script, backend, options
        self._calls = Calls(options.definitions)
        self._numbers = Numbers()
        self._listens = False
        self._connects = False
        self._blocked: _Blocked | None = None
        self._before: Event | None = None
        self._before_us = 0
        self._names: dict[str, Any] = dict(STATES)

    # ---- events and their times -------------------------------------------------------------------------------------

    def to_end(self) -> Failure | None:
        try:
            if self._script.init:
                self._apply(*self._script.init)
            for event in self._script.events:
                try:
                    self._take(event)
                except OverflowError:
                    what = "holds a number or a time that is too large, or below 0"
                    raise ScriptError(self._script.file, event.line, what, "write one from 0 to 2^62") from None
            self._join()
        except _Failed as failed:
            return failed.failure
        return None

    def _take(self, event: Event) -> None:
        time_us = self._time_of(event)
        match event.action:
            case TcpPacket(inbound=True):
                self._advance_to(event, time_us)
                self._arrive(event, event.action)
            case TcpPacket():
                self._expect(event, event.action, time_us)
            case SystemCall():
                self._join()
                self._advance_to(event, time_us)
                self._call(event, event.action, time_us)
            case Command():
                self._advance_to(event, time_us)
                self._note("command", event.action.line)
                self._apply(event.action, event.line)
            case Code():
                self._advance_to(event, time_us)
                self._run_code(event, event.action)
        self._before, self._before_us = event, time_us

    def _advance_to(self, event: Event, time_us: int) -> None:
        """Wait for the time of an event, which may have passed already if the previous packet was late."""
        self._backend.advance_to(time_us)
        late_us = self._backend.now_us - time_us
        if late_us > self._tolerance(time_us):
            raise _Failed(Failure(event, f"its turn comes at {seconds(time_us + late_us)}, not at {seconds(time_us)}"))

    def _time_of(self, event: Event) -> int:
        when = event.when
        if when.timing is Timing.ABSOLUTE:
            return when.start_us
        return self._base_of(event) + when.start_us

    def _base_of(self, event: Event) -> int:
        anchored = self._before is not None and _arrives(self._before) and _arrives(event)
        return self._before_us if anchored else self._backend.now_us

    def _tolerance(self, expected_us: int) -> int:
        return self._options.tolerance_after(max(0, expected_us - self._before_us))

    def _note(self, kind: str, text: str, at_us: int | None = None) -> None:
        self.steps.append(Step(self._backend.now_us if at_us is None else at_us, kind, " ".join(text.split())))

    def _wrong(self, line: int, error: ValueError) -> ScriptError:
        what, _, remedy = str(error).partition("; ")
        return ScriptError(self._script.file, line, what, remedy or "correct this line")

    # ---- packets ----------------------------------------------------------------------------------------------------

    def _arrive(self, event: Event, packet: TcpPacket) -> None:
        opens = packet.flags & (SYN | ACK) == SYN and self._listens
        answers = packet.flags & (SYN | ACK) == SYN | ACK and self._connects
        if opens or answers:
            self._numbers.remote_isn = packet.seq
            self._listens = self._connects = False
        self._note("<", show(packet))
        try:
            self._backend.inject(self._numbers.to_wire(packet, ecr_scaled=self._options.ecr_scaled))
        except TranslationError as error:
            raise _Failed(Failure(event, str(error))) from None
        except ValueError as error:
            raise self._wrong(event.line, error) from None

    def _expect(self, event: Event, expected: TcpPacket, time_us: int) -> None:
        end_us = time_us if event.when.end_us is None else time_us + event.when.end_us - event.when.start_us
        parts = self._collect(expected, end_us + self._backend.patience_us)
        if not parts:
            raise _Failed(Failure(event, "nothing was sent", expected=expected))
        actual = self._numbers.timestamps_to_script(expected, _joined([part.packet for part in parts]))
        if len(parts) > 1:
            # Where a kernel cuts its bursts, and so sets PSH, is no matter of the script's one packet.
            actual = replace(actual, flags=(actual.flags & ~PSH) | (expected.flags & PSH))
        self._note_sent(parts, actual)
        found = differences(expected, actual, self._options)
        failure = Failure(event, "", expected, actual, tuple(found))
        if found:
            fields = ", ".join(f"{one.field} {one.actual or 'none'} for {one.expected or 'none'}" for one in found)
            raise _Failed(replace(failure, message=f"the packet differs: {fields}"))
        for part in (parts[0], parts[-1]):
            self._check_time(failure, (time_us, end_us), part.at_us)

    def _note_sent(self, parts: list[Sent], joined: Packet) -> None:
        """Record each segment separately, with the options in the script's notation."""
        for part in parts:
            self._note(">", show(replace(part.packet, options=joined.options)), part.at_us)

    def note_the_rest(self) -> None:
        """Record further packets sent so far that the script does not mention."""
        while sent := self._backend.next_sent(self._backend.now_us):
            self._note(">", f"{show(self._numbers.to_script(sent.packet))}  (not in the script)", sent.at_us)

    def _collect(self, expected: TcpPacket, until_us: int) -> list[Sent]:
        """Return the next packet, and those that continue it without a gap, as far as the script has them as one."""
        parts: list[Sent] = []
        total = 0
        while not parts or total < expected.payload:
            sent = self._backend.next_sent(until_us)
            if sent is None:
                break
            if not parts:
                self._numbers.learn_sent(expected, sent.packet)
            packet = self._numbers.to_script(sent.packet)
            if parts and packet.seq != (parts[0].packet.seq + total) % (1 << 32):
                break
            parts.append(Sent(sent.at_us, packet))
            total += packet.payload
            if packet.payload == 0:
                break
        return parts

    def _check_time(self, failure: Failure, span_us: tuple[int, int], at_us: int) -> None:
        if failure.event.when.timing is Timing.ANY:
            return
        tolerance = self._tolerance(span_us[0])
        if span_us[0] - tolerance <= at_us <= span_us[1] + tolerance:
            return
        wanted = seconds(span_us[0]) if span_us[0] == span_us[1] else f"{seconds(span_us[0])} to {seconds(span_us[1])}"
        message = f"sent at {seconds(at_us)} for {wanted}, tolerance {seconds(tolerance)}"
        raise _Failed(replace(failure, message=message))

    # ---- system calls -----------------------------------------------------------------------------------------------

    def _call(self, event: Event, call: SystemCall, time_us: int) -> None:
        try:
            request = self._calls.request(call)
        except CallError as error:
            raise self._wrong(event.line, error) from None
        self._listens = self._listens or request.name == "listen"
        self._connects = self._connects or request.name == "connect"
        try:
            ticket = self._backend.begin(request, blocks=call.end_us is not None)
        except ValueError as error:
            raise self._wrong(event.line, error) from None
        if call.end_us is None:
            self._finish(event, call, ticket)
        else:
            end_us = (
                call.end_us if event.when.timing is Timing.ABSOLUTE else time_us - event.when.start_us + call.end_us
            )
            self._blocked = _Blocked(event, call, ticket, end_us)

    def _finish(self, event: Event, call: SystemCall, ticket: Ticket) -> None:
        if ticket.outcome is None:
            ticket.settle(self._backend.now_us + self._tolerance(self._backend.now_us))
        outcome = ticket.outcome
        if outcome is None:
            self._note("call", event.text)
            raise _Failed(Failure(event, f"{call.name} blocks where it must return at once"))
            return
        shown = f"{outcome.result} {outcome.errno}" if outcome.errno else str(outcome.result)
        self._note("call", f"{_call_text(event, call)} = {shown}", ticket.finished_us)
        found = self._calls.differences(call, outcome)
        if found:
            raise _Failed(Failure(event, "; ".join(found)))

    def _join(self) -> None:
        """Wait for the blocking call, if there is one, and check that it ends in time."""
        blocked, self._blocked = self._blocked, None
        if blocked is None:
            return
        blocked.ticket.settle(blocked.end_us + self._backend.patience_us)
        if blocked.ticket.outcome is None:
            raise _Failed(
                Failure(blocked.event, f"{blocked.call.name} still blocks; it must return at {seconds(blocked.end_us)}")
            )
        self._finish(blocked.event, blocked.call, blocked.ticket)
        late = abs(blocked.ticket.finished_us - blocked.end_us)
        if late > self._options.tolerance_after(blocked.end_us - self._before_us):
            returned = seconds(blocked.ticket.finished_us)
            raise _Failed(
                Failure(blocked.event, f"{blocked.call.name} returns at {returned}, not at {seconds(blocked.end_us)}")
            )

    # ---- commands and code ------------------------------------------------------------------------------------------

    def _apply(self, command: Command, line: int) -> None:
        try:
            for setting in settings(self._text_of(command)):
                if isinstance(setting, Sleep):
                    self._sleep(setting)
                else:
                    self._backend.apply(setting)
        except ValueError as error:
            raise self._wrong(line, error) from None

    def _text_of(self, command: Command) -> str:
        if not command.is_name:
            return command.line
        meaning = self._options.definitions.get(command.line, "")
        if not (meaning.startswith("`") and meaning.endswith("`") and len(meaning) > 1):
            raise ValueError(
                f"{command.line} is not a command; write --define={command.line}=`...`, or a packet or call"
            )
        return meaning[1:-1]

    def _sleep(self, setting: Sleep) -> None:
        """Sleep before the script; its clock starts after the command before its first event."""
        if self._before is not None or self.steps:
            self._backend.advance_to(self._backend.now_us + setting.microseconds)

    def _run_code(self, event: Event, code: Code) -> None:
        try:
            info = {f"tcpi_{name}": value for name, value in self._backend.tcp_info().items()}
        except ValueError as error:
            raise self._wrong(event.line, error) from None
        self._names.update(info)
        self._note("code", code.source)
        file = f"{self._script.file}:{event.line}"
        try:
            exec(compile(code.source, file, "exec"), self._names)
        except AssertionError as error:
            said = f" ({error})" if str(error) else ""
            raise _Failed(Failure(event, f"assertion failed{said}", values=_mentioned(code.source, info))) from None
        except (Exception, SystemExit) as error:
            raise _Failed(Failure(event, said_of(error), values=_mentioned(code.source, info))) from None


def _mentioned(source: str, info: Mapping[str, int]) -> dict[str, int]:
    return {name: value for name, value in info.items() if name in source}


def _call_text(event: Event, call: SystemCall) -> str:
    """Return a call as in the script, without time and result."""
    written = re.search(rf"({call.name}\s*\(.*\))\s*=[^=]*$", event.text)
    return written[1] if written else f"{call.name}(...)"


def _arrives(event: Event) -> bool:
    return isinstance(event.action, TcpPacket) and event.action.inbound


_ENDING = PSH | FIN


def _joined(parts: list[Packet]) -> Packet:
    """Merge adjacent segments into one packet, with the flags of the last segment at its end."""
    first, last = parts[0], parts[-1]
    flags = first.flags & ~_ENDING | last.flags & _ENDING
    return replace(first, flags=flags, payload=sum(part.payload for part in parts))


def seconds(time_us: int) -> str:
    """Format a time in seconds.

    Examples:
        >>> seconds(1_234_500)
        '1.234500 s'
    """
    return f"{time_us / 1e6:.6f} s"
