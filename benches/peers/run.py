"""Measure ackclock and ns-3 on the same work, in turn, and print the ratio of CPU time per delivered packet.

    python benches/peers/run.py [CASE ...] [--repetitions N] [--json]

The cases are `benches/scenarios/{a,b,c}.toml`. ns-3 gets the same network, flows and start times; its CUBIC runs
without HyStart, as ackclock's does. Where ns-3 would take too long, both get a shorter simulated time; the time of a
packet is then that of this part of the run.
"""

import argparse
import dataclasses
import json
import statistics
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import ns3_peer
from rich.console import Console
from rich.table import Table

# ns-3's links frame packets in 2 bytes.
FRAMING = 'topology.bottleneck.framing="2 bytes"'
SCENARIOS = ns3_peer.HERE.parent / "scenarios"


@dataclass(frozen=True, slots=True)
class Case:
    """The same work for both.

    Attributes:
        name: Letter of the scenario file.
        title: What it is.
        overrides: Changes to the scenario for ackclock.
        ns3: Options of the ns-3 program.
    """

    name: str
    title: str
    overrides: tuple[str, ...]
    ns3: dict[str, float | int | str]


# Queues are one bandwidth-delay product in packets of 1500 bytes. Hosts are as many as make ns-3 fastest. Send buffers
# are a few times what a flow can have in the network.
CASES = (
    Case(
        "a",
        "1 CUBIC flow, 100 Mbit/s, 60 ms, queue of 500 packets, 50 s",
        (FRAMING,),
        {"flows": 1, "rate": "100Mbps", "rtt": 0.06, "queue": 500, "duration": 50, "buffer": 4_000_000},
    ),
    Case(
        "b",
        "100 CUBIC flows, 10 Gbit/s, 20 ms, queue of 16,667 packets, the first second; ssthresh begins at a "
        "flow's share of the path, 167 segments, since ns-3 takes too long for an uncapped slow start",
        (FRAMING, 'duration="1 s"', 'tcp.initial_ssthresh="167 segments"'),
        {
            "flows": 100,
            "hosts": 10,
            "rate": "10Gbps",
            "rtt": 0.02,
            "queue": 16_667,
            "duration": 1,
            "spacing": 0.001,
            "initialSsthresh": 167,
            "buffer": 2_000_000,
        },
    ),
    Case(
        "c",
        "1000 CUBIC flows, 1 Gbit/s, 20 ms, queue of 1667 packets, 5 s",
        (FRAMING,),
        {
            "flows": 1000,
            "hosts": 20,
            "rate": "1Gbps",
            "rtt": 0.02,
            "queue": 1_667,
            "duration": 5,
            "spacing": 0.001,
            "buffer": 250_000,
        },
    ),
)


@dataclass(frozen=True, slots=True)
class Side:
    """What one simulator did in one repetition.

    Attributes:
        cpu_s: CPU time of one run.
        delivered_packets: Data packets delivered in one run.
        goodput_bps: Payload that all flows got together, over the whole run.
        retransmitted_segments: Of all flows together.
        drops: At the bottleneck.
    """

    cpu_s: float
    delivered_packets: int
    goodput_bps: float
    retransmitted_segments: int
    drops: int

    @property
    def packets_per_cpu_s(self) -> float:
        """Data packets delivered per second of CPU."""
        return self.delivered_packets / self.cpu_s


@dataclass(frozen=True, slots=True)
class Pair:
    """Both, one after the other."""

    ackclock: Side
    ns3: Side

    @property
    def ratio(self) -> float:
        """How many times the CPU time of ackclock ns-3 takes for a delivered packet."""
        return self.ackclock.packets_per_cpu_s / self.ns3.packets_per_cpu_s


def measure_ns3(case: Case) -> Side:
    """Run ns-3 once."""
    figures = ns3_peer.run(**case.ns3)
    return Side(
        figures.cpu_s,
        figures.delivered_packets,
        figures.goodput_bps,
        figures.retransmitted_segments,
        figures.drops,
    )


def measure_ackclock(case: Case, *, min_cpu_s: float) -> Side:
    """Run ackclock until it has taken enough CPU time, and give the mean of a run."""
    from ackclock import Scenario
    from ackclock.running import simulate

    scenario = Scenario.load(str(SCENARIOS / f"{case.name}.toml"), case.overrides)
    cpu_s: list[float] = []
    while not cpu_s or sum(cpu_s) < min_cpu_s:
        outcome, figures = simulate(scenario)
        cpu_s.append(figures.cpu_s)
    summary = json.loads(outcome.summary_json())
    flows: list[dict[str, Any]] = summary["flows"]
    return Side(
        statistics.fmean(cpu_s),
        figures.packets_delivered,
        8 * sum(flow["delivered_bytes"] for flow in flows) / scenario.duration_s,
        sum(flow["retransmitted_segments"] for flow in flows),
        sum(link["drops"] for link in summary["links"]),
    )


def measure(case: Case, *, repetitions: int, min_cpu_s: float, console: Console) -> list[Pair]:
    """Measure a case several times, the two in turn."""
    pairs = []
    for repetition in range(1, repetitions + 1):
        console.print(f"[dim]{case.name}: ns-3, {repetition} of {repetitions} ...[/]")
        ns3 = measure_ns3(case)
        console.print(f"[dim]{case.name}: ackclock, {repetition} of {repetitions} ...[/]")
        pairs.append(Pair(measure_ackclock(case, min_cpu_s=min_cpu_s), ns3))
    return pairs


def report(case: Case, pairs: Sequence[Pair]) -> dict[str, Any]:
    """Put a case's figures together for `--json` and for the table."""
    ratios = [pair.ratio for pair in pairs]
    spread = {"median": statistics.median(ratios), "min": min(ratios), "max": max(ratios)}
    return {
        "case": case.name,
        "title": case.title,
        "packets_per_cpu_s": {
            "ackclock": statistics.median(pair.ackclock.packets_per_cpu_s for pair in pairs),
            "ns3": statistics.median(pair.ns3.packets_per_cpu_s for pair in pairs),
        },
        "cpu_time_ratio": spread,
        "cpu_time_ratio_to_optimised_ns3": {key: value / ns3_peer.OPTIMISED_SPEEDUP for key, value in spread.items()},
        "pairs": [dataclasses.asdict(pair) for pair in pairs],
    }


def print_case(figures: dict[str, Any], console: Console) -> None:
    """Print one case: speed, ratio, and the results side by side."""
    table = Table(title=f"{figures['case']}: {figures['title']}", title_justify="left")
    columns = ("", "packets per CPU second", "packets", "goodput, Mbit/s", "retransmitted", "drops")
    for column in columns:
        table.add_column(column, justify="right" if column else "left")
    for name in ("ackclock", "ns3"):
        last = figures["pairs"][-1][name]
        row = [last["delivered_packets"], last["goodput_bps"] / 1e6, last["retransmitted_segments"], last["drops"]]
        table.add_row(name, f"{figures['packets_per_cpu_s'][name]:,.0f}", *(f"{value:,.0f}" for value in row))
    console.print(table)
    text = "median {median:.0f}, from {min:.0f} to {max:.0f}"
    console.print("CPU time of a packet, ns-3 to ackclock: " + text.format(**figures["cpu_time_ratio"]))
    optimised = text.format(**figures["cpu_time_ratio_to_optimised_ns3"])
    console.print(f"to an optimised ns-3 3.44, taken as {ns3_peer.OPTIMISED_SPEEDUP} times faster: {optimised}\n")


def parse_arguments(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    names = [case.name for case in CASES]
    parser.add_argument("cases", nargs="*", metavar="CASE", help=f"of {', '.join(names)}; all if none is given")
    parser.add_argument("--repetitions", type=int, default=3, metavar="N", help="pairs of runs for each case (3)")
    parser.add_argument("--min-cpu", type=float, default=2.0, metavar="S", help="CPU time of ackclock in each pair (2)")
    parser.add_argument("--ns3-only", action="store_true", help="measure ns-3 alone")
    parser.add_argument("--json", action="store_true", help="print JSON")
    options = parser.parse_args(arguments)
    if unknown := set(options.cases) - set(names):
        parser.error(f"there is no case {', '.join(sorted(unknown))}; there are {', '.join(names)}")
    if options.repetitions < 1:
        parser.error("--repetitions must be at least 1")
    return options


def main() -> int:
    """Measure what the command line asks for; 1 if something that is needed is missing."""
    options = parse_arguments()
    console = Console(stderr=options.json)
    cases = [case for case in CASES if not options.cases or case.name in options.cases]
    try:
        console.print(f"ns-3 {ns3_peer.version()} as packaged")
        ns3_peer.build()
        if options.ns3_only:
            results = [{"case": case.name} | dataclasses.asdict(measure_ns3(case)) for case in cases]
            sys.stdout.write(json.dumps(results, indent=2) + "\n")
            return 0
        results = []
        for case in cases:
            pairs = measure(case, repetitions=options.repetitions, min_cpu_s=options.min_cpu, console=console)
            results.append(report(case, pairs))
            print_case(results[-1], console)
    except ns3_peer.Ns3Missing as error:
        console.print(f"error: {error}", style="red", markup=False)
        return 1
    except ImportError as error:
        console.print(f"error: {error}; build ackclock first: make build", style="red", markup=False)
        return 1
    if options.json:
        sys.stdout.write(json.dumps({"ns3_version": ns3_peer.version(), "cases": results}, indent=2) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
