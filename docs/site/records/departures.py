"""Where a folder's scenarios depart from the profile of TCP that they name, as a table of its page.

Between two lines of a page, `<!-- departures: dqn-2023 -->` and `<!-- end of departures -->`, stands a row for each set
of scenarios that depart alike: each switch of `tcp` that has another value than in the profile, with the profile's.
Departures: what a flow, a host or an appliance sets for itself is not listed, nor what an option of a choice sets.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Any

from ackclock import _core
from ackclock._core import Scenario
from ackclock.base import input_files
from ackclock.base.decoding import decoded_toml
from ackclock.claims.folder import Case, Folder

_MARKED = re.compile(r"<!-- departures: (?P<folder>\S+) -->\n.*?<!-- end of departures -->", re.DOTALL)
_PLAIN = {
    "duration": "1 s",
    "topology": {
        "kind": "dumbbell",
        "access": {"rate": "1 Gbit/s", "delay": "1 ms"},
        "bottleneck": {"rate": "1 Mbit/s", "delay": "1 ms"},
    },
    "flow": [{"name": "one", "controller": "reno"}],
}
"""A scenario that reads a table of `tcp`, whatever else stands beside it."""

_NOT_SAID = "linux-6.x"
"""The profile of a scenario that names none."""


def renewed(text: str, folders: Sequence[Folder]) -> str:
    """Return a page with its marked tables written anew.

    Raises:
        LookupError: If a mark names no folder.
    """

    def written(found: re.Match[str]) -> str:
        mark = found[0].split("\n", 1)[0]
        folder = next((each for each in folders if each.path.name == found["folder"]), None)
        if folder is None:
            raise LookupError(f"{mark} names no folder of claims")
        return f"{mark}\n{table(folder)}<!-- end of departures -->"

    return _MARKED.sub(written, text)


def table(folder: Folder) -> str:
    """Return the table of a folder in Markdown; empty where no scenario departs from its profile."""
    alike: dict[tuple[str, str], list[str]] = {}
    for case in (case for claim in folder.claims for case in claim.study.cases):
        profile, said = _departs(case)
        names = alike.setdefault((profile, said), [])
        if said and (name := case.scenario.relative_to(folder.path).as_posix()) not in names:
            names.append(name)
    rows = [f"| `{profile}` | {said} | {', '.join(names)} |\n" for (profile, said), names in alike.items() if names]
    head = "| profile | set otherwise (the profile's value) | in |\n| --- | --- | --- |\n"
    return head + "".join(rows) if rows else ""


def _departs(case: Case) -> tuple[str, str]:
    """Return the profile of a case, and what is set otherwise in it."""
    text = input_files.text(case.scenario, remedy="write it: a study names it")
    return _of(text, tuple(override for override in case.overrides if re.match(r"tcp[.=]", override)))


@cache
def _of(text: str, overrides: tuple[str, ...]) -> tuple[str, str]:
    plain = Scenario.from_json(json.dumps({**_PLAIN, "tcp": decoded_toml(text).get("tcp", {})}), list(overrides))
    tcp = json.loads(plain.to_json())["tcp"]
    profile = tcp.pop("profile", _NOT_SAID)
    return profile, ", ".join(_others("", tcp, _profiles()[profile]))


def _others(place: str, table: Mapping[str, Any], profile: Mapping[str, Any]) -> Iterator[str]:
    for name, value in table.items():
        of_profile = profile.get(name)
        if isinstance(value, dict) and isinstance(of_profile, dict):
            yield from _others(f"{place}{name}.", value, of_profile)
        elif value != of_profile:
            yield f"`{place}{name}` {_said(value)} ({_said(of_profile)})"


def _said(value: object) -> str:
    if isinstance(value, str):
        return value
    return "on" if isinstance(value, dict) else json.dumps(value).replace("null", "not set")


@cache
def _profiles() -> dict[str, dict[str, Any]]:
    listed = json.loads(_core.profiles())
    return {each["name"]: {switch["name"]: switch["value"] for switch in each["switches"]} for each in listed}
