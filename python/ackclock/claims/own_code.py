"""The code that a measure rests on: what its folder says of it, and nothing else.

A measure is an entry of `MEASURES`. It brings the expression of its entry, and what counts brings each statement that
binds a name that occurs in it, in its module and all that this loads. A statement that is no definition, import or
assignment to a name may change anything and counts always; so does what stands under a decorator that is not Python's
own. Where names are made at run time (`getattr`, `globals`), all modules count whole. A file that a text names
counts, and for `f"{case}.json"` all that match; of `claims.toml` what claims are judged by.
Departures: code outside folders of claims counts by its name alone, and of ackclock its module does not count either:
neither another engine nor another Polars is another measure. Not followed are files whose names are put together
otherwise, values that an assignment to another name changes, and a second entry of the same id.
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
"""How the name of a module begins that is a file of a folder of claims."""

_MAKES_NAMES: Final = frozenset(
    {"getattr", "globals", "vars", "eval", "exec", "__dict__", "attrgetter", "methodcaller"}
)


def parts(folder: Path, name: str) -> list[Any]:
    """Return what a measure rests on, by files as they lie to the folder, in an order that depends on nothing else."""
    root = folder.resolve()
    reached = _Reached(root / "measure.py", name)
    return [name, *(_said(file, pieces, root) for file, pieces in sorted(reached.counted.items()))]


def _said(file: Path, pieces: set[Piece], root: Path) -> list[Any]:
    in_order = sorted({(piece.place, piece.text) for piece in pieces})
    named = files({name for piece in pieces for name in piece.files}, file.parent)
    data = [said(other) for other in sorted(named) if other.suffix != ".py"]
    return [os.path.relpath(file, root), [text for _, text in in_order], data]


class _Reached:
    """The statements that an entry of `MEASURES` uses, directly or by others."""

    def __init__(self, measure: Path, name: str) -> None:
        """Find them."""
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
        """Take in the entry of a table; of tables that it is joined from, in their modules, theirs."""
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
    """Return a module and those that it loads, one by another."""
    found: dict[Path, Module] = {}
    waiting = [file]
    while waiting:
        if (file := waiting.pop()) not in found:
            with suppress(SyntaxError):  # what cannot be loaded is no part of a measure
                found[file] = read(input_files.text(file, remedy="restore it: a claim is measured with it"))
                waiting += code_of(found[file], file.parent)
    return found
