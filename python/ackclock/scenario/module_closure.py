"""What a scenario's own modules import from beside them: as much a part of what a run is as the modules named."""

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
    """Return the SHA-256 of each file of code that a scenario brings: its classes, its parts, and what these import.

    Args:
        scenario: Any; most bring none.
    """
    sources = (*controllers.sources(scenario).values(), *named_modules.sources(scenario).values())
    beside = imported([source["file"] for source in sources], scenario.folder) if sources else []
    return (*(source["sha256"] for source in sources), *(storage.sha256(Path(file)) for file in beside))


def identity(scenario: Scenario) -> str:
    """Return a hash of all that decides a run beside the engine: the scenario, and the code that it brings.

    Args:
        scenario: Any; without code of its own it is the scenario's hash.
    """
    own = own_code(scenario)
    return hashlib.sha256(" ".join((scenario.hash, *own)).encode()).hexdigest() if own else scenario.hash


def imported(files: Sequence[str], folder: Path) -> list[str]:
    """Return the files in a folder that modules import, one by another.

    Args:
        files: Of the modules, which are loaded.
        folder: The scenario's. What is imported from elsewhere, as packages that are installed are, does not count.

    Returns:
        In order, the modules' own files left out.
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
    """The modules that a file's imports may name."""
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
