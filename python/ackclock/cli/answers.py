"""`--json` of every command: its result as one JSON document on standard output.

A command passes facts to `answer`, printed with the written files and folders when it ends, or prints a document of its
own with `put`. Text for people and the output of other code then goes to standard error.
"""

import functools
import io
import json
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout, suppress
from typing import Any, TextIO

import typer
from typer.core import TyperOption

from ackclock.base import storage

HELP = "Print the result as JSON."


class _Asked:
    """Result collected from a command, and the stream to print it to."""

    def __init__(self, name: str, output: TextIO) -> None:
        self.facts: dict[str, Any] = {"command": name}
        self._placed = len(storage.placed)
        self._output = output
        self._is_printed = False

    def put(self, text: str) -> None:
        """Print a document in place of the facts."""
        self._output.write(text)
        self._output.flush()
        self._is_printed = True

    def print(self) -> None:
        """Print the facts, unless a document was printed."""
        if not self._is_printed:
            written = [str(path) for path in storage.placed[self._placed :]]
            self.put(json.dumps(self.facts | {"written": written}, indent=1, ensure_ascii=False) + "\n")


_asked: _Asked | None = None


def is_asked() -> bool:
    """Return whether JSON was requested."""
    return _asked is not None


def answer(**facts: object) -> None:
    """Add facts to the result, and drop the text for people that follows; ignored unless JSON was requested.

    Args:
        facts: JSON values, by names with their units.
    """
    if _asked is not None:
        _asked.facts |= facts
        sys.stdout = io.StringIO()


def answer_now() -> None:
    """Print the result before the command ends, for commands that run until they are stopped."""
    if _asked is not None:
        _asked.print()


def put(text: str) -> None:
    """Print a command's own document, which may contain non-ASCII characters."""
    if _asked is not None:
        _asked.put(text)
    else:
        print(text, end="")


def with_json(command: Any, name: str) -> Any:  # noqa: ANN401  the type is of a part of Typer that is not public
    """Add `--json` to a command, or to each command of a group.

    Args:
        command: Typer command or group.
        name: Name on the command line.
    """
    if commands := getattr(command, "commands", None):
        for inner, sub in commands.items():
            with_json(sub, f"{name} {inner}")
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
    """Reserve standard output for the answer, printed when the command exits by itself, whatever its exit code."""
    global _asked
    with _others_on_stderr() as output, redirect_stdout(sys.stderr):
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
    """Yield standard output as a file, while other output is redirected to standard error."""
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
