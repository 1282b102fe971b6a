"""Folder of the studies: that of a checkout, or of the installed distribution `ackclock-studies`."""

from importlib.util import find_spec
from pathlib import Path
from typing import Final

CHECKOUT: Final = Path(__file__).resolve().parents[3] / "studies"
"""Folder of the studies beside the sources of this package, if it runs from a checkout."""

PACKAGE: Final = "ackclock_studies"
"""Name of the distribution's package."""


def folder() -> Path | None:
    """Return the folder of the studies; None if they are not installed."""
    if is_checkout():
        return CHECKOUT
    spec = find_spec(PACKAGE)
    return Path(spec.origin).parent if spec is not None and spec.origin is not None else None


def is_checkout() -> bool:
    """Return whether this package runs from a checkout."""
    project = CHECKOUT / "pyproject.toml"
    return project.is_file() and 'name = "ackclock-studies"' in project.read_text(encoding="utf-8")
