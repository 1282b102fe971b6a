"""`ackclock agents`: what a learning agent may be shown, asked, allowed and paid, from the core."""

import json
from typing import Annotated, Any

import typer
from rich.table import Table

from ackclock import _core
from ackclock.cli.catalogs import find
from ackclock.cli.display import output

KINDS = {"observations": "observation", "decisions": "decision", "actions": "action", "rewards": "reward"}
"""Tables of the catalogue, and what one of their rows is."""


def agents(
    name: Annotated[
        str | None, typer.Argument(metavar="NAME", help="Show one entry in detail.", show_default=False)
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """List the observations, decision times, actions and rewards that a learning agent may have."""
    entries = catalogue()
    if name is not None:
        # An action and a reward of one paper go by the same name.
        found = find("observation, decision, action or reward", entries, name)["name"]
        entries = [entry for entry in entries if entry["name"] == found]
    if as_json:
        print(json.dumps(entries, indent=2, ensure_ascii=False))
    elif name is None:
        _print_lists(entries)
    else:
        _print_entries(entries)


def catalogue() -> list[dict[str, Any]]:
    """Return all rows of the core's tables, each with its kind: observation, decision, action or reward."""
    tables: dict[str, list[dict[str, Any]]] = json.loads(_core.agents())
    return [{"kind": kind, **row} for table, kind in KINDS.items() for row in tables[table]]


def value_range(entry: dict[str, Any]) -> str:
    """Return an observation's least and greatest value.

    Args:
        entry: Row of the catalogue.

    Examples:
        >>> value_range({"low": 0.0, "high": 1e6})
        '0 to 1e+06'
    """
    return f"{entry['low']:g} to {entry['high']:g}"


def _print_lists(entries: list[dict[str, Any]]) -> None:
    console = output()
    for table, kind in KINDS.items():
        rows = [entry for entry in entries if entry["kind"] == kind]
        is_shown = kind == "observation"
        columns = ("range", "scale") if is_shown else ("source",)
        shown = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
        shown.add_column(table, style="cyan", no_wrap=True)
        shown.add_column("description")
        for column in columns:
            shown.add_column(column, style="dim")
        for row in rows:
            last = (value_range(row), row["scale"]) if is_shown else (row["source"],)
            shown.add_row(row["name"], row["what"], *last)
        console.print(shown)
        console.print()
    console.print("Units are the last part of an observation's name. `scaled` brings each into [-1, 1] by its scale.")


def _print_entries(entries: list[dict[str, Any]]) -> None:
    console = output()
    for entry in entries:
        console.print(f"[bold cyan]{entry['name']}[/] ({entry['kind']})  ", end="")
        console.print(entry["what"], markup=False)
        if entry["kind"] == "observation":
            facts = {"range": value_range(entry), "scale": entry["scale"]}
        else:
            facts = {"source": entry["source"]}
        for key, fact in facts.items():
            console.print(f"[dim]{key}:[/] ", end="")
            console.print(fact, markup=False)
