"""Locations of folders of claims: this package, and the studies of a checkout or of `ackclock-studies`."""

import sys
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Final

from ackclock.base import extras
from ackclock.claims import file_checks

FOLDERS: Final = Path(__file__).resolve().parent / "folders"
"""Folder of the claims in every installation."""

_CHECKOUT: Final = FOLDERS.parents[3] / "studies"
"""Folder of the studies beside the sources of this package, if it runs from a checkout."""

_PACKAGE: Final = "ackclock_studies"


def studies() -> Path | None:
    """Return the folder of the studies of sources; None if they are not installed."""
    if _is_checkout():
        return _CHECKOUT
    spec = find_spec(_PACKAGE)
    return Path(spec.origin).parent if spec is not None and spec.origin is not None else None


def _is_checkout() -> bool:
    project = _CHECKOUT / "pyproject.toml"
    return project.is_file() and 'name = "ackclock-studies"' in project.read_text(encoding="utf-8")


def found() -> list[Path]:
    """Return all named folders of claims, sorted by name."""
    roots = [root for root in (FOLDERS, studies()) if root is not None]
    folders = [file.parent for root in roots for file in root.glob(f"*/{file_checks.FILE}")]
    return sorted(folders, key=lambda folder: folder.name)


def tool(name: str) -> ModuleType:
    """Import a module of the studies, as a module of the package `ackclock_studies`.

    Args:
        name: A name such as `linux.command`.

    Raises:
        MissingPackageError: If the studies are not installed.
    """
    make_importable()
    return import_module(f"{_PACKAGE}.{name}")


def make_importable() -> None:
    """Let `import ackclock_studies` find what the distribution has: in a checkout, too, and in a new process.

    Raises:
        MissingPackageError: If the studies are not installed.
    """
    if studies() is None:
        raise extras.missing("studies")
    if _is_checkout() and _PACKAGE not in sys.modules:
        package = ModuleType(_PACKAGE)
        package.__path__ = [str(_CHECKOUT), str(_CHECKOUT.parent / "benches")]
        sys.modules[_PACKAGE] = package


def remedy() -> str:
    """Return how to install the studies of sources; empty if they are installed."""
    return "" if studies() is not None else str(extras.missing("studies"))
