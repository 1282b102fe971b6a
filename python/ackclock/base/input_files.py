"""Readers of user-supplied files, safe against files that block or exhaust memory; all other readers use these."""

import codecs
import os
import stat
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, Final

from ackclock import _core
from ackclock.base.decoding import decoded_toml

MOST: Final = 1_000_000_000
"""Size of the largest file that is read into memory, octets."""

_MOST_OF_DEVICE: Final = 64 << 20
"""Size limit for a device, which may be endless, octets."""

_MOST_OF_LINE: Final = 1 << 20
_PIECE: Final = 1 << 20
_GZIP: Final = b"\x1f\x8b"
_OF_GZIP: Final = zlib.MAX_WBITS | 16
"""Flag that makes zlib expect a gzip header."""
_UTF16: Final = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


class InputError(ValueError):
    """Error: the user's input is wrong. The message says what to do."""


class InputFileError(InputError):
    """Error: an input file cannot be read as intended. The message gives its name and a remedy."""


def octets(file: Path, *, remedy: str, most: int = MOST) -> bytes:
    """Return the octets of a regular file; pipes, terminals, folders and endless devices are refused.

    Args:
        file: The file.
        remedy: Instruction for a file that cannot be read.
        most: Largest accepted size, octets.

    Raises:
        InputFileError: If it cannot be read, is not a regular file, or is too large.
    """
    try:
        return _core.read_file(file, most if file.is_file() else min(most, _MOST_OF_DEVICE))
    except (OSError, ValueError) as error:  # a name with a NUL is a ValueError
        raise _unreadable(file, error, remedy) from error


def text(file: Path, *, remedy: str) -> str:
    """Return the text of a regular file.

    Raises:
        InputFileError: If it cannot be read, or is not text.
    """
    content = octets(file, remedy=remedy)
    check_encoding(content, file)
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        octet, at = content[error.start], error.start - content.rfind(b"\n", 0, error.start)
        place = f"octet {octet:#04x} in line {line}, octet {at} of that line"
        raise InputFileError(f"{file}: must be text in UTF-8: {place}; {remedy}") from error


def check_encoding(begin: bytes, file: Path) -> None:
    """Refuse text in UTF-16, which Windows programs write by default.

    Raises:
        InputFileError: If it is encoded so.
    """
    if begin.startswith(_UTF16):
        raise InputFileError(f"{file}: must be text in UTF-8, and is UTF-16 as PowerShell writes it; save it as UTF-8")


def lines(file: Path, *, remedy: str) -> Iterator[bytes]:
    """Yield the lines of a regular file of any length, without a byte order mark.

    Raises:
        InputFileError: If it cannot be read, or a line is too long.
    """
    with opened(file, remedy=remedy) as content:
        number = 0
        while line := content.readline(_MOST_OF_LINE + 1):
            number += 1
            if len(line) > _MOST_OF_LINE:
                raise InputFileError(f"{file}, line {number}: must have at most {_MOST_OF_LINE} octets; {remedy}")
            yield line.removeprefix(codecs.BOM_UTF8) if number == 1 else line


def unpacked(file: Path, *, remedy: str) -> bytes:
    """Return the octets of a regular file, decompressed if it is gzip.

    Raises:
        InputFileError: If it cannot be read, is damaged, or is larger than `MOST`, compressed or decompressed.
    """
    content = octets(file, remedy=remedy)
    if not content.startswith(_GZIP):
        return content
    found, packed = bytearray(), zlib.decompressobj(_OF_GZIP)
    try:
        while content:
            if packed.eof:  # several may stand one after the other (RFC 1952 section 2.2)
                packed = zlib.decompressobj(_OF_GZIP)
            found += packed.decompress(content, _PIECE)
            content = packed.unconsumed_tail or packed.unused_data
            if len(found) > MOST:
                raise InputFileError(f"{file}: must have at most {MOST} octets unpacked; {remedy}")
        found += packed.flush()
    except zlib.error as error:
        raise InputFileError(f"{file}: cannot be unpacked: {error}; {remedy}") from error
    if not packed.eof:
        raise InputFileError(f"{file}: cannot be unpacked: it was cut; {remedy}")
    return bytes(found)


def spelled(name: str | Path) -> str:
    r"""Return a file name as valid text: octets that are not UTF-8 are replaced.

    Args:
        name: A file, or an argument of the command line.

    Examples:
        >>> spelled("a\udcff.pcap") == "a\ufffd.pcap"
        True
    """
    return os.fsencode(name).decode(errors="replace")


@contextmanager
def opened(file: Path, *, remedy: str) -> Iterator[BinaryIO]:
    """Open a regular file of any length for reading in pieces.

    Raises:
        InputFileError: If it cannot be opened, or is not a regular file.
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
    """Read a TOML file.

    Raises:
        InputFileError: If it cannot be read, or is not TOML.
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
