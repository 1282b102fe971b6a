"""Parser of packet scripts.

Source: packetdrill's language, from its documentation and its parser's behaviour.

Departures: packets other than TCP over IPv4 or IPv6, fuzzing and ports of other connections are refused by name.
"""

from functools import cache
from importlib.resources import files
from itertools import pairwise
from typing import Any, Final

from lark import Lark, Token, Transformer, Tree, UnexpectedInput, v_args
from lark.exceptions import VisitError
from lark.tree import Meta

from ackclock.script import syntax
from ackclock.script.packets import flags_of_letters, options_length
from ackclock.script.syntax import (
    US_PER_S,
    Code,
    Command,
    EcnCheck,
    Either,
    Ellipsis_,
    Event,
    Integer,
    IpInfo,
    Name,
    Option,
    Placed,
    Script,
    ScriptError,
    SystemCall,
    TcpPacket,
    Text,
    Timing,
    Value,
    When,
)

_MOST: Final = 0xFFFF
"""Size of the largest IPv4 packet, octets."""


def parse(text: str, file: str = "<text>") -> Script:
    """Parse a script.

    Raises:
        ScriptError: If it is not a packet script, or uses an unsupported feature.
    """
    try:
        tree = _parser().parse(text)
    except UnexpectedInput as error:
        raise _syntax_error(text, file, error) from None
    try:
        script: Script = _Reader(text, file).transform(tree)
    except VisitError as error:
        if isinstance(error.orig_exc, ScriptError):
            raise error.orig_exc from None
        if not isinstance(error.orig_exc, ValueError):
            raise
        what = "a number of thousands of digits is in it"  # all that may be wrong with what the grammar takes for one
        raise ScriptError(file, _line_of(error.obj), what, "write a smaller one") from None
    except RecursionError:
        raise ScriptError(file, 1, "values are nested too deeply", "nest them less") from None
    return script


def _line_of(place: Tree[Any] | Token) -> int:
    line = place.line if isinstance(place, Token) else getattr(place.meta, "line", None)
    return line or 1


@cache
def _parser() -> Lark:
    grammar = files(__package__).joinpath("grammar.lark").read_text(encoding="utf-8")
    return Lark(grammar, parser="lalr", lexer="contextual", propagate_positions=True)


def _syntax_error(text: str, file: str, error: UnexpectedInput) -> ScriptError:
    lines = text.splitlines() or [""]
    line = error.line if error.line and error.line > 0 else len(lines)
    shown = lines[min(line, len(lines)) - 1].strip()
    column = error.column if error.column and error.column > 0 else 1
    rest = lines[min(line, len(lines)) - 1][column - 1 :].strip() or "the end"
    is_at_end = getattr(getattr(error, "token", None), "type", "") == "$END"
    where = f"after {shown[-40:]!r}" if shown and not shown.startswith("//") else "without an event"
    wrong = f"ends {where}" if is_at_end else f"cannot be read from {rest[:40]!r} on, in {shown[:80]!r}"
    return ScriptError(
        file,
        line,
        f"the script {wrong}",
        "write an event, such as +0 > S 0:0(0) <mss 1460>; see packetdrill's syntax",
    )


def microseconds(number: str) -> int:
    """Return a time in seconds as whole microseconds, exactly.

    Examples:
        >>> microseconds("0.1"), microseconds(".000001"), microseconds("2")
        (100000, 1, 2000000)
    """
    whole, _, fraction = number.partition(".")
    return int(whole or "0") * US_PER_S + int((fraction + "000000")[:6])


class _Reader(Transformer[Token, Any]):
    """Transformer that builds values from the leaves up."""

    def __init__(self, text: str, file: str) -> None:
        super().__init__()
        self._text, self._file = text, file

    def _error(self, token: Token, message: str, remedy: str) -> ScriptError:
        return ScriptError(self._file, token.line or 1, message, remedy)

    def _number(self, token: Token, bits: int, what: str) -> int:
        number = int(token)
        if number >> bits:
            raise self._error(token, f"{what} has {bits} bits", f"write 0 to {(1 << bits) - 1}")
        return number

    # ---- the whole --------------------------------------------------------------------------------------------------

    def start(self, children: list[Any]) -> Script:
        events = tuple(child for child in children if isinstance(child, Event))
        tokens = [child for child in children if isinstance(child, Token)]
        options = tuple(Placed(str(token), token.line or 1) for token in tokens if token.type == "OPTION")
        first = next(index for index, child in enumerate(children) if isinstance(child, Event))
        before = [token for token in children[:first] if token.type != "OPTION"]
        init = (_command(before[0]), before[0].line or 1) if before else None
        for event, later in pairwise(events):
            if event.when.timing is later.when.timing is Timing.ABSOLUTE and later.when.start_us < event.when.start_us:
                what = "the time of this event is before that of the event above it"
                raise ScriptError(self._file, later.line, what, "write events in the order of their times")
        return Script(self._file, options, init, events)

    @v_args(tree=True)
    def event(self, tree: Tree[Any]) -> Event:
        when, action = _when_and_action(tree)
        meta = tree.meta
        if not (isinstance(action, TcpPacket) and not action.inbound) and (
            when.timing is Timing.ANY or when.end_us is not None
        ):
            raise ScriptError(
                self._file, meta.line, "only a packet that is sent may come in a range of time", "give one"
            )
        text = " ".join(self._text[meta.start_pos : meta.end_pos].split())
        return Event(when, action, meta.line, text)

    # ---- times ------------------------------------------------------------------------------------------------------

    def after(self, children: list[Token]) -> When:
        return When(Timing.RELATIVE, microseconds(children[0]))

    def at(self, children: list[Token]) -> When:
        return When(Timing.ABSOLUTE, microseconds(children[0]))

    def whenever(self, _children: list[Token]) -> When:
        return When(Timing.ANY)

    def between(self, children: list[Token]) -> When:
        return self._range(Timing.ABSOLUTE, children)

    def between_after(self, children: list[Token]) -> When:
        return self._range(Timing.RELATIVE, children)

    def _range(self, timing: Timing, children: list[Token]) -> When:
        start, end = (microseconds(child) for child in children)
        if end < start:
            raise self._error(children[0], "the range of time ends before it starts", "swap its ends")
        return When(timing, start, end)

    # ---- actions ----------------------------------------------------------------------------------------------------

    def command(self, children: list[Token]) -> Command:
        return _command(children[0])

    def code(self, children: list[Token]) -> Code:
        return Code(str(children[0])[2:-2].strip(" \t"))

    def call(self, children: list[Any]) -> SystemCall:
        children = list(children)
        end = microseconds(children.pop(0)) if _is(children[0], "NUMBER") else None
        name = str(children.pop(0))
        tail = [child for child in children if _is(child, "NAME")]
        values = [child for child in children if not isinstance(child, Token)]
        return SystemCall(name, tuple(values[:-1]), values[-1], str(tail[0]) if tail else None, end)

    def packet(self, children: list[Any]) -> TcpPacket:
        direction = children[0]
        ip = self._ip_info(children[1]) if _is(children[1], "IP_INFO") else IpInfo()
        last = children[-1]
        if _is(last, "OTHER_PACKET"):
            raise self._error(last, f"{last.split()[0]} packets are not supported", "use TCP packets only")
        inbound = direction == "<"
        if inbound and last["payload"] > _MOST - (length := 40 + options_length(last["options"] or ())):
            message = f"a packet of IPv4 has room for {_MOST - length} octets of payload after these headers"
            raise self._error(direction, message, "write a shorter one")
        if inbound and last["options"] is None:
            raise self._error(direction, "<...> is for packets that are sent", "write the options of this packet")
        if inbound and last["window"] is None:
            raise self._error(direction, "a packet that arrives needs a window", "add win and a number")
        if inbound and ip.ecn is EcnCheck.ANY_ECT:
            raise self._error(direction, "[ect01] is for packets that are sent", "write [ect0] or [ect1]")
        return TcpPacket(inbound=inbound, ip=ip, **last)

    def tcp(self, children: list[Any]) -> dict[str, Any]:
        tokens = [child for child in children if isinstance(child, Token)]
        flags, first, end, payload = tokens
        start, end_ = (self._number(token, 32, "a sequence number") for token in (first, end))
        payload_ = self._number(payload, 16, "the length of a packet")
        if end_ != (start + payload_) % 2**32:
            remedy = f"write {start}:{start + payload_}({payload_})"
            raise self._error(first, f"{start}:{end_}({payload_}) does not add up", remedy)
        parts: dict[str, Any] = dict(child for child in children if isinstance(child, tuple))
        return {
            "flags": flags_of_letters(str(flags)),
            "ace": any(digit in flags for digit in "1234567"),
            "seq": start,
            "payload": payload_,
            "ack": parts.get("ack", 0),
            "window": parts.get("window"),
            "urgent": parts.get("urgent", 0),
            "options": parts.get("options", ()),
        }

    def ports(self, children: list[Token]) -> None:
        raise self._error(children[0], "packets of another connection are not supported", "leave the ports out")

    def fuzz(self, children: list[Token]) -> None:
        raise self._error(children[0], "mutated packets are not supported", "leave the braces out")

    def ack(self, children: list[Token]) -> tuple[str, int]:
        return "ack", self._number(children[0], 32, "an acknowledgement number")

    def window(self, children: list[Token]) -> tuple[str, int]:
        if int(children[0]) > 0xFFFF:
            raise self._error(children[0], "the window field has 16 bits", "write the number before scaling")
        return "window", int(children[0])

    def urgent(self, children: list[Token]) -> tuple[str, int]:
        return "urgent", self._number(children[0], 16, "the urgent pointer")

    def _ip_info(self, token: Token) -> IpInfo:
        found: dict[str, Any] = {}
        for part in token[1:-1].split(","):
            words = part.split()
            if words[0] in _ECN and len(words) == 1:
                found["ecn"] = _ECN[words[0]]
            elif words[0] in ("tos", "ttl") and len(words) == 2:
                found[words[0]] = self._octet(token, words[1])
            else:
                raise self._error(token, f"{part.strip()!r} is not supported", "write ECN, tos or ttl")
        return IpInfo(**found)

    def _octet(self, token: Token, text: str) -> int:
        try:
            number = int(text, 0)
        except ValueError:
            number = -1
        if not 0 <= number <= 0xFF:
            raise self._error(token, f"{text!r} is not an octet", "write 0 to 255, or 0x00 to 0xff")
        return number

    # ---- TCP options ------------------------------------------------------------------------------------------------

    @v_args(meta=True)
    def options(self, meta: Meta, children: list[Option]) -> tuple[str, tuple[Option, ...]]:
        length = options_length(tuple(children))
        if length % 4 or length > 40:
            message = f"the TCP options take {length} octets"
            raise ScriptError(self._file, meta.line, message, "make it a multiple of four, with nop, and at most 40")
        return "options", tuple(children)

    def any_options(self, _children: list[Any]) -> tuple[str, None]:
        return "options", None

    def nop(self, _children: list[Token]) -> Option:
        return Option(syntax.NOP)

    def eol(self, _children: list[Token]) -> Option:
        return Option(syntax.EOL)

    def mss(self, children: list[Token]) -> Option:
        return Option(syntax.MSS, (self._number(children[0], 16, "an MSS"),))

    def wscale(self, children: list[Token]) -> Option:
        return Option(syntax.WSCALE, (self._number(children[0], 8, "a window scale"),))

    def sack_ok(self, _children: list[Token]) -> Option:
        return Option(syntax.SACK_OK)

    def sack(self, children: list[Token]) -> Option:
        return Option(syntax.SACK, tuple(self._number(child, 32, "the end of a SACK block") for child in children))

    def timestamps(self, children: list[Token]) -> Option:
        return Option(syntax.TIMESTAMPS, tuple(self._number(child, 32, "a timestamp") for child in children))

    def accurate_ecn(self, children: list[Token]) -> Option:
        names, counts = tuple(str(name) for name in children[::2]), children[1::2]
        for kind, order in syntax.ACCURATE_ORDERS.items():
            if names == order[: len(names)]:
                return Option(kind, tuple(self._number(count, 24, "a counter of accurate ECN") for count in counts))
        raise self._error(
            children[0], f"{' '.join(names)} is not an order of counters", "write e0b, ceb, e1b or e1b, ceb, e0b"
        )

    def md5(self, children: list[Token]) -> Option:
        raise self._error(children[0], "the MD5 option is not supported", "leave it out")

    @v_args(meta=True)
    def fast_open(self, meta: Meta, _children: list[Token]) -> Option:
        raise ScriptError(self._file, meta.line, "TCP Fast Open is not supported", "leave the FO option out")

    fast_open_experimental = fast_open

    # ---- values -----------------------------------------------------------------------------------------------------

    def ellipsis(self, _children: list[Token]) -> Value:
        return Ellipsis_()

    def integer(self, children: list[Token]) -> Value:
        return Integer(int(children[0], 16 if children[0].startswith("0x") else 10))

    def name(self, children: list[Token]) -> Value:
        return Name(str(children[0]))

    def either(self, children: list[Value]) -> Value:
        first, second = children
        return Either((*first.terms, second) if isinstance(first, Either) else (first, second))

    def field(self, children: list[Any]) -> tuple[str, Value]:
        return str(children[0]), children[-1]

    def counted_field(self, children: list[Any]) -> tuple[str, Value]:
        return str(children[0]), children[-1]

    def port(self, children: list[Token]) -> Value:
        return Integer(int(children[0]))

    def address(self, children: list[Token]) -> Value:
        return Text(str(children[0])[1:-1])

    def text(self, children: list[Token]) -> Value:
        return Text("".join(str(child)[1:-1] for child in children))

    def sequence(self, children: list[Value]) -> Value:
        return syntax.Sequence(tuple(children))

    def struct(self, children: list[Any]) -> Value:
        items = tuple(child for child in children if not isinstance(child, tuple))
        return syntax.Struct(items, tuple(child for child in children if isinstance(child, tuple)))


def _when_and_action(tree: Tree[Any]) -> tuple[When, TcpPacket | SystemCall | Command | Code]:
    when, action = tree.children
    assert isinstance(when, When)
    assert isinstance(action, TcpPacket | SystemCall | Command | Code)
    return when, action


_ECN = {
    "noecn": EcnCheck.NOT_ECT,
    "ect0": EcnCheck.ECT0,
    "ect1": EcnCheck.ECT1,
    "ce": EcnCheck.CE,
    "ect01": EcnCheck.ANY_ECT,
}


def _is(child: object, kind: str) -> bool:
    return isinstance(child, Token) and child.type == kind


def _command(token: Token) -> Command:
    return Command(str(token), is_name=True) if token.type == "NAME" else Command(str(token)[1:-1])
