"""`ackclock lessons`: the lessons as notebooks."""

from pathlib import Path
from typing import Annotated

import typer

from ackclock.cli.answers import answer
from ackclock.cli.failures import InputError


def lessons(
    names: Annotated[
        list[str] | None,
        typer.Argument(metavar="[NAME]...", help="Lessons to write (default: all).", show_default=False),
    ] = None,
    folder: Annotated[
        Path | None,
        typer.Option("-o", "--output", metavar="DIR", help="Write notebooks to this folder.", show_default=False),
    ] = None,
    solved: Annotated[bool, typer.Option("--solved", help="Write them with solutions, as NAME-solved.ipynb.")] = False,
    nbgrader: Annotated[bool, typer.Option("--nbgrader", help="Write the versions that nbgrader assigns.")] = False,
    lite: Annotated[bool, typer.Option("--lite", help="Write them for JupyterLite, in a browser.")] = False,
    find_links: Annotated[
        str | None,
        typer.Option(
            "--find-links",
            metavar="PLACE",
            help="Let notebooks install from this folder or share of wheels (default: PyPI).",
            show_default=False,
        ),
    ] = None,
) -> None:
    """List the lessons, or write them as notebooks."""
    from ackclock.base.printable import unknown
    from ackclock.cli.table_output import print_list
    from ackclock.lessons import NAMES, notebooks

    known = {notebooks.page(name).stem: name for name in NAMES}
    wrong = [name for name in names or () if name not in known]
    if wrong:
        raise InputError(unknown("lesson", wrong[0], known))
    wanted = {name: known[name] for name in names or known}
    answer(lessons=[{"name": name, "title": notebooks.title(lesson)} for name, lesson in wanted.items()])
    if solved and nbgrader:
        raise InputError("--solved and --nbgrader exclude each other; nbgrader's versions have the solutions")
    if lite and (nbgrader or find_links is not None):
        raise InputError("--lite excludes --nbgrader and --find-links; a page installs what its site brings")
    if folder is not None:
        form: notebooks.Form = "solved" if solved else "nbgrader" if nbgrader else "to work in"
        for file in notebooks.write(list(wanted.values()), folder, form, find_links=find_links, lite=lite):
            print(file)
    elif solved or nbgrader or lite or find_links is not None:
        raise InputError("name a folder to write the notebooks to: -o DIR")
    else:
        print_list(("", ""), ((name, notebooks.title(lesson)) for name, lesson in wanted.items()))
        print("\nackclock lessons -o DIR writes them as notebooks")
