"""Reference runs that tell whether two engines measure the same: every controller, queue, stack and kind of traffic.

`reference.json` has a hash of each run's results, and a name for all of them that changes if one does. A record stores
that name, so that an engine with changed sources and unchanged results still counts as the same. For each earlier name,
the file lists the runs whose results have changed since.
"""

import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

from ackclock import _core
from ackclock._core import Scenario, Simulation

FILE = Path(str(resources.files("ackclock.claims") / "reference.json"))
"""File with the recorded runs: `name`, and a hash of each run's results by its own name."""

_LIMITS = re.compile(r'"limited_by":(null|\{[^}]*\}),')
"""Field of summaries since 0.3 on which no result depends."""

_OF_OTHERS = {"external", "policy", "python"}
"""Controllers that need a program, a policy or a file."""

_STACKS = ("rfc", "linux-6.x")
"""Stack profiles with which each controller is run."""

_NEEDED: Mapping[str, Mapping[str, Any]] = {
    "priority": {"bands": [{"of": "acks"}, {"limit": "30 packets"}]},
    "tbf": {"rate": "4 Mbit/s", "burst": "20 kB"},
    "threshold": {"limit": "60 packets", "threshold": "10 packets"},
}
"""Required parameters of queues."""

_SET: Mapping[str, Mapping[str, Any]] = {
    "fixed": {"window": "40 segments"},
    "powertcp_theta": {"line_rate": "20 Mbit/s"},
    "swift": {"base_target": "40 ms"},
}
"""Required parameters of controllers."""


def _dumbbell(bottleneck: Mapping[str, Any], *flows: Mapping[str, Any], **more: object) -> dict[str, Any]:
    """Return a scenario of three seconds with flows over one bottleneck."""
    topology = {"kind": "dumbbell", "access": {"rate": "1 Gbit/s", "delay": "1 ms"}, "bottleneck": dict(bottleneck)}
    named = [{"name": f"f{number}", **flow} for number, flow in enumerate(flows)]
    return {"duration": "3 s", "seed": 7, "trace": False, "topology": topology, "flow": named, **more}


def _controllers() -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield a run of each controller beside a later CUBIC flow, with a buffer of half a BDP and a little loss."""
    lossy = [{"kind": "probability", "p": 0.001, "of": "data"}]
    link = {"rate": "20 Mbit/s", "delay": "15 ms", "queue": {"kind": "drop_tail", "limit": "0.5 bdp"}, "discard": lossy}
    for name in (each["name"] for each in json.loads(_core.controllers())):
        if name in _OF_OTHERS:
            continue
        controller = {"kind": name, **_SET.get(name, {})}
        bottleneck = link | {"telemetry": name in ("hpcc", "powertcp")}
        flows = ({"controller": controller}, {"start": "600 ms"})
        for stack in _STACKS:
            yield f"{name}, {stack}", _dumbbell(bottleneck, *flows, tcp={"profile": stack})


def _queues() -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield a run of each queue, with flows in both directions, one of which uses ECN."""
    flows: tuple[dict[str, Any], ...] = (
        {},
        {"controller": "newreno", "tcp": {"ecn": "request"}},
        {"reverse": True, "start": "400 ms"},
    )
    for name in (each["name"] for each in json.loads(_core.queues())):
        queue = {"kind": name, **_NEEDED.get(name, {})}
        yield f"queue {name}", _dumbbell({"rate": "10 Mbit/s", "delay": "10 ms", "queue": queue}, *flows)


def _stacks() -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield a run of each profile not covered above, with one flow in each direction."""
    link = {"rate": "10 Mbit/s", "delay": "20 ms", "queue": {"kind": "drop_tail", "limit": "20 packets"}}
    for name in (each["name"] for each in json.loads(_core.profiles())):
        if name in _STACKS:
            continue
        flows = ({"controller": "newreno"}, {"controller": "reno", "reverse": True})
        yield f"stack {name}", _dumbbell(link, *flows, tcp={"profile": name})


def _kinds() -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield runs of applications, transports, links and appliances."""
    plain = {"rate": "10 Mbit/s", "delay": "15 ms", "queue": {"kind": "drop_tail", "limit": "100 ms"}}
    burst = {"kind": "bursts", "share": 0.001, "length": 4}
    handover = {"period": "700 ms", "outage": "60 ms", "delay": ["16 ms", "24 ms", "20 ms"]}
    steps = [{"rate": "20 Mbit/s"}, {"at": "1 s", "rate": "5 Mbit/s"}]
    kinds: dict[str, tuple[dict[str, Any], list[dict[str, Any]]]] = {
        "short flows": (plain, [{"arrivals": {"rate": "40 /s", "size": {"exponential": "20 kB"}}}, {}]),
        "questions": (plain, [{"app": {"kind": "request_response", "request": "300 B", "response": "30 kB"}}, {}]),
        "on and off": (plain, [{"app": {"kind": "on_off", "on": "300 ms", "off": "200 ms", "rate": "5 Mbit/s"}}]),
        "video": (plain, [{"app": {"kind": "video", "buffer": "4 s", "choose": "buffer"}}]),
        "a call": (plain, [{"protocol": "udp", "app": {"kind": "media", "controller": "gcc"}}, {"start": "1 s"}]),
        "QUIC": (plain, [{"protocol": "quic"}, {"protocol": "quic", "controller": "bbr3"}]),
        "a slow reader": (plain, [{"read_rate": "2 Mbit/s", "receiver_tcp": {"receive_buffer": "64 KiB"}}]),
        "jitter": (plain | {"jitter": {"kind": "uniform", "max": "2 ms"}}, [{}]),
        "reordering": (plain | {"reorder": {"kind": "probability", "p": 0.02, "extra": "5 ms"}}, [{}]),
        "a satellite": ({"rate": "20 Mbit/s", "handover": handover, "loss": burst}, [{}]),
        "a changing rate": (plain | {"rate": {"schedule": steps}}, [{}]),
        "a narrow way back": (plain | {"reverse": {"rate": "100 kbit/s"}}, [{"tcp": {"ack_congestion_control": True}}]),
    }
    for name, (link, flows) in kinds.items():
        yield name, _dumbbell(link, *flows)
    box = {"name": "box", "node": "left", "take": {"flows": "f0"}, "far": {"controller": "highspeed"}}
    yield "an appliance", _dumbbell(plain, {"controller": "reno"}, {}, appliance=[box])
    lot = {"kind": "parking_lot", "hops": 3, "bottleneck": plain, "access": {"rate": "100 Mbit/s", "delay": "1 ms"}}
    ways = ({"from": "H1", "to": "H2"}, {"from": "H2", "to": "H3"}, {"from": "H3", "to": "H4"})
    yield "a parking lot", _dumbbell({}, {}, *ways, topology=lot)


def scenarios() -> dict[str, dict[str, Any]]:
    """Return every reference run by its name, as a scenario that `Scenario.parse` reads as JSON."""
    return dict(case for cases in (_controllers(), _queues(), _stacks(), _kinds()) for case in cases)


@cache
def measured() -> Mapping[str, str]:
    """Simulate every reference run, a third of a second of CPU time in total, and return `hash_of` each."""
    return {name: hash_of(scenario) for name, scenario in scenarios().items()}


def hash_of(scenario: Mapping[str, Any]) -> str:
    """Simulate a scenario, and return 16 digits that identify its summary, except for the limits of flows."""
    summary = _LIMITS.sub("", Simulation(Scenario.parse(json.dumps(scenario))).finish().summary_json())
    return hashlib.sha256(summary.encode()).hexdigest()[:16]


def named(before: Mapping[str, Any], runs: Mapping[str, str]) -> str:
    """Return the name of these results: the previous one, unless a recorded run has changed or is missing.

    Examples:
        >>> named({"name": "a", "runs": {"one": "1"}}, {"one": "1", "new": "2"})
        'a'
        >>> named({"name": "a", "runs": {"one": "1"}}, {"one": "2"}) == "a"
        False
    """
    if all(runs.get(name) == found for name, found in before["runs"].items()):
        return str(before["name"])
    return hashlib.sha256(json.dumps(dict(runs), sort_keys=True).encode()).hexdigest()[:16]


@cache
def results() -> str:
    """Return the name of the installed engine's results: that of the file, if they are the same."""
    return named(on_record(), measured())


def earlier(before: Mapping[str, Any], runs: Mapping[str, str]) -> dict[str, dict[str, str]]:
    """Return, for each earlier name of results, the runs that have changed since, with their old hashes.

    Examples:
        >>> earlier({"name": "a", "runs": {"one": "1", "two": "2"}}, {"one": "9", "two": "2"})
        {'a': {'one': '1'}}
    """
    of_then = {name: {**before["runs"], **changed} for name, changed in before.get("earlier", {}).items()}
    of_then[str(before["name"])] = before["runs"]
    changed = {
        name: {run: found for run, found in then.items() if runs.get(run) != found} for name, then in of_then.items()
    }
    return {name: others for name, others in changed.items() if others}


def changed_since(name: str) -> list[str] | None:
    """Return the reference runs whose results have changed since they were named `name`; None if unknown."""
    record = on_record()
    if name == results():
        return []
    others = record.get("earlier", {}).get(name)
    return None if others is None or results() != record["name"] else list(others)


def on_record() -> dict[str, Any]:
    """Return the content of the file."""
    content: dict[str, Any] = json.loads(FILE.read_text(encoding="utf-8"))
    return content


def written() -> str:
    """Return the file's content for the installed engine."""
    runs = dict(measured())
    content = {"name": results(), "runs": runs, "earlier": earlier(on_record(), runs)}
    return json.dumps(content, indent=2) + "\n"
