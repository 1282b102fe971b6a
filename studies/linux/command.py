"""The work of `ackclock validate-linux`: compare, write the folder, print the table."""

import json
from collections.abc import Sequence
from pathlib import Path

from rich.table import Table

from ackclock.base import storage
from ackclock.cli.answers import is_asked, put
from ackclock.cli.failures import InputError, WorkError
from ackclock.cli.progress import simulations_progress
from ackclock.plotting.terminal import name, output

from . import linux_recordings, validation_page
from .linux_comparison import Comparison, compare
from .validation_page import agreement, settings, tally, values

_STYLES = {"agrees": "green", "differs": "bold yellow"}


def validate(data: Path | None, only: Sequence[str], folder: Path) -> None:
    """Simulate recorded Linux transfers, and compare simulation with recording.

    Args:
        data: The folder of recordings, Linux 6.18's by default.
        only: The recorded scenarios that are wanted, if not all.
        folder: Where to write page, figures and `validation.json`.
    """
    storage.check_folder(folder, kind=storage.VALIDATION, renews=True)
    try:
        recordings = linux_recordings.load(data or linux_recordings.FOLDER, only)
    except linux_recordings.RecordingError as error:
        raise InputError(str(error)) from error
    with simulations_progress("beside Linux") as on_done:
        comparisons = compare(recordings, on_done=on_done)
    validation_page.write(folder, comparisons)
    if is_asked():
        put(json.dumps(validation_page.as_json(comparisons), indent=2, ensure_ascii=False) + "\n")
    else:
        _print(comparisons, folder)
    if not any(comparison.rows for comparison in comparisons):
        reasons = "; ".join(f"{comparison.recording.name}: {comparison.obstacle}" for comparison in comparisons)
        raise WorkError(f"nothing was compared ({reasons})")
    unexplained = sum(row.is_unexplained for comparison in comparisons for row in comparison.rows)
    if unexplained:
        raise WorkError(
            f"{unexplained} of the quantities differ without a cause on record; see {folder / 'index.html'}"
        )


def _print(comparisons: list[Comparison], folder: Path) -> None:
    console = output()
    for comparison in comparisons:
        console.print(name(comparison.recording.name), style="cyan", end="")
        console.print(name(f": {settings(comparison.recording)}"))
        if comparison.obstacle:
            console.print(name(f"not simulated: {comparison.obstacle}"), "\n")
            continue
        console.print(_table(comparison))
        for because in comparison.causes():
            console.print(name(f"differs because {because}"), soft_wrap=True)
        console.print()
    print(f"{tally(comparisons)}; page, figures and validation.json in {folder}; open {folder / 'index.html'}")


def _table(comparison: Comparison) -> Table:
    table = Table(header_style="bold", box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for heading in ("quantity", "recorded", "simulated", "unit", "agreement", "verdict"):
        table.add_column(heading)
    several = len(comparison.recording.flows) > 1
    for row in comparison.rows:
        if row.verdict != "open":
            flow = f"flow {row.flow.flow}: " if several and row.flow else ""
            sides = (values(row, row.recorded), values(row, row.simulated))
            verdict = f"[{_STYLES[row.verdict]}]{row.verdict}[/]"
            table.add_row(name(flow + row.quantity.title), *sides, row.quantity.unit, agreement(row), verdict)
    return table
