"""`ackclock bench instructions`: counting, and the record beside it."""

import shutil
from pathlib import Path

from rich.table import Table

from ackclock._core import build_info
from ackclock.bench.instructions import MOST_GROWTH, Record, append, grown, last, ratio, record
from ackclock.cli.display import output
from ackclock.cli.failures import InputError, WorkError, errors


def instructions(history: Path, *, renew: bool, as_json: bool) -> None:
    """Count, print, and fail where a held case has grown.

    Raises:
        InputError: If the history is damaged.
        WorkError: If a held case needs too many instructions more than the record says.
    """
    if reason := cannot_count():
        errors().print(f"SKIPPED counting instructions: {reason}", markup=False)
        return
    try:
        before = last(history)
    except ValueError as error:
        raise InputError(str(error)) from error
    new = record()
    if as_json:
        print(new.line(), end="")
    else:
        output().print(_table(new, before))
    if not renew:
        return _judge(new, before, history)
    append(history, new)
    errors().print(f"recorded in {history}", markup=False)


def cannot_count() -> str:
    """Return why nothing can be counted here, with the remedy; an empty text if it can."""
    if shutil.which("valgrind") is None:
        return "it needs valgrind, which is not on the PATH; install it, such as with: apt-get install valgrind"
    if build_info()["profile"] != "release":
        return "the extension is a debug build, whose instructions say nothing; build it with: make build"
    return ""


def _judge(new: Record, before: Record | None, history: Path) -> None:
    if before is None:
        errors().print(f"{history} has no record to compare with; --record writes one", markup=False)
        return
    if new.compiler != before.compiler:
        errors().print(
            f"{history} was recorded with rustc {before.compiler}, and this build is of rustc {new.compiler}: "
            "nothing is held to it; --record renews it",
            markup=False,
        )
    if too_many := grown(new, before):
        cases = ", ".join(f"({name}) {times:.3f} times" for name, times in too_many.items())
        raise WorkError(
            f"{cases} the instructions a packet of {history} at {before.commit or before.version}, and must be "
            f"{MOST_GROWTH:g} times at most; make it cheaper, or say why not and renew the record: "
            "ackclock bench instructions --record"
        )


def _table(new: Record, before: Record | None) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    table.add_column("", style="cyan", no_wrap=True)
    for heading in ("instructions\nper packet", "on record", "times"):
        table.add_column(heading, justify="right")
    for name, count in new.instructions_per_packet.items():
        recorded = before.instructions_per_packet.get(name) if before else None
        times = ratio(new, before, name) if before else None
        table.add_row(
            name,
            f"{count:,.0f}",
            f"{recorded:,.0f}" if recorded else "-",
            f"{times:.3f}" if times else "-",
        )
    return table
