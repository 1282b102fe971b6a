"""Scenarios from descriptions of a path: commands of tc and mahimahi, mininet programs, tables of rates."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ackclock.base import input_files
from ackclock.base.input_files import spelled
from ackclock.base.toml_text import scenario_toml
from ackclock.recording import mahimahi_commands, mininet_programs, rate_tables, tc_commands
from ackclock.recording.command_words import Way
from ackclock.recording.streams import RecordingError
from ackclock.scenario import dumbbells

_REMEDY = "give a file with commands of tc or mahimahi, a mininet program, or a table of times and rates"
_DURATION, _DELAY_MS = "30 s", 20.0
"""Defaults: the simulated time, and the delay of a table of rates in ms, which descriptions do not say."""


def is_path(text: str) -> bool:
    """Return whether a text describes a path."""
    commands = (tc_commands.BEGIN, mahimahi_commands.BEGIN, mininet_programs.BEGIN)
    return any(begin.search(text) for begin in commands) or rate_tables.is_table(text)


def scenario_of(path: Path, target: Path, *, name: str | None = None) -> str:
    """Return the scenario of a described path, with one flow of CUBIC along it.

    Args:
        path: File with commands of tc or mahimahi, a mininet program, or a table of times and rates.
        target: File that the scenario is for; names of traces are relative to its folder.
        name: Name of the scenario; by default that of the file.

    Raises:
        RecordingError: If it is none of these, or something in it is not understood; the message has the line.
    """
    text, file = input_files.text(path, remedy=_REMEDY).replace("\r\n", "\n"), spelled(path)
    duration, flow = _DURATION, {"controller": "cubic"}
    comments = [f"Made of {file} by ackclock import; change flows and duration as you like."]
    if mininet_programs.BEGIN.search(text):
        topology, hosts = mininet_programs.topology_of(text, file)
        flow |= {"from": hosts[0], "to": hosts[-1]}
    elif mahimahi_commands.BEGIN.search(text):
        topology = _topology(mahimahi_commands.ways_of(text, file), file)
        _move_traces(topology["bottleneck"], path.parent, target.parent)
    elif tc_commands.BEGIN.search(text):
        topology = _topology(tc_commands.ways_of(text, file), file)
    elif rate_tables.is_table(text):
        schedule, lasts_s, units = rate_tables.schedule_of(text, file)
        comments.append(f"Units of the table: {units}.")
        duration = rate_tables.seconds(lasts_s)
        rate = {"schedule": schedule, "repeat": duration}
        topology = _topology([Way({"rate": rate}, _DELAY_MS), Way({}, _DELAY_MS)], file)
    else:
        raise RecordingError(f"{file} does not describe a path; {_REMEDY}")
    tree = {"name": name or path.stem, "duration": duration, "topology": topology, "flow": [flow]}
    return scenario_toml(tree, comments)


def _topology(ways: Sequence[Way], file: str) -> dict[str, Any]:
    """Return a dumbbell with a bottleneck in each way; a way that nothing shapes is as fast as the hosts' links."""
    there = ways[0]
    if "rate" not in there.fields:
        if there.source:
            raise RecordingError(f"{there.source} sets no rate, and the path must have one; add netem rate, tbf or htb")
        raise RecordingError(f"{file}: the path must have a rate; add netem rate, tbf or htb, or mm-link")
    fixed = there.fields["rate"]
    made = dumbbells.topology(fixed if isinstance(fixed, str) else "100 Mbit/s", "0 ms")
    fast = made["access"]["rate"]
    back = ways[1] if len(ways) > 1 else Way()
    reverse = _link(back, fast) | {"queue": back.fields.get("queue", "drop_tail")}
    made["bottleneck"] = _link(there, fixed) | {"reverse": reverse}
    return made


def _link(way: Way, rate: object) -> dict[str, Any]:
    return {"rate": rate, "delay": f"{way.delay_ms:g} ms"} | way.fields


def _move_traces(bottleneck: dict[str, Any], source: Path, target: Path) -> None:
    """Name traces as seen from the scenario's folder."""
    for way in (bottleneck, bottleneck["reverse"]):
        trace = Path(way["rate"]["trace"])
        if not trace.is_absolute() and source.resolve() != target.resolve():
            way["rate"]["trace"] = Path(os.path.relpath(source / trace, target)).as_posix()
