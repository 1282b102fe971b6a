"""Calls of user-written code: its exceptions are reported with their file and line.

`SystemExit` counts as any other exception: called code must not end the program, least of all with success. Ctrl-C
passes through.
"""

import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


class UserCodeError(RuntimeError):
    """Error: user-written code failed. The message gives the file, the line and the exception."""


@contextmanager
def blamed(file: str | Path) -> Iterator[None]:
    """Convert exceptions from the code of a file into errors that name the file and the line.

    Raises:
        UserCodeError: If the code raised anything but Ctrl-C.
    """
    try:
        yield
    except UserCodeError:
        raise
    except (Exception, SystemExit) as error:
        raise UserCodeError(f"{place(error, file)}: {said(error)}; correct it there") from error


def said(error: BaseException) -> str:
    """Return an exception as one line, as Python prints it."""
    if isinstance(error, SystemExit):
        return f"SystemExit: it must not end the program, but did with {error.code!r}"
    if isinstance(error, SyntaxError):
        return f"{type(error).__name__}: {error.msg}"
    return f"{type(error).__name__}: {error}"


def place(error: BaseException, file: str | Path) -> str:
    """Return `FILE:LINE` of an exception: its innermost frame in the file, or else where it was raised."""
    if isinstance(error, SyntaxError) and error.filename:
        return f"{error.filename}:{error.lineno}"
    frames = traceback.extract_tb(error.__traceback__)
    inside = [frame for frame in frames if frame.filename == str(file)] or frames[-1:]
    return f"{inside[-1].filename}:{inside[-1].lineno}" if inside else str(file)
