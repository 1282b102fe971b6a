"""Settings that a stack profile decides for a run, where its scenario does not."""

import json
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Any

from ackclock import _core
from ackclock.scenario.setting_values import value_text

_TCP = ("tcp", "sender_tcp", "receiver_tcp")


def stacks(scenario: Mapping[str, Any], profiles: Sequence[str]) -> str:
    """Name stack profiles, each with the settings that it decided for a run.

    Args:
        scenario: Scenario, as in `Results.scenario`.
        profiles: Profiles of its senders.

    Examples:
        >>> stacks({"flow": [{}], "tcp": {"profile": "ns2"}}, ["ns2"])
        'ns2 (default controller: tahoe)'
        >>> stacks({"flow": [{"controller": "reno"}]}, ["linux-6.x"])
        'linux-6.x'
    """
    return ", ".join(name + _decided(_catalogue().get(name), scenario) for name in profiles)


def _decided(profile: Mapping[str, Any] | None, scenario: Mapping[str, Any]) -> str:
    if profile is None:
        return ""
    flows = [flow for flow in scenario.get("flow", []) if flow.get("protocol", "tcp") in ("tcp", {"kind": "tcp"})]
    said = []
    if any("controller" not in flow for flow in flows):
        said.append(f"default controller: {profile['controller_by_default']['name']}")
    tables = list(_tables(scenario))
    for switch in profile["with"]:
        if any(table.get(switch["name"]) == switch["value"] for table in tables):
            sets = {key: value for key, value in switch["sets"].items() if not any(key in table for table in tables)}
            brought = ", ".join(f"{key} = {value_text(value)}" for key, value in sets.items())
            said.append(f"{switch['name']} brings {brought}" if brought else "")
    said = [entry for entry in said if entry]
    return f" ({'; '.join(said)})" if said else ""


def _tables(scenario: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Yield every table of TCP switches in a scenario."""
    for owner in (scenario, *scenario.get("host", []), *scenario.get("flow", [])):
        yield from (owner[key] for key in _TCP if key in owner)


@cache
def _catalogue() -> dict[str, dict[str, Any]]:
    return {profile["name"]: profile for profile in json.loads(_core.profiles())}
