"""Handlers of Ctrl-C and SIGTERM while the command line loads: one line and an exit code instead of a traceback.

The package imports this module first, and it imports next to nothing. `ackclock.cli.app.main` installs its own
handlers later.
"""

import os
import signal
import sys

_INTERRUPTED = 130


def listen() -> None:
    """Exit immediately at a signal if this process is the command line; leave importing programs alone."""
    if not is_command_line(sys.orig_argv):
        return
    for number in (signal.SIGTERM, signal.SIGINT):
        if signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, _end)


def is_command_line(arguments: list[str]) -> bool:
    """Return whether a process runs `ackclock`, as a script or as a module.

    Args:
        arguments: Arguments of the process, beginning with the interpreter.

    Examples:
        >>> is_command_line(["python", "/usr/bin/ackclock", "run"]), is_command_line(["python", "-m", "ackclock"])
        (True, True)
        >>> is_command_line(["python", "mine.py", "ackclock"])
        False
    """
    options = iter(arguments[1:])
    for argument in options:
        if argument == "-m":
            return next(options, "") == "ackclock"
        if argument in ("-X", "-W"):
            next(options, "")
        elif not argument.startswith("-"):
            return os.path.splitext(os.path.basename(argument))[0] == "ackclock"  # noqa: PTH119, PTH122  loads less
    return False


def _end(_number: int, _frame: object) -> None:
    os.write(2, b"interrupted; no results were written\n")
    os._exit(_INTERRUPTED)
