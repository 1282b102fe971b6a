"""K1: the same scenarios simulated and on the kernel of this machine, beside each other.

Run as root, where `ackclock-kernel` is built (`make kernel`):

    python studies/kernel/k1.py [--runs N] [--only NAME ...] -o k1.json

Prints the table as Markdown. Each scenario is simulated with as many seeds as it is run, since the simulator's hosts
have noise as real ones do; a figure is the mean, with the least and the most.
"""

import argparse
import json
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import polars as pl

import ackclock
from ackclock import Results, Scenario, kernel

TEMPLATE = """
name = "{name}"
duration = "12 s"
measure = {{ from = "2 s", to = "12 s" }}
[topology]
kind = "dumbbell"
access = {{ rate = "1 Gbit/s", delay = "10 us" }}
bottleneck = {{ rate = "{rate}", delay = "{delay}", queue = {queue}{more} }}
{tcp}
"""

FLOW = """
[[flow]]
name = "{controller}-{number}"
controller = "{controller}"
start = "{start} ms"
"""


@dataclass(frozen=True, slots=True)
class Case:
    """A scenario in short."""

    name: str
    rate: str
    delay: str
    queue: str
    controllers: tuple[str, ...]
    more: str = ""
    tcp: str = ""

    def text(self) -> str:
        """Return the scenario."""
        flows = (
            FLOW.format(controller=controller, number=number, start=100 * number)
            for number, controller in enumerate(self.controllers)
        )
        head = TEMPLATE.format(
            name=self.name, rate=self.rate, delay=self.delay, queue=self.queue, more=self.more, tcp=self.tcp
        )
        return head + "".join(flows)


def _drop_tail(limit: str) -> str:
    return f'{{ kind = "drop_tail", limit = "{limit}" }}'


CASES = (
    Case("cubic-100", "100 Mbit/s", "30 ms", _drop_tail("250 packets"), ("cubic",)),
    Case("reno-100", "100 Mbit/s", "30 ms", _drop_tail("250 packets"), ("reno",)),
    Case("bbr-100", "100 Mbit/s", "30 ms", _drop_tail("250 packets"), ("bbr",)),
    Case("cubic-20", "20 Mbit/s", "10 ms", _drop_tail("1 bdp"), ("cubic",)),
    Case("two-cubic", "50 Mbit/s", "20 ms", _drop_tail("1 bdp"), ("cubic", "cubic")),
    Case("cubic-bbr", "50 Mbit/s", "20 ms", _drop_tail("2 bdp"), ("cubic", "bbr")),
    Case("fq-codel", "50 Mbit/s", "20 ms", '{ kind = "fq_codel" }', ("cubic", "reno")),
    Case("loss", "50 Mbit/s", "20 ms", _drop_tail("1 bdp"), ("reno",), ', loss = { kind = "random", p = 0.0005 }'),
    Case("ecn", "50 Mbit/s", "20 ms", '{ kind = "codel" }', ("cubic",), tcp='[tcp]\necn = "request"'),
)


def figures(results: Results) -> dict[str, float]:
    """Return what is compared of a run, from its second second on.

    Args:
        results: Of either.
    """
    flows = results.summary["flows"]
    series = results.flows.filter(pl.col("time_s") >= 2.0)
    goodput = [flow["goodput_bps"] / 1e6 for flow in flows]
    return {
        "goodput_mbps": sum(goodput),
        "share_of_first": goodput[0] / sum(goodput),
        "mean_cwnd_segments": float(series["cwnd_bytes"].mean() or 0.0) / 1448,  # type: ignore[arg-type]
        "mean_srtt_ms": float(series["srtt_s"].mean() or 0.0) * 1e3,  # type: ignore[arg-type]
        "retransmitted": float(sum(flow["retransmitted_segments"] for flow in flows)),
        "drops": float(sum(link["drops"] + link["losses"] for link in results.summary["links"])),
        "marks": float(sum(link["marks"] for link in results.summary["links"])),
    }


def repeated(runs: int, run: Callable[[int], Results]) -> list[dict[str, float]]:
    """Return the figures of several runs.

    Args:
        runs: How many.
        run: What runs with a seed.
    """
    return [figures(run(seed)) for seed in range(1, runs + 1)]


def main() -> None:
    """Run all, print the table, write the figures."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--only", nargs="*", default=[])
    parser.add_argument("-o", "--output", type=Path, required=True)
    options = parser.parse_args()
    measured = {}
    for case in CASES:
        if options.only and case.name not in options.only:
            continue
        scenario = Scenario.parse(case.text())
        lateness: list[dict[str, float]] = []

        def on_kernel(seed: int, scenario: Scenario = scenario, kept: list[dict[str, float]] = lateness) -> Results:
            results = kernel.run(scenario.draw(seed))
            told = results.manifest["kernel"]
            kept.append({"valid": told["valid"], "p99": told["late_us"]["p99"], "p999": told["late_us"]["p999"]})
            return results

        entry = {
            "simulated": repeated(options.runs, lambda seed, scenario=scenario: ackclock.run(scenario, seed=seed)),
            "kernel": repeated(options.runs, on_kernel),
            "lateness_us": lateness,
        }
        measured[case.name] = entry
        print(case.name, lateness, file=sys.stderr)
        record = {"kernel": os.uname().release, "load": os.getloadavg(), "cases": measured}
        options.output.write_text(json.dumps(record, indent=1) + "\n")
    print(table(measured))


def _cell(values: list[float]) -> str:
    mean = sum(values) / len(values)
    digits = 3 if mean < 1.0 else 1 if mean < 1000 else 0
    return f"{mean:.{digits}f} ({min(values):.{digits}f}-{max(values):.{digits}f})"


def table(measured: dict[str, dict[str, list[dict[str, float]]]]) -> str:
    """Return all figures as Markdown, simulated over kernel.

    Args:
        measured: By case.
    """
    names = ["goodput_mbps", "share_of_first", "mean_cwnd_segments", "mean_srtt_ms", "retransmitted", "drops", "marks"]
    lines = ["| scenario | on | " + " | ".join(names) + " | late p99, p99.9 (us) |", "|---" * (len(names) + 3) + "|"]
    for case, entry in measured.items():
        for place in ("simulated", "kernel"):
            cells = [_cell([run[name] for run in entry[place]]) for name in names]
            late = entry["lateness_us"]
            shown = ", ".join(f"{max(run[name] for run in late):.0f}" for name in ("p99", "p999"))
            invalid = sum(not run["valid"] for run in late)
            ending = "" if place == "simulated" else shown + (f"; {invalid} not valid" if invalid else "")
            lines.append(
                f"| {case if place == 'simulated' else ''} | {place} | " + " | ".join(cells) + f" | {ending} |"
            )
    return "\n".join(lines)


if __name__ == "__main__":
    main()
