"""`ackclock new`: a folder to begin a part of one's own in."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from ackclock.cli.answers import answer
from ackclock.cli.failures import InputError


def new(
    kind: Annotated[
        Literal["controller", "queue", "claims"], typer.Argument(help="What to begin.", show_default=False)
    ],
    name: Annotated[
        str, typer.Argument(help="What scenarios call it: lower-case letters, digits, underscores.", show_default=False)
    ],
    lang: Annotated[
        Literal["python", "rust"] | None,
        typer.Option(help="The language of a controller or a queue.", show_default="python"),
    ] = None,
    folder: Annotated[
        Path | None,
        typer.Option(
            "-o", "--output", metavar="DIR", help="The folder to be; of that name by default.", show_default=False
        ),
    ] = None,
) -> None:
    """Write a folder with a part of your own, a scenario, a test that passes, and a README with three commands."""
    from ackclock.scenario.templates import write

    if kind == "claims" and lang is not None:
        raise InputError("claims are measured in Python; leave --lang out")
    target = Path(name) if folder is None else folder
    files = write(kind, name, target, lang=lang or "python")
    answer(folder=str(target), files=[str(file) for file in files])
    for file in files:
        print(file)
    print(f"next: see {target / 'README.md'}")
