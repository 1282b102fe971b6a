"""Locations of folders of claims: this package, and the studies of a checkout or of `ackclock-studies`."""

import sys
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Final

from ackclock.base import extras, study_files
from ackclock.claims import file_checks

FOLDERS: Final = Path(__file__).resolve().parent / "folders"
"""Folder of the claims in every installation."""


def found() -> list[Path]:
    """Return all named folders of claims, sorted by name."""
    roots = [root for root in (FOLDERS, study_files.folder()) if root is not None]
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
    return import_module(f"{study_files.PACKAGE}.{name}")


def make_importable() -> None:
    """Let `import ackclock_studies` find what the distribution has: in a checkout, too, and in a new process.

    Raises:
        MissingPackageError: If the studies are not installed.
    """
    if study_files.folder() is None:
        raise extras.missing("studies")
    if study_files.is_checkout() and study_files.PACKAGE not in sys.modules:
        package = ModuleType(study_files.PACKAGE)
        package.__path__ = [str(study_files.CHECKOUT), str(study_files.CHECKOUT.parent / "benches")]
        sys.modules[study_files.PACKAGE] = package


def remedy() -> str:
    """Return how to install the studies of sources; empty if they are installed."""
    return "" if study_files.folder() is not None else str(extras.missing("studies"))
