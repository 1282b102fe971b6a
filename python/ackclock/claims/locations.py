"""Locations of folders of claims: this package, and the studies of a checkout or of `ackclock-studies`."""

from importlib.util import find_spec
from pathlib import Path
from typing import Final

from ackclock.base import extras
from ackclock.claims import file_checks

FOLDERS: Final = Path(__file__).resolve().parent / "folders"
"""Folder of the claims in every installation."""

_CHECKOUT: Final = FOLDERS.parents[3] / "studies"
"""Folder of the studies beside the sources of this package, if it runs from a checkout."""


def studies() -> Path | None:
    """Return the folder of the studies of sources; None if they are not installed."""
    project = _CHECKOUT / "pyproject.toml"
    if project.is_file() and 'name = "ackclock-studies"' in project.read_text(encoding="utf-8"):
        return _CHECKOUT
    spec = find_spec("ackclock_studies")
    return Path(spec.origin).parent if spec is not None and spec.origin is not None else None


def found() -> list[Path]:
    """Return all named folders of claims, sorted by name."""
    roots = [root for root in (FOLDERS, studies()) if root is not None]
    folders = [file.parent for root in roots for file in root.glob(f"*/{file_checks.FILE}")]
    return sorted(folders, key=lambda folder: folder.name)


def remedy() -> str:
    """Return how to install the studies of sources; empty if they are installed."""
    return "" if studies() is not None else str(extras.missing("studies"))
