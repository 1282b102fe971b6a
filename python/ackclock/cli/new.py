"""`ackclock new`: a folder with the beginnings of a user-written part."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from ackclock.cli.answers import answer
from ackclock.cli.failures import InputError


class Kind(StrEnum):
    """Kind of part."""

    CONTROLLER = "controller"
    QUEUE = "queue"
    CLAIMS = "claims"


class Language(StrEnum):
    """Language of a part."""

    PYTHON = "python"
    RUST = "rust"


def new(
    kind: Annotated[Kind, typer.Argument(help="What to create.", show_default=False)],
    name: Annotated[
        str, typer.Argument(help="Name in scenarios: lower-case letters, digits and underscores.", show_default=False)
    ],
    lang: Annotated[
        Language | None, typer.Option(help="Write a controller or queue in this language.", show_default="python")
    ] = None,
    folder: Annotated[
        Path | None,
        typer.Option("-o", "--output", metavar="DIR", help="Create this folder (default: NAME).", show_default=False),
    ] = None,
) -> None:
    """Create a folder with your own controller, queue or claims."""
    from ackclock.scenario.templates import TemplateError, write

    if kind is Kind.CLAIMS and lang is not None:
        raise InputError("claims are measured in Python; leave --lang out")
    target = Path(name) if folder is None else folder
    try:
        files = write(kind.value, name, target, lang=(lang or Language.PYTHON).value)
    except TemplateError as error:
        raise InputError(str(error)) from error
    answer(folder=str(target), files=[str(file) for file in files])
    for file in files:
        print(file)
    print(f"next: see {target / 'README.md'}")
