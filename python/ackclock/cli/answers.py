"""`--json` for every command: the result as one JSON document on standard output.

Commands with a JSON table of their own declare the option themselves; all others get it here. They pass their result
to `answer`, which is ignored unless JSON was requested. With JSON, text for people and the output of child programs go
to standard error. Written files and folders are added automatically.
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
    """Result collected from a command, and the stream to print it to."""

    def __init__(self, name: str, output: TextIO) -> None:
        self.facts: dict[str, Any] = {"command": name}
        self._placed = len(storage.placed)
        self._output: TextIO | None = output

    def print(self) -> None:
        """Print the result, once."""
        if self._output is None:
            return
        written = [str(path) for path in storage.placed[self._placed :]]
        self._output.write(json.dumps(self.facts | {"written": written}, indent=1, ensure_ascii=False) + "\n")
        self._output.flush()
        self._output = None


_asked: _Asked | None = None


def answer(**facts: object) -> None:
    """Add facts to the result; ignored unless JSON was requested.

    Args:
        facts: JSON values, by names with their units.
    """
    if _asked is not None:
        _asked.facts |= facts


def answer_now() -> None:
    """Print the result before the command ends, for commands that run until they are stopped."""
    if _asked is not None:
        _asked.print()


_own: TextIO | None = None
"""Stream for the JSON of a command that declares `--json` itself, while it runs user code."""


def put(text: str) -> None:
    """Print a command's own JSON, which may contain non-ASCII characters."""
    print(text, end="", file=_own or sys.stdout)


def apart(work: Callable[_P, None]) -> Callable[_P, None]:
    """Reserve standard output for JSON: whatever user code prints goes to standard error.

    Args:
        work: The command, which declares `as_json` and passes its JSON to `put`.
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
    """Add `--json` to a command.

    Args:
        command: Typer command; one that already has the option is returned unchanged.
        name: Name on the command line.
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
    """Reserve standard output for the answer, printed when the command exits by itself, whatever its exit code."""
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
