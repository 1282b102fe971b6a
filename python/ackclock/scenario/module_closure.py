"""Import closure of a scenario's own modules, which is part of a run's identity."""

import ast
import hashlib
import importlib.util
import sys
from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import Path

from ackclock import controllers
from ackclock._core import Scenario
from ackclock.base import storage
from ackclock.scenario import named_modules

_OURS = "ackclock"


def own_code(scenario: Scenario) -> tuple[str, ...]:
    """Return the SHA-256 of each code file of a scenario: its classes, its parts, and their imports.

    Args:
        scenario: Any; most bring none.
    """
    sources = (*controllers.sources(scenario).values(), *named_modules.sources(scenario).values())
    beside = imported([source["file"] for source in sources], scenario.folder) if sources else []
    return (*(source["sha256"] for source in sources), *(storage.sha256(Path(file)) for file in beside))


def identity(scenario: Scenario) -> str:
    """Return a hash of everything that determines a run except the engine: the scenario and its code.

    Args:
        scenario: The scenario; without code, the result is its own hash.
    """
    own = own_code(scenario)
    return hashlib.sha256(" ".join((scenario.hash, *own)).encode()).hexdigest() if own else scenario.hash


def imported(files: Sequence[str], folder: Path) -> list[str]:
    """Return the files in a folder that modules import, directly or indirectly.

    Args:
        files: Files of the modules, which are loaded.
        folder: Folder of the scenario. Imports from elsewhere, such as installed packages, do not count.

    Returns:
        The files in order, without those of the modules themselves.
    """
    root = folder.resolve()
    packages = {
        file: str(module.__package__ or "")
        for module in tuple(sys.modules.values())
        if (file := getattr(module, "__file__", None))
    }
    found, waiting = set(files), [file for file in files if file.endswith(".py")]
    while waiting:
        file = waiting.pop()
        for name in _names(file, Path(file).stat().st_mtime_ns, packages.get(file, "")):
            other = getattr(sys.modules.get(name), "__file__", None)
            if other and other not in found and name.partition(".")[0] != _OURS and _is_beside(Path(other), root):
                found.add(other)
                waiting.append(other)
    return sorted(found.difference(files))


def _is_beside(file: Path, root: Path) -> bool:
    return file.suffix == ".py" and file.resolve().is_relative_to(root) and "site-packages" not in file.parts


@lru_cache(maxsize=256)
def _names(file: str, _changed: int, package: str) -> tuple[str, ...]:
    """Return the names of modules that a file's imports may refer to."""
    return tuple(dict.fromkeys(_imports(ast.parse(Path(file).read_bytes()), package)))


def _imports(tree: ast.Module, package: str) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and (package or not node.level):
            name = "." * node.level + (node.module or "")
            whole = importlib.util.resolve_name(name, package) if node.level else name
            yield whole
            yield from (f"{whole}.{alias.name}" for alias in node.names)
