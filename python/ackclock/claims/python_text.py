"""Python files as statements of their module: the text of each, the names that it binds and uses, and its files.

Texts are equal if their syntax trees are: comments, docstrings, layout, quotes and trailing commas do not count.
"""

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Final


def said(what: object) -> str:
    r"""Return a syntax tree as text, in a form that does not depend on the version of Python.

    Examples:
        >>> said(ast.parse("x = f(1, 'a')  # one\n")) == said(ast.parse('x = f(\n    1,\n    "a",\n)\n'))
        True
        >>> said(ast.parse('def f():\n    "Say one."\n    return 1\n')) == said(ast.parse("def f(): return 1"))
        True
    """
    if isinstance(what, list):
        return "[" + ",".join(said(each) for each in what if not _is_docstring(each)) + "]"
    if not isinstance(what, ast.AST):
        return repr(what)
    fields = [(name, value) for name, value in ast.iter_fields(what) if name not in _LEFT_OUT]
    return f"{type(what).__name__}({','.join(f'{name}={said(v)}' for name, v in fields if v is not None and v != [])})"


_LEFT_OUT: Final = ("ctx", "kind", "type_comment", "type_ignores")
"""Fields without meaning, or absent in some versions of Python; empty fields are left out for the same reason."""


def _is_docstring(node: object) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


@dataclass(frozen=True, slots=True, eq=False)
class Piece:
    """Statement of a file.

    Attributes:
        place: Line and column; None for a definition or an import, whose order does not matter.
        text: Text of its syntax tree.
        uses: Names and attributes in it.
        files: Patterns of the files that its texts may name.
    """

    place: tuple[int, int]
    text: str
    uses: frozenset[str] = frozenset()
    files: tuple[str, ...] = ()


class Module:
    """Python file.

    Attributes:
        bound: Statements that bind a name, by name; for an import the name alone.
        tables: Names that are assigned, except functions, classes and imports.
        always: Other statements, which may change the meaning of any name.
        imports: Imports anywhere in it, as `package.module`, with a leading dot for each level.
        files: Patterns of the files that any of its texts may name.
    """

    def __init__(self, text: str) -> None:
        """Parse the text."""
        self._tree = ast.parse(text)
        self.bound: dict[str, list[Piece]] = {}
        self.tables: set[str] = set()
        self.always: list[Piece] = []
        self._parts: dict[ast.AST, Piece] = {}
        for statement in self._tree.body:
            self._bind(statement)
        self.imports = tuple(name for node in ast.walk(self._tree) for name in _imported(node))
        self.files = tuple(sorted(set(_files(self._tree))))

    @cached_property
    def said(self) -> str:
        """Text of the whole module, without layout and comments."""
        return said(self._tree)

    def entries(self, table: str, name: str) -> list[tuple[Piece, bool]]:
        """Return the parts that give an entry to a table such as `MEASURES`: its expression, or all that may hold it.

        Returns:
            Each with whether it is a table that is joined to this one.
        """
        found = [
            each for statement in self._tree.body if table in _bound(statement) for each in _given(statement, name)
        ]
        for node, _ in found:
            if node not in self._parts:
                piece, names = self._piece(node), [part.id for part in ast.walk(node) if isinstance(part, ast.Name)]
                fills = isinstance(node, ast.stmt) and names.count(table) == 1  # it adds to the table and reads nothing
                self._parts[node] = replace(piece, uses=piece.uses - {table}) if fills else piece
        return [(self._parts[node], is_joined) for node, is_joined in found]

    def _bind(self, statement: ast.stmt) -> None:
        if isinstance(statement, ast.Import | ast.ImportFrom):
            for name, piece in _import_pieces(statement):
                self.bound.setdefault(name, []).append(piece)
            return
        piece, names = self._piece(statement), _bound(statement)
        if any(name in self.bound for name in names):  # which comes last counts
            piece = replace(piece, place=(statement.lineno, statement.col_offset))
        self.tables.update(names if isinstance(statement, ast.Assign | ast.AnnAssign) else ())
        for name in names:
            self.bound.setdefault(name, []).append(piece)
        if not names and not _is_docstring(statement):
            self.always.append(piece)

    def _piece(self, node: ast.AST) -> Piece:
        parts = list(ast.walk(node))
        names = [part.id for part in parts if isinstance(part, ast.Name)]
        attributes = [part.attr for part in parts if isinstance(part, ast.Attribute)]
        imports = [part for part in parts if isinstance(part, ast.Import | ast.ImportFrom)]
        imported = [alias.name for part in imports for alias in part.names]
        place = (
            (0, 0)
            if isinstance(node, ast.FunctionDef | ast.ClassDef)
            else (getattr(node, "lineno", 0), getattr(node, "col_offset", 0))
        )
        return Piece(place, said(node), frozenset((*names, *attributes, *imported)), tuple(sorted(set(_files(node)))))


read: Final = lru_cache(maxsize=64)(Module)
"""Cached constructor, keyed by the text, so that an edited file is parsed again."""

TABLE: Final = "MEASURES"
"""Suffix of the names of tables from ids to measures; statements that fill one change nothing else."""


def _bound(statement: ast.stmt) -> list[str]:
    """Return the names that a statement binds; none if it may have another effect."""
    if isinstance(statement, ast.FunctionDef | ast.ClassDef):
        around = [*statement.decorator_list, *getattr(statement, "bases", ()), *getattr(statement, "keywords", ())]
        used = {name for each in around for part in ast.walk(each) if (name := _base(part))}
        return [statement.name] if used <= _HARMLESS else []
    targets = _targets(statement)
    if isinstance(statement, ast.Assign | ast.AnnAssign):
        parts = [part for target in targets for part in ast.walk(target)]
        if not any(isinstance(part, ast.Attribute | ast.Subscript) for part in parts):
            return [part.id for part in parts if isinstance(part, ast.Name)]
    is_filled = isinstance(statement, ast.Assign | ast.AugAssign | ast.Expr) and _base(targets[0]).endswith(TABLE)
    return [_base(targets[0])] if is_filled else []


_HARMLESS: Final = {"cache", "dataclass", "functools", "dataclasses", "lru_cache"}
"""Decorators without side effects; another one, or a base class, may register what it decorates."""


def _targets(statement: ast.stmt) -> list[ast.AST]:
    """Return the targets of an assignment; else the expression that the statement evaluates."""
    one = getattr(statement, "target", getattr(statement, "value", statement))
    return list(getattr(statement, "targets", (one,)))


def _base(node: ast.AST) -> str:
    """Return the leading name of a target, as in `MEASURES["A1"]` and `MEASURES.update(more)`."""
    while not isinstance(node, ast.Name) and (inner := getattr(node, "func", getattr(node, "value", None))):
        node = inner
    return node.id if isinstance(node, ast.Name) else ""


def _given(statement: ast.stmt, name: str) -> list[tuple[ast.AST, bool]]:
    """Return the parts of a table-filling statement that may give an entry."""
    if not isinstance(statement, ast.Assign | ast.AnnAssign):
        return [(statement, False)]
    if isinstance(key := getattr(_targets(statement)[0], "slice", None), ast.Constant):
        return [(statement, False)] if key.value == name else []
    return [(statement, False)] if key or statement.value is None else _entries(statement.value, name)


def _entries(table: ast.expr, name: str) -> list[tuple[ast.AST, bool]]:
    """Return the expression of an entry, if it is written out; else those that may hold it."""
    others: list[tuple[ast.AST, bool]] = []
    waiting = [table]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
            waiting += [node.left, node.right]
        elif isinstance(node, ast.Dict):
            for key, value in zip(node.keys, node.values, strict=True):
                if isinstance(key, ast.Constant) and key.value == name:
                    return [(value, False)]
                if key is None:
                    waiting.append(value)
                elif not isinstance(key, ast.Constant):
                    others += [(key, False), (value, False)]
        else:
            others.append((node, node is not table))
    return others


def _import_pieces(statement: ast.Import | ast.ImportFrom) -> Iterator[tuple[str, Piece]]:
    source = getattr(statement, "module", None) or ""
    is_ours = source.partition(".")[0] == "ackclock"
    for alias in statement.names:
        text = f"import {'' if is_ours else source} {alias.name}"
        name = (alias.asname or alias.name).partition(".")[0]
        uses = frozenset(() if is_ours else (alias.name,))
        yield name, Piece((0, 0), text, uses)


def _imported(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names)
    elif isinstance(node, ast.ImportFrom):
        source = "." * node.level + (node.module or "")
        yield source
        yield from (
            f"{source.rstrip('.')}.{alias.name}" if node.module else source + alias.name for alias in node.names
        )


def _files(node: ast.AST) -> Iterator[str]:
    """Yield the texts that may name files, as patterns: `HERE / "a" / f"{b}.json"` gives `a/*.json`."""
    chain: list[str] = []
    while isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div) and (last := _pattern(node.right)):
        chain.insert(0, last)
        node = node.left
    if chain:
        yield "/".join(chain)
    if alone := _pattern(node):
        yield alone
    for child in ast.iter_child_nodes(node):
        yield from _files(child)


def _pattern(node: ast.AST) -> str:
    """Return the pattern of file names that a text matches; empty if it has wildcards and no suffix."""
    parts = node.values if isinstance(node, ast.JoinedStr) else [node]
    texts = [part.value if isinstance(part, ast.Constant) else "*" for part in parts]
    is_text = isinstance(node, ast.Constant | ast.JoinedStr) and all(isinstance(text, str) for text in texts)
    found = re.sub(r"\*{2,}", "*", "".join(map(str, texts))) if is_text else ""
    return found if "*" not in found or _SUFFIX.search(found) else ""


_SUFFIX: Final = re.compile(r"\.\w+$")
