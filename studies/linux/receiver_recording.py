"""Recording of a receiver on Linux, to which a test holds the simulator where there is no kernel.

`python -m studies.linux.receiver_recording` makes it anew on a kernel 7.3 in virtual time: the segments of
`receiver.toml` in the order in which they left, and the acknowledgement numbers and windows that came back for them.
"""

import argparse
import csv
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import ackclock
from ackclock import Results, Scenario
from ackclock.recording import captured_segments
from ackclock.running import kernel, linux_kernels

from . import modules

PATH: Final = Path(__file__).with_name("receiver.toml")
FILE: Final = Path(__file__).with_name("recordings") / "receiver.csv"
Passed = tuple[str, int, int]
"""Segment `("data", first octet, octets)` or ACK `("ack", acknowledgement number, window field)`, from 0 at the SYN."""


def passed(results: Results) -> dict[str, list[Passed]]:
    """Return the data segments of a run in the order in which they left, and the ACKs as they came."""
    with tempfile.TemporaryDirectory() as folder:
        saved = Results.load(results.save(folder, force=True))
        segments = list(captured_segments.segments(saved.captures["flow one"]))
    sender, first = segments[0].source, segments[0].header.seq
    found: dict[str, list[Passed]] = {"data": [], "ack": []}
    for segment in segments[1:]:
        header = segment.header
        if segment.source != sender:
            found["ack"].append(("ack", (header.ack - first) % 2**32, header.win))
        elif segment.payload:
            found["data"].append(("data", (header.seq - first) % 2**32, segment.payload))
    return found


def simulated() -> dict[str, list[Passed]]:
    """Return what passes in a simulation."""
    return passed(ackclock.run(Scenario.load(PATH, modules.HOST)))


def read() -> dict[str, list[Passed]]:
    """Return the recording."""
    with FILE.open(encoding="utf-8", newline="") as file:
        rows = [(kind, int(octet), int(size)) for kind, octet, size in csv.reader(file)]
    return {kind: [row for row in rows if row[0] == kind] for kind in ("data", "ack")}


def main(arguments: Sequence[str] | None = None) -> None:
    """Record."""
    parser = argparse.ArgumentParser(prog="python -m studies.linux.receiver_recording", description=__doc__)
    parser.add_argument("--kernel", default="7.3", help="name of a kernel of `ackclock linux list` (7.3)")
    given = parser.parse_args(arguments)
    try:
        found = passed(kernel.run(Scenario.load(PATH), on=linux_kernels.find(given.kernel)))
    except (OSError, ValueError, kernel.KernelError) as error:
        parser.error(str(error))
    with FILE.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows([*found["data"], *found["ack"]])


if __name__ == "__main__":
    main()
