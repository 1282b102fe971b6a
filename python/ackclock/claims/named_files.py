"""The files that a scenario or a measure names by a text, and what they say."""

import hashlib
import json
from collections.abc import Iterable, Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

from ackclock.base import input_files, storage
from ackclock.base.decoding import decoded_toml
from ackclock.claims.python_text import Module, read

_LONGEST: Final = 255
"""A longer text names no file."""

_JUDGED_BY: Final = ("id", "low", "high", "sign", "share", "region")
"""The keys that a measure which reads `claims.toml` may take from it."""

_KEPT: Final = ("recorded*.json", "regions.json", "verdicts.toml")
"""The files that a folder keeps of earlier runs: a measure does not rest on them."""


def contents(texts: Iterable[str], folder: Path) -> Iterator[Any]:
    """Yield what each file says that a text names: a file by its name, a class or module of Python by its code.

    Args:
        texts: Any, as `policy.onnx`, `python:module:Class` or `module`.
        folder: Where names begin.
    """
    for text in sorted(texts):
        module, _, _ = text.removeprefix("python:").partition(":")
        named = [folder / text] if _may_be(folder, text) else []
        for file in filter(Path.is_file, (*named, *_modules(folder, module))):
            yield _code(file, folder) if file.suffix == ".py" else said(file)


def files(patterns: Iterable[str], folder: Path) -> set[Path]:
    """Return the files that patterns match in a folder, and with a folder of their own beside it.

    Args:
        patterns: As `a/*.json`.
        folder: Where names begin.
    """
    found: set[Path] = set()
    for pattern in patterns:
        first, slash, _ = pattern.partition("/")
        for place in (folder, folder.parent) if slash and "*" not in first else (folder,):
            if "*" in pattern:
                found |= {file.resolve() for file in place.glob(pattern.lstrip("/")) if file.is_file()}
            elif _may_be(place, pattern) and (place / pattern).is_file():
                found.add((place / pattern).resolve())
    return {file for file in found if not any(file.match(name) for name in _KEPT)}


def code_of(module: Module, folder: Path) -> list[Path]:
    """Return the files of Python in a folder that a module imports, or names in its texts."""
    named = files((name for name in module.files if name.endswith(".py")), folder)
    imported = {file.resolve() for name in (*module.imports, *module.files) for file in _modules(folder, name)}
    return sorted(named | imported)


def said(file: Path) -> str:
    """Return a hash of what a file says; of `claims.toml` what is judged by.

    Args:
        file: Any but one of Python.
    """
    if file.name == "claims.toml":
        claims = input_files.toml(file, remedy="restore it").get("claim", ())
        return json.dumps([[claim.get(name) for name in _JUDGED_BY] for claim in claims])
    if file.suffix == ".toml":
        return document(input_files.text(file, remedy="restore it"))[0]
    found = file.stat()
    return _hash(file, found.st_mtime_ns, found.st_size)


def look_anew() -> None:
    """Forget which files folders have; within the reckoning of one subject they stay."""
    _listed.cache_clear()


@lru_cache(maxsize=64)
def _listed(folder: Path) -> frozenset[str]:
    return frozenset(file.name for file in folder.iterdir()) if folder.is_dir() else frozenset()


def _may_be(folder: Path, text: str) -> bool:
    """Whether a text may name a file, seen from a folder; most name none, and few are asked for."""
    first = text.partition("/")[0]
    return (first in _listed(folder) or first in ("", ".", "..")) and 0 < len(text) <= _LONGEST and text.isprintable()


def _modules(folder: Path, name: str) -> Iterator[Path]:
    """Yield the files of a module with a dotted name in a folder, and of its packages."""
    levels = len(name) - len(name.lstrip("."))
    parts = name.lstrip(".").split(".")
    if parts[0] == "ackclock" or not all(part.isidentifier() for part in parts):
        return
    for _ in range(levels - 1):
        folder = folder.parent
    if _listed(folder).isdisjoint((parts[0], f"{parts[0]}.py")):
        return
    for count in range(1, len(parts) + 1):
        path = folder.joinpath(*parts[:count])
        yield from filter(Path.is_file, (path.with_name(f"{path.name}.py"), path / "__init__.py"))


def _code(file: Path, folder: Path) -> list[Any]:
    """Return what a file of Python says, with all that it imports and names."""
    seen: dict[Path, list[Any]] = {}
    waiting = [file.resolve()]
    while waiting:
        if (file := waiting.pop()) in seen:
            continue
        try:
            module = read(input_files.text(file, remedy="restore it: a scenario names it"))
        except (SyntaxError, ValueError):  # a run will say what is wrong with it
            seen[file] = [said(file)]
            continue
        data = sorted(said(other) for other in files(module.files, file.parent) if other.suffix != ".py")
        seen[file] = [hashlib.sha256(module.said.encode()).hexdigest(), *data]
        waiting += [*code_of(module, file.parent), *code_of(module, folder)]
    return [seen[file] for file in sorted(seen)]


@lru_cache(maxsize=256)
def _hash(file: Path, _changed_ns: int, _size: int) -> str:
    return storage.sha256(file)


def document(text: str, before: str = "") -> tuple[str, tuple[str, ...]]:
    """Return a text of TOML without its layout and `name`, and its texts; what is no TOML stays as it is."""
    try:
        table = decoded_toml(text)
    except ValueError:
        return before + text, ()
    table.pop("name", None)
    return before + json.dumps(table, sort_keys=True, default=str), tuple(_texts(table))


def _texts(value: Any) -> Iterator[str]:  # noqa: ANN401
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for each in value.values() if isinstance(value, dict) else value:
            yield from _texts(each)
