"""`ackclock validate-linux`: recorded flows of a real kernel beside simulated ones."""

from pathlib import Path
from typing import Annotated

import typer

from ackclock.base import extras
from ackclock.claims import locations


def validate_linux(
    data: Annotated[
        Path | None,
        typer.Option("--data", metavar="DIR", help="Use your own folder of recordings."),
    ] = None,
    only: Annotated[
        list[str] | None,
        typer.Option("--only", metavar="SCENARIO", help="Compare only this recorded scenario. Repeatable."),
    ] = None,
    folder: Annotated[
        Path,
        typer.Option("-o", "--output", metavar="DIR", help="Write page, figures and validation.json to this folder."),
    ] = Path("out/validate-linux"),
) -> None:
    """Compare simulations with recorded Linux transfers.

    The exit code is 1 if a difference has no known cause, or if nothing could be compared.
    """
    extras.require("report")
    locations.tool("linux.command").validate(data, only or (), folder)
