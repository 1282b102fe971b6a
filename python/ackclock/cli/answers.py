"""`--json` of every command: standard output has what came of the call as JSON, and nothing else.

A command that prints a table of its own as JSON declares the option itself. Every other one gets it here: it says with
`answer` what it came to, which nobody hears unless asked; what it prints for people, and what programs print that it
starts, is not on standard output then. Which files and folders were written is known without being told.
"""

import functools
import io
import json
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stdout, suppress
from typing import Any, ParamSpec, TextIO

import typer
from typer.core import TyperOption

from ackclock.base import storage

_P = ParamSpec("_P")

HELP = "Print the result as JSON."


class _Asked:
    """What a command has said so far, and where it goes."""

    def __init__(self, name: str, output: TextIO) -> None:
        self.facts: dict[str, Any] = {"command": name}
        self._placed = len(storage.placed)
        self._output: TextIO | None = output

    def print(self) -> None:
        """Print it, once."""
        if self._output is None:
            return
        written = [str(path) for path in storage.placed[self._placed :]]
        self._output.write(json.dumps(self.facts | {"written": written}, indent=1, ensure_ascii=False) + "\n")
        self._output.flush()
        self._output = None


_asked: _Asked | None = None


def answer(**facts: object) -> None:
    """Say what a command came to, should anybody have asked for JSON.

    Args:
        facts: Values that JSON has, by names with their units.
    """
    if _asked is not None:
        _asked.facts |= facts


def answer_now() -> None:
    """Print the answer before the command is over: it goes on until it is ended."""
    if _asked is not None:
        _asked.print()


_own: TextIO | None = None
"""Where the JSON goes of a command that declares the option itself, while it runs code of others."""


def put(text: str) -> None:
    """Print what a command came to: its own JSON, which may hold non-ASCII signs."""
    print(text, end="", file=_own or sys.stdout)


def apart(work: Callable[_P, None]) -> Callable[_P, None]:
    """Keep standard output for the JSON of a command that runs code of others: what that prints is on standard error.

    Args:
        work: The command, which declares `as_json`, and hands its JSON to `put`.
    """

    @functools.wraps(work)
    def called(*arguments: _P.args, **options: _P.kwargs) -> None:
        global _own
        if not options.get("as_json"):
            return work(*arguments, **options)
        with _others_on_stderr() as output, redirect_stdout(sys.stderr):
            _own = output
            try:
                return work(*arguments, **options)
            finally:
                _own = None

    return called


def with_json(command: Any, name: str) -> Any:  # noqa: ANN401  the type is of a part of Typer that is not public
    """Return a command that has `--json`.

    Args:
        command: Of Typer; one that has the option already stays as it is.
        name: As users type it.
    """
    if any("--json" in option.opts for option in command.params):
        return command
    work = command.callback

    @functools.wraps(work)
    def called(*arguments: object, as_json: bool = False, **options: object) -> object:
        if not as_json:
            return work(*arguments, **options)
        with _answering(name):
            return work(*arguments, **options)

    option = TyperOption(param_decls=["as_json", "--json"], is_flag=True, default=False, help=HELP, show_default=False)
    command.params.append(option)
    command.callback = called
    return command


@contextmanager
def _answering(name: str) -> Iterator[None]:
    """Keep standard output for the answer, which is printed if the command ends by itself, whatever its exit code."""
    global _asked
    with _others_on_stderr() as output, redirect_stdout(io.StringIO()):
        _asked = asked = _Asked(name, output)
        try:
            yield
        except typer.Exit:
            asked.print()
            raise
        finally:
            _asked = None
        asked.print()


@contextmanager
def _others_on_stderr() -> Iterator[TextIO]:
    """Give standard output as a file; what other programs write there goes to standard error meanwhile."""
    sys.stdout.flush()
    try:
        number, stderr = sys.stdout.fileno(), sys.stderr.fileno()
    except (OSError, ValueError):  # it is no file of the system: a test's
        yield sys.stdout
        return
    kept = os.dup(number)
    try:
        os.dup2(stderr, number)
        with os.fdopen(os.dup(kept), "w", encoding="utf-8", errors="backslashreplace") as output:
            yield output
    finally:
        with suppress(OSError):
            os.dup2(kept, number)
        os.close(kept)
