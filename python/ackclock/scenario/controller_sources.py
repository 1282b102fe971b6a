"""Static lookup of classes that a scenario names, from the source of their modules, without running it."""

import ast
import importlib.machinery
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NoReturn

from ackclock.controllers import CongestionController, Found, check_name
from ackclock.scenario.named_modules import RefusedError, not_importable

_REQUIRED = ("on_ack", "on_congestion")


def find(path: str, _parameters: Mapping[str, Any], folder: Path) -> Found:
    """Find the class that a scenario names, without importing its module.

    Effects of the import, inherited members and constructor parameters stay unknown.

    Args:
        path: `module:Class`.
        folder: Folder that is searched first for its module.

    Returns:
        A class of its name, which refuses to control a flow.

    Raises:
        RefusedError: If the module is missing or is not Python, or the class is missing or is not a controller.
    """
    check_name(path)
    module, _, name = path.partition(":")
    file = file_of(module, folder)
    if file is not None:
        _check_class(_parse(module, file, folder), name.split("."), file)
    return Found(_Unimported, [])


class _Unimported(CongestionController):
    """Controller that refuses to run, as its module was not imported."""

    def __init__(self, _start: object, **_parameters: object) -> None:
        _refuse()

    def on_ack(self, _ack: object) -> NoReturn:
        _refuse()

    def on_congestion(self, _event: object) -> NoReturn:
        _refuse()


def _refuse() -> NoReturn:
    raise RuntimeError("the scenario was read without importing its Python: read it again with imports=True")


def file_of(module: str, folder: Path) -> Path | None:
    """Return the file of a module, first from the scenario's folder; None if it is not written in Python.

    Raises:
        RefusedError: If the module is not found.
    """
    spec: importlib.machinery.ModuleSpec | None = None
    places: list[str] = [str(folder), *sys.path]
    known = ""
    for part in module.split("."):
        known = f"{known}.{part}" if known else part
        spec = importlib.machinery.PathFinder.find_spec(known, places)
        if spec is None and known in sys.builtin_module_names:
            return None
        if spec is None:
            raise not_importable(module, folder, ModuleNotFoundError(name=known))
        places = list(spec.submodule_search_locations or [])
    has_text = spec is not None and spec.origin is not None and spec.origin.endswith(".py")
    return Path(spec.origin) if has_text and spec is not None and spec.origin is not None else None


def _parse(module: str, file: Path, folder: Path) -> ast.Module:
    try:
        return ast.parse(file.read_bytes(), str(file))
    except (SyntaxError, ValueError, OSError) as error:
        raise not_importable(module, folder, error) from error


def _check_class(scope: ast.Module | ast.ClassDef, names: list[str], file: Path) -> None:
    """Resolve `Outer.Inner`; imported names are accepted, as they may be anything."""
    for name in names:
        classes = {node.name: node for node in _statements(scope) if isinstance(node, ast.ClassDef)}
        if name not in classes:
            if _is_function(scope, name):
                raise RefusedError("class", "is not a controller", "derive a class from ackclock.CongestionController")
            if name in _bound(scope) or _is_open(scope):
                return
            known = ", ".join(classes) or "no classes"
            raise RefusedError("class", f"{name} is not in {file}", f"it has {known}")
        scope = classes[name]
    if isinstance(scope, ast.ClassDef):
        _check_bases(scope)


def _check_bases(found: ast.ClassDef) -> None:
    if not found.bases and not found.keywords:
        raise RefusedError("class", "is not a controller", "derive the class from ackclock.CongestionController")
    if [ast.unparse(base).rpartition(".")[2] for base in found.bases] != [CongestionController.__name__]:
        return  # what it inherits is written elsewhere
    defined = _bound(found)
    if missing := [name for name in _REQUIRED if name not in defined]:
        raise RefusedError("class", f"lacks {' and '.join(missing)}", f"define {', '.join(missing)} in the class")


def _statements(scope: ast.AST) -> Iterator[ast.AST]:
    """Yield the statements that run with a module or class body, including those nested in `if`, `try` and the like."""
    for node in ast.iter_child_nodes(scope):
        yield node
        if not isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            yield from _statements(node)


def _bound(scope: ast.AST) -> set[str]:
    """Return the names that the statements bind."""
    names = set()
    for node in _statements(scope):
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            names.add(node.name)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.add(node.id)
        elif isinstance(node, ast.alias):
            names.add(node.asname or node.name.partition(".")[0])
    return names


def _is_function(scope: ast.AST, name: str) -> bool:
    """Return whether a name is bound to a function and to nothing else."""
    functions = [node for node in ast.iter_child_nodes(scope) if isinstance(node, ast.FunctionDef)]
    return any(node.name == name and not node.decorator_list for node in functions)


def _is_open(scope: ast.AST) -> bool:
    """Return whether names may exist that no statement binds explicitly."""
    return bool({"*", "__getattr__"} & _bound(scope)) or any(
        isinstance(node, ast.Call) and ast.unparse(node.func) in ("globals", "vars", "exec", "setattr")
        for node in _statements(scope)
    )
