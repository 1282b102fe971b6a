"""`ackclock list`: names for scenarios and agents, from the engine's catalogues."""

import json
from collections.abc import Iterator
from itertools import groupby
from typing import Annotated, Any

import typer
from rich.text import Text

from ackclock import _core
from ackclock.base.printable import unknown
from ackclock.cli.answers import is_asked, put
from ackclock.cli.failures import InputError
from ackclock.cli.table_output import print_list
from ackclock.plotting.terminal import output

KINDS = {
    "controllers": ("controller", "congestion controllers and their parameters"),
    "profiles": ("profile", "profiles of TCP stacks, with every setting"),
    "queues": ("queue", "queue disciplines and their parameters"),
    "buffer-policies": ("buffer policy", "buffer policies of appliances and their parameters"),
    "links": ("field of a link", "changing rates, loss, jitter, reordering, policing"),
    "topologies": ("topology", "topologies and their parameters"),
    "traffic": ("kind of traffic", "applications, arrivals and distributions of sizes"),
    "agents": (
        "observation, decision, action or reward",
        "an agent's observations, decisions, actions, rewards",
    ),
}
"""Kinds of entries: their singular for messages, and a description of each."""


def _complete_kind(incomplete: str) -> list[str]:
    return [kind for kind in KINDS if kind.startswith(incomplete)]


def _complete_name(ctx: typer.Context, incomplete: str) -> list[str]:
    kind = ctx.params.get("kind")
    return [name for name in _names(kind) if name.startswith(incomplete)] if kind in KINDS else []


def list_catalogs(
    kind: Annotated[
        str | None,
        typer.Argument(
            metavar="KIND",
            help="List the entries of this kind; may be omitted before an unambiguous NAME.",
            autocompletion=_complete_kind,
            show_default=False,
        ),
    ] = None,
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="NAME", help="Show this entry in detail.", autocompletion=_complete_name, show_default=False
        ),
    ] = None,
) -> None:
    """List controllers, queues and other names for scenarios."""
    if kind is not None and name is None and kind not in KINDS:
        kind, name = _kind_with(kind), kind
    found = _kinds() if kind is None else _entries(kind, name)
    if is_asked():
        is_one = name is not None and kind != "agents"  # an action and a reward of one paper go by the same name
        put(json.dumps(found[0] if is_one else found, indent=2, ensure_ascii=False) + "\n")
    elif name is None:
        _print_lists(found)
    else:
        for entry in found:
            _print_entry(entry)


def check_profile(name: str | None) -> None:
    """Refuse an unknown stack profile of the option `--profile`.

    Raises:
        InputError: If there is no such profile.
    """
    known = _names("profiles")
    if name is not None and name not in known:
        raise InputError(f"--profile: {unknown('profile', name, known)}")


def _kinds() -> list[dict[str, Any]]:
    return [{"name": kind, "summary": about, "entries": len(_entries(kind))} for kind, (_, about) in KINDS.items()]


def _entries(kind: str, name: str | None = None) -> list[dict[str, Any]]:
    """Return the entries of a kind, or those with a name."""
    if kind not in KINDS:
        raise InputError(unknown("kind", kind, KINDS))
    entries = json.loads(getattr(_core, kind.replace("-", "_"))())
    if isinstance(entries, dict):  # of agents, in several tables
        entries = [{"kind": table.removesuffix("s"), **row} for table, rows in entries.items() for row in rows]
    found = [entry for entry in entries if name in (None, entry["name"])]
    if not found:
        said = {entry["name"]: _about(entry) for entry in entries}
        raise InputError(unknown(KINDS[kind][0], str(name), said, said=said))
    return found


def _names(kind: str) -> list[str]:
    return [str(entry["name"]) for entry in _entries(kind)]


def _kind_with(name: str) -> str:
    """Return the only kind that has a name."""
    having = [kind for kind in KINDS if name in _names(kind)]
    if not having:
        said = {entry["name"]: _about(entry) for kind in KINDS for entry in _entries(kind)}
        known = [*KINDS, *said]
        message = unknown("kind or name", name, known, lists=False, said=said)
        elsewhere = "; for link traces: `ackclock traces`" if name.rstrip("s") == "trace" else ""
        raise InputError(f"{message} (`ackclock list` lists the kinds{elsewhere})")
    if len(having) > 1:
        choices = " or ".join(f"`ackclock list {kind} {name}`" for kind in having)
        raise InputError(f'"{name}" is a name of several kinds; write {choices}')
    return having[0]


def _print_lists(entries: list[dict[str, Any]]) -> None:
    console = output()
    for kind, rows in groupby(entries, lambda entry: entry.get("kind")):
        listed = list(rows)
        facts = _facts(listed[0])
        cells = [(row["name"], _about(row), *_facts(row).values()) for row in listed]
        print_list((f"{kind}s" if kind else "name", "description", *facts), cells, dim=facts)
        if kind:
            console.print()
    if kind:
        console.print(
            "Units are the last part of an observation's name. `scaled` brings each into [-1, 1] by its scale.\n"
            "kernel: whether a policy with it can run in the kernel; `ackclock train --for kernel` refuses the others."
        )


def _print_entry(entry: dict[str, Any]) -> None:
    console = output()
    kind = f" ({entry['kind']})" if "kind" in entry else ""
    console.print(Text.assemble((entry["name"], "bold cyan"), kind, "  ", _about(entry)))
    for key, fact in {**_facts(entry), "departures": entry.get("departures")}.items():
        if fact:
            console.print(Text.assemble((f"{key}:", "dim"), " ", fact))
    if "switches" in entry:
        print_list(("tcp setting", "value", "meaning", "why"), _switches(entry))
    elif entry.get("parameters"):
        columns = ("name", "default", "range", "meaning")
        cells = ([_plain(parameter.get(key)) for key in columns] for parameter in entry["parameters"])
        print_list(("parameter", *columns[1:]), cells)
    elif "parameters" in entry:
        console.print("It has no parameters.")


def _about(entry: dict[str, Any]) -> str:
    return str(entry["summary"] if "summary" in entry else entry["what"])


def _facts(entry: dict[str, Any]) -> dict[str, str]:
    """Return the facts of an entry by heading, without its description."""
    kernel = {"kernel": "yes" if entry["kernel"] else "no"} if "kernel" in entry else {}
    if "scale" in entry:
        return {"range": f"{entry['low']:g} to {entry['high']:g}", "scale": entry["scale"], **kernel}
    return {key: str(entry[key]) for key in ("source", "entries") if key in entry} | kernel


def _switches(profile: dict[str, Any]) -> Iterator[tuple[str, str, str, str]]:
    for switch in profile["switches"]:
        value = switch["value"]
        said = (switch["meaning"], switch["source"] or "the default")
        for place, (name, part) in enumerate(value.items() if isinstance(value, dict) else [("", value)]):
            yield (f"{switch['name']}.{name}" if name else switch["name"], _plain(part), *(("", "") if place else said))
    chosen = profile["controller_by_default"]
    yield ("controller", chosen["name"], "Default controller of a flow.", chosen["source"])
    for switch in profile["with"]:
        for place, (name, value) in enumerate(switch["sets"].items()):
            own = f"with {switch['name']} = {_plain(switch['value'])}: {name}"
            yield (own, _plain(value), "", "" if place else switch["source"])
    for kind, parameters in profile["controllers"].items():
        for name, value in parameters.items():
            yield (f"controller {kind}: {name}", _plain(value), "", profile["controller_sources"][kind])


def _plain(value: object) -> str:
    if value is None:
        return "-"
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
