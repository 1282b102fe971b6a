"""The command line as a program, and what happens to errors.

Exit codes: 0 done, 1 the work failed, 2 the input is wrong, 130 interrupted.
"""

import os
import signal
import sys
from types import FrameType
from typing import Annotated

import typer

from ackclock import version
from ackclock.cli import failures
from ackclock.cli.commands import Group

app: typer.Typer = typer.Typer(
    name="ackclock",
    cls=Group,
    help="A laboratory for TCP congestion control: simulate packet by packet, measure, compare.",
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
    for number in (signal.SIGTERM, signal.SIGINT):
        if signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, _end)
    code = failures.guarded(lambda: app(standalone_mode=True))
    code = code or failures.guarded(_flush)
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, signal.SIG_IGN)  # all is done and told: while Python ends there is nothing to end
    sys.exit(code)


def _end(_number: int, _frame: FrameType | None) -> None:
    """End so that nothing half-written is left behind, and whatever the exception becomes on its way."""
    failures.note_signal()
    raise KeyboardInterrupt


def _flush() -> None:
    """Hand over what is still held; a reader of our output that has gone away is no failure, a full disk is."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise
