"""Reads a packet script: packetdrill's language, as far as it concerns TCP packets, socket calls, commands and code."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

from lark import Lark, Token, Transformer, UnexpectedInput

from ackclock.script.model import (
    Anything,
    Code,
    Command,
    Direction,
    Event,
    Moment,
    Name,
    Options,
    Packet,
    Script,
    ScriptError,
    Struct,
    Syscall,
    Value,
    When,
)

_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/|(?m:^\s*#[^\n]*)|(`[^`]*`|%\{.*?\}%|\"(?:\\.|[^\"\\\n])*\")", re.DOTALL)
_NUMBER = r"[0-9]+(?:\.[0-9]+)?(?:e-?[0-9]+)?|\.[0-9]+"
_MOMENT = rf"\+?(?:{_NUMBER})"
_TIME = re.compile(rf"(?P<any>\*)|(?P<first>{_MOMENT})(?:\s*(?P<join>~|\.\.\.)\s*(?P<last>{_MOMENT}))?")
# An event begins with its time; a command or a piece of code may stand alone.
_EVENT = re.compile(rf"(?m)^[ \t]*(?=(?:\*|{_MOMENT}(?:\s*(?:~|\.\.\.)\s*{_MOMENT})?)\s*(?:[<>`\w]|%\{{)|`|%\{{)")
_OPTION = re.compile(r"(?m)^[ \t]*--([\w-]+)(?:=(\S*))?[ \t]*$")
_OPAQUE = re.compile(r"`[^`]*`|%\{.*?\}%", re.DOTALL)
_ECN_WORDS = ("ect0", "ect1", "ce", "noecn")


def parse(text: str, path: Path) -> Script:
    """Read a script.

    Raises:
        ScriptError: If a line cannot be understood, or concerns what is no matter of TCP.
    """
    plain = _COMMENT.sub(lambda match: match[1] or re.sub(r"[^\n]", " ", match[0]), text)
    options: dict[str, str] = {}

    def take_option(match: re.Match[str]) -> str:
        options[match[1]] = match[2] or ""
        return " " * len(match[0])

    plain = _OPTION.sub(take_option, plain)
    setup: list[tuple[int, Command]] = []
    events: list[Event] = []
    for line, chunk in _chunks(plain, path):
        event = _event(line, chunk, path)
        if isinstance(event.action, Command) and not events:
            setup.append((line, event.action))
        else:
            events.append(event)
    return Script(path, text, options, tuple(setup), tuple(events))


def _chunks(text: str, path: Path) -> Iterator[tuple[int, str]]:
    """Each event's text, with the line that it begins on."""
    opaque = [match.span() for match in _OPAQUE.finditer(text)]
    inside = [start for start, end in opaque for start in range(start + 1, end)]
    hidden = set(inside)
    starts = [match.end() for match in _EVENT.finditer(text) if match.end() not in hidden]
    before = text[: starts[0]] if starts else text
    if before.strip():
        line = text[: len(before) - len(before.lstrip())].count("\n") + 1
        raise ScriptError(f"{path}:{line}", f"{before.split()[0]!r} begins no event", "begin with a time, as in +0")
    for start, end in zip(starts, [*starts[1:], len(text)], strict=True):
        yield text[:start].count("\n") + 1, text[start:end].strip()


def _event(line: int, text: str, path: Path) -> Event:
    place = f"{path}:{line}"
    when, rest = _time(text)
    if rest.startswith("`"):
        return Event(line, when, Command(rest.strip("`").strip()))
    if rest.startswith("%{"):
        return Event(line, when, Code(rest.removeprefix("%{").removesuffix("}%")))
    if rest[:1] in ("<", ">"):
        return Event(line, when, _packet(rest, place))
    return Event(line, when, _call(rest, place))


def _time(text: str) -> tuple[When, str]:
    match = _TIME.match(text) if text[:1] not in ("`", "%") else None
    if match is None:
        return When(Moment(0.0, relative=True)), text
    rest = text[match.end() :].strip()
    if match["any"]:
        return When(None), rest
    last = _moment(match["last"]) if match["last"] else None
    return When(_moment(match["first"]), last, blocks=match["join"] == "..."), rest


def _moment(text: str) -> Moment:
    return Moment(float(text.lstrip("+")), relative=text.startswith("+"))


# ---- packets --------------------------------------------------------------------------------------------------------


class _PacketReader(Transformer[Token, Any]):
    def ack(self, items: list[Token]) -> tuple[str, int]:
        return "ack", int(items[0])

    def window(self, items: list[Token]) -> tuple[str, int]:
        return "window", int(items[0])

    def urgent(self, items: list[Token]) -> tuple[str, int]:
        return "urgent", int(items[0])

    def ip_field(self, items: list[Token]) -> tuple[str, str]:
        return "ip", str(items[0])

    def any_options(self, _items: list[Token]) -> tuple[str, None]:
        return "options", None

    def options(self, items: list[Any]) -> tuple[str, Options]:
        return "options", Options(**dict(item for item in items if item))

    def mss(self, items: list[Token]) -> tuple[str, int]:
        return "mss", int(items[0])

    def sack_ok(self, _items: list[Token]) -> tuple[str, bool]:
        return "sack_ok", True

    def padding(self, _items: list[Token]) -> None:
        return None

    def wscale(self, items: list[Token]) -> tuple[str, int]:
        return "wscale", int(items[0])

    def timestamps(self, items: list[Token]) -> tuple[str, tuple[int, int]]:
        return "timestamps", (int(items[0]), int(items[1]))

    def sack(self, items: list[tuple[int, int]]) -> tuple[str, tuple[tuple[int, int], ...]]:
        return "sack", tuple(items)

    def block(self, items: list[Token]) -> tuple[int, int]:
        return int(items[0]), int(items[1])


_PACKET = Lark.open("packet.lark", rel_to=__file__, parser="lalr", transformer=_PacketReader())


def _packet(text: str, place: str) -> Packet:
    if re.match(r"[<>]\s*(\[[^\]]*\]\s*)*(icmp|udp)\b", text):
        raise ScriptError(place, "is about ICMP or UDP", "packet scripts here are about TCP alone")
    try:
        direction, *parts = cast(list[Any], _PACKET.parse(text).children)
    except UnexpectedInput as error:
        raise _misread(text, place, error, "a packet, as in < P. 1:1001(1000) ack 1 win 257 <nop>") from None
    fields: dict[str, Any] = {"ecn": None, "options": Options()}
    words: list[str] = []
    for part in parts:
        if isinstance(part, Token):
            words.append(str(part))
        elif part[0] == "ip":
            fields["ecn"] = _ecn_of(part[1]) or fields["ecn"]
        else:
            fields[part[0]] = part[1]
    if fields.pop("urgent", 0):
        raise ScriptError(place, "carries urgent data", "the endpoint knows none (RFC 6093 advises against it)")
    flags, sequence = words
    numbers = [int(number) for number in re.findall(r"[0-9]+", sequence)]
    seq, payload = numbers[0], numbers[-1]
    if len(numbers) == 3 and numbers[1] - seq != payload:
        raise ScriptError(place, f"{sequence} is {numbers[1] - seq} octets long", "make end, start and length agree")
    return Packet(
        direction=Direction(str(direction)),
        flags=flags,
        seq=seq,
        payload=payload,
        ack=fields.get("ack"),
        window=fields.get("window"),
        options=fields["options"],
        ecn=fields["ecn"],
    )


def _ecn_of(words: str) -> str | None:
    """The ECN field that an IP field names; addresses, hop limits and the like say nothing of it."""
    found = [word for word in re.split(r"[,\s]+", words) if word in _ECN_WORDS]
    if found:
        return found[0]
    tos = re.match(r"tos\s+(0x[0-9a-fA-F]+|[0-9]+)", words)
    return ("noecn", "ect1", "ect0", "ce")[int(tos[1], 0) & 3] if tos else None


# ---- socket calls ---------------------------------------------------------------------------------------------------


class _CallReader(Transformer[Token, Any]):
    def number(self, items: list[Token]) -> int:
        return int(items[0], 0)

    def minus(self, items: list[int]) -> int:
        return -items[0]

    def string(self, items: list[Token]) -> str:
        return str(ast.literal_eval(str(items[0])))

    def name(self, items: list[Token]) -> Name:
        return Name(str(items[0]))

    def either(self, items: list[Value]) -> Name:
        return Name("|".join(item.text if isinstance(item, Name) else str(item) for item in items))

    def ellipsis(self, _items: list[Token]) -> Anything:
        return Anything()

    def macro(self, items: list[Any]) -> Name:
        return Name(str(items[0]))

    def array(self, items: list[Any]) -> tuple[Value, ...]:
        return tuple(item for item in items if item is not None)

    def struct(self, items: list[Any]) -> Struct:
        return Struct(tuple(item for item in items if item is not None))

    def named(self, items: list[Any]) -> tuple[str, Value]:
        return str(items[0]), items[-1]

    def positional(self, items: list[Any]) -> tuple[None, Value]:
        return None, items[0]

    def arguments(self, items: list[Any]) -> tuple[Value, ...]:
        return tuple(item for item in items if item is not None)

    def result(self, items: list[Any]) -> tuple[Value, str | None]:
        errnos = [str(item) for item in items[1:] if isinstance(item, Token) and item.type == "ERRNO"]
        return items[0], errnos[0] if errnos else None


_CALL = Lark.open("call.lark", rel_to=__file__, parser="lalr", transformer=_CallReader())


def _call(text: str, place: str) -> Syscall:
    try:
        name, arguments, (result, errno) = cast(list[Any], _CALL.parse(text).children)
    except UnexpectedInput as error:
        raise _misread(text, place, error, "a socket call, as in write(4, ..., 1000) = 1000") from None
    return Syscall(str(name), arguments, result, errno)


def _misread(text: str, place: str, error: UnexpectedInput, wanted: str) -> ScriptError:
    found = text[error.pos_in_stream :].split("\n")[0] if error.pos_in_stream is not None else ""
    what = f"cannot be understood from {found[:40]!r} on" if found.strip() else "ends too early"
    return ScriptError(place, what, f"write {wanted}")
