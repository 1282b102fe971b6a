"""`ackclock examples`: the scenarios that come with the package."""

import json
from pathlib import Path
from typing import Annotated

import typer

from ackclock.cli.failures import InputError


def examples(
    names: Annotated[
        list[str] | None,
        typer.Argument(metavar="[NAME]...", help="Examples to print or copy (default: all).", show_default=False),
    ] = None,
    folder: Annotated[
        Path | None,
        typer.Option(
            "-o",
            "--output",
            metavar="DIR",
            help="Copy the examples and the files that they need to this folder.",
            show_default=False,
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print names, descriptions and texts as JSON.")] = False,
) -> None:
    """List, print or copy the example scenarios."""
    from ackclock.scenario.example_files import ExampleError, copy, example
    from ackclock.scenario.example_files import examples as every

    try:
        wanted = [example(name) for name in names] if names else every()
        copied = copy(wanted if names else None, folder) if folder is not None else []
        if as_json:
            entries = [{"name": found.name, "about": found.about(), "text": found.text()} for found in wanted]
            print(json.dumps({"examples": entries, "copied": list(map(str, copied))}, indent=1, ensure_ascii=False))
        elif folder is not None:
            for file in copied:
                print(file)
        elif names:
            print("\n".join(found.text().rstrip("\n") for found in wanted))
        else:
            _list()
    except ExampleError as error:
        raise InputError(str(error)) from error


def _list() -> None:
    from rich.table import Table

    from ackclock.plotting.terminal import output
    from ackclock.scenario.example_files import examples as every

    table = Table(box=None, pad_edge=False, show_header=False, padding=(0, 2, 0, 0))
    table.add_column(style="cyan", no_wrap=True)
    table.add_column()
    for found in every():
        table.add_row(found.name, found.about())
    output().print(table)
    output().print(
        "\nackclock examples NAME prints one; with -o DIR it is copied, for: ackclock run DIR/NAME.toml", markup=False
    )
