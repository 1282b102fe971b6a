"""The HighSpeed appliance of Isogaki's thesis (2005) with real hosts: H1 to H5 on this machine's kernel.

    sudo python benches/appliance/thesis.py [--only H1,H2] [--runs 3] [--record benches/appliance/recorded.json]

A Reno flow reaches the appliance (`ackclock-proxy`), which carries it on with HighSpeed TCP (RFC 3649) as an eBPF
program of the kernel; between client, appliance and server lies the network of the claims' own scenarios, in real
time. ECE is raised by `ackclock-kernel ece`. Beside each figure stands that of the simulator for the same scenario,
rates and durations, and the thesis' own where it has one.

`--slower N` divides H1's rates by N and multiplies its delays by it: the bandwidth-delay product stays, and with it
the windows.
"""

import argparse
import fcntl
import json
import os
import random
import signal
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import ends
from lab import BOX, KERNEL, PORT, ROOT, SERVER, Lab, ask, run, waiting

CLAIMS = ROOT / "studies/highspeed-2005"
HIGHSPEED = "ac_highspeed"
Row = dict[str, Any]


class Route(NamedTuple):
    """A scenario of one flow through the appliance."""

    file: str
    nodes: tuple[str, str, str]
    base_s: float
    delays: tuple[str, str]


BUFFERS = Route("buffers.toml", ("L", "B", "X"), 0.014, ("topology.links[0].delay", "topology.links[1].delay"))
LATENCY = Route(
    "latency.toml",
    ("long.1.left", "left", "long.1.right"),
    0.026,
    ("topology.access.delay", "topology.bottleneck.delay"),
)
"""H5's: the far side is 100 Mbit/s and 50 ms."""

H5_POLICIES = ("socket", "not_sent", "drain_rate", "codel_window")
BOUNDS_MS = (2, 5, 10, 20)
RESERVE = "14 ms"


def listener(policy: str, port: int = PORT, far: str = HIGHSPEED) -> str:
    """Return the appliance's settings for one port."""
    return (
        f'[[listen]]\naddress = "{BOX}:{port}"\nupstream = ["{SERVER}:{port}"]\nclients = ["10.91.0.0/24"]\n'
        f'near = {{ congestion = "reno" }}\nfar = {{ congestion = "{far}" }}\nbuffer_policy = {policy}\n'
    )


# ---- one flow through the appliance: H2 to H5 -----------------------------------------------------------------------


def one_flow(
    policy: str,
    buffers: int,
    *,
    route: Route = BUFFERS,
    delays: tuple[str, ...] = (),
    seconds: float = 15.0,
    far: str = HIGHSPEED,
) -> Row:
    """Play a scenario of one flow with real hosts and return goodput and latency from a third of it on.

    Args:
        policy: The appliance's buffer policy, as its file has it.
        buffers: Size of the near receive buffer and of the far send buffer, octets as the kernel counts.
        route: Which scenario.
        delays: One way before and behind the appliance, where they are not the scenario's.
        seconds: Duration of the run.
        far: Controller behind the appliance.
    """
    overrides = [f'{place}="{delay}"' for place, delay in zip(route.delays, delays, strict=False)]
    with Lab(CLAIMS / route.file, route.nodes, overrides) as lab:
        lab.parameters(0, {"net.ipv4.tcp_ecn": "1"})
        # The buffers of a host's sockets: the least, the first, the most. The ends' own never stand in the way.
        fixed = f"{buffers} {buffers} {buffers}"
        lab.parameters(1, {"net.ipv4.tcp_rmem": fixed, "net.ipv4.tcp_wmem": fixed})
        lab.parameters(2, {"net.ipv4.tcp_rmem": "4096 4194304 33554432"})
        lab.proxy(f"workers = 1\n{listener(policy, far=far)}")
        warm_up = seconds / 3
        arrived = lab.begin(2, ends.receive, (SERVER, PORT), warm_up, seconds)
        time.sleep(0.2)
        sent = lab.begin(0, ends.send, (BOX, PORT), "reno", seconds)
        time.sleep(warm_up)
        before = lab.call(1, waiting)
        nothing = lab.call(1, share_of_empty, seconds - warm_up - 1.0)
        after = lab.call(1, waiting)
        got, _ = arrived(), sent()
    looks = {bound: after[bound] - before.get(bound, 0.0) for bound in after}
    count = max((value for bound, value in looks.items() if bound > 0), default=0.0)
    return {
        "goodput_mbps": got.goodput_bps / 1e6,
        "added_mean_ms": 1e3 * looks.get(-1.0, 0.0) / max(count, 1.0),
        "added_p99_ms": 1e3 * quantile(looks, 0.99),
        "end_to_end_p50_ms": 1e3 * (got.p50_s - route.base_s),
        "end_to_end_p99_ms": 1e3 * (got.p99_s - route.base_s),
        "empty_percent": 100 * nothing,
        "late_p99_us": lab.carried["late_us"]["p99"],
    }


def quantile(looks: Mapping[float, float], part: float) -> float:
    """Return what a part of some looks lie below, from how many do below each bound; evenly spread between two bounds.

    Examples:
        >>> quantile({1.0: 50.0, 2.0: 100.0}, 0.75)
        1.5
    """
    bounds = sorted(bound for bound in looks if bound > 0)
    wanted = part * max((looks[bound] for bound in bounds), default=0.0)
    lower = below = 0.0
    for bound in bounds:
        if looks[bound] >= wanted > below:
            return lower + (bound - lower) * (wanted - below) / (looks[bound] - below)
        lower, below = bound, looks[bound]
    return 0.0


def share_of_empty(seconds: float) -> float:
    """Return in which part of some looks nothing waited in the appliance to be sent."""
    looks = []
    start = time.monotonic()
    while time.monotonic() - start < seconds:
        looks += [one["backlog_bytes"][0] == 0 for one in json.loads(ask("/connections"))]
        time.sleep(0.02)
    return sum(looks) / max(len(looks), 1)


def simulated(
    policy: str, buffers: int, *, route: Route = BUFFERS, delays: tuple[str, ...] = (), seconds: float = 15.0
) -> Row:
    """Return the same from the simulator."""
    from ackclock import Scenario
    from ackclock import run as run_scenario

    sets = [
        *(f'{place}="{delay}"' for place, delay in zip(route.delays, delays, strict=False)),
        f'appliance[0].near.tcp.receive_buffer="{buffers} B"',
        f'appliance[0].far.tcp.send_buffer="{buffers} B"',
        f"appliance[0].discipline={policy}",
        'flow[0].controller="reno"',
        f'duration="{seconds} s"',
        f'measure.from="{round(1e3 * seconds / 3)} ms"',
    ]
    results = run_scenario(Scenario.load(CLAIMS / route.file, sets))
    (flow,) = results.appliance("box")["flows"]
    added = flow["forward"]["added_latency_ms"]
    return {
        "goodput_mbps": results.summary["flows"][0]["goodput_bps"] / 1e6,
        "added_mean_ms": added["mean"],
        "added_p99_ms": added["p99"],
    }


def h2() -> list[tuple[str, Mapping[str, Any]]]:
    """Latency over the size of the buffers."""
    sizes = (512, 1024, 2048, 4096)
    return [(f"H2 {size} KiB", {"policy": '"socket"', "buffers": size << 10}) for size in sizes]


def h34() -> list[tuple[str, Mapping[str, Any]]]:
    """ECE at intervals, and over a limit."""
    kinds = {
        "socket": '"socket"',
        "every 10 ms": '{ kind = "ece_interval", interval = "10 ms" }',
        "every 43 ms": '{ kind = "ece_interval", interval = "43 ms" }',
        "over 400 kB": '{ kind = "ece_droptail", limit = "400 kB" }',
        "over 800 kB": '{ kind = "ece_droptail", limit = "800 kB" }',
        "RED to 800 kB": '{ kind = "ece_red", limit = "800 kB" }',
    }
    near = [(f"H34 2 ms, {name}", {"policy": policy, "buffers": 4 << 20}) for name, policy in kinds.items()]
    far = ("7 ms", "6 ms")
    names = ("socket", "every 10 ms", "over 800 kB", "RED to 800 kB")
    return near + [
        (f"H34 {RESERVE}, {name}", {"policy": kinds[name], "buffers": 4 << 20, "delays": far}) for name in names
    ]


def h5() -> list[tuple[str, Mapping[str, Any]]]:
    """Bounded latency at full throughput; `credit` over its bound, of which it fetches three tenths in advance."""
    credit = {
        f"H5 credit {bound:g} ms": f'{{ kind = "credit", target = "{bound:g} ms", margin = "{0.3 * bound:g} ms" }}'
        for bound in BOUNDS_MS
    }
    swept = [(name, {"policy": policy, "buffers": 4 << 20, "route": LATENCY}) for name, policy in credit.items()]
    return swept + [
        (f"H5 {name}", {"policy": f'"{name}"', "buffers": 4 << 20, "route": LATENCY}) for name in H5_POLICIES
    ]


# ---- eleven flows: H1 -----------------------------------------------------------------------------------------------


def eleven(*, is_split: bool, slower: int, seconds: float, seed: int) -> Row:
    """Play shared.toml, or split.toml, with real hosts: ten HighSpeed flows and the old one."""
    sets = slowed(slower)
    chooser = random.Random(seed)
    starts = [chooser.expovariate(1 / 0.05) * slower for _ in range(10)]
    ports = list(range(PORT, PORT + 11))
    warm_up = seconds / 4
    with Lab(CLAIMS / "shared.toml", ("old.left", "left", "old.right"), sets, seed) as lab:
        buffers = "4096 4194304 67108864"
        for host in range(3):
            lab.parameters(host, {"net.ipv4.tcp_rmem": buffers, "net.ipv4.tcp_wmem": buffers})
        if is_split:
            lab.proxy("workers = 1\n" + listener('"socket"'))
        got = lab.begin(2, ends.receive_many, SERVER, ports, warm_up, seconds)
        time.sleep(0.3)
        old = (BOX if is_split else SERVER, PORT)
        others = [(SERVER, port) for port in ports[1:]]
        cumulative = [sum(starts[: n + 1]) for n in range(10)]
        ten = lab.begin(0, ends.send_many, others, HIGHSPEED, cumulative, seconds)
        first = [chooser.uniform(0, 0.5) * slower]
        one = lab.begin(0, ends.send_many, [old], "reno", first, seconds)
        shares = got()
        ten()
        one()
    scale = slower / 1e6
    return {
        "old_mbps": shares[0] * scale,
        "others_mbps": statistics.mean(shares[1:]) * scale,
        "late_p99_us": lab.carried["late_us"]["p99"],
    }


def slowed(slower: int) -> list[str]:
    """Return what makes H1's network slower at the same bandwidth-delay product."""
    return [
        f'topology.access.delay="{slower} ms"',
        f'topology.bottleneck.rate="{1000 / slower} Mbit/s"',
        f'topology.bottleneck.delay="{12 * slower} ms"',
        f'topology.bottleneck.reverse.jitter.max="{100 * slower} us"',
    ]


def simulated_eleven(*, is_split: bool, slower: int, seconds: float, seed: int) -> Row:
    """Return the same from the simulator."""
    from ackclock import Scenario
    from ackclock import run as run_scenario

    sets = [*slowed(slower), f'duration="{seconds} s"', f'measure.from="{round(250 * seconds)} ms"', f"seed={seed}"]
    results = run_scenario(Scenario.load(CLAIMS / ("split.toml" if is_split else "shared.toml"), sets))
    flows = {flow["name"]: flow["goodput_bps"] for flow in results.summary["flows"]}
    others = [value for name, value in flows.items() if name != "old"]
    scale = slower / 1e6
    return {"old_mbps": flows["old"] * scale, "others_mbps": statistics.mean(others) * scale}


# ---- all of it ------------------------------------------------------------------------------------------------------


class Measurements:
    """Rows by name, kept in a file as they come."""

    def __init__(self, path: Path, lock: Path | None) -> None:
        """Take up what a file has."""
        self.path, self.lock = path, lock
        self.rows: dict[str, dict[str, Any]] = json.loads(path.read_text())["rows"] if path.exists() else {}

    def take(self, name: str, real: Callable[[], Row]) -> None:
        """Measure one row once more."""
        with open(self.lock or os.devnull, "a") as turn:  # noqa: PTH123 - a file to wait at
            fcntl.flock(turn, fcntl.LOCK_EX)
            load = os.getloadavg()[0]
            row = real() | {"load": round(load, 1)}
        self.rows.setdefault(name, {}).setdefault("real", []).append(row)
        self.keep(f"{name}: " + ", ".join(f"{key} {value:.4g}" for key, value in row.items()))

    def compute(self, name: str, simulate: Callable[[], Row]) -> None:
        """Simulate one row, unless that has been done."""
        row = self.rows.setdefault(name, {})
        if "simulated" not in row:
            row["simulated"] = simulate()
            self.keep(f"{name}, simulated: {row['simulated']}")

    def keep(self, what: str) -> None:
        """Write everything down."""
        kernel = os.uname().release
        self.path.write_text(json.dumps({"kernel": kernel, "rows": self.rows}, indent=1) + "\n")
        print(what, flush=True)


def wanted(names: Sequence[str]) -> list[tuple[str, Mapping[str, Any]]]:
    """Return the cases of one flow among those asked for."""
    cases = [*h2(), *h34(), *h5()]
    return [case for case in cases if any(case[0].startswith(name) for name in names)]


def measure(options: argparse.Namespace) -> None:
    """Measure everything that is asked for."""
    rows = Measurements(options.record, options.lock)
    for _ in range(options.runs):
        for name, case in wanted(options.only):
            rows.take(name, lambda case=case: one_flow(**case, seconds=options.seconds))
    for index in range(options.runs if "H1" in options.only else 0):
        for name, is_split in (("H1 Reno", False), ("H1 through the appliance", True)):
            case = {"is_split": is_split, "slower": options.slower, "seconds": options.h1_seconds}
            rows.take(name, lambda case=case, index=index: eleven(**case, seed=options.first + index))
    if not options.simulate:
        return
    for name, case in wanted(options.only):
        rows.compute(name, lambda case=case: simulated(**case, seconds=options.seconds))
    if "H1" in options.only:
        for name, is_split in (("H1 Reno", False), ("H1 through the appliance", True)):
            case = {"is_split": is_split, "slower": options.slower, "seconds": options.h1_seconds, "seed": 1}
            rows.compute(name, lambda case=case: simulated_eleven(**case))


def main() -> int:
    """Do what the command line says."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", type=lambda text: text.split(","), default=["H1", "H2", "H34", "H5"])
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=10.0, help="of each run of one flow")
    parser.add_argument("--h1-seconds", type=float, default=50.0)
    parser.add_argument("--slower", type=int, default=2)
    parser.add_argument("--first", type=int, default=1, help="seed of H1's first run")
    parser.add_argument("--record", type=Path, default=ROOT / "benches/appliance/recorded.json")
    parser.add_argument("--lock", type=Path, help="a file to wait at while others measure")
    parser.add_argument("--no-simulation", dest="simulate", action="store_false")
    options = parser.parse_args()
    if os.geteuid():
        print("error: namespaces and devices are for root; run it with sudo", file=sys.stderr)
        return 1
    # So that what is loaded goes with this program, whoever ends it.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    loaded = HIGHSPEED in run("sysctl", "-n", "net.ipv4.tcp_available_congestion_control").split()
    try:
        if not loaded:
            run(KERNEL, "load", "highspeed")
        run(KERNEL, "ece")
        measure(options)
    except subprocess.CalledProcessError as error:
        print(f"error: {error}\n{error.stderr}", file=sys.stderr)
        return 1
    finally:
        subprocess.run([KERNEL, "ece", "--off"], check=False)
        if not loaded:
            subprocess.run([KERNEL, "unload", "highspeed"], check=False)
    return 0


if __name__ == "__main__":
    sys.exit(main())
