"""The work of `ackclock bench`: measure chosen cases and print them."""

import json
import platform
import sys
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

from ackclock._core import build_info
from ackclock.base.printable import unknown
from ackclock.base.system import processor
from ackclock.cli.answers import is_asked, put
from ackclock.cli.failures import InputError, errors
from ackclock.cli.table_output import print_list
from ackclock.plotting.terminal import output, si

from . import (
    CASES,
    CallCost,
    LearningCost,
    Measurement,
    call_cost,
    learning_cost,
    measure,
    peak_memory_bytes,
    queue_call_cost,
)
from .calls import BUILT_IN, IN_PYTHON, QUEUE_BUILT_IN, QUEUE_IN_PYTHON
from .learning import CONTROLLERS as LEARNING
from .learning import GROUP as LEARN
from .threads import GROUP as THREADS
from .threads import SpeedUp, speed_ups

if TYPE_CHECKING:
    from .gym import Pace

GYM = "gym"

GROUPS = tuple(dict.fromkeys([*(case.group for case in CASES), LEARN, GYM, THREADS]))
_IN_A_CLONE = ("cost", "instructions", "plugins")
"""Former cases, now in the repository only."""


def bench(groups: Sequence[str] | None, min_cpu_s: float) -> None:
    """Measure and print the results.

    Args:
        groups: The cases, all by default.
        min_cpu_s: The least CPU time spent on each case.
    """
    chosen = _chosen(groups)
    if build_info()["profile"] != "release":
        errors().print("[yellow]warning:[/] this is a debug build; the figures say nothing (make build)")
    results = _measure(chosen, min_cpu_s)
    memory = peak_memory_bytes(CASES[0]) if "a" in chosen else None
    call, queue = _call_cost(results), _queue_call_cost(results)
    learning = [learning_cost(name, min_cpu_s=min_cpu_s) for name in LEARNING] if LEARN in chosen else []
    environments = _paces(min_cpu_s) if GYM in chosen else []
    on_threads = list(speed_ups()) if THREADS in chosen else []
    if is_asked():
        figures = {
            "machine": {"processor": processor(), "system": platform.platform()},
            "build": build_info(),
            "cases": [_case_json(result) for result in results],
            "ratios": ratios(results),
            "memory_a_bytes": memory,
            "python_call": call.as_dict() if call else None,
            "python_queue_call": queue.as_dict() if queue else None,
            "learning": [cost.as_dict() for cost in learning],
            "environments": [pace.as_dict() for pace in environments],
            "threads": [speed_up.as_dict() for speed_up in on_threads],
        }
        put(json.dumps(figures, indent=2) + "\n")
        return
    if results:
        print_list(_HEADINGS, map(_cells, results))
    lines = [*_ratio_lines(results, memory), *_call_lines(call, queue)]
    lines += [*map(_learning_line, learning), *map(_pace_line, environments), *map(_threads_line, on_threads)]
    for line in lines:
        output().print(line)
    output().print(f"{build_info()['version']} {build_info()['profile']}, {processor()}", style="dim", markup=False)


def _chosen(groups: Sequence[str] | None) -> tuple[str, ...]:
    strange = sorted(set(groups or ()) - set(GROUPS))
    if strange and strange[0] in _IN_A_CLONE:
        raise InputError(f"{strange[0]} is measured in a clone: python benches/engine/{strange[0]}.py")
    if strange:
        raise InputError(unknown("case", strange[0], GROUPS))
    return tuple(groups or GROUPS)


def _paces(min_cpu_s: float) -> "list[Pace]":
    from .gym import paces  # Gymnasium is slow to load

    return paces(min_cpu_s=min_cpu_s)


def _measure(groups: Sequence[str], min_cpu_s: float) -> list[Measurement]:
    console = errors()
    results = []
    with console.status("measuring") if sys.stderr.isatty() else nullcontext() as status:
        for case in (case for case in CASES if case.group in groups):
            if status:
                status.update(f"measuring {case.name}: {case.title}")
            results.append(measure(case, min_cpu_s=min_cpu_s))
    return results


def ratios(results: Sequence[Measurement]) -> dict[str, float]:
    """Return the ratios of CPU time per packet that the results allow.

    Returns:
        `a_traced`, `b_traced`: with traces to without; `d_window`: the largest window to the smallest;
        `fq_codel`: 1000 flows through FQ-CoDel to the same through DropTail.
    """
    by_name = {result.case.name: result.ns_per_packet for result in results}
    pairs = {
        "a_traced": ("a-traced", "a"),
        "b_traced": ("b-traced", "b"),
        "d_window": ("d100000", "d10"),
        "fq_codel": ("fq-codel", "c"),
    }
    return {
        name: by_name[top] / by_name[bottom]
        for name, (top, bottom) in pairs.items()
        if top in by_name and bottom in by_name
    }


def _call_cost(results: Sequence[Measurement]) -> CallCost | None:
    by_name = {result.case.name: result for result in results}
    return call_cost(by_name[BUILT_IN].case, by_name[IN_PYTHON].case) if IN_PYTHON in by_name else None


def _queue_call_cost(results: Sequence[Measurement]) -> CallCost | None:
    by_name = {result.case.name: result.case for result in results}
    in_python = by_name.get(QUEUE_IN_PYTHON)
    return None if in_python is None else queue_call_cost(by_name[QUEUE_BUILT_IN], in_python)


def _case_json(result: Measurement) -> dict[str, Any]:
    return {
        "name": result.case.name,
        "title": result.case.title,
        "runs": result.runs,
        "cpu_s": result.cpu_s,
        "packets_delivered": result.packets,
        "events": result.events,
        "packets_per_cpu_s": result.packets_per_cpu_s,
        "events_per_cpu_s": result.events_per_cpu_s,
        "ns_per_packet": result.ns_per_packet,
    }


_HEADINGS = ("", "scenario", "runs", "CPU s", "packets per\nCPU second", "events per\nCPU second", "ns per\npacket")


def _call_lines(controller: CallCost | None, queue: CallCost | None) -> Iterator[str]:
    for what, call in (("controller", controller), ("queue", queue)):
        if call:
            yield f"a call of a {what} in Python costs {call.call_ns:.0f} ns, its method {call.body_ns:.0f} of them"


def _learning_line(cost: LearningCost) -> str:
    return (
        f"(learn) {cost.controller}: {cost.decisions_per_cpu_s:,.0f} decisions per CPU second, "
        f"each with its step of learning, {1e6 / cost.decisions_per_cpu_s:.0f} µs"
    )


def _pace_line(pace: "Pace") -> str:
    threads = f"{pace.threads} threads" if pace.threads > 1 else "1 thread"
    return (
        f"(gym) {pace.name}: {pace.title}: {pace.steps_per_cpu_s:,.0f} steps per CPU second, "
        f"{pace.steps_per_s:,.0f} a second on {threads}"
    )


def _threads_line(speed_up: SpeedUp) -> str:
    return (
        f"(threads) {speed_up.name}: {speed_up.title}: {speed_up.median:.2f} times as fast "
        f"({speed_up.ratios[0]:.2f} to {speed_up.ratios[-1]:.2f}) on {speed_up.threads} threads, "
        f"{speed_up.more_cpu:.2f} times the CPU time"
    )


def _cells(result: Measurement) -> list[str]:
    return [
        result.case.name,
        result.case.title,
        str(result.runs),
        f"{result.cpu_s:.2f}",
        si(result.packets_per_cpu_s),
        si(result.events_per_cpu_s),
        f"{result.ns_per_packet:.0f}",
    ]


def _ratio_lines(results: Sequence[Measurement], memory: dict[str, int] | None) -> Iterator[str]:
    texts = {
        "a_traced": "(a) with the default traces on takes {:.2f} times the time",
        "b_traced": "(b) with the default traces on takes {:.2f} times the time",
        "d_window": "(d) a packet at a window of 100,000 costs {:.2f} times that at 10",
        "fq_codel": "(fq-codel) a packet costs {:.2f} times that of (c), through DropTail",
    }
    yield from (texts[name].format(ratio) for name, ratio in ratios(results).items())
    if memory:
        mib = {name: size / 2**20 for name, size in memory.items()}
        yield f"(a) peak memory {mib['peak']:.1f} MiB, {mib['before']:.1f} MiB of it before the run"
