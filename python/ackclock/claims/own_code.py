"""The code that a measure rests on: what its folder says of it, and nothing else.

Two texts are the same where their tokens are: comments, docstrings, whitespace and line breaks do not count. A function
brings its own definition, what it closes over, and each definition of its folder's modules that it names, and so on.
Departures: code outside folders of claims counts by its name alone, and of ackclock its module does not count either:
neither another engine nor another Polars is another measure. A name that is made at run time, by `getattr` or
`globals`, is not followed. What a measure reads of `claims.toml` does not count.
"""

import ast
import io
import sys
import tokenize
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path
from types import FunctionType, MethodType, ModuleType
from typing import Any, Final

from ackclock import input_files
from ackclock.claims.named_files import contents

ALIAS: Final = "claims of "
"""How the name of a module begins that is a file of a folder of claims."""

_LEFT_OUT: Final = {tokenize.COMMENT, tokenize.NL, tokenize.ENCODING, tokenize.ENDMARKER}
_SHAPE: Final = {tokenize.NEWLINE: "\n", tokenize.INDENT: "\x01", tokenize.DEDENT: "\x02"}
_F_STRING: Final = (getattr(tokenize, "FSTRING_START", -1), getattr(tokenize, "FSTRING_END", -1))
"""An f-string is several tokens since Python 3.12, and one before."""


@dataclass(frozen=True, slots=True)
class _Piece:
    """A part of a file: its tokens, the names and attributes in it, and its texts, which may name files."""

    tokens: str
    names: frozenset[str] = frozenset()
    attributes: frozenset[str] = frozenset()
    texts: frozenset[str] = frozenset()


def tokens(text: str) -> str:
    r"""Return what a text of Python says, in a form that its layout and the version of Python leave alone.

    Args:
        text: Whole statements.

    Examples:
        >>> tokens("x = 1  # one\n") == tokens("x  =  1\n") != tokens("x = 2\n")
        True
        >>> tokens('def f():\n    "Say one."\n    return 1\n') == tokens("def f():\n  return 1\n")
        True
    """
    lines = text.splitlines(keepends=True)
    said: list[str] = []
    begun: list[tuple[int, int]] = []
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == _F_STRING[0]:
            begun.append(token.start)
        if not begun and token.type not in _LEFT_OUT:
            said.append(_SHAPE.get(token.type, token.string))
        if token.type == _F_STRING[1]:
            start = begun.pop()
            if not begun:
                said.append(_between(lines, start, token.end))
    return "\0".join(_without_docstrings(said))


def _between(lines: list[str], start: tuple[int, int], end: tuple[int, int]) -> str:
    if start[0] == end[0]:
        return lines[start[0] - 1][start[1] : end[1]]
    inner = lines[start[0] : end[0] - 1]
    return "".join((lines[start[0] - 1][start[1] :], *inner, lines[end[0] - 1][: end[1]]))


def _without_docstrings(said: list[str]) -> list[str]:
    """Leave out each text that is a statement by itself."""
    shape = set(_SHAPE.values())
    ends = [*said[1:], "\n"]
    begins = ["\n", *said[:-1]]
    kept: list[str] = []
    for before, token, after in zip(begins, said, ends, strict=True):
        is_alone = before in shape and after == "\n" and token[-1:] in ("'", '"')
        if not is_alone and not (token == "\n" and (not kept or kept[-1] in shape)):
            kept.append(token)
    return kept


class _Module:
    """A file of Python, by the names that it defines and by the lines of its functions."""

    def __init__(self, text: str) -> None:
        """Read it."""
        self._text = text
        self._lines = text.splitlines(keepends=True)
        self._tree = ast.parse(text)
        self._pieces: dict[ast.AST, _Piece] = {}
        self._defined: dict[str, list[ast.stmt | str]] = {}
        for statement in self._tree.body:
            for name, what in _defined(statement):
                self._defined.setdefault(name, []).append(what)

    def defined(self, name: str) -> Iterator[_Piece]:
        """Yield what defines a name; of an import the name alone."""
        for what in self._defined.get(name, ()):
            yield _Piece(what) if isinstance(what, str) else self._piece(what)

    def at(self, line: int, *, is_lambda: bool) -> Iterator[_Piece]:
        """Yield the outermost function or class at a line; of other statements, the lambdas there."""
        for statement in self._tree.body:
            if not _first_line(statement) <= line <= (statement.end_lineno or line):
                continue
            inner = [each for each in ast.walk(statement) if isinstance(each, ast.Lambda) and each.lineno == line]
            is_whole = isinstance(statement, ast.FunctionDef | ast.ClassDef) or not (is_lambda and inner)
            yield from map(self._piece, [statement] if is_whole else inner)

    def _piece(self, node: ast.stmt | ast.Lambda) -> _Piece:
        if node not in self._pieces:
            parts = list(ast.walk(node))
            if isinstance(node, ast.Lambda):
                text = f"({ast.get_source_segment(self._text, node)})\n"
            else:
                text = "".join(self._lines[_first_line(node) - 1 : node.end_lineno])
            self._pieces[node] = _Piece(
                tokens(text),
                frozenset(part.id for part in parts if isinstance(part, ast.Name)),
                frozenset(part.attr for part in parts if isinstance(part, ast.Attribute)),
                frozenset(
                    part.value for part in parts if isinstance(part, ast.Constant) and isinstance(part.value, str)
                ),
            )
        return self._pieces[node]


def _first_line(node: ast.stmt) -> int:
    decorators = getattr(node, "decorator_list", ())
    return min([node.lineno, *(int(decorator.lineno) for decorator in decorators)])


def _defined(statement: ast.stmt) -> Iterator[tuple[str, ast.stmt | str]]:
    """Yield each name that a statement of a module defines, with what defines it."""
    if isinstance(statement, ast.Import | ast.ImportFrom):
        source = getattr(statement, "module", None) or ""
        source = "" if source.partition(".")[0] == "ackclock" else source
        for alias in statement.names:
            yield (alias.asname or alias.name).partition(".")[0], f"import {source} {alias.name}"
    elif isinstance(statement, ast.FunctionDef | ast.ClassDef):
        yield statement.name, statement
    else:
        for part in ast.walk(statement):
            if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store):
                yield part.id, statement


_read = lru_cache(maxsize=64)(_Module)
"""By the text, so that a file that was edited is read anew."""


def parts(measure: Callable[..., object]) -> list[str]:
    """Return the texts that a measure rests on, each once, in an order that depends on nothing else.

    Args:
        measure: An entry of a folder's `MEASURES`.
    """
    key = id(measure)
    if _known.get(key, (None,))[0] is not measure:
        walk = _Walk()
        walk.value(measure)
        _known[key] = measure, walk.found
    return _known[key][1]


_known: dict[int, tuple[Callable[..., object], list[str]]] = {}
"""What measures rest on, by their ids; each is held here, so that its id stays its own."""


class _Walk:
    """Goes through what a function uses."""

    def __init__(self) -> None:
        """Begin."""
        self.found: list[str] = []
        self._seen: set[tuple[str, str]] = set()
        self._open: set[int] = set()
        self._modules: dict[str, _Module] = {}

    def value(self, value: Any) -> None:  # noqa: ANN401
        """Take in what code holds: functions by their text, plain data as they are, other things by their type."""
        if value is None or isinstance(value, str | bytes | int | float | complex):
            self.found.append(repr(value))
        elif isinstance(value, type):
            self._named(value.__name__, _globals_of(value), value)
        elif id(value) not in self._open:  # else it is within itself
            self._open.add(id(value))
            (self._function if isinstance(value, FunctionType) else self._compound)(value)
            self._open.remove(id(value))

    def _compound(self, value: Any) -> None:  # noqa: ANN401
        if isinstance(value, Mapping):
            self._all(each for pair in value.items() for each in pair)
        elif isinstance(value, tuple | list):
            self._all(value)
        elif isinstance(value, set | frozenset):
            self._all(sorted(value, key=repr))
        elif isinstance(value, partial):
            self._all((value.func, value.args, value.keywords))
        elif isinstance(value, MethodType):
            self._all((value.__func__, value.__self__))
        elif isinstance(value, Path):
            self.found.append(value.name)
        elif hasattr(value, "__wrapped__"):
            self.value(value.__wrapped__)
        elif isinstance(name := getattr(value, "__qualname__", None), str):
            self.found.append(name)
        else:
            self.value(type(value))
            if _is_own(_globals_of(type(value))):
                self._compound({name: getattr(value, name, None) for name in _attributes(value)})

    def _all(self, values: Iterable[Any]) -> None:
        for value in values:
            self.value(value)

    def _function(self, function: FunctionType) -> None:
        if not _is_own(function.__globals__):
            self.found.append(function.__qualname__)
            return
        self._all(_held(function))
        module, is_lambda = self._module(function.__globals__), function.__name__ == "<lambda>"
        for piece in module.at(function.__code__.co_firstlineno, is_lambda=is_lambda):
            self._piece(piece, function.__globals__)

    def _piece(self, piece: _Piece, names: dict[str, Any]) -> None:
        if (key := (names["__name__"], piece.tokens)) in self._seen:
            return
        self._seen.add(key)
        self.found += [piece.tokens, *_contents(piece.texts, Path(names["__file__"]).parent)]
        for name in sorted(piece.names):
            self._named(name, names, names.get(name))
            if isinstance(other := names.get(name), ModuleType) and _is_own(vars(other)):
                for attribute in sorted(piece.attributes):
                    self._named(attribute, vars(other), vars(other).get(attribute))

    def _named(self, name: str, names: dict[str, Any], value: object) -> None:
        """Take in what a name of a module stands for, be it defined there or in another of the folder's."""
        if not _is_own(names):
            self.found.append(name)
            return
        for piece in self._module(names).defined(name):
            self._piece(piece, names)
        if isinstance(value, FunctionType | type) and (other := _globals_of(value)) is not names and _is_own(other):
            self._named(value.__name__, other, value)

    def _module(self, names: Mapping[str, Any]) -> _Module:
        file = str(names["__file__"])
        if file not in self._modules:
            self._modules[file] = _read(input_files.text(Path(file), remedy="restore it: a claim is measured with it"))
        return self._modules[file]


def _attributes(value: object) -> Iterable[str]:
    return [*getattr(value, "__dict__", ()), *getattr(type(value), "__slots__", ())]


def _held(function: FunctionType) -> Iterator[Any]:
    """Yield what a function closes over, and the defaults of its arguments."""
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        try:
            held = cell.cell_contents
        except ValueError:  # it is not set yet
            continue
        yield from (name, held)
    yield from (function.__defaults__, function.__kwdefaults__)


def _globals_of(value: FunctionType | type) -> dict[str, Any]:
    if isinstance(value, FunctionType):
        return value.__globals__
    module = sys.modules.get(value.__module__)
    return {"__name__": value.__module__} if module is None else vars(module)


def _is_own(names: Mapping[str, Any]) -> bool:
    return str(names.get("__name__", "")).startswith(ALIAS) and isinstance(names.get("__file__"), str)


def _contents(texts: Iterable[str], folder: Path) -> Iterator[str]:
    """Yield the hashes of files that code names; its modules and the ledger itself are read elsewhere."""
    yield from contents((text for text in texts if not text.endswith((".py", "claims.toml"))), folder)
