"""`ackclock traces`: published traces of links."""

from pathlib import Path
from typing import Annotated

import typer

from ackclock.cli.answers import answer
from ackclock.cli.failures import InputError


def _complete(incomplete: str) -> list[str]:
    from ackclock.scenario.published_traces import traces as known

    return [name for name in known() if name.startswith(incomplete)]


def traces(
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[NAME]...", help="Traces to fetch (default: all).", show_default=False, autocompletion=_complete
        ),
    ] = None,
    folder: Annotated[
        Path | None,
        typer.Option("-o", "--output", metavar="DIR", help="Fetch traces into this folder.", show_default=False),
    ] = None,
    mirror: Annotated[
        str | None,
        typer.Option(
            metavar="PLACE",
            help="Fetch from this folder or address (default: who published them).",
            show_default=False,
        ),
    ] = None,
) -> None:
    """List published traces of links, or fetch them and check their hashes."""
    from ackclock.cli.table_output import print_list
    from ackclock.scenario import published_traces

    wanted = [published_traces.trace(name) for name in names or published_traces.traces()]
    facts = ("name", "about", "by", "licence", "address", "sha256")
    answer(traces=[{fact: getattr(one, fact) for fact in facts} for one in wanted])
    if folder is not None:
        for one in wanted:
            print(published_traces.fetch(one, folder, mirror))
    elif mirror is not None:
        raise InputError("name a folder to fetch the traces into: -o DIR")
    else:
        rows = ((one.name, one.about, one.licence) for one in wanted)
        print_list(("trace", "recorded", "licence"), rows, dim=("licence",))
        for by in dict.fromkeys(one.by for one in wanted):
            print(f"\n{by[0].upper()}{by[1:]}.")
        print('ackclock traces NAME -o DIR fetches one, for: rate = { trace = "DIR/NAME" }')
