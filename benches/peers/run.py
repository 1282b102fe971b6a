"""Measure ackclock, ns-3 and htsim on the same work, in turn, and print the ratio of CPU time per delivered packet.

    python benches/peers/run.py [CASE ...] [--rounds N] [--builds LIST] [--htsim DIR] [-o FILE]

A run that was interrupted goes on where it stopped when the same command is given again: it loses the round at hand.
"""

import argparse
import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import htsim_build
import ns3_builds
import peer_machine
import peer_programs
from peer_cases import CASES, Case
from peer_figures import print_case, report
from peer_programs import PeerBuild, PeerMissing
from peer_rounds import Journal, measure_round
from rich.console import Console

RESULTS = peer_programs.FOLDER / "results.json"

BUILDS: dict[str, Callable[[argparse.Namespace], PeerBuild]] = {
    "optimised": lambda _: ns3_builds.optimised(),
    "debian": lambda _: ns3_builds.debian(),
    "htsim": lambda options: htsim_build.htsim(options.htsim),
}
"""Functions that provide each build, in the order in which the builds are measured."""


def parse_arguments(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    """Read the command line.

    Args:
        arguments: In place of the program's own.
    """
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    names = [case.name for case in CASES]
    parser.add_argument("cases", nargs="*", metavar="CASE", help=f"of {', '.join(names)}; all if none is given")
    parser.add_argument("--rounds", type=int, default=3, metavar="N", help="turns of everybody for each case (3)")
    parser.add_argument("--htsim", type=Path, metavar="DIR", help="checkout of htsim to measure (htsim is left out)")
    builds = f"builds to measure of {', '.join(BUILDS)}, with commas between (all; htsim with --htsim)"
    parser.add_argument("--builds", metavar="LIST", help=builds)
    parser.add_argument("--min-cpu", type=float, default=2.0, metavar="S", help="CPU time of each in a round (2)")
    parser.add_argument("-o", dest="results", type=Path, default=RESULTS, metavar="FILE", help=f"JSON ({RESULTS})")
    options = parser.parse_args(arguments)
    if options.builds is None:
        options.builds = [name for name in BUILDS if name != "htsim" or options.htsim]
    else:
        options.builds = options.builds.split(",")
    for given, known in ((options.cases, names), (options.builds, list(BUILDS))):
        if unknown := set(given) - set(known):
            parser.error(f"unknown {', '.join(sorted(unknown))}; use some of {', '.join(known)}")
    if options.rounds < 1:
        parser.error(f"--rounds is {options.rounds}, and must be at least 1")
    if options.htsim and "htsim" not in options.builds:
        parser.error("--htsim is given, but --builds does not name htsim")
    return options


def measure(cases: Sequence[Case], builds: Sequence[PeerBuild], journal: Journal, options: argparse.Namespace) -> None:
    """Measure the rounds that are not done yet: the first of all cases, then the second of all.

    Args:
        cases: Cases to measure.
        builds: Builds of the peers.
        journal: The rounds done.
        options: The command line's.
    """
    for number in range(options.rounds):
        for case in cases:
            if len(journal.rounds(case.name)) <= number:
                sys.stderr.write(f"({case.name}) round {number + 1} of {options.rounds} ...\n")
                journal.add(case.name, measure_round(case, builds, min_cpu_s=options.min_cpu))


def compare(options: argparse.Namespace, console: Console) -> None:
    """Measure what is asked for, print it and write it down.

    Args:
        options: The command line's.
        console: To print to.
    """
    builds = [provide(options) for name, provide in BUILDS.items() if name in options.builds]
    for build in builds:
        peer_programs.compile_program(build)
    setting = peer_machine.setting(builds)
    lines = peer_machine.text(setting)
    if "htsim" not in options.builds:
        lines += f"\nhtsim is left out; to measure it, {htsim_build.REMEDY}"
    console.print(lines + "\n", markup=False, highlight=False, soft_wrap=True)
    journal = Journal(options.results.with_suffix(".rounds.jsonl"), setting | {"min_cpu_s": options.min_cpu})
    begun = peer_machine.moment()
    cases = [case for case in CASES if not options.cases or case.name in options.cases]
    measure(cases, builds, journal, options)
    results = [report(case, journal.rounds(case.name)[: options.rounds]) for case in cases]
    for figures in results:
        print_case(figures, builds, console)
    everything = {"setting": setting, "begun": begun, "ended": peer_machine.moment(), "cases": results}
    options.results.write_text(json.dumps(everything, indent=2) + "\n", encoding="utf-8")
    journal.close()
    console.print(f"written to {options.results}", markup=False, highlight=False, soft_wrap=True)


def main() -> int:
    """Compare; 1 if something that is needed is missing, 130 if it was interrupted."""
    options = parse_arguments()
    try:
        compare(options, Console())
    except PeerMissing as error:
        sys.stderr.write(f"error: {error}\n")
        return 1
    except ImportError as error:
        sys.stderr.write(f"error: {error}; build ackclock first: make build\n")
        return 1
    except KeyboardInterrupt:
        sys.stderr.write("interrupted; the rounds that are done are kept: the same command goes on from there\n")
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
