"""`ackclock controllers`, `queues`, `buffer-policies`, `links`, `topologies`, `traffic`: what a scenario may name."""

import json
from typing import Annotated, Any

import typer
from rich.table import Table
from rich.text import Text

from ackclock import _core
from ackclock.cli.display import output
from ackclock.cli.failures import InputError
from ackclock.shown import unknown

_Name = Annotated[str | None, typer.Argument(metavar="NAME", help="Show one entry in detail.", show_default=False)]
_Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]


def controllers(name: _Name = None, as_json: _Json = False) -> None:
    """List the congestion controllers, with their sources and parameters."""
    _show("controller", _core.controllers(), name, as_json)


def profiles(name: _Name = None, as_json: _Json = False) -> None:
    """List the TCP stack profiles, or print every setting of one with its value and source."""
    _show("profile", _core.profiles(), name, as_json)


def queues(name: _Name = None, as_json: _Json = False) -> None:
    """List the queue disciplines, with their sources and parameters."""
    _show("queue", _core.queues(), name, as_json)


def buffer_policies(name: _Name = None, as_json: _Json = False) -> None:
    """List the buffer policies of appliances, with their sources and parameters."""
    _show("buffer policy", _core.buffer_policies(), name, as_json)


def links(name: _Name = None, as_json: _Json = False) -> None:
    """List what a link can do beyond a fixed rate and delay: rate changes, loss, jitter, reordering, policing."""
    _show("field of a link", _core.links(), name, as_json)


def topologies(name: _Name = None, as_json: _Json = False) -> None:
    """List the topologies, with their parameters."""
    _show("topology", _core.topologies(), name, as_json)


def traffic(name: _Name = None, as_json: _Json = False) -> None:
    """List applications, arrival processes and size distributions, with their sources and parameters."""
    _show("kind of traffic", _core.traffic(), name, as_json)


def _show(kind: str, catalog: str, name: str | None, as_json: bool) -> None:
    entries: list[dict[str, Any]] = json.loads(catalog)
    if name is not None:
        entries = [find(kind, entries, name)]
    if as_json:
        print(json.dumps(entries if name is None else entries[0], indent=2, ensure_ascii=False))
    elif name is None:
        _print_list(entries)
    else:
        _print_entry(entries[0])


def find(kind: str, entries: list[dict[str, Any]], name: str) -> dict[str, Any]:
    """Return the entry with a name.

    Args:
        kind: What such an entry is, for the message.
        entries: Where to look.
        name: Of the entry.

    Raises:
        InputError: If there is none.
    """
    names = [str(entry["name"]) for entry in entries]
    if name in names:
        return entries[names.index(name)]
    raise InputError(unknown(kind, name, names))


def _print_list(entries: list[dict[str, Any]]) -> None:
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    table.add_column("name", style="cyan", no_wrap=True)
    table.add_column("description")
    table.add_column("source", style="dim")
    for entry in entries:
        table.add_row(entry["name"], entry["summary"], entry["source"])
    output().print(table)


def _print_entry(entry: dict[str, Any]) -> None:
    console = output()
    console.print(Text.assemble((entry["name"], "bold cyan"), "  ", entry["summary"]))
    for key in ("source", "departures"):
        if entry.get(key):
            console.print(Text.assemble((f"{key}:", "dim"), " ", entry[key]))
    if "switches" in entry:
        _print_switches(entry)
    elif entry["parameters"]:
        console.print(_parameter_table(entry["parameters"]))
    else:
        console.print("It has no parameters.")


def _parameter_table(parameters: list[dict[str, Any]]) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0), title_justify="left")
    table.add_column("parameter", style="cyan", no_wrap=True)
    for heading in ("default", "range", "meaning"):
        table.add_column(heading)
    for parameter in parameters:
        table.add_row(*(_plain(parameter.get(key)) for key in ("name", "default", "range", "meaning")))
    return table


def _print_switches(profile: dict[str, Any]) -> None:
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    table.add_column("tcp setting", style="cyan", no_wrap=True)
    for heading in ("value", "meaning", "why"):
        table.add_column(heading)
    for switch in profile["switches"]:
        value = switch["value"]
        for name, part in value.items() if isinstance(value, dict) else [("", value)]:
            own = f"{switch['name']}.{name}" if name else switch["name"]
            first = name == next(iter(value)) if isinstance(value, dict) else True
            meaning, why = (switch["meaning"], switch["source"] or "the default") if first else ("", "")
            table.add_row(own, _plain(part), meaning, why)
    chosen = profile["controller_by_default"]
    table.add_row("controller", chosen["name"], "Of a flow that names none.", chosen["source"])
    for switch in profile["with"]:
        for place, (name, value) in enumerate(switch["sets"].items()):
            own = f"with {switch['name']} = {_plain(switch['value'])}: {name}"
            table.add_row(own, _plain(value), "", switch["source"] if place == 0 else "")
    for kind, parameters in profile["controllers"].items():
        for name, value in parameters.items():
            table.add_row(f"controller {kind}: {name}", _plain(value), "", profile["controller_sources"][kind])
    output().print(table)


def _plain(value: object) -> str:
    if value is None:
        return "-"
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
