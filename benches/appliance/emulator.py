"""The emulator by itself: how late it is, how much passes, how many paths at once, and a second opinion on its rate.

    sudo python benches/appliance/emulator.py [--only late,rate,...] [--runs 3] [--json]

`late`: 100 Mbit/s with 60 ms and DropTail, 1 Gbit/s with 28 ms and CoDel; `through`: a link that is never the limit;
`paths`: eight paths of 100 Mbit/s in one run; `rate`: the same transfer limited by the emulator's link and by the
kernel's own token bucket (tc-tbf(8)) in front of a link without limit. Flows are CUBIC of this kernel. Needs root and
`make kernel`; `rate` needs iproute2. An idle machine says what the emulator can do, a busy one what it does then: the
load is told.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import ends
from lab import KERNEL, PORT, SERVER, Lab, run

Row = dict[str, Any]

RATE_MBPS = 40
PAYLOAD = 1448 / 1500
"""Payload in a full packet with timestamps, as a share of the rate; Ethernet's header is not counted."""


def path(name: str, bottleneck: str, queue: str) -> str:
    """Return nodes and links of a path of its own, 1000 times faster on the first link than on the second."""
    nodes = ((f"{name}.a", "host"), (f"{name}.r", "router"), (f"{name}.b", "host"))
    text = "".join(f'[[topology.node]]\nname = "{node}"\nkind = "{kind}"\n' for node, kind in nodes)
    text += f'[[topology.link]]\nfrom = "{name}.a"\nto = "{name}.r"\nrate = "1 Tbit/s"\ndelay = "10 us"\n'
    return f'{text}[[topology.link]]\nfrom = "{name}.r"\nto = "{name}.b"\n{bottleneck}\nqueue = {queue}\n'


def scenario(paths: int, bottleneck: str, queue: str, seconds: int = 8) -> str:
    """Return a scenario of so many equal paths with a CUBIC flow on each; what comes after two seconds counts."""
    names = [f"p{number}" for number in range(paths)]
    flow = '[[flow]]\nname = "{0}"\nfrom = "{0}.a"\nto = "{0}.b"\ncontroller = "cubic"\n'
    return (
        f'duration = "{seconds} s"\n[measure]\nfrom = "2 s"\n[topology]\nkind = "explicit"\n'
        + "".join(path(name, bottleneck, queue) for name in names)
        + "".join(flow.format(name) for name in names)
    )


DROP_TAIL = '{ kind = "drop_tail", limit = "1 bdp" }'
HUNDRED = 'rate = "100 Mbit/s"\ndelay = "30 ms"'
RUNS: Mapping[str, Mapping[str, str]] = {
    "late": {
        "100 Mbit/s, 60 ms": scenario(1, HUNDRED, DROP_TAIL),
        "1 Gbit/s, 28 ms, CoDel": scenario(1, 'rate = "1 Gbit/s"\ndelay = "14 ms"', '{ kind = "codel" }'),
    },
    "through": {"no limit": scenario(1, 'rate = "1 Tbit/s"\ndelay = "100 us"', DROP_TAIL)},
    "paths": {"eight of 100 Mbit/s, 60 ms": scenario(8, HUNDRED, DROP_TAIL)},
}


def emulated(text: str) -> Row:
    """Run a scenario on the kernel."""
    with tempfile.NamedTemporaryFile("w", suffix=".toml") as file:
        file.write(text)
        file.flush()
        told = json.loads(run(KERNEL, "run", file.name))
    kernel, flows = told["kernel"], told["summary"]["flows"]
    late = {f"late_{part}_us": round(kernel["late_us"][part]) for part in ("p50", "p99", "p999")}
    goodput = sum(flow["goodput_bps"] for flow in flows) / 1e6
    return {"goodput_mbps": goodput, **late, "cpu": kernel["emulator_cpu_share"], "valid": kernel["valid"]}


def transfer(*, by_token_bucket: bool) -> float:
    """Return the goodput, Mbit/s, of a flow on a path of 20 ms whose limit is the emulator's, or the kernel's."""
    limit = "1 Tbit/s" if by_token_bucket else f"{RATE_MBPS} Mbit/s"
    with tempfile.NamedTemporaryFile("w", suffix=".toml") as file:
        file.write(scenario(1, f'rate = "{limit}"\ndelay = "10 ms"', '{ kind = "drop_tail", limit = "100 packets" }'))
        file.flush()
        # The host in the middle does nothing here.
        with Lab(Path(file.name), ("p0.a", "p0.r", "p0.b")) as lab:
            if by_token_bucket:
                # Tokens of a tick of the timer (tc-tbf(8): at least rate / HZ, here 250), and room for 100 packets.
                bucket = f"rate {RATE_MBPS}mbit burst {RATE_MBPS * 1_000_000 // 8 // 250} limit 150000"
                device = ("ip", "netns", "exec", lab.names[0], "tc", "qdisc", "add", "dev", "wan0", "root", "tbf")
                run(*device, *bucket.split())
            got = lab.begin(2, ends.receive, (SERVER, PORT), 3.0, 11.0)
            sent = lab.begin(0, ends.send, (SERVER, PORT), "cubic", 11.0)
            arrived, _ = got(), sent()
    return float(arrived.goodput_bps / 1e6)


def rate() -> Row:
    """Return what both limits let through, beside what IP packets of 1500 octets leave for payload."""
    ours, theirs = transfer(by_token_bucket=False), transfer(by_token_bucket=True)
    return {"emulator_mbps": ours, "token_bucket_mbps": theirs, "payload_mbps": RATE_MBPS * PAYLOAD}


def measure(only: Sequence[str], runs: int) -> list[Row]:
    """Run each chosen case so many times, in turn."""
    chosen = [case for kind, group in RUNS.items() if kind in only for case in group.items()]
    cases: list[tuple[str, Callable[[], Row]]] = [(name, partial(emulated, text)) for name, text in chosen]
    if "rate" in only:
        cases.append((f"{RATE_MBPS} Mbit/s, whose limit", rate))
    rows: list[Row] = []
    for _ in range(runs):
        for name, case in cases:
            row = {"case": name, **case(), "load": os.getloadavg()[0]}
            rows.append(row)
            shown = ", ".join(
                f"{key} {value:.4g}" if isinstance(value, float) else f"{key} {value}" for key, value in row.items()
            )
            print(shown, file=sys.stderr, flush=True)
    return rows


def medians(rows: Sequence[Row]) -> list[Row]:
    """Return of each case the median of each number, and in how many runs it was valid."""
    names = list(dict.fromkeys(row["case"] for row in rows))
    summary = []
    for name in names:
        own = [row for row in rows if row["case"] == name]
        numbers = [
            key for key, value in own[0].items() if isinstance(value, int | float) and not isinstance(value, bool)
        ]
        row: Row = {
            "case": name,
            "runs": len(own),
            **{key: statistics.median(one[key] for one in own) for key in numbers},
        }
        if "valid" in own[0]:
            row["valid"] = sum(one["valid"] for one in own)
        summary.append(row)
    return summary


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="late,through,paths,rate", help="some of these, by commas")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--json", action="store_true", help="print every run")
    options = parser.parse_args()
    only = options.only.split(",")
    if unknown := set(only) - {*RUNS, "rate"}:
        parser.error(f"--only: unknown {', '.join(sorted(unknown))}; use some of {', '.join([*RUNS, 'rate'])}")
    try:
        rows = measure(only, options.runs)
    except (FileNotFoundError, subprocess.CalledProcessError) as error:
        told = getattr(error, "stderr", None) or str(error)
        raise SystemExit(f"{told}\nit needs root, iproute2 and {KERNEL} (make kernel)") from error
    if options.json:
        print(json.dumps(rows, indent=1))
        return
    for row in medians(rows):
        name = row.pop("case")
        print(f"{name}: " + ", ".join(f"{key} {value:.4g}" for key, value in row.items()))


if __name__ == "__main__":
    main()
