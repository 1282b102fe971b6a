"""The cost of a run by what is in it, as tables that a page of the documentation can take; some minutes.

python benches/engine/cost.py [--json]
"""

import argparse
import json
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from cost_model import FlowCost, Model, PacketCost, as_dict, fit, flow_cost, packet_costs
from instructions import cannot_count, count
from rich import box
from rich.table import Table

from ackclock._core import build_info
from ackclock.base.system import processor
from ackclock.plotting.terminal import output

_FITTED = ("flows", "window", "queue")


def main(*, as_json: bool) -> None:
    """Measure and print.

    Args:
        as_json: Whether JSON is printed.
    """
    if build_info()["profile"] != "release":
        print("warning: this is a debug build; the figures say nothing (make build)", file=sys.stderr)
    load = os.getloadavg()
    costs = packet_costs()
    model = fit([cost for cost in costs if cost.table in _FITTED])
    flow = flow_cost()
    instructions: Mapping[str, float] = {}
    if reason := cannot_count():
        print(f"instructions are left out: {reason}", file=sys.stderr)
    else:
        instructions = count(Path(__file__).with_name("cost_points.py"))
    if as_json:
        machine = {"processor": processor(), "cores": os.cpu_count(), "load_before": load}
        figures = {"machine": machine, "build": build_info(), "instructions_per_packet": instructions}
        print(json.dumps(figures | as_dict(costs, flow, model), indent=2))
        return
    output().print(_packets(costs, instructions, model))
    output().print(_flows(flow), markup=False)
    output().print(_formula(model), markup=False)
    output().print(f"{build_info()['version']} {build_info()['profile']}, {processor()}", style="dim", markup=False)


def _packets(costs: Sequence[PacketCost], instructions: Mapping[str, float], model: Model) -> Table:
    table = Table(box=box.MARKDOWN)
    headings = ("events a packet", "instructions", "ns a packet", "least to most", "the formula says")
    for heading in ("", "", *headings):
        table.add_column(heading, justify="right" if heading else "left", no_wrap=True)
    for cost in costs:
        counted = instructions.get(f"{cost.table}/{cost.value}")
        table.add_row(
            cost.table,
            cost.value,
            f"{cost.events_per_packet:.2f}",
            f"{counted:,.0f}" if counted else "-",
            f"{cost.ns_per_packet:,.0f}",
            f"{cost.ns_least:,.0f} to {cost.ns_most:,.0f}",
            f"{model.ns_per_packet(cost):,.0f}",
        )
    return table


def _flows(flow: FlowCost) -> str:
    return (
        f"set-up of a flow {flow.setup_us_per_flow:.1f} µs, its results {flow.finish_us_per_flow:.1f} µs\n"
        f"octets of a flow: {flow.bytes_per_flow:,.0f} when it is made, {flow.bytes_per_running_flow:,.0f} running, "
        f"{flow.traced_bytes_per_flow_s:,.0f} more a simulated second with default traces\n"
        f"octets of a packet under way: {flow.bytes_per_packet:,.0f}"
    )


def _formula(model: Model) -> str:
    return (
        f"ns a packet = {model.packet_ns:.0f} + {model.event_ns:.0f} x events a packet + {model.tenfold_ns:.0f} x "
        f"log10(flows) + {model.queue_by_flow_ns:.0f} for a queue by flow\n"
        f"of the points of {', '.join(_FITTED)} none is further from it than {model.worst:.0%}"
    )


if __name__ == "__main__":
    reader = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    reader.add_argument("--json", action="store_true", help="print JSON")
    main(as_json=reader.parse_args().json)
