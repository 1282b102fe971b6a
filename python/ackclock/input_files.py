"""Files that a user names, read so that none hangs, and none takes all memory: the one way in for all readers."""

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, Final

from ackclock import _core
from ackclock.decoding import decoded_toml

MOST: Final = 1_000_000_000
"""Octets of the longest file that is read into memory."""

_MOST_OF_DEVICE: Final = 64 << 20
"""Of a device, which may have no end."""


class InputFileError(ValueError):
    """A file cannot be read as what it is given for: wrong input; the message has its name and what to do."""


def octets(file: Path, *, remedy: str, most: int = MOST) -> bytes:
    """Return the octets of a regular file; a pipe, a terminal, a folder or a device without end is refused.

    Args:
        file: The file.
        remedy: What to do if it is none.
        most: A longer one is refused.

    Raises:
        InputFileError: If it cannot be read, is no regular file, or is longer.
    """
    try:
        return _core.read_file(file, most if file.is_file() else min(most, _MOST_OF_DEVICE))
    except (OSError, ValueError) as error:  # a name with a NUL is a ValueError
        raise _unreadable(file, error, remedy) from error


def text(file: Path, *, remedy: str) -> str:
    """Return the text of a regular file.

    Args:
        file: The file, of UTF-8.
        remedy: What to do if it is none.

    Raises:
        InputFileError: If it cannot be read, or is no text.
    """
    content = octets(file, remedy=remedy)
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        octet, at = content[error.start], error.start - content.rfind(b"\n", 0, error.start)
        place = f"octet {octet:#04x} in line {line}, the {at}. of that line"
        raise InputFileError(f"{file}: must be text in UTF-8: {place}; {remedy}") from error


@contextmanager
def opened(file: Path, *, remedy: str) -> Iterator[BinaryIO]:
    """Open a regular file, of any length, to be read piece by piece.

    Args:
        file: The file.
        remedy: What to do if it is none.

    Raises:
        InputFileError: If it cannot be opened, or is no regular file.
    """
    try:
        handle = os.open(file, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    except (OSError, ValueError) as error:
        raise _unreadable(file, error, remedy) from error
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise InputFileError(f"{file}: must be a regular file; {remedy}")
    with os.fdopen(handle, "rb") as content:
        yield content


def toml(file: Path, *, remedy: str) -> dict[str, Any]:
    """Return what a TOML file says.

    Args:
        file: The file.
        remedy: What to do if it is none.

    Raises:
        InputFileError: If it cannot be read, or is no TOML.
    """
    try:
        return decoded_toml(text(file, remedy=remedy))
    except InputFileError:
        raise
    except ValueError as error:
        raise InputFileError(f"{file}: is not TOML: {error}; {remedy}") from error


def _unreadable(file: Path, error: OSError | ValueError, remedy: str) -> InputFileError:
    reason = getattr(error, "strerror", None) or str(error)
    return InputFileError(f"{file}: cannot be read: {reason[:1].lower()}{reason[1:]}; {remedy}")
