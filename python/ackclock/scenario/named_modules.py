"""Import of modules that a scenario names, from its folder or from Python's search path."""

import hashlib
import importlib
import importlib.machinery
import importlib.util
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Final
from weakref import WeakKeyDictionary

from ackclock._core import Scenario
from ackclock.base.input_files import spelled
from ackclock.base.user_code import place, said

if TYPE_CHECKING:
    from ackclock.results.manifests import ControllerSource

PLUGINS: Final = (".so", ".dylib", ".dll")
"""Ends of the names of plug-ins in `use`."""

FILES: Final = (".py", *PLUGINS)
"""Ends of the entries of `use` that are files; all others are modules."""


class RefusedError(ValueError):
    """Error: a scenario does not name a usable class or module.

    Attributes:
        field: Field at fault, `class` or `parameters`; meaningless for an entry of `use`.
        message: Description of the mistake.
        remedy: Instruction what to write instead.
    """

    def __init__(self, field: str, message: str, remedy: str) -> None:
        """Compose the error."""
        super().__init__(f"{message}; {remedy}")
        self.field: str = field
        self.message: str = message
        self.remedy: str = remedy


def used(entry: str, folder: Path) -> ModuleType:
    """Import the module that an entry of a scenario's `use` names.

    Args:
        entry: Name of a module, or a file that ends in `.py`.
        folder: Folder of the scenario.

    Raises:
        RefusedError: If the module is unknown, or cannot be imported.
    """
    if entry.endswith(".py"):
        found = _of_file(folder / entry)
    elif all(part.isidentifier() for part in entry.split(".")):
        found = module(entry, folder)
    else:
        raise RefusedError("use", "must name a module", 'write "mymodule", or its file, "mymodule.py"')
    source_of(found)
    _used[entry, folder] = found
    return found


_used: dict[tuple[str, Path], ModuleType] = {}
"""Modules by `use` entry and folder, as last imported: the file may be gone since then."""


def _of_file(path: Path) -> ModuleType:
    file = path.resolve()
    if not file.is_file():
        raise RefusedError(
            "use", f"must be an existing file, and {file} is missing", "put it there, or correct the name"
        )
    known = sys.modules.get(file.stem)
    if known is not None and getattr(known, "__file__", None) == str(file):
        return known
    alias = f"{file.stem} of {file}"
    if alias in sys.modules:
        return sys.modules[alias]
    with _first_on_path(file.parent):
        try:
            return executed(alias, str(file))
        except (Exception, SystemExit) as error:
            raise not_importable(file.stem, file.parent, error) from error


def sources(scenario: Scenario) -> "dict[str, ControllerSource]":
    """Return the source files of a scenario's `use` entries, for manifests.

    Args:
        scenario: The scenario.

    Returns:
        For each entry its file and the file's SHA-256; nothing for a module without a file.
    """
    scenario.check_imported()
    described: dict[str, ControllerSource] = {}
    for entry in scenario.uses:
        is_plugin = entry.endswith(PLUGINS)
        folder = scenario.folder
        source = _source(folder / entry) if is_plugin else source_of(_used.get((entry, folder)) or used(entry, folder))
        if source is not None:
            described[entry] = source
    return described


_seen_sources: "WeakKeyDictionary[ModuleType, tuple[object, ControllerSource | None]]" = WeakKeyDictionary()
"""Modules seen, with their spec, which another import replaces, and their file at that time."""


def source_of(imported: ModuleType) -> "ControllerSource | None":
    """Return the file of a module as it was when first seen; None for a module without a file.

    Later edits do not count, as Python imports a module only once.
    """
    spec, source = _seen_sources.get(imported, (None, None))
    if imported not in _seen_sources or spec is not imported.__spec__:
        file = getattr(imported, "__file__", None)
        source = None if file is None else _source(Path(file))
        _seen_sources[imported] = imported.__spec__, source
    return source


def _source(file: Path) -> "ControllerSource | None":
    try:
        return {"file": spelled(file), "sha256": hashlib.sha256(file.read_bytes()).hexdigest()}
    except OSError:  # it is in an archive, or gone
        return None


def module(name: str, folder: Path) -> ModuleType:
    """Import a module, first from the scenario's folder.

    Args:
        name: Name of the module, dotted for one in a package.
        folder: Folder of the scenario.

    Raises:
        RefusedError: If it cannot be imported.
    """
    with _first_on_path(folder):
        beside = importlib.machinery.PathFinder.find_spec(name.partition(".")[0], [str(folder)])
        try:
            if beside is not None and _is_taken(beside):
                return _other_of_that_name(name, beside)
            return importlib.import_module(name)
        except (Exception, SystemExit) as error:
            raise not_importable(name, folder, error) from error


def _is_taken(spec: importlib.machinery.ModuleSpec) -> bool:
    """Return whether the name is taken by a module from another scenario's folder."""
    known = sys.modules.get(spec.name)
    return known is not None and getattr(known.__spec__, "origin", None) != spec.origin


def _other_of_that_name(name: str, spec: importlib.machinery.ModuleSpec) -> ModuleType:
    """Import a module whose name is taken, under its file's name."""
    if "." in name or spec.origin is None:
        raise ImportError(f"another package {spec.name} is imported already")
    alias = f"{name} of {spec.origin}"
    return sys.modules[alias] if alias in sys.modules else executed(alias, spec.origin)


def executed(alias: str, file: str) -> ModuleType:
    """Import a file under an alias.

    Args:
        alias: Name in `sys.modules`, which dataclasses and others look up during the import.
        file: Path of the file.

    Raises:
        ImportError: If it is not a module.
    """
    spec = importlib.util.spec_from_file_location(alias, file)
    if spec is None or spec.loader is None:
        raise ImportError(f"{file} is not a module")
    made = importlib.util.module_from_spec(spec)
    sys.modules[alias] = made
    try:
        spec.loader.exec_module(made)
    except BaseException:
        del sys.modules[alias]
        raise
    return made


@contextmanager
def _first_on_path(folder: Path) -> Iterator[None]:
    """Import from a folder first, and keep no bytecode: it would stand for a source that is edited within a second."""
    keeps_none, sys.dont_write_bytecode = sys.dont_write_bytecode, True
    sys.path.insert(0, str(folder))
    try:
        yield
    finally:
        sys.path.remove(str(folder))
        sys.dont_write_bytecode = keeps_none


def not_importable(name: str, folder: Path, error: Exception | SystemExit) -> RefusedError:
    """Return the error for a module that cannot be imported."""
    if isinstance(error, ModuleNotFoundError) and error.name is not None and f"{name}.".startswith(f"{error.name}."):
        return RefusedError(
            "class",
            f"must name an existing module: module {error.name} is not found",
            f"put {error.name.replace('.', '/')}.py into {folder}, or add its folder to PYTHONPATH",
        )
    return RefusedError("class", f"must name a module that can be imported: {_in_short(error)}", "correct the module")


def _in_short(error: Exception | SystemExit) -> str:
    """Return a short form of an exception with the place where it was raised."""
    return f"{said(error)} ({place(error, '')})"
