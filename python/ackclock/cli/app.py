"""Entry point of the command line, and its handling of errors.

Exit codes: 0 success, 1 failure, 2 wrong input, 130 interrupted.
"""

import codecs
import json
import os
import signal
import sys
from io import TextIOWrapper
from types import FrameType
from typing import Annotated

import typer

from ackclock.base import version
from ackclock.cli import failures
from ackclock.cli.commands import Group

app: typer.Typer = typer.Typer(
    name="ackclock",
    cls=Group,
    help="TCP congestion-control laboratory: simulate packet by packet, measure, compare.",
    no_args_is_help=True,
    add_completion=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _print_version(wanted: bool) -> None:
    if wanted:
        print(f"ackclock {version.__version__}")
        raise typer.Exit


@app.callback()
def _options(
    _version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    pass


def main() -> None:
    """Run the command line and exit."""
    _prepare_streams()
    for number in (signal.SIGTERM, signal.SIGINT):
        if signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, _end)
    code = failures.guarded(lambda: app(standalone_mode=True))
    code = code or failures.guarded(_flush)
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, signal.SIG_IGN)  # all is done and told: while Python ends there is nothing to end
    sys.exit(code)


def _prepare_streams() -> None:
    """Open closed standard streams, and escape characters that the encoding of a stream lacks.

    Tables contain characters such as ±, and names contain any. Escapes are those of JSON, so that JSON stays valid.
    """
    codecs.register_error("as in JSON", _escaped)
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        stream = getattr(sys, name)
        if stream is None:  # nobody gave a descriptor, and files would get its number
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115, PTH123  until the end
        elif mode == "w" and isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="as in JSON")


def _escaped(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    return json.dumps(error.object[error.start : error.end])[1:-1], error.end


def _end(_number: int, _frame: FrameType | None) -> None:
    """Exit on a signal without leaving partial output, even if the exception is converted on its way."""
    failures.note_signal()
    raise KeyboardInterrupt


def _flush() -> None:
    """Flush standard output; a closed pipe is not an error, a full disk is."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise
