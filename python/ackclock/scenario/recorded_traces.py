"""Recorded traces that a scenario names and the package does not have."""

import os
from pathlib import Path
from typing import Any, Final

from ackclock.base import input_files
from ackclock.base.toml_text import toml_text

VARIABLE: Final = "ACKCLOCK_TRACES"
"""Environment variable: the folder of the traces."""


def overrides(file: Path) -> list[str]:
    """Return the overrides by which a scenario whose bottleneck draws a trace finds it in the folder of the traces.

    Raises:
        LookupError: If it draws one and the environment variable is not set.
    """
    names: Any = input_files.toml(file, remedy="give a scenario file (.toml)")
    for key in ("topology", "bottleneck", "rate", "trace", "choice"):
        names = names.get(key) if isinstance(names, dict) else None
    if names is None:
        return []
    folder = os.environ.get(VARIABLE)
    if not folder:
        raise LookupError(f"{file} needs recorded traces; say in {VARIABLE} which folder has them")
    paths = toml_text([str(Path(folder).resolve() / name) for name in names])
    return [f"topology.bottleneck.rate={{ trace = {{ choice = {paths} }} }}"]
