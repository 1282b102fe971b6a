"""`ackclock fit`: the path that explains a recording, as a scenario."""

import json
import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ackclock.base import storage
from ackclock.cli.answers import is_asked, put
from ackclock.cli.failures import InputError
from ackclock.cli.folders import runs_of
from ackclock.cli.progress import busy

if TYPE_CHECKING:
    from ackclock.recording.fit import Fit


def fit(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Result folder of a recording.", show_default=False)],
    output: Annotated[
        Path, typer.Option("-o", "--output", metavar="FILE.toml", help="Write the scenario to this file.")
    ] = Path("fitted.toml"),
    controller: Annotated[
        str | None,
        typer.Option(
            "--controller", metavar="NAME", help="Use this controller for all flows [dim](default: as recorded)[/]"
        ),
    ] = None,
    profile: Annotated[
        str | None,
        typer.Option(
            "--profile", metavar="NAME", help="Use this stack profile for all hosts [dim](default: linux-6.x)[/]"
        ),
    ] = None,
    keep: Annotated[
        Path | None,
        typer.Option("--keep", metavar="DIR", help="Write a run of the fitted scenario to this folder."),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace existing files and results.")] = False,
) -> None:
    """Estimate the path of a recording, with 95 % intervals.

    It fits rate, delay, queue, loss and cross traffic, writes a scenario, and
    compares a run of it with the recording:

        ackclock fit recording -o mine.toml && ackclock run mine.toml --set flow[0].controller=bbr3
    """
    from ackclock.recording.fit import FitError
    from ackclock.recording.fit import fit as find

    storage.check_file(output, force=force)
    if keep is not None:
        storage.check_folder(keep, force=force)
    (recording,) = runs_of([folder])
    try:
        with busy(f"looking for the path of {folder}"):
            found = find(recording, controller=controller, profile=profile)
    except FitError as error:
        raise InputError(f"{folder}: {error}") from error
    output.parent.mkdir(parents=True, exist_ok=True)
    storage.write_file(output, found.text.encode())
    if keep is not None:
        found.results.save(keep, force=force)
    if is_asked():
        _put(found)
    else:
        _print(found, output, keep)


def _print(found: "Fit", output: Path, keep: Path | None) -> None:
    from ackclock.cli.table_output import print_table
    from ackclock.recording.fit.fit_tables import tables

    for table in tables(found):
        print_table(table)
        print()
    for note in found.notes:
        print(note)
    print(f"scenario in {output}" + (f", a run of it in {keep}" if keep is not None else ""))


def _put(found: "Fit") -> None:
    parameters = [
        {"name": one.name, "value": one.value, "low": one.low, "high": None if math.isinf(one.high) else one.high}
        for one in found.parameters
    ]
    residuals = [
        {
            "name": one.name,
            "recorded": one.recorded,
            "simulated": one.simulated,
            "spread": one.spread,
            "is_within": one.is_within,
            "score": one.score,
        }
        for one in found.residuals
    ]
    document = {"parameters": parameters, "residuals": residuals, "notes": list(found.notes)}
    put(json.dumps(document, indent=1) + "\n")
