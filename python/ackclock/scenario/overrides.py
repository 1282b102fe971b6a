"""Expansion of overrides for every entry of a list, `flow[*].controller=reno`."""

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from ackclock.base import input_files


def places(scenario: Path, override: str) -> list[str]:
    """Expand an override; one of a missing list is returned unchanged, to be refused later.

    Args:
        scenario: Path of the scenario file.
        override: Override such as `topology.link[*].queue=codel`.
    """
    path, is_every, rest = override.partition("[*]")
    if not is_every or "=" in path:
        return [override]
    return [f"{path}[{place}]{rest}" for place in range(len(listed_in(scenario, path)))] or [override]


@cache
def listed_in(scenario: Path, path: str) -> tuple[Any, ...]:
    """Return the entries of a list of a scenario; none if the list is missing.

    Args:
        scenario: Path of the scenario file.
        path: Place of the list, such as `topology.link`.
    """
    try:
        return entries(input_files.toml(scenario, remedy=""), path)
    except input_files.InputFileError:
        return ()  # what is wrong with it is told when it is read in earnest


def entries(document: Mapping[str, Any], path: str) -> tuple[Any, ...]:
    """Return the entries of a list of a scenario; none if the list is missing."""
    found: Any = document
    for name in path.split("."):
        found = found.get(name) if isinstance(found, dict) else None
    return tuple(found) if isinstance(found, list) else ()
