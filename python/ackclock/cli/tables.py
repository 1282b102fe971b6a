"""Tables printed at the end of a run."""

from collections.abc import Sequence

from ackclock.cli.table_output import print_table
from ackclock.plotting.tables import Cell, Entry, Table, count_of, figure, figure_of, of_cells
from ackclock.plotting.tables.cells import count_text
from ackclock.plotting.tables.table import NONE
from ackclock.plotting.terminal import name, output, si
from ackclock.plotting.traffic_figures import GROUP_CELLS, TRAFFIC, rare_counts, size_rows
from ackclock.results import Results
from ackclock.results.manifests import Engine, KernelRun, Recording
from ackclock.results.run_labels import facts
from ackclock.results.summaries import FlowSummary, LinkSummary
from ackclock.scenario.stacks import stacks
from ackclock.stats.flow_limits import largest
from ackclock.stats.run_window import count

_MANY = 24
"""Number of flows or links above which a table shows only some, and says how many it leaves out."""


def print_results(results: Results) -> None:
    """Print the results of a run for a person."""
    console = output()
    console.print(name(_headline(results)))
    if not results.is_recorded:
        console.print(name(_what(results)), style="dim")
    for place, value in results.drawn.items():
        console.print(name(f"drawn: {place} = {value}"), style="dim")
    console.print()
    if results.summary["flows"]:
        print_table(_flow_table(results.summary["flows"]))
    for group in results.summary.get("groups", []):
        print_table(of_cells("size", size_rows(group), GROUP_CELLS, f"short flows: {group['name']}"))
    for title, cells, entries_of in TRAFFIC:
        if entries := entries_of(results.summary):
            print_table(of_cells("flow", entries, cells, title))
    if results.recording is not None:
        for line in _recording_lines(results.recording, results.summary["duration_s"]):
            console.print(name(line), style="dim")
        return
    links = [
        link for link in results.summary["links"] if any(link[key] for key in ("delivered_packets", "drops", "losses"))
    ]
    if links:
        print_table(_link_table(links))
    line = _kernel_line(results.kernel, results.engine) if results.kernel else _engine_line(results.engine)
    console.print(line, style="dim", markup=False)


def _headline(results: Results) -> str:
    summary = results.summary
    jain = summary["jain_index"]
    fairness = f", Jain index {jain:.4f}" if jain is not None and len(summary["flows"]) > 1 else ""
    origin = results.origin if results.is_recorded else f"seed {summary['seed']}"
    return f"{summary['scenario']}: {summary['duration_s']:g} s, {origin}{fairness}"


def _profiles(results: Results) -> str:
    """Return the stack profiles, in words."""
    summary = results.summary
    senders = [*summary["flows"], *summary.get("groups", [])]
    names = list(dict.fromkeys(sender["profile"] for sender in senders if "profile" in sender))
    return f"TCP as in {stacks(results.scenario, names)}" if names else "no TCP"


def _what(results: Results) -> str:
    """Return a description of the stack and the path."""
    known = facts(results)
    path = [known[key] for key in ("rate", "queue") if key in known]
    path += [f"{key} {known[key]}" for key in ("delay", "loss", "network") if key in known]
    return "; ".join([_profiles(results), *([", ".join(path)] if path else [])])


def _engine_line(engine: Engine) -> str:
    rate = engine["packets_per_cpu_s"]
    speed = f", {si(rate)} packets per CPU second" if rate else ""
    return f"{engine['packets_delivered']:,} data packets in {engine['cpu_s']:.2f} s of CPU{speed}{_threads(engine)}"


def _kernel_line(kernel: KernelRun, engine: Engine) -> str:
    late = kernel["late_us"]
    if "virtual_time" in kernel:
        lacks = f"; it has no {', '.join(absent)}" if (absent := kernel.get("absent_parameters")) else ""
        cost = f"{late['packets']:,} packets in {engine['cpu_s']:.1f} s of CPU"
        return f"on Linux {kernel['release']} in virtual time: {cost}{lacks}"
    return (
        f"on Linux {kernel['release']}: {late['packets']:,} packets, half of them at most {late['p50']:.0f} us late, "
        f"99 % {late['p99']:.0f} us, 99.9 % {late['p999']:.0f} us; {'valid' if kernel['valid'] else 'not valid'}"
    )


def _recording_lines(recording: Recording, duration_s: float) -> list[str]:
    """Return lines on a recording: its size, what was missed, its cost, and what is unknown."""
    said = f"{recording['records']:,} records"
    if recording["missed"] is not None:
        said += f", {recording['missed']:,} lost"
    cpu_s, programs_s = recording["cpu_s"], recording["tracepoints_cpu_s"]
    if cpu_s is not None and duration_s > 0:
        share = 100 * (cpu_s + (programs_s or 0.0)) / duration_s
        said += f"; recording took {share:.2f} % of a CPU"
        said += "" if programs_s is not None else ", without what the tracepoints took"
    return [said, *recording["notes"]]


def _threads(engine: Engine) -> str:
    """Return a note on the number of threads, if several were requested, with the reason if fewer were used."""
    partition = engine["partition"]
    parts, threads = partition["parts"], partition["threads"]
    if threads == 1:
        return ""
    used = f"; {engine['wall_s']:.2f} s on {parts} {'thread' if parts == 1 else 'threads'}"
    if parts == threads:
        return used
    ties = partition["ties"]
    return (
        f"{used} ({', '.join(ties)} keep nodes together)" if ties else f"{used} (a node has as much to do as any part)"
    )


def _flow_table(flows: Sequence[FlowSummary]) -> Table:
    """Return a table of flows, without columns in which no flow has a value."""
    by_profile = len({flow.get("profile") for flow in flows}) > 1
    shown = _extremes(flows)
    wanted = {
        "profile": by_profile,
        "time-\nouts": any(count(flow, "timeouts") for flow in shown),
        "complete (after s)": any(_completion(flow) != NONE for flow in shown),
    }
    cells = [cell for cell in _FLOW_CELLS if wanted.get(cell[0], True)]
    return of_cells("flow", shown, cells, "flows", (_left_out(len(flows) - len(shown), "flows"),))


_FLOW_CELLS: tuple[Cell, ...] = (
    ("controller", lambda flow: str(flow["controller"] or NONE)),
    ("profile", lambda flow: str(flow.get("profile", NONE))),
    ("goodput (Mbit/s)", figure_of("goodput_bps", per=1e6)),
    ("limited\nby", lambda flow: largest(flow) or NONE),
    ("sent (Mbit/s)", figure_of("throughput_bps", per=1e6)),
    ("retrans-\nmitted", lambda flow: count_text(count(flow, "retransmitted_segments"))),
    ("time-\nouts", lambda flow: count_text(count(flow, "timeouts"))),
    ("RTT mean (ms)", figure_of("rtt_ms", "mean")),
    ("RTT p95 (ms)", figure_of("rtt_ms", "p95")),
    ("complete (after s)", lambda flow: _completion(flow)),
)


def _completion(flow: Entry) -> str:
    if flow.get("aborted"):
        return "aborted"
    done = flow["completion_s"]
    return figure(None if done is None else done - flow["start_s"])


def _link_table(links: Sequence[LinkSummary]) -> Table:
    """Return a table of links; columns that are zero for all links are left out."""
    cells = [*_LINK_CELLS, *rare_counts(links), *_QUEUE_CELLS]
    shown = _busiest(links)
    return of_cells("link", shown, cells, "links", (_left_out(len(links) - len(shown), "links"),))


_LINK_CELLS: tuple[Cell, ...] = (
    ("busy (%)", lambda link: f"{100 * link['utilization']:.1f}"),
    ("delivered (packets)", count_of("delivered_packets")),
    ("drops", count_of("drops")),
)

_QUEUE_CELLS: tuple[Cell, ...] = (
    ("queue\nmean", figure_of("queue_packets", "mean")),
    ("wait mean (ms)", figure_of("queueing_delay_ms", "mean")),
    ("queue\np95", figure_of("queue_packets", "p95")),
    ("queue\nmax", figure_of("queue_packets", "max")),
    ("wait max (ms)", figure_of("queueing_delay_ms", "max")),
)


def _extremes(flows: Sequence[FlowSummary]) -> list[FlowSummary]:
    """Return all flows or, of too many, the fastest and the slowest, in their order."""
    ranked = _ranked([flow["goodput_bps"] or 0.0 for flow in flows])
    kept = ranked if len(flows) <= _MANY else ranked[: _MANY // 2] + ranked[-_MANY // 2 :]
    return [flows[index] for index in sorted(kept)]


def _busiest(links: Sequence[LinkSummary]) -> list[LinkSummary]:
    """Return all links or, of too many, the busiest, in their order."""
    kept = _ranked([link["utilization"] for link in links])[: len(links) if len(links) <= _MANY else _MANY // 2]
    return [links[index] for index in sorted(kept)]


def _ranked(figures: Sequence[float]) -> list[int]:
    return sorted(range(len(figures)), key=lambda index: -figures[index])


def _left_out(count: int, what: str) -> str:
    return f"and {count:,} more {what} (all are in summary.json)" if count > 0 else ""
