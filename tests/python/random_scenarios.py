"""Random scenarios from a seed, and what must hold of the results of any.

`python random_scenarios.py FROM TO [FOLDER]` tries these seeds, `--seconds N [FOLDER]` others every time for so long.

Every scenario that breaks something, or whose run fails or takes minutes, is kept in FOLDER. `--write N FOLDER` writes
the first N into it.
"""

import functools
import json
import math
import random
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from types import FrameType
from typing import Any

import ackclock
from ackclock.results import Results

OUTSIDE = ("policy", "python", "external", "fixed")
"""Controllers that need a program or a file, and one that does not control."""
LONGEST_S = 300
"""Time limit for a scenario, s: most take less than a second, and a longer one is reported as a failure."""
LIMITS = ["1 packets", "5 packets", "100 packets", "15 kB", "20 ms", "unlimited"]
QUEUES: dict[str, dict[str, list[Any]]] = {
    "drop_tail": {"limit": LIMITS},
    "sgpq": {"limit": LIMITS, "small_limit": ["1 packets", "unlimited"]},
    "threshold": {"limit": LIMITS, "threshold": ["0 packets", "5 packets", "10 kB", "3 ms"]},
    "red": {"limit": LIMITS, "ecn": [True], "adaptive": [True], "gentle": [False]},
    "tbf": {"limit": LIMITS, "rate": ["300 kbit/s", "4 Mbit/s"], "burst": ["1600 B", "40 kB"]},
    "priority": {
        "bands": [
            [{"of": "acks"}, {"limit": "30 packets"}],
            [{"flows": ["f0"], "limit": "20 kB"}, {"max_size": "600 B"}, {"limit": "5 packets"}],
        ]
    },
    "drr": {"limit": LIMITS, "quantum": ["300 B"]},
    "sfq": {"limit": LIMITS, "buckets": [1, 4], "perturb": ["200 ms"]},
    "fq": {"limit": LIMITS},
    "shared_buffer": {"limit": LIMITS, "sharing": [{"kind": "dynamic_threshold", "alpha": 0.5}]},
    "codel": {"limit": LIMITS, "ecn": [False], "ce_threshold": ["1 ms"]},
    "fq_codel": {"limit": LIMITS, "flows": [1, 8], "drop_batch": [1]},
    "pie": {"limit": LIMITS, "delay": ["departure_rate"], "byte_mode": [True], "derandomize": [False]},
    "fq_pie": {"flows": [1, 8], "target": ["2 ms"]},
    "cake": {"ack_filter": ["aggressive"], "cells": ["atm"], "isolation": ["flows"], "bandwidth": ["3 Mbit/s"]},
    "dualpi2": {"scheduler": ["time_shifted"], "threshold_packets": [0, 20], "limit": LIMITS},
    "abc": {"limit": LIMITS, "delay_threshold": ["0 ms", "5 ms"], "span": ["1 ms"], "tokens": [1.0]},
}
"""Values that are tried beside the defaults, by discipline and parameter."""
REQUIRED = {"threshold": {"threshold"}, "tbf": {"rate", "burst"}, "priority": {"bands"}}
STACKS = ("rfc", "linux-6.x", "ns3-3.4x", "ns2", "opnet-17", "bsd-4.3")
SWITCHES: dict[str, list[Any]] = {
    "mss": [100, 536, 1448],
    "sack": [False],
    "timestamps": [False],
    "ecn": ["accept", "request"],
    "receive_buffer": ["3 kB", "1 MB"],
    "initial_window": ["1 segments", "30 segments"],
    "pacing": [True],
    "loss_recovery": ["tahoe", "reno", "newreno", "sack"],
    "tlp": [True],
    "prr": [False],
    "loss_detection": ["fack"],
    "rate_halving": [True],
    "device_queue": [{"limit": 1}, {"limit": 20}],
    "frto": [True],
    "nagle": ["classic"],
}
SMALL_WINDOWS = {"swift", "fixed"}
"""Controllers whose window may be less than a segment: of these it must only not be negative."""


@functools.cache
def _names(catalogue: str) -> list[str]:
    """Return the names in a catalogue of the core, so that nothing new is left out."""
    return [entry["name"] for entry in json.loads(getattr(ackclock._core, catalogue)())]


def _queue(draw: random.Random) -> dict[str, Any]:
    kind = draw.choice([*_names("queues"), "drop_tail", "drop_tail"])
    fields = QUEUES.get(kind, {})
    wanted = {name for name in fields if name in REQUIRED.get(kind, ()) or draw.random() < 0.4}
    return {"kind": kind} | {name: draw.choice(fields[name]) for name in sorted(wanted)}


EFFECTS: dict[str, list[Any]] = {
    "loss": [
        {"kind": "random", "p": 0.001},
        {"kind": "random", "p": 0.2},
        {"kind": "gilbert_elliott", "p": 0.01, "r": 0.3},
        {"kind": "bursts", "share": 0.02, "length": 4},
        {"kind": "bit_errors", "rate": 1e-6},
    ],
    "jitter": [
        {"kind": "uniform", "max": "4 ms"},
        {"kind": "normal", "mean": "3 ms", "deviation": "2 ms"},
        {"kind": "exponential", "mean": "2 ms"},
    ],
    "reorder": [{"kind": "probability", "p": 0.05, "extra": "5 ms"}, {"kind": "every", "k": 7, "extra": "300 us"}],
    "duplicate": [0.02],
    "handover": [{"period": "250 ms", "outage": f"{ms} ms"} for ms in (1, 30, 200)]
    + [{"period": "300 ms", "delay": ["5 ms", "60 ms"]}],
    "policer": [{"rate": "3 Mbit/s", "burst": "20 kB"}],
    "aggregate": [{"every": "3 ms"}, {"wait": "2 ms", "packets": 8, "of": "acks"}],
    "keep_order": [False],
    "telemetry": [True],
    "device_queue": [1, 30],
    "framing": ["ethernet"],
    "discard": [
        [{"kind": "nth", "n": 5}],
        [{"kind": "every", "k": 40, "of": "data"}, {"kind": "range", "first": 100, "last": 104}],
        [{"kind": "probability", "p": 0.01, "from": "300 ms"}, {"kind": "list", "positions": [1, 2, 9]}],
    ],
}


def _link(draw: random.Random) -> dict[str, Any]:
    rate = f"{draw.choice([0.2, 1, 5, 20, 60])} Mbit/s"
    link: dict[str, Any] = {"rate": rate, "delay": f"{draw.choice([0, 2, 15, 60])} ms", "queue": _queue(draw)}
    link |= {name: draw.choice(effects) for name, effects in EFFECTS.items() if draw.random() < 0.12}
    if draw.random() < 0.12:
        steps = [{"rate": rate}, {"at": "300 ms", "rate": "0 bit/s"}, {"at": "450 ms", "rate": "9 Mbit/s"}]
        link["rate"] = {"schedule": steps, "repeat": "700 ms"}
    elif draw.random() < 0.12:
        link["rate"] = {"instants": " ".join(map(str, sorted(draw.choices(range(1, 150), k=80))))}
    if "delay" in link.get("handover", {}):
        del link["delay"]
    elif draw.random() < 0.12:
        link["delay"] = {
            "schedule": [{"delay": "8 ms"}, {"at": "400 ms", "delay": "40 ms"}, {"at": "1 s", "delay": "1 ms"}]
        }
    return link


SIZES: list[Any] = [
    "4 kB",
    {"exponential": "20 kB"},
    {"cdf": "web_search"},
    {"cdf": "data_mining"},
    {"uniform": ["1 B", "3 kB"]},
    {"pareto": {"mean": "9 kB", "shape": 1.2}},
    {"log_normal": {"median": "5 kB", "sigma": 1.5}},
]
APPS: list[dict[str, Any]] = [
    {"kind": "bulk"},
    {"kind": "file", "size": "1 B"},
    {"kind": "file", "size": "1448 B"},
    {"kind": "file", "size": "700 kB"},
    {"kind": "files", "sizes": ["1 B", "40 kB", "3 kB"], "gap": "20 ms"},
    {"kind": "on_off", "on": "100 ms", "off": "70 ms"},
    {"kind": "request_response", "response": "30 kB", "think": {"exponential": "40 ms"}},
    {"kind": "video", "segment": "200 ms"},
]
DATAGRAMS: list[dict[str, Any]] = [
    {"kind": "cbr", "rate": "600 kbit/s"},
    {"kind": "poisson", "rate": "600 kbit/s"},
    {"kind": "on_off", "on": "30 ms", "off": {"exponential": "50 ms"}, "rate": "2 Mbit/s"},
    {"kind": "media", "controller": "gcc"},
    {"kind": "media", "controller": "scream", "max_rate": "8 Mbit/s", "key_interval": "300 ms"},
    {"kind": "media", "controller": "scream_v1", "feedback": "10 ms", "discard_after": "100 ms"},
]


GIVEN: dict[str, dict[str, Any]] = {
    "powertcp_theta": {"line_rate": "40 Mbit/s"},
    "swift": {"base_target": "5 ms"},
    "timely": {"t_low": "6 ms", "t_high": "40 ms", "segment": "10 kB", "additive_increase": "200 kbit/s"},
}
"""Parameters of datacentre controllers, fit for the delays and rates of the paths here."""


BY_TELEMETRY = ("hpcc", "powertcp")
"""Controllers that work on what links write into packets."""


TCP_ONLY = ("tahoe", "newreno", "vegas_modified", "vegas_skew_tolerant", *BY_TELEMETRY)
"""Controllers that QUIC does not have."""


def _controller(name: str) -> Any:
    return {"kind": name} | GIVEN[name] if name in GIVEN else name


def _flow(draw: random.Random, number: int, controller: str) -> dict[str, Any]:
    flow: dict[str, Any] = {"name": f"f{number}"}
    kind = draw.random()
    if kind < 0.1:
        ecn = draw.choice(["not_ect", "not_ect", "ect0", "ect1"])
        return flow | {"protocol": {"kind": "udp", "ecn": ecn}, "app": draw.choice(DATAGRAMS)}
    flow["controller"] = _controller(controller)
    if kind < 0.2 and controller not in TCP_ONLY:
        asked = {"packets": draw.choice([1, 10]), "reordering": draw.choice([0, 1, 3])}
        protocol = {"kind": "quic", "ecn": draw.random() < 0.3} | (
            {"ack_frequency": asked} if draw.random() < 0.5 else {}
        )
        return flow | {"protocol": protocol, "app": draw.choice(["bulk", {"kind": "file", "size": "200 kB"}])}
    if kind < 0.35:
        arrivals = {"rate": "20 /s", "size": draw.choice(SIZES), "process": draw.choice(["poisson", "periodic"])}
        return flow | {"arrivals": arrivals | ({"reply": "2 kB"} if draw.random() < 0.3 else {})}
    flow["app"] = draw.choice(APPS)
    chosen = {name: draw.choice(values) for name, values in SWITCHES.items() if draw.random() < 0.1}
    if draw.random() < 0.5:
        chosen["profile"] = draw.choice(_names("profiles"))
    if draw.random() < 0.1:
        chosen |= {"pacing": "fq", "small_queues": True, "device_queue": False}
    return flow | {"start": f"{draw.choice([0, 0, 30, 400])} ms", "reverse": draw.random() < 0.2} | {"tcp": chosen}


def _topology(draw: random.Random) -> tuple[dict[str, Any], list[tuple[str, str] | None], str]:
    """A topology, between which nodes a flow may go, and where an appliance may stand."""
    access = {"rate": "300 Mbit/s", "delay": f"{draw.choice([0, 1, 10])} ms"}
    match draw.choice(["dumbbell", *_names("topologies")]):
        case "dumbbell":
            return {"kind": "dumbbell", "access": access, "bottleneck": _link(draw)}, [None], "left"
        case "chain":
            links = draw.sample([access, _link(draw)], 2)
            return {"kind": "chain", "nodes": ["N0", "N1", "N2"], "links": links}, [("N0", "N2")], "N1"
        case "star":
            ends: list[tuple[str, str] | None] = [("host2", "host1"), ("host3", "host1"), ("host3", "host2")]
            return {"kind": "star", "hosts": 3, "link": _link(draw)}, ends, "hub"
        case "parking_lot":
            ends = [("H1", "H3"), ("H1", "H2"), ("H2", "H3"), ("H3", "H1")]
            return {"kind": "parking_lot", "hops": 2, "access": access, "bottleneck": _link(draw)}, ends, "R2"
        case "explicit":
            nodes = [{"name": name} for name in ("A", "B", "C")] + [{"name": "R", "kind": "router"}]
            cables = [{"from": name, "to": "R", "duplex": True} | draw.choice([access, _link(draw)]) for name in "ABC"]
            cables[1] |= {"reverse": {"rate": "700 kbit/s", "delay": "3 ms"}}
            return {"kind": "explicit", "node": nodes, "link": cables}, [("A", "B"), ("B", "C"), ("C", "A")], "R"
        case kind:
            raise ValueError(f"no topology {kind!r} is drawn here, and the catalogue has it: add a case")


def scenario(seed: int) -> dict[str, Any]:
    """Return a scenario; one of some ten is refused by the check, as parts do not go together.

    Args:
        seed: Decides all of it; the controllers come in turn.
    """
    draw = random.Random(seed)
    names = [name for name in _names("controllers") if name not in OUTSIDE]
    count = draw.choice([1, 2, 4])
    flows = [_flow(draw, number, names[(seed + 7 * number) % len(names)]) for number in range(count)]
    topology, ends, node = _topology(draw)
    for flow, between in zip(flows, draw.choices(ends, k=count), strict=True):
        if between is not None:
            flow["from"], flow["to"] = between
    made: dict[str, Any] = {"name": f"r{seed}", "duration": "2 s", "seed": seed, "topology": topology, "flow": flows}
    if draw.random() < 0.3:
        box: dict[str, Any] = {"node": node, "buffer_policy": draw.choice(_names("buffer_policies"))}
        if draw.random() < 0.5:
            box["far"] = {
                "controller": _controller(draw.choice(names)),
                "tcp": {"receive_buffer": draw.choice(["8 kB", "1 MB"])},
            }
        made["appliance"] = [box]
        if box["buffer_policy"].startswith("ece_"):
            box["near"] = {"tcp": {"ecn": "accept"}}
            made["flow"] = [flow | ({} if "protocol" in flow else {"sender_tcp": {"ecn": "request"}}) for flow in flows]
    if any(f'"{name}"' in json.dumps(made) for name in BY_TELEMETRY):
        _write_telemetry(topology)
    return made | {"trace": {"interval": "10 ms"}}


def _write_telemetry(topology: dict[str, Any]) -> None:
    for name in ("access", "bottleneck", "link", "links"):
        links = topology.get(name, [])
        for link in links if isinstance(links, list) else [links]:
            link["telemetry"] = True


def _kind(part: Any) -> str:
    """Return the kind of a part that a scenario writes as a word or as a table."""
    return str(part["kind"] if isinstance(part, dict) else part)


def kinds(made: dict[str, Any]) -> set[str]:
    """Return what is in a scenario of what the catalogues list, such as `"queues drr"`."""
    found = {f"topologies {made['topology']['kind']}"}
    found |= {f"buffer_policies {box['buffer_policy']}" for box in made.get("appliance", [])}
    found |= {f"controllers {_kind(flow['controller'])}" for flow in made["flow"] if "controller" in flow}
    for flow in made["flow"]:
        sizes = flow.get("arrivals", {}).get("size")
        found |= {f"traffic {name}" for name in ("arrivals",) if name in flow}
        found |= {f"traffic {_kind(flow[name])}" for name in ("protocol", "app") if name in flow}
        found |= {f"traffic {sizes.get('cdf', next(iter(sizes)))}"} if isinstance(sizes, dict) else set()
    return found | set(_kinds_of_links(made["topology"]))


def _kinds_of_links(part: object) -> Iterator[str]:
    if isinstance(part, list):
        for inner in part:
            yield from _kinds_of_links(inner)
    elif isinstance(part, dict):
        for name, inner in part.items():
            if name == "queue":
                yield f"queues {inner['kind']}"
            elif name not in ("rate", "delay") or isinstance(inner, dict):
                yield f"links {name}"
                yield from _kinds_of_links(inner)


def listed() -> set[str]:
    """Return what the catalogues list and a scenario can have without a program or a file of its own."""
    every = ("queues", "links", "topologies", "traffic", "buffer_policies", "controllers")
    names = {f"{catalogue} {name}" for catalogue in every for name in _names(catalogue)}
    return names - {f"controllers {name}" for name in OUTSIDE} - {"traffic sizes of a file"}


def _numbers(value: object, path: str = "") -> Iterator[tuple[str, float]]:
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from _numbers(inner, f"{path}.{name}")
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from _numbers(inner, f"{path}[{index}]")
    elif isinstance(value, (int, float)) and not isinstance(value, bool):
        yield path, value


def violations(made: dict[str, Any], results: Results) -> Iterator[str]:
    """Tell what does not hold.

    Args:
        made: The scenario.
        results: Its results.

    Yields:
        Description of the mistake.
    """
    summary: Any = results.summary
    yield from (f"{path} is {value}" for path, value in _numbers(summary) if not (math.isfinite(value) and value >= 0))
    for flow in summary["flows"]:
        yield from _wrong_with_flow(flow, summary["duration_s"], has_appliance="appliance" in made)
    for link in summary["links"]:
        if link["utilization"] > 1 + 1e-9:
            yield f"utilization of {link['name']} {link['utilization']}"
    engine: Any = results.manifest["engine"]
    sent = sum(flow["sent_segments"] for flow in summary["flows"])
    if engine["events"] > 1_000 * (sent + engine["packets_delivered"]) + 100_000 * (1 + summary["duration_s"]):
        yield f"{engine['events']} events"
    copies = "duplicate" in json.dumps(made["topology"])
    yield from _wrong_with_traffic(summary, copies=copies, has_appliance="appliance" in made)
    if made["topology"]["kind"] == "dumbbell" and not copies and "appliance" not in made:
        yield from _wrong_with_bottleneck(summary)
    controller_of = {flow["name"]: flow["controller"] for flow in summary["flows"]}
    for name, least in results.flows.group_by("flow").agg(least=_least("cwnd_bytes")).iter_rows():
        if least is not None and least < (0 if controller_of.get(name) in SMALL_WINDOWS else 1):
            yield f"cwnd of {name} {least}"


def _wrong_with_flow(flow: dict[str, Any], duration_s: float, *, has_appliance: bool) -> Iterator[str]:
    if not has_appliance and flow["goodput_bps"] > flow["throughput_bps"] * 1.001 + 1:
        yield f"goodput of {flow['name']} above its throughput"
    if flow["retransmitted_segments"] > flow["sent_segments"]:
        yield f"{flow['name']} retransmitted more than it sent"
    end = flow["completion_s"]
    if end is not None and not flow["start_s"] <= end <= duration_s:
        yield f"{flow['name']} complete at {end}"


def _wrong_with_traffic(summary: dict[str, Any], *, copies: bool, has_appliance: bool) -> Iterator[str]:
    for group in summary.get("groups", []):
        if group["completed"] > group["started"]:
            yield f"{group['name']} completed more than began"
        if not has_appliance and group["slowdown"] and group["slowdown"]["min"] < 1 - 1e-6:
            yield f"slowdown of {group['name']} {group['slowdown']['min']}"
    for datagrams in summary.get("datagrams", []):
        if not copies and datagrams["received"] > datagrams["sent"]:
            yield f"{datagrams['name']} received more than was sent"
        media = datagrams.get("media")
        if media and media["frames_received"] > media["frames"]:
            yield f"{datagrams['name']} received more frames than were made"


def _wrong_with_bottleneck(summary: dict[str, Any]) -> Iterator[str]:
    """Yield a message if more packets leave the bottleneck, or are dropped, than came from the hosts on its left."""
    links = {link["name"]: link for link in summary["links"]}
    came = sum(link["delivered_packets"] for name, link in links.items() if name.endswith(".left"))
    out = links["bottleneck"]
    if out["delivered_packets"] + out["drops"] + out["losses"] > came:
        yield f"the bottleneck gave {out} of {came} packets that came"


def _least(column: str) -> Any:
    import polars as pl

    return pl.col(column).min()


def tried(seed: int) -> list[str] | None:
    """Run the scenario of a seed, and return what does not hold; None if the check refuses it."""
    made = scenario(seed)
    try:
        checked = ackclock.Scenario.from_json(json.dumps(made))
    except ackclock.ScenarioError:
        return None
    try:
        return list(violations(made, ackclock.run(checked)))
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # a panic of the core is no Exception
        return [f"{type(error).__name__}: {error}"]


def _seeds(first: str, last: str) -> Iterator[int]:
    """From `first` until before `last`; with `--seconds`, others every time for so long."""
    if first != "--seconds":
        yield from range(int(first), int(last))
        return
    begin, seed = time.monotonic(), int(time.time()) * 1000
    while time.monotonic() - begin < float(last):
        yield seed
        seed += 1


def _write(count: int, folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for seed in range(count):
        (folder / f"{seed}.json").write_text(json.dumps(scenario(seed)))


def _too_long(_signal: int, _frame: FrameType | None) -> None:
    raise TimeoutError(f"it runs for more than {LONGEST_S} s, which may be for ever")


def main() -> None:
    """Try seeds, tell of each that breaks something, and keep its scenario."""
    folder = Path(sys.argv[3] if len(sys.argv) > 3 else "out/random")
    if sys.argv[1] == "--write":
        _write(int(sys.argv[2]), folder)
        return
    ran = refused = broken = 0
    signal.signal(signal.SIGALRM, _too_long)
    for seed in _seeds(sys.argv[1], sys.argv[2]):
        signal.alarm(LONGEST_S)
        found = tried(seed)
        signal.alarm(0)
        ran += 1
        refused += found is None
        if found:
            broken += 1
            folder.mkdir(parents=True, exist_ok=True)
            (folder / f"{seed}.json").write_text(
                json.dumps({"violations": found, "scenario": scenario(seed)}, indent=1)
            )
            print(seed, found[:4], flush=True)
    print(f"{ran} scenarios, {refused} refused by the check, {broken} with violations")
    sys.exit(bool(broken))


if __name__ == "__main__":
    main()
