"""`ackclock examples`: the scenarios and studies that come with the package."""

import json
from pathlib import Path
from typing import Annotated

import typer

from ackclock.cli.answers import is_asked, put


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
) -> None:
    """List, print or copy the example scenarios and studies."""
    from ackclock.scenario.example_files import copy, example, studies
    from ackclock.scenario.example_files import examples as every

    wanted = [example(name) for name in names] if names else [*every(), *studies()]
    copied = copy(wanted if names else None, folder) if folder is not None else []
    if is_asked():
        entries = [{"name": found.name, "about": found.about(), "text": found.text()} for found in wanted]
        document = {"examples": entries, "copied": list(map(str, copied))}
        put(json.dumps(document, indent=1, ensure_ascii=False) + "\n")
    elif folder is not None:
        for file in copied:
            print(file)
    elif names:
        print("\n".join(found.text().rstrip("\n") for found in wanted))
    else:
        _list()


def _list() -> None:
    from ackclock.cli.table_output import print_list
    from ackclock.scenario.example_files import examples as every
    from ackclock.scenario.example_files import studies

    for command, found in (("run", every()), ("study", studies())):
        print(f"ackclock {command}:")
        print_list(("", ""), ((f"  {one.name}", one.about()) for one in found))
    print("\nackclock examples NAME prints one; with -o DIR it is copied, for: ackclock run DIR/NAME.toml")
    print("A study is copied to DIR/studies, for: ackclock study DIR/studies/NAME.toml")
