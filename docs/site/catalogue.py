"""A page for each controller and queue: what it is, its parameters, a picture on a standard path, where it was checked.

All of it is the engine's own catalogue (`ackclock list controllers NAME`, `ackclock list queues NAME`), so that a new
entry has a page with the next build.
"""

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import portraits
from stage import DOCS, Stage

from ackclock import _core

_FAMILIES = {
    "controllers": (_core.controllers, "Controllers", "reference/laws.md"),
    "queues": (_core.queues, "Queues", "reference/laws.md"),
}


def add(stage: Stage, kept: Path) -> None:
    """Write the pages and their indexes.

    Args:
        stage: Where to.
        kept: Folder of pictures, which are drawn again only if something has changed.
    """
    for family, (read, heading, _) in _FAMILIES.items():
        entries = json.loads(read())
        for entry in entries:
            stage.write(f"{family}/{entry['name']}.md", _page(family, entry, kept))
        stage.write(f"{family}/index.md", _index(family, heading, entries, kept))
        for file in (kept / family).glob("*.png"):
            target = stage.folder / family / file.name
            target.write_bytes(file.read_bytes())


def _page(family: str, entry: Mapping[str, Any], kept: Path) -> str:
    name = entry["name"]
    parts = [f"# {name}", _sentence(entry["summary"]), f"**Source:** {entry['source']}"]
    if entry["departures"]:
        parts.append(f"**Departures from it:** {_sentence(entry['departures'])}")
    parts += [_use(family, name), _picture(family, name, kept), _parameters(entry), _checked(family, name)]
    return "\n\n".join(part for part in parts if part) + "\n"


def _sentence(text: str) -> str:
    text = str(text)
    first = text[:1] if "_" in text.partition(" ")[0] else text[:1].upper()  # a name of the code stays as it is
    return first + text[1:] + ("" if text.endswith(".") else ".")


def _use(family: str, name: str) -> str:
    if name in ("python", "external"):
        language = {"python": "Python", "external": "Rust"}[name]
        page = f"own-controller-{language.lower()}.md"
        return f"How to write one: [a custom controller in {language}](../how-to/{page})."
    command = (
        f"ackclock run --flows {name},cubic"
        if family == "controllers"
        else f"ackclock run --queue {name} --flows cubic,bbr3"
    )
    required = [p["name"] for p in _entry(family, name)["parameters"] if p["default"] in (None, "required")]
    if required:
        field = "controller" if family == "controllers" else "queue"
        settings = ", ".join(f"{parameter} = ..." for parameter in required)
        return f'In a scenario: `{field} = {{ kind = "{name}", {settings} }}`.'
    return f"```console\n$ {command}\n```"


def _entry(family: str, name: str) -> dict[str, Any]:
    (entry,) = (entry for entry in json.loads(_FAMILIES[family][0]()) if entry["name"] == name)
    return dict(entry)


def _picture(family: str, name: str, kept: Path) -> str:
    note = portraits.STANDARD[family].get(name, {}).get("note", "")
    file = kept / family / f"{name}.png"
    if family == "controllers":
        found = portraits.controller_runs(name)
        if found is None:
            return note
        portraits.picture(found[0], file)
        path = found[1]
    else:
        runs, reference, path = portraits.queue_runs(name)
        portraits.picture(runs, file, reference)
    about = portraits.STANDARD["paths"][path]["about"]
    if family == "queues" and path == "wide":
        about = "50 Mbit/s, 40 ms"
    settings = portraits.STANDARD[family].get(name, {}).get("queue" if family == "queues" else "controller")
    with_settings = f" Settings: `{json.dumps(settings)}`." if isinstance(settings, Mapping) else ""
    text = f"Congestion windows above, the bottleneck's queue below. The path: {about}.{with_settings} {note}"
    return f"## On a standard path\n\n![{name}: congestion windows and queue over time]({name}.png)\n\n{text.strip()}"


def _parameters(entry: Mapping[str, Any]) -> str:
    if not entry["parameters"]:
        return "## Parameters\n\nNone."
    rows = [
        f"| `{p['name']}` | {_cell(p['default'])} | {_cell(p['range'])} | {_cell(p['meaning'])} |"
        for p in entry["parameters"]
    ]
    return "\n".join(["## Parameters\n", "| name | default | allowed | meaning |", "|---|---|---|---|", *rows])


def _cell(text: object) -> str:
    return str(text).replace("|", "\\|").replace("*", "\\*").replace("_", "\\_").replace("<", "&lt;")


def _checked(family: str, name: str) -> str:
    """The row of the page on what each is held to, with the files of its tests."""
    page = _FAMILIES[family][2]
    row = re.compile(rf"^\| [^|]*`{re.escape(name)}`[^|]*\| (?P<law>[^|]+)\| (?P<runs>[^|]+)\|", re.MULTILINE)
    found = row.search((DOCS / page).read_text(encoding="utf-8"))
    more = (
        f"All of them: [{'what each controller is held to' if family == 'controllers' else 'validation'}](../{page})."
    )
    if found is None:
        return f"## Where it was checked\n\n{more}"
    return f"## Where it was checked\n\n{_sentence(found['law'].strip())}\n\nRuns: {found['runs'].strip()}\n\n{more}"


def _index(family: str, heading: str, entries: list[dict[str, Any]], kept: Path) -> str:
    what = "controllers" if family == "controllers" else "queue disciplines"
    lines = [
        f"# {heading}",
        f"{len(entries)} {what}, each with its source, its parameters and a picture on a standard path.",
    ]
    lines.append("| name | what it does | source |\n|---|---|---|")
    rows = [f"| [{e['name']}]({e['name']}.md) | {_cell(e['summary'])} | {_cell(e['source'])} |" for e in entries]
    lines[-1] += "\n" + "\n".join(rows)
    cards = [
        f'<figure markdown="span">[![{e["name"]}]({e["name"]}.png)]({e["name"]}.md)'
        f"<figcaption>{e['name']}</figcaption></figure>"
        for e in entries
        if (kept / family / f"{e['name']}.png").exists()
    ]
    lines.append('## In pictures\n\n<div class="cards" markdown>\n\n' + "\n\n".join(cards) + "\n\n</div>")
    return "\n\n".join(lines) + "\n"
