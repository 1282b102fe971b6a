"""System calls of a script: their conversion to requests, and the comparison of results with expectations.

Departures: contents of buffers are neither passed nor checked. Unlisted calls are refused by name.
"""

from collections.abc import Callable, Mapping

from ackclock.script.backend import Outcome, Request
from ackclock.script.constants import CONSTANTS
from ackclock.script.syntax import Either, Ellipsis_, Integer, Name, Sequence, Struct, SystemCall, Text, Value

Definitions = Mapping[str, str]
"""Names defined by `--define`, with their values."""

_FAMILIES = (0, CONSTANTS["AF_INET"], CONSTANTS["AF_INET6"])
_INFORMATION = (CONSTANTS["TCP_INFO"], CONSTANTS["TCP_CC_INFO"])
_LEAST_LENGTH = 4
_ANY_NUMBER = 1 << 10
_SOL_SOCKET, _SO_LINGER = CONSTANTS["SOL_SOCKET"], CONSTANTS["SO_LINGER"]


class CallError(ValueError):
    """Error: a call is not possible as written: "what; remedy"."""


class Calls:
    """Converter of calls, given the names that a script defines."""

    def __init__(self, definitions: Definitions) -> None:
        """Store the definitions."""
        self._definitions = definitions

    def number(self, value: Value) -> int:
        """Return a value as a number; the wildcard `...` is zero.

        Raises:
            CallError: If it is not a number.
        """
        match value:
            case Integer(number):
                return number
            case Ellipsis_():
                return 0
            case Either(terms):
                return self._either(terms)
            case Name(name):
                return self._named(name)
            case Sequence((only,)):
                return self.number(only)
        raise CallError(f"{describe(value)} is not a number; write one, or the name of a constant")

    def _either(self, terms: tuple[Value, ...]) -> int:
        total = 0
        for term in terms:
            total |= self.number(term)
        return total

    def _named(self, name: str) -> int:
        meaning = self._definitions.get(name, name).strip('"')
        if meaning in CONSTANTS:
            return CONSTANTS[meaning]
        try:
            return int(meaning, 0)
        except ValueError:
            raise CallError(f"unknown constant {meaning}; write its number") from None

    def request(self, call: SystemCall) -> Request:
        """Convert a call to a request.

        Raises:
            CallError: If the call or its arguments are not supported.
        """
        reader = _READERS.get(call.name)
        if reader is None:
            known = ", ".join(sorted(_READERS))
            raise CallError(f"the system call {call.name} is not supported; use one of {known}")
        try:
            return reader(self, call)
        except IndexError:
            raise CallError(f"{call.name} needs more arguments; see its manual page") from None

    # ---- one reader for each shape of arguments ---------------------------------------------------------------------

    def _plain(self, call: SystemCall, count: int) -> Request:
        numbers = tuple(self.number(argument) for argument in call.arguments[1 : 1 + count])
        return Request(call.name, self._fd(call), numbers)

    def _fd(self, call: SystemCall) -> int:
        return self.number(call.arguments[0])

    def _socket(self, call: SystemCall) -> Request:
        family, kind, protocol = (self.number(argument) for argument in call.arguments[:3])
        if family not in _FAMILIES:
            raise CallError(f"{describe(call.arguments[0])} is not supported; use AF_INET")
        self._refuse_flags(call, kind & ~0xF, "SOCK_NONBLOCK", "SOCK_CLOEXEC")
        if kind & 0xF != CONSTANTS["SOCK_STREAM"] or protocol not in (0, CONSTANTS["IPPROTO_TCP"]):
            raise CallError(f"socket({kind}, {protocol}) is not supported; use SOCK_STREAM with IPPROTO_TCP")
        return Request("socket", self.number(call.result), (kind,))

    def _accept(self, call: SystemCall) -> Request:
        flags = self.number(call.arguments[3]) if len(call.arguments) > 3 else 0
        self._refuse_flags(call, flags, "SOCK_NONBLOCK", "SOCK_CLOEXEC")
        return Request("accept", self._fd(call), (self.number(call.result), flags))

    def _refuse_flags(self, call: SystemCall, flags: int, *names: str) -> None:
        unknown = flags & ~sum(CONSTANTS[name] for name in names)
        if unknown:
            raise CallError(f"the flags {unknown:#x} of {call.name} are not supported; use {' or '.join(names)}")

    def _vector(self, call: SystemCall, name: str) -> Request:
        return Request(name, self._fd(call), (self._vector_length(call.arguments[1]), 0))

    def _message(self, call: SystemCall, name: str) -> Request:
        message = call.arguments[1]
        vector = message.get("msg_iov") if isinstance(message, Struct) else None
        if vector is None:
            raise CallError(f"{describe(message)} is not a message; write {{msg_iov(1)=[{{..., 1000}}], ...}}")
        assert isinstance(message, Struct)
        self._check_message(call, message)
        return Request(name, self._fd(call), (self._vector_length(vector), self.number(call.arguments[2])))

    def _check_message(self, call: SystemCall, message: Struct) -> None:
        """Refuse unsupported parts: returned flags, and control messages other than that of `TCP_INQ`."""
        flags, control = message.get("msg_flags"), message.get("msg_control")
        if flags is not None and self.number(flags) != 0:
            raise CallError(f"msg_flags={describe(flags)} is not supported; write msg_flags=0 or leave it out")
        items = control.items if isinstance(control, Sequence) else ()
        if items and call.name != "recvmsg":
            raise CallError("a control message that is sent is not supported; leave msg_control out")
        kinds = [item.get("cmsg_type") if isinstance(item, Struct) else None for item in items]
        inq = CONSTANTS["TCP_CM_INQ"]
        if len(items) > 1 or any(kind is not None and self.number(kind) not in (0, inq) for kind in kinds):
            raise CallError("control messages other than TCP_CM_INQ are not supported; leave them out")

    def _vector_length(self, vector: Value) -> int:
        if not isinstance(vector, Sequence):
            raise CallError(f"{describe(vector)} is not a vector; write [{{..., 1000}}, {{..., 1000}}]")
        lengths = [item.items[1] for item in vector.items if isinstance(item, Struct) and len(item.items) == 2]
        if len(lengths) != len(vector.items):
            raise CallError(f"{describe(vector)} is not a vector; write [{{..., 1000}}, {{..., 1000}}]")
        return sum(self.number(length) for length in lengths)

    def _set_option(self, call: SystemCall) -> Request:
        level, option = (self.number(argument) for argument in call.arguments[1:3])
        value = call.arguments[3]
        length = call.arguments[4] if len(call.arguments) > 4 else Ellipsis_()
        if not isinstance(value, Text) and isinstance(length, Integer) and length.value < _LEAST_LENGTH:
            raise CallError(f"an option of {length.value} octets is not supported; write 4, or 8 for two numbers")
        if isinstance(value, Name) and value.name in self._definitions and value.name not in CONSTANTS:
            value = self._defined(self._definitions[value.name])
        if isinstance(value, Text):
            return Request("setsockopt", self._fd(call), (level, option), text=value.value)
        if isinstance(value, Struct):
            fields = [value.get("onoff"), value.get("linger")]
            if (level, option) != (_SOL_SOCKET, _SO_LINGER) or None in fields:
                raise CallError(f"{describe(value)} is not a value of this option; write [1], or {{onoff=1, linger=0}}")
            numbers = tuple(self.number(field) for field in fields if field is not None)
            return Request("setsockopt", self._fd(call), (level, option, *numbers))
        return Request("setsockopt", self._fd(call), (level, option, self.number(value)))

    def _defined(self, meaning: str) -> Value:
        """Return a definition as a number if possible, else as a text, quoted or not."""
        try:
            return Integer(int(meaning, 0))
        except ValueError:
            return Name(meaning) if meaning in CONSTANTS else Text(meaning.strip('"`'))

    def _get_option(self, call: SystemCall) -> Request:
        level, option = (self.number(argument) for argument in call.arguments[1:3])
        is_information = level == CONSTANTS["SOL_TCP"] and option in _INFORMATION
        if is_information and not isinstance(call.arguments[3], Ellipsis_):
            raise CallError("the contents of TCP_INFO are not compared here; write ..., and check them in %{ } code")
        return Request("getsockopt", self._fd(call), (level, option))

    def _fcntl(self, call: SystemCall) -> Request:
        numbers = tuple(self.number(argument) for argument in call.arguments[1:3])
        return Request("fcntl", self._fd(call), numbers if len(numbers) == 2 else (*numbers, 0))

    def _ioctl(self, call: SystemCall) -> Request:
        return Request("ioctl", self._fd(call), (self.number(call.arguments[1]),))

    def _poll(self, call: SystemCall) -> Request:
        polls = []
        count = call.arguments[1]
        if isinstance(count, Integer) and isinstance(call.arguments[0], Sequence):
            self._same_count(call, count.value, len(call.arguments[0].items))
        for item in call.arguments[0].items if isinstance(call.arguments[0], Sequence) else ():
            fields = [item.get("fd"), item.get("events")] if isinstance(item, Struct) else [None]
            if None in fields:
                raise CallError(
                    f"{describe(item)} is not an entry to poll; write {{fd=4, events=POLLIN, revents=POLLIN}}"
                )
            fd, events = (self.number(field) for field in fields if field is not None)
            polls.append((fd, events))
        return Request("poll", numbers=(self.number(call.arguments[2]),), polls=tuple(polls))

    def _same_count(self, call: SystemCall, said: int, written: int) -> None:
        if said != written:
            raise CallError(f"{call.name} of {said} descriptors has {written}; write as many")

    def _epoll_create(self, call: SystemCall) -> Request:
        return Request("epoll_create", self.number(call.result))

    def _epoll_ctl(self, call: SystemCall) -> Request:
        event = call.arguments[3]
        events = event.get("events") if isinstance(event, Struct) else None
        numbers = (self.number(call.arguments[1]), self.number(call.arguments[2]))
        return Request("epoll_ctl", self._fd(call), (*numbers, self.number(events) if events else 0))

    def _epoll_wait(self, call: SystemCall) -> Request:
        most = call.arguments[2]
        room = _ANY_NUMBER if isinstance(most, Ellipsis_) else self.number(most)
        return Request("epoll_wait", self._fd(call), (self.number(call.arguments[3]), room))

    # ---- what came of it --------------------------------------------------------------------------------------------

    def differences(self, call: SystemCall, outcome: Outcome) -> list[str]:
        """Return the differences between a result and the script's expectation; empty if there are none."""
        found = []
        expected = None if isinstance(call.result, Ellipsis_) else self.number(call.result)
        wanted_errno = self._definitions.get(call.errno, call.errno) if call.errno else None
        if expected is not None and (expected, wanted_errno) != (outcome.result, outcome.errno):
            shown = f"{expected} {wanted_errno}" if wanted_errno else str(expected)
            got = f"{outcome.result} {outcome.errno}" if outcome.errno else str(outcome.result)
            found.append(f"{call.name} must return {shown} and returns {got}")
        if outcome.result >= 0:
            found += self._filled_in(call, outcome)
        return found

    def _filled_in(self, call: SystemCall, outcome: Outcome) -> list[str]:
        found = []
        unfilled = _place(call, "cmsg_data") if call.name == "recvmsg" and "cmsg_data" not in outcome.value else None
        if unfilled is not None and not isinstance(unfilled, Ellipsis_):
            found.append(f"{call.name} must fill in cmsg_data {describe(unfilled)} and fills in no control message")
        for place, got in outcome.value.items():
            expected = _place(call, place)
            if expected is None or isinstance(expected, Ellipsis_):
                continue
            if isinstance(expected, Name) and expected.name in self._definitions:
                expected = self._defined(self._definitions[expected.name])
            wanted = expected.value if isinstance(expected, Text) else self._shape(expected)
            if isinstance(wanted, str) and isinstance(got, str):
                same = wanted == got
            else:
                same = wanted == got or (isinstance(got, tuple) and wanted == got[0])
            if not same:
                found.append(f"{call.name} must fill in {place} {wanted} and fills in {got}")
        return found

    def _shape(self, value: Value) -> int | tuple[int, ...]:
        if isinstance(value, Struct):
            return tuple(self.number(field) for _, field in value.fields)
        if isinstance(value, Sequence) and len(value.items) > 1:
            return tuple(self.number(item) for item in value.items)
        return self.number(value)


_Reader = Callable[[Calls, SystemCall], Request]


def _sized(name: str, flags_at: int | None = None) -> _Reader:
    def read(calls: Calls, call: SystemCall) -> Request:
        flags = calls.number(call.arguments[flags_at]) if flags_at is not None else 0
        return Request(name, calls.number(call.arguments[0]), (calls.number(call.arguments[2]), flags))

    return read


_READERS: Mapping[str, _Reader] = {
    "socket": Calls._socket,
    "bind": lambda calls, call: calls._plain(call, 0),
    "listen": lambda calls, call: calls._plain(call, 1),
    "accept": Calls._accept,
    "accept4": Calls._accept,
    "connect": lambda calls, call: calls._plain(call, 0),
    "read": _sized("read"),
    "recv": _sized("read", 3),
    "recvfrom": _sized("read", 3),
    "readv": lambda calls, call: calls._vector(call, "read"),
    "recvmsg": lambda calls, call: calls._message(call, "read"),
    "write": _sized("write"),
    "send": _sized("write", 3),
    "sendto": _sized("write", 3),
    "writev": lambda calls, call: calls._vector(call, "write"),
    "sendmsg": lambda calls, call: calls._message(call, "write"),
    "close": lambda calls, call: calls._plain(call, 0),
    "shutdown": lambda calls, call: calls._plain(call, 1),
    "setsockopt": Calls._set_option,
    "getsockopt": Calls._get_option,
    "fcntl": Calls._fcntl,
    "ioctl": Calls._ioctl,
    "poll": Calls._poll,
    "epoll_create": Calls._epoll_create,
    "epoll_create1": Calls._epoll_create,
    "epoll_ctl": Calls._epoll_ctl,
    "epoll_wait": Calls._epoll_wait,
}


def _place(call: SystemCall, place: str) -> Value | None:
    """Return what a script expects at a place: "option", "count", "revents of N", "events", "msg_control"."""
    arguments = call.arguments
    if place == "option":
        return arguments[3]
    if place == "count":
        return arguments[2] if len(arguments) > 2 else None
    if place.startswith("revents of"):
        polled = arguments[0].items if isinstance(arguments[0], Sequence) else ()
        item = polled[int(place.rsplit(" ", 1)[1])]
        return (item.get("revents") or Integer(0)) if isinstance(item, Struct) else None
    if place.startswith(("events of ", "fd of ")):
        what, index = place.rsplit(" of ", 1)
        events = arguments[1].items if isinstance(arguments[1], Sequence) else (arguments[1],)
        event = events[int(index)] if int(index) < len(events) else None
        return event.get(what) if isinstance(event, Struct) else None
    if place == "cmsg_data" and isinstance(arguments[1], Struct):
        control = arguments[1].get("msg_control")
        message = control.items[0] if isinstance(control, Sequence) and control.items else None
        return message.get("cmsg_data") if isinstance(message, Struct) else None
    return None


def describe(value: Value) -> str:
    """Return a value as a script writes it.

    Examples:
        >>> describe(Sequence((Integer(1), Name("POLLIN"))))
        '[1, POLLIN]'
    """
    match value:
        case Integer(number):
            return str(number)
        case Name(name):
            return name
        case Text(text):
            return f'"{text}"'
        case Either(terms):
            return "|".join(map(describe, terms))
        case Sequence(items):
            return f"[{', '.join(map(describe, items))}]"
        case Struct(items, fields):
            named = [f"{name}={describe(field)}" for name, field in fields]
            return f"{{{', '.join([*map(describe, items), *named])}}}"
    return "..."
