"""Code of the user that ackclock calls: whatever it raises is told as the fault of its file, with the line.

`SystemExit` counts as any other exception: a program that is called by another may not end it, least of all with
success. Ctrl-C passes.
"""

import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


class UserCodeError(RuntimeError):
    """Code of the user failed; the message has its file, the line and the exception."""


@contextmanager
def blamed(file: str | Path) -> Iterator[None]:
    """Turn whatever the code of a file raises into an error that names the file and the line.

    Raises:
        UserCodeError: If it raised anything but Ctrl-C.
    """
    try:
        yield
    except UserCodeError:
        raise
    except (Exception, SystemExit) as error:
        raise UserCodeError(f"{place(error, file)}: {said(error)}; correct it there") from error


def said(error: BaseException) -> str:
    """Return an exception in a line, as Python prints it."""
    if isinstance(error, SystemExit):
        return f"SystemExit: it ends the program with {error.code!r}, which code that is called must not do"
    if isinstance(error, SyntaxError):
        return f"{type(error).__name__}: {error.msg}"
    return f"{type(error).__name__}: {error}"


def place(error: BaseException, file: str | Path) -> str:
    """Return `FILE:LINE`: the innermost line of the file that the exception passed, or else where it was raised."""
    if isinstance(error, SyntaxError) and error.filename:
        return f"{error.filename}:{error.lineno}"
    frames = traceback.extract_tb(error.__traceback__)
    inside = [frame for frame in frames if frame.filename == str(file)] or frames[-1:]
    return f"{inside[-1].filename}:{inside[-1].lineno}" if inside else str(file)
