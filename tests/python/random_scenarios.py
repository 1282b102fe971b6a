"""Random scenarios from a seed, and what must hold of the results of any.

`python random_scenarios.py FROM TO [FOLDER]` tries these seeds, `--seconds N [FOLDER]` others every time for so long.

Every scenario that breaks something, or whose run fails, is kept in FOLDER.
"""

import json
import math
import random
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import ackclock
from ackclock.results import Results

QUEUES = (
    "drop_tail",
    "drop_tail",
    "sgpq",
    "red",
    "drr",
    "sfq",
    "fq",
    "codel",
    "fq_codel",
    "pie",
    "fq_pie",
    "cake",
    "dualpi2",
)
LIMITED = {"drop_tail", "sgpq", "red", "drr", "fq"}
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
    "frto": [True],
    "nagle": ["classic"],
}
SMALL_WINDOWS = {"swift", "fixed"}
"""Controllers whose window may be less than a segment: of these it must only not be negative."""


def _queue(draw: random.Random) -> dict[str, Any]:
    queue: dict[str, Any] = {"kind": draw.choice(QUEUES)}
    if queue["kind"] in LIMITED:
        queue["limit"] = draw.choice(["1 packets", "5 packets", "100 packets", "15 kB", "20 ms", "unlimited"])
    return queue


def _bottleneck(draw: random.Random) -> dict[str, Any]:
    rate = f"{draw.choice([0.2, 1, 5, 20, 60])} Mbit/s"
    link: dict[str, Any] = {"rate": rate, "delay": f"{draw.choice([0, 2, 15, 60])} ms", "queue": _queue(draw)}
    effects: dict[str, Any] = {
        "loss": {"kind": "random", "p": draw.choice([0.001, 0.02, 0.2])},
        "jitter": {"kind": "uniform", "max": "4 ms"},
        "duplicate": 0.02,
        "handover": {"period": "250 ms", "outage": f"{draw.choice([1, 30, 200])} ms"},
        "policer": {"rate": "3 Mbit/s", "burst": "20 kB"},
        "aggregate": {"every": "3 ms"},
        "keep_order": False,
        "framing": "ethernet",
    }
    link |= {name: effect for name, effect in effects.items() if draw.random() < 0.12}
    if draw.random() < 0.12:
        steps = [{"rate": rate}, {"at": "300 ms", "rate": "0 bit/s"}, {"at": "450 ms", "rate": "9 Mbit/s"}]
        link["rate"] = {"schedule": steps, "repeat": "700 ms"}
    elif draw.random() < 0.12:
        link["rate"] = {"instants": " ".join(map(str, sorted(draw.choices(range(1, 150), k=80))))}
    if draw.random() < 0.12:
        link["delay"] = {
            "schedule": [{"delay": "8 ms"}, {"at": "400 ms", "delay": "40 ms"}, {"at": "1 s", "delay": "1 ms"}]
        }
    return link


def _flow(draw: random.Random, number: int, controller: str) -> dict[str, Any]:
    flow: dict[str, Any] = {"name": f"f{number}"}
    kind = draw.random()
    if kind < 0.1:
        return flow | {"protocol": "udp", "app": {"kind": draw.choice(["cbr", "poisson"]), "rate": "600 kbit/s"}}
    flow["controller"] = controller
    if kind < 0.25:
        return flow | {"arrivals": {"rate": "20 /s", "size": draw.choice(["4 kB", {"exponential": "20 kB"}])}}
    if kind < 0.55:
        flow["app"] = {"kind": "file", "size": draw.choice(["1 B", "1448 B", "40 kB", "700 kB"])}
    elif kind < 0.65:
        flow["app"] = {"kind": "on_off", "on": "100 ms", "off": "70 ms"}
    chosen = {name: draw.choice(values) for name, values in SWITCHES.items() if draw.random() < 0.1}
    if draw.random() < 0.5:
        chosen["profile"] = draw.choice(STACKS)
    return flow | {"start": f"{draw.choice([0, 0, 30, 400])} ms", "reverse": draw.random() < 0.2} | {"tcp": chosen}


def scenario(seed: int) -> dict[str, Any]:
    """Return a scenario; one of some ten is refused by the check, as parts do not go together.

    Args:
        seed: Decides all of it; the controllers come in turn.
    """
    draw = random.Random(seed)
    names = [
        entry["name"] for entry in json.loads(ackclock._core.controllers()) if entry["name"] not in ("policy", "fixed")
    ]
    count = draw.choice([1, 2, 4])
    flows = [_flow(draw, number, names[(seed + 7 * number) % len(names)]) for number in range(count)]
    access = {"rate": "300 Mbit/s", "delay": f"{draw.choice([0, 1, 10])} ms"}
    topology: dict[str, Any] = {"kind": "dumbbell", "access": access, "bottleneck": _bottleneck(draw)}
    if draw.random() < 0.4:
        ends = ["N0", "N2"]
        topology = {"kind": "chain", "nodes": ["N0", "N1", "N2"], "links": [access, _bottleneck(draw)]}
        flows = [flow | dict(zip(("from", "to"), ends, strict=True)) for flow in flows]
    made = {"name": f"r{seed}", "duration": "2 s", "seed": seed, "topology": topology, "flow": flows}
    if topology["kind"] == "dumbbell" and draw.random() < 0.2:
        made["appliance"] = [
            {"node": "left", "discipline": draw.choice(["socket", "drain_rate", "codel_window", "not_sent"])}
        ]
    return made | {"trace": {"interval": "10 ms"}}


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
        What is wrong, in words.
    """
    summary: Any = results.summary
    yield from (f"{path} is {value}" for path, value in _numbers(summary) if not (math.isfinite(value) and value >= 0))
    for flow in summary["flows"]:
        yield from _wrong_with_flow(flow, summary["duration_s"], has_appliance="appliance" in made)
    for link in summary["links"]:
        if link["utilization"] > 1 + 1e-9:
            yield f"utilization of {link['name']} {link['utilization']}"
    copies = "duplicate" in json.dumps(made["topology"])
    yield from _wrong_with_traffic(summary, copies=copies, has_appliance="appliance" in made)
    if made["topology"]["kind"] == "dumbbell" and not copies and "appliance" not in made:
        yield from _wrong_with_bottleneck(summary)
    controller_of = {flow["name"]: flow.get("controller") for flow in made["flow"]}
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


def _wrong_with_bottleneck(summary: dict[str, Any]) -> Iterator[str]:
    """What comes out of it, or is dropped, came from the hosts on its left."""
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


def main() -> None:
    """Try seeds, tell of each that breaks something, and keep its scenario."""
    folder = Path(sys.argv[3] if len(sys.argv) > 3 else "out/random")
    ran = refused = broken = 0
    for seed in _seeds(sys.argv[1], sys.argv[2]):
        found = tried(seed)
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
