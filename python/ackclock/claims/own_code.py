"""Code that a measure depends on, within its folder.

A measure is an entry of `MEASURES`. It depends on the expression of its entry and, transitively, on each statement that
binds a name used there, in its module and in loaded modules. Other statements, such as calls, always count, as they may
change anything; so does code under a decorator that is not Python's own. If names are made at run time (`getattr`,
`globals`), modules count as a whole. A file that a text names counts, and for `f"{case}.json"` all matching files; of
`claims.toml` only the keys that decide a judgement.
Departures: code outside folders of claims counts by its name alone, and for ackclock without the module: neither
another engine nor another Polars makes another measure. Not followed are file names that are composed otherwise, values
changed through another name, and a second entry of the same id.
"""

import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from ackclock.base import input_files
from ackclock.claims.named_files import code_of, files, said
from ackclock.claims.python_text import TABLE, Module, Piece, read

ALIAS: Final = "claims of "
"""Prefix of the module names of files in a folder of claims."""

_MAKES_NAMES: Final = frozenset(
    {"getattr", "globals", "vars", "eval", "exec", "__dict__", "attrgetter", "methodcaller"}
)


def parts(folder: Path, name: str) -> list[Any]:
    """Return the code and data of a measure, by files relative to the folder, in a deterministic order."""
    root = folder.resolve()
    reached = _Reached(root / "measure.py", name)
    return [name, *(_said(file, pieces, root) for file, pieces in sorted(reached.counted.items()))]


def _said(file: Path, pieces: set[Piece], root: Path) -> list[Any]:
    in_order = sorted({(piece.place, piece.text) for piece in pieces})
    named = files({name for piece in pieces for name in piece.files}, file.parent)
    data = [said(other) for other in sorted(named) if other.suffix != ".py"]
    return [os.path.relpath(file, root), [text for _, text in in_order], data]


class _Reached:
    """Statements that an entry of `MEASURES` uses, directly or indirectly."""

    def __init__(self, measure: Path, name: str) -> None:
        """Collect the statements."""
        self._modules = _loaded(measure)
        self._seen = {measure: self._modules}
        self._name = name
        self.counted: dict[Path, set[Piece]] = {}
        self._tables: set[tuple[Path, str]] = set()
        for file, module in self._modules.items():
            for piece in module.always:
                self._count(file, piece)
        self._table(measure, TABLE)

    def _table(self, file: Path, table: str) -> None:
        """Add the entry of a table, or those of the tables that it is joined from."""
        alias, module = f"{ALIAS}{file}", self._modules[file]
        now = vars(sys.modules[alias]).get(table) if alias in sys.modules else None
        if (file, table) in self._tables or (isinstance(now, Mapping) and self._name not in now):
            return
        self._tables.add((file, table))
        for piece, is_joined in module.entries(table, self._name) or [(p, False) for p in module.bound.get(table, ())]:
            others = list(self._joined(file, piece)) if is_joined else []
            for each, name in others:
                self._table(each, name)
            if not others:
                self._count(file, piece)

    def _joined(self, file: Path, piece: Piece) -> Iterator[tuple[Path, str]]:
        """Yield the tables that a piece names: `A`, `more.MEASURES` or `load_module(HERE / "more.py").MEASURES`."""
        module = self._modules[file]
        if len(piece.uses) == 1:
            yield from ((file, name) for name in piece.uses & module.tables)
        elif TABLE in piece.uses:
            named = {name for use in piece.uses for each in (piece, *module.bound.get(use, ())) for name in each.files}
            for other in files(named, file.parent):
                if other in self._modules and TABLE in self._modules[other].tables:
                    yield other, TABLE

    def _count(self, file: Path, piece: Piece) -> None:
        counted = self.counted.setdefault(file, set())
        if piece in counted:
            return
        counted.add(piece)
        makes_names = not _MAKES_NAMES.isdisjoint(piece.uses)
        if file not in self._seen:
            self._seen[file] = _loaded(file)
        for other, module in self._seen[file].items():
            for name in module.bound if makes_names else piece.uses & module.bound.keys():
                for each in module.bound[name]:
                    self._count(other, each)


def _loaded(file: Path) -> dict[Path, Module]:
    """Return a module and all that it loads, directly or indirectly."""
    found: dict[Path, Module] = {}
    waiting = [file]
    while waiting:
        if (file := waiting.pop()) not in found:
            with suppress(SyntaxError):  # what cannot be loaded is no part of a measure
                found[file] = read(input_files.text(file, remedy="restore it: a claim is measured with it"))
                waiting += code_of(found[file], file.parent)
    return found
