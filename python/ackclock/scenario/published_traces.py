"""Published traces of links: their addresses, licences and hashes, and fetching them.

The package has none of them, for their licences differ from its own. `published-traces.toml` lists them.
"""

import hashlib
import urllib.error
import urllib.request
from dataclasses import dataclass
from functools import cache
from http.client import HTTPException
from pathlib import Path
from typing import Final

from ackclock.base import storage
from ackclock.base.input_files import InputError, toml
from ackclock.base.printable import unknown

REGISTRY: Final = Path(__file__).with_name("published-traces.toml")
"""File that lists the traces."""

_PATIENCE_S: Final = 60.0
"""Longest wait for a site to answer, seconds."""


@dataclass(frozen=True, slots=True)
class PublishedTrace:
    """Trace that a site has.

    Attributes:
        name: Name of the file.
        about: Network, direction, length and mean rate.
        by: Publisher and authors.
        licence: SPDX identifier of its licence.
        address: URL of the file, at a commit.
        size: Size, octets.
        sha256: Hash of the content.
    """

    name: str
    about: str
    by: str
    licence: str
    address: str
    size: int
    sha256: str


@cache
def traces() -> dict[str, PublishedTrace]:
    """Return the traces by name."""
    registry = toml(REGISTRY, remedy="install ackclock again")
    found = {}
    for entry in registry["trace"]:
        source = registry["source"][entry["source"]]
        found[entry["name"]] = PublishedTrace(
            entry["name"],
            entry["about"],
            source["by"],
            source["licence"],
            source["address"].format(**entry),
            entry["bytes"],
            entry["sha256"],
        )
    return found


def trace(name: str) -> PublishedTrace:
    """Return a trace.

    Raises:
        InputError: If it is unknown.
    """
    if name not in traces():
        raise InputError(unknown("trace", name, traces()))
    return traces()[name]


def fetch(wanted: PublishedTrace, folder: Path, mirror: str | None = None) -> Path:
    """Fetch a trace into a folder, created if missing; one that is there already stays.

    Args:
        wanted: The trace.
        folder: Destination.
        mirror: Folder, or address of one, that has the file under its name; None for the site that published it.

    Returns:
        Path of the file.

    Raises:
        InputError: If it cannot be fetched, its content is another one, or the folder has another file of this name.
        OSError: If the file cannot be written.
    """
    file = folder / wanted.name
    if file.is_file() and storage.sha256(file) == wanted.sha256:
        return file
    if file.exists():
        raise InputError(f"{file} exists already, with other content; name another folder, or remove it")
    place = wanted.address if mirror is None else f"{mirror.rstrip('/')}/{wanted.name}"
    content = _content(place, wanted.size)
    found = hashlib.sha256(content).hexdigest()
    if found != wanted.sha256:
        raise InputError(
            f"{place}: the content must have the SHA-256 {wanted.sha256}, not {found}; fetch it from another place"
        )
    folder.mkdir(parents=True, exist_ok=True)
    storage.write_file(file, content)
    return file


def _content(place: str, size: int) -> bytes:
    """Return the content at a path or an address, cut behind the octet after its known size."""
    try:
        if "://" not in place:
            with Path(place).open("rb") as file:
                return file.read(size + 1)
        with urllib.request.urlopen(place, timeout=_PATIENCE_S) as answer:
            content: bytes = answer.read(size + 1)
            return content
    except (OSError, HTTPException, ValueError) as error:  # a ValueError is an address of an unknown kind
        reason = getattr(error, "reason", None) or getattr(error, "strerror", None) or error
        remedy = "try again, or give a place that has it: --mirror"
        raise InputError(f"{place}: cannot be fetched ({reason}); {remedy}") from error
