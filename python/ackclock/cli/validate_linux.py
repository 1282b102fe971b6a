"""`ackclock validate-linux`: recorded flows of a real kernel beside simulated ones."""

from pathlib import Path
from typing import Annotated

import typer

from ackclock.base import extras
from ackclock.claims import locations


def validate_linux(
    data: Annotated[
        Path | None,
        typer.Option("--data", metavar="DIR", help="Folder of your own recordings."),
    ] = None,
    only: Annotated[
        list[str] | None,
        typer.Option("--only", metavar="SCENARIO", help="Only this recorded scenario. May be repeated."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print validation.json on stdout, and nothing else.")] = False,
    folder: Annotated[
        Path, typer.Option("-o", "--output", metavar="DIR", help="Write page, figures and validation.json here.")
    ] = Path("out/validate-linux"),
) -> None:
    """Simulate recorded Linux transfers, and compare simulation with recording.

    Exit code 1 if something differs and no cause is on record, or if nothing could be compared.
    """
    extras.require("report")
    locations.tool("linux.command").validate(data, only or (), folder, as_json=as_json)
