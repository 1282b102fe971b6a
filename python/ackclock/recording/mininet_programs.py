"""Reader of mininet programs: hosts, switches and links (`TCLink`) that are written one by one.

Source: mininet 2.3, `mininet.link.TCIntf`: `bw` in Mbit/s, `delay` and `jitter` with a unit, `loss` in percent,
`max_queue_size` in packets, 1000 by default. The third and fourth argument of `addLink` are numbers of ports.
`delay` and `jitter` are those of netem. Both ends of a link shape what they send, so each way has all of it.

Departures: the program is read, not run; nodes and links made in loops are not found. A link without `bw` has
10 Gbit/s, about what a virtual one carries. `use_htb`, `use_hfsc` and the like do not matter.
"""

import ast
import difflib
import re
from collections.abc import Iterator
from typing import Any, Final

from ackclock.base.printable import unknown
from ackclock.recording import tc_commands
from ackclock.recording.command_words import uniform_jitter
from ackclock.recording.streams import RecordingError

BEGIN: Final = re.compile(r"^\s*(?:from|import)\s+mininet\b|\.addLink\(", re.MULTILINE)
"""Text that such a program has."""

_UNSHAPED, _QUEUE = "10 Gbit/s", 1000
_KINDS: Final = {"addHost": "host", "addSwitch": "router", "addNode": "host"}
_SHAPING: Final = ("bw", "delay", "jitter", "loss", "max_queue_size")

_METHODS: Final = (*_KINDS, "addLink")
_ALIKE: Final = 0.86
"""Similarity of a misspelt method with a known one."""

_OTHERS: Final = (
    "cls", "port1", "port2", "intfName1", "intfName2", "addr1", "addr2", "key", "fast",
    "use_htb", "use_hfsc", "use_tbf", "txo", "rxo",
)  # fmt: skip
"""Options of links that do not matter."""


def topology_of(text: str, name: str) -> tuple[dict[str, Any], list[str]]:
    """Return the network of a program, and the names of its hosts.

    Args:
        text: The program.
        name: File, for messages.

    Raises:
        RecordingError: If it is not Python, or a node or link cannot be read without running it.
    """
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError) as error:  # a ValueError is a NUL octet; its line is not given
        number = getattr(error, "lineno", None) or text.partition("\0")[0].count("\n") + 1
        said = getattr(error, "msg", error)
        raise RecordingError(f"{name}, line {number}: this is not Python ({said}); mend it") from error
    known = _variables(tree)
    nodes: list[dict[str, Any]] = []
    links: list[dict[str, Any]] = []
    _check_calls(tree, name)
    for call in _calls(tree):
        place = f"{name}, line {call.lineno}"
        if call.func.attr in _KINDS:  # type: ignore[attr-defined]  # of an attribute, as `_calls` says
            nodes.append({"name": _name(call.args[:1], known, place), "kind": _KINDS[call.func.attr]})  # type: ignore[attr-defined]
        else:
            links.append(_link(call, known, place))
    hosts = [node["name"] for node in nodes if node["kind"] == "host"]
    if len(hosts) < 2 or not links:
        raise RecordingError(f"{name}: at least two hosts and a link must be written one by one; add them")
    return {"kind": "explicit", "node": nodes, "link": links}, hosts


def _calls(tree: ast.AST) -> Iterator[ast.Call]:
    """Yield the calls of methods that make nodes and links, in the order of their lines."""
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)]
    yield from sorted(
        (call for call in calls if isinstance(call.func, ast.Attribute) and call.func.attr in _METHODS),
        key=lambda call: (call.lineno, call.col_offset),
    )


def _check_calls(tree: ast.AST, name: str) -> None:
    """Refuse calls that shape a link in a way that is not read, and misspelt ones."""
    for call in (node for node in ast.walk(tree) if isinstance(node, ast.Call)):
        place = f"{name}, line {call.lineno}"
        texts = [ast.unparse(argument) for argument in call.args]
        if any(tc_commands.CHANGES.search(text) for text in texts):
            raise RecordingError(
                f"{place}: commands of tc in a mininet program are not read; write bw, delay and loss of addLink"
            )
        called = call.func.attr if isinstance(call.func, ast.Attribute) else ast.unparse(call.func)
        if called in ("TCLink", "config") and any(word.arg in _SHAPING for word in call.keywords):
            raise RecordingError(f"{place}: write addLink with these options; {called} is not read")
        if called not in _METHODS and difflib.get_close_matches(called, _METHODS, 1, _ALIKE):
            raise RecordingError(f"{place}: {unknown('method', called, _METHODS)}")


def _variables(tree: ast.AST) -> dict[str, list[Any]]:
    """Return the different values of variables: constants, tables of options, and names of nodes."""
    known: dict[str, list[Any]] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.AugAssign):
            known.setdefault(ast.unparse(node.target), []).append(node)
        if not isinstance(node, ast.Assign) or len(node.targets) != 1:
            continue
        target, value = node.targets[0], node.value
        if isinstance(value, ast.Call) and value.args and isinstance(value.func, ast.Attribute):
            value = value.args[0] if value.func.attr in _KINDS else value
        try:
            found = _literal(value)
        except (ValueError, TypeError):
            continue
        values = known.setdefault(ast.unparse(target), [])
        if found not in values:
            values.append(found)
    return known


def _literal(node: ast.expr) -> Any:  # noqa: ANN401  whatever a constant is
    """Return the value of an expression that is written out, of a call of `dict`, too.

    Raises:
        ValueError: If it is not written out.
        TypeError: If Python would refuse it, as `{[1]: 2}`.
    """
    entries: list[tuple[ast.expr | None, ast.expr]]
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "dict":
        entries = [(None, table) for table in node.args]
        entries += [(None if word.arg is None else ast.Constant(word.arg), word.value) for word in node.keywords]
    elif isinstance(node, ast.Dict):
        entries = list(zip(node.keys, node.values, strict=True))
    else:
        return ast.literal_eval(node)
    made: dict[Any, Any] = {}
    for key, value in entries:  # a table without a key is merged: `**table`
        made |= _literal(value) if key is None else {_literal(key): _literal(value)}
    return made


def _name(arguments: list[ast.expr], known: dict[str, list[Any]], place: str) -> str:
    found = _value(arguments[0], known, place) if arguments else None
    if not isinstance(found, str):
        raise RecordingError(f"{place}: the name of a node must be written out; loops are not read")
    return found


def _value(node: ast.expr, known: dict[str, list[Any]], place: str) -> Any:  # noqa: ANN401  whatever a constant is
    try:
        return _literal(node)
    except (ValueError, TypeError):
        text = ast.unparse(node)
        if text not in known:
            raise RecordingError(f"{place}: {text} is not known without running the program; write it out") from None
        if len(known[text]) > 1:
            raise RecordingError(f"{place}: {text} must have one value; write it out") from None
        return known[text][0]


def _link(call: ast.Call, known: dict[str, list[Any]], place: str) -> dict[str, Any]:
    begin, end = (_name(call.args[at : at + 1], known, place) for at in (0, 1))
    for port in call.args[2:4]:
        number = _value(port, known, place)
        if number is not None and not isinstance(number, int):
            raise RecordingError(
                f"{place}: the third and fourth argument of addLink must be numbers of ports, not {number!r};"
                " write options by name, such as bw=10"
            )
    given: dict[str, Any] = {}
    for word in call.keywords:
        if word.arg is None:  # **options
            options = _value(word.value, known, place)
            if not isinstance(options, dict):
                raise RecordingError(f"{place}: **{ast.unparse(word.value)} must be a dict; write it out")
            given |= options
        else:
            given[word.arg] = _value(word.value, known, place) if word.arg in _SHAPING else None
    others = [key for key in given if key not in (*_SHAPING, *_OTHERS)]
    if others:
        raise RecordingError(f'{place}: unknown option "{others[0]}" of a link; known: {", ".join(_SHAPING)}')
    _check_numbers(given, place)
    table: dict[str, Any] = {"from": begin, "to": end}
    table["rate"] = f"{given['bw']:g} Mbit/s" if given.get("bw") else _UNSHAPED
    delay_ms, jitter = uniform_jitter(*(_time_ms(given.get(key) or 0, place) for key in ("delay", "jitter")))
    table["delay"] = f"{delay_ms:.12g} ms"
    table["queue"] = {"kind": "drop_tail", "limit": f"{given.get('max_queue_size') or _QUEUE} packets"}
    back: dict[str, Any] = {}
    if given.get("loss"):
        back["loss"] = {"kind": "random", "p": float(f"{given['loss'] / 100:.12g}")}
    if given.get("jitter"):
        back["jitter"] = jitter["jitter"]
        table |= jitter
    return table | back | ({"reverse": back} if back else {})


def _check_numbers(given: dict[str, Any], place: str) -> None:
    for key in ("bw", "loss", "max_queue_size"):
        value = given.get(key)
        if value is not None and not isinstance(value, int | float):
            raise RecordingError(f"{place}: {key} must be a number, not {value!r}; write it without quotes")


def _time_ms(value: object, place: str) -> float:
    found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*(us|ms|s)?", str(value))
    if found is None:
        raise RecordingError(f'{place}: the time "{value}" must be such as "5ms"; write it so')
    return float(found[1]) * {"us": 1e-3, "ms": 1.0, "s": 1e3}[found[2] or "us"]
