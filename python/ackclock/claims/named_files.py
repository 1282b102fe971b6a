"""Files that texts of a scenario or measure name, and their content."""

import hashlib
import json
from collections.abc import Iterable, Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

from ackclock.base import input_files, storage
from ackclock.base.decoding import decoded_toml
from ackclock.claims.file_types import completed
from ackclock.claims.python_text import Module, read

_LONGEST: Final = 255
"""Length above which a text is not a file name."""

_JUDGED_BY: Final = ("id", "low", "high", "sign", "share", "region")
"""Keys that a measure may read from `claims.toml`."""

_KEPT: Final = ("recorded*.json", "regions.json", "verdicts.toml")
"""Files of earlier runs in a folder, on which a measure does not rest."""


def contents(texts: Iterable[str], folder: Path) -> Iterator[Any]:
    """Yield the content of each file that a text names: a file by its name, a Python class or module by its code.

    Args:
        texts: Any texts, such as `policy.onnx`, `python:module:Class` or `module`.
        folder: Folder to which names are relative.
    """
    for text in sorted(texts):
        module, _, _ = text.removeprefix("python:").partition(":")
        named = [folder / text] if _may_be(folder, text) else []
        for file in filter(Path.is_file, (*named, *_modules(folder, module))):
            yield _code(file, folder) if file.suffix == ".py" else said(file)


def files(patterns: Iterable[str], folder: Path) -> set[Path]:
    """Return the files that match patterns, in a folder or below a sibling folder.

    Args:
        patterns: Patterns such as `a/*.json`.
        folder: Folder to which patterns are relative.
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
    """Return the Python files in a folder that a module imports, or names in its texts."""
    named = files((name for name in module.files if name.endswith(".py")), folder)
    imported = {file.resolve() for name in (*module.imports, *module.files) for file in _modules(folder, name)}
    return sorted(named | imported)


def said(file: Path) -> str:
    """Return a hash of a file's content; for `claims.toml`, of the keys that decide a judgement.

    Args:
        file: Any file except Python code.
    """
    if file.name == "claims.toml":
        claims = completed(input_files.toml(file, remedy="restore it"))["claim"]
        return json.dumps([[claim.get(name) for name in _JUDGED_BY] for claim in claims])
    if file.suffix == ".toml":
        return document(input_files.text(file, remedy="restore it"))[0]
    found = file.stat()
    return _hash(file, found.st_mtime_ns, found.st_size)


def look_anew() -> None:
    """Clear the cached file lists; within the computation of one subject they stay."""
    _listed.cache_clear()


@lru_cache(maxsize=64)
def _listed(folder: Path) -> frozenset[str]:
    return frozenset(file.name for file in folder.iterdir()) if folder.is_dir() else frozenset()


def _may_be(folder: Path, text: str) -> bool:
    """Return whether a text may name a file, a cheap test, since most do not."""
    first = text.partition("/")[0]
    return (first in _listed(folder) or first in ("", ".", "..")) and 0 < len(text) <= _LONGEST and text.isprintable()


def _modules(folder: Path, name: str) -> Iterator[Path]:
    """Yield the files of a dotted module in a folder, and of its packages."""
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
    """Return the code of a Python file, with everything that it imports and names."""
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
    """Return a TOML text without layout and `name`, and its texts; any other text is returned unchanged."""
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
