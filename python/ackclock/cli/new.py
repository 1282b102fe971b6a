"""`ackclock new`: a folder with the beginnings of a user-written part."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from ackclock.cli.answers import answer
from ackclock.cli.failures import InputError


def new(
    kind: Annotated[
        Literal["controller", "queue", "claims", "study"], typer.Argument(help="What to create.", show_default=False)
    ],
    name: Annotated[
        str, typer.Argument(help="Name in scenarios: lower-case letters, digits and underscores.", show_default=False)
    ],
    lang: Annotated[
        Literal["python", "rust"] | None,
        typer.Option(help="Write a controller or queue in this language.", show_default="python"),
    ] = None,
    folder: Annotated[
        Path | None,
        typer.Option("-o", "--output", metavar="DIR", help="Create this folder (default: NAME).", show_default=False),
    ] = None,
) -> None:
    """Create a folder with your own controller, queue, claims or study."""
    from ackclock.scenario.templates import write

    if kind in ("claims", "study") and lang is not None:
        raise InputError(f"--lang: {kind} has no choice of a language; leave it out")
    target = Path(name) if folder is None else folder
    files = write(kind, name, target, lang=lang or "python")
    answer(folder=str(target), files=[str(file) for file in files])
    for file in files:
        print(file)
    print(f"next: see {target / 'README.md'}")
