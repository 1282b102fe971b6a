"""The papers' experiments on DQN-NewReno and DQN-CUBIC in ns-3 and in ackclock, side by side, as a record.

    python benches/peers/dqn_twin.py [ROW ...] [--seeds N] [--segment BYTES] [--only ns-3|ackclock] [-o FILE]

Each run is kept (target/peers/dqn-twin), so that a command that was interrupted goes on where it stopped when it is
given again; `--record` writes what there is without running anything. Runs that the record has stay in it. Seeds come
first: all rows of seed 1, then of seed 2.
"""

import argparse
import hashlib
import json
import math
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import ns3_builds
import peer_programs
from dqn_cases import DELAYS_MS, FOLDER, ROWS, SEGMENTS_BYTES, Row
from dqn_runs import BIN_S, KEPT, run_ackclock, run_ns3

from ackclock.claims.origin import now
from ackclock.claims.subjects import scenario_subjects

RECORD = FOLDER / "twin.json"
MOST = len(DELAYS_MS)
"""Runs of a row."""

RUNS = {"ns-3": run_ns3, "ackclock": run_ackclock}

Numbers = dict[str, Any]
Quantity = tuple[str, str, float | None, Callable[[Numbers], float]]


def parse_arguments(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    """Read the command line.

    Args:
        arguments: In place of the program's own.
    """
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rows", nargs="*", metavar="ROW", help="tables (D1 to D4) or rows; all if none is given")
    parser.add_argument(
        "--seeds", type=int, default=MOST, metavar="N", help=f"runs of each row, at most {MOST} ({MOST})"
    )
    parser.add_argument(
        "--segment", type=int, choices=SEGMENTS_BYTES, help="payload of a segment, bytes; each if not given"
    )
    parser.add_argument("--only", choices=list(RUNS), help="run one of the two")
    parser.add_argument("--jobs", type=int, default=2, metavar="N", help="runs at a time (2)")
    parser.add_argument("--record", action="store_true", help="run nothing; write what has been run")
    parser.add_argument("-o", dest="record_file", type=Path, default=RECORD, metavar="FILE", help=f"JSON ({RECORD})")
    options = parser.parse_args(arguments)
    if not 1 <= options.seeds <= MOST:
        parser.error(f"--seeds is {options.seeds}, and must be from 1 to {MOST}")
    options.wanted = [row for row in ROWS if not options.rows or {row.table, row.name} & set(options.rows)]
    if not options.wanted:
        parser.error(f"unknown row {', '.join(options.rows)}; use D1 to D4 or some of {[row.name for row in ROWS]}")
    return options


def run_all(options: argparse.Namespace) -> None:
    """Run what has not been run yet.

    Args:
        options: The command line's.
    """
    simulators = [options.only] if options.only else list(RUNS)
    seeds = range(1, options.seeds + 1)
    segments = (options.segment,) if options.segment else SEGMENTS_BYTES
    wanted = [
        (name, row, segment, seed)
        for segment in segments
        for seed in seeds
        for name in simulators
        for row in options.wanted
    ]

    def run(item: tuple[str, Row, int, int]) -> None:
        name, row, segment, seed = item
        RUNS[name](row, segment, seed)
        print(f"{name}: {row.table} {row.name}, {segment} bytes, seed {seed}", file=sys.stderr, flush=True)

    with ThreadPoolExecutor(max_workers=options.jobs) as pool:
        list(pool.map(run, wanted))


def table(row: Row, segment_bytes: int, seeds: int) -> Iterator[dict[str, Any]]:
    """Yield the entries of a row in the record.

    Args:
        row: Row of the tables.
        segment_bytes: The payload of a segment.
        seeds: Number of requested seeds.
    """
    runs = {
        name: [
            found
            for seed in range(1, seeds + 1)
            if (found := run_one(row, segment_bytes, seed, only_kept=True)) is not None
        ]
        for name, run_one in RUNS.items()
    }
    name = f"{row.table}-{segment_bytes}"
    for quantity, unit, published, measure in _quantities(row):
        values = {name: [round(measure(found), 4) for found in each] for name, each in runs.items()}
        yield {"table": name, "row": row.name, "quantity": quantity, "unit": unit, "source": published, **values}


def _quantities(row: Row) -> Iterator[Quantity]:
    for index, (begin, end) in enumerate(row.periods):
        said = row.published[index] if row.published else (None,) * len(row.controllers)
        when = f", {begin:g} to {end:g} s" if len(row.periods) > 1 else ""
        for flow, number in enumerate(said):
            name = f"flow {flow + 1}{when}" if len(said) > 1 else "throughput"
            yield name, "Mbit/s", number, _average(flow, begin, end)
        if len(row.controllers) > 1 and row.table != "D4":
            known = None not in said
            yield "Jain's index", "", round(_jain(*said), 4) if known else None, _index
            yield "both", "Mbit/s", round(sum(said), 2) if known else None, _both
    lost = {"DQN-NewReno / CUBIC": 88.0, "DQN-CUBIC / CUBIC": 44.0}.get(row.name) if row.table == "D4" else None
    yield "flow 1, retransmitted", "segments", lost, lambda found: float(found["flows"][0]["retransmitted"])
    if row.table == "D1":
        yield "reductions", "", None, lambda found: float(len(found["flows"][0]["reductions_s"]))


def average(found: Numbers, flow: int, begin_s: float, end_s: float) -> float:
    """Return a flow's throughput with headers in a part of the run, Mbit/s.

    Args:
        found: A run.
        flow: From 0 on.
        begin_s: From when on.
        end_s: Until when.
    """
    bins = found["flows"][flow]["mbps"][round(begin_s / BIN_S) : round(end_s / BIN_S)]
    return math.fsum(bins) / len(bins)


def _average(flow: int, begin_s: float, end_s: float) -> Callable[[Numbers], float]:
    return lambda found: average(found, flow, begin_s, end_s)


def _both(found: Numbers) -> float:
    return average(found, 0, 0.0, 50.0) + average(found, 1, 0.0, 50.0)


def _index(found: Numbers) -> float:
    return _jain(average(found, 0, 0.0, 50.0), average(found, 1, 0.0, 50.0))


def _jain(first: float, second: float) -> float:
    return (first + second) ** 2 / (2 * (first * first + second * second))


def record(before: Mapping[str, Any]) -> dict[str, object]:
    """Return the record of all that has been run on this machine, asked for this time or not.

    Args:
        before: An earlier record, from other machines or programs: where it has more runs of a row, they stay, and
            so do rows that are run no more.
    """
    entries = [entry for segment in SEGMENTS_BYTES for row in ROWS for entry in table(row, segment, MOST)]
    known = {(entry["table"], entry["row"], entry["quantity"]): entry for entry in before.get("rows", ())}
    tables = {entry["table"] for entry in entries}
    others = [entry for entry in before.get("rows", ()) if entry["table"] not in tables]
    keeps_some = bool(others)
    for entry in entries:
        earlier = known.get((entry["table"], entry["row"], entry["quantity"]), {})
        for name in RUNS:
            if len(earlier.get(name, ())) > len(entry[name]):
                entry[name], keeps_some = earlier[name], True
    made, kept_from = now().as_dict(), [*before.get("kept_from", ()), *([before["made"]] if before else [])]
    program = hashlib.sha256(b"".join(path.read_bytes() for path in ns3_builds.DQN_SOURCES)).hexdigest()
    return {
        "made": made,
        "ns3": {"version": ns3_builds.debian().version, "build": ns3_builds.debian().how, "program": program},
        "kept_from": [each for each in kept_from if each.get("results") != made["results"]] if keeps_some else [],
        "scenarios": scenario_subjects(FOLDER, (row.scenario for row in ROWS)),
        "rows": [*others, *(entry for entry in entries if entry["ns-3"] or entry["ackclock"])],
    }


def main() -> int:
    """Run, and write the record; return the exit status."""
    options = parse_arguments()
    KEPT.mkdir(parents=True, exist_ok=True)
    try:
        if not options.record:
            run_all(options)
        earlier = options.record_file
        found = record(json.loads(earlier.read_text(encoding="utf-8")) if earlier.exists() else {})
    except (peer_programs.PeerMissing, RuntimeError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("interrupted; the same command goes on", file=sys.stderr)
        return 130
    options.record_file.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
