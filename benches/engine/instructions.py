"""Instructions of a delivered packet, counted by `valgrind --tool=callgrind`: no other work on a machine changes them.

    python benches/engine/instructions.py            # holds them to the last line of benches/instructions.jsonl
    python benches/engine/instructions.py --record   # adds a line

The installed extension is counted. A history, a file of JSON lines, has what earlier versions needed.
"""

import argparse
import json
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path

from counted import SHORT_CASES, ShortCase
from rich.table import Table

from ackclock import _core
from ackclock.base import input_files
from ackclock.base.decoding import decoded
from ackclock.base.version import __version__
from ackclock.plotting.terminal import output

_HERE = Path(__file__).parent
HISTORY = _HERE.parent / "instructions.jsonl"
"""The records of this repository."""

MOST_GROWTH = 1.05
"""A held case may need so many times the instructions of the record."""

COUNTED = "_core::simulation::PySimulation::__pymethod_run_until__"
"""The function of the extension that Python calls as `Simulation.run_until`; valgrind counts inside it alone."""

_TOTAL = re.compile(r"^summary: (\d+)", re.MULTILINE)
_COMPILER = re.compile(rb"rustc version (\d+\.\d+\.\d+[^\0\n]*)")


@dataclass(frozen=True, slots=True)
class Record:
    """The instructions that one version of the engine needs.

    Attributes:
        date: Date of the count, in UTC.
        version: Version of ackclock.
        commit: The commit as `git describe` names it, or an empty text outside a repository.
        compiler: The compiler that built the extension.
        valgrind: The version of Valgrind that counted.
        instructions_per_packet: Instructions per delivered packet, for each short case.
    """

    date: str
    version: str
    commit: str
    compiler: str
    valgrind: str
    instructions_per_packet: Mapping[str, float]

    def line(self) -> str:
        """Return the line of the history."""
        return json.dumps(asdict(self), ensure_ascii=False) + "\n"


def record() -> Record:
    """Count every short case; half a minute of CPU.

    Raises:
        RuntimeError: If the count fails; the message says what valgrind or the run said last.
    """
    return Record(
        date=datetime.now(UTC).date().isoformat(),
        version=__version__,
        commit=_commit(),
        compiler=compiler_of(Path(str(_core.__file__)).read_bytes()),
        valgrind=_said("valgrind", "--version"),
        instructions_per_packet=count(_HERE / "counted.py"),
    )


def count(program: Path) -> dict[str, float]:
    """Count the instructions of a packet in what a program runs.

    Args:
        program: A file of Python: it calls `Simulation.run_until` twice for each case, whose second call counts, and
            prints a line of each case's name and its packets.

    Raises:
        RuntimeError: If the count fails; the message says what valgrind or the run said last.
    """
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "callgrind"
        command = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={out}", "--combine-dumps=no"]
        command += [f"--toggle-collect={COUNTED}", f"--dump-after={COUNTED}", sys.executable, str(program)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise RuntimeError(f"counting instructions failed: {' '.join(done.stderr.splitlines()[-1:])}")
        dumps = [file.read_text(encoding="utf-8", errors="replace") for file in _numbered(out)]
    return per_packet(done.stdout, dumps)


def _numbered(out: Path) -> list[Path]:
    """The files of the calls, in order; the one without a number is of what came after the last call."""
    return sorted(out.parent.glob(f"{out.name}.*"), key=lambda file: int(file.suffix[1:]))


def per_packet(printed: str, dumps: Sequence[str]) -> dict[str, float]:
    """Divide the instructions of the second part of each case by its packets.

    Args:
        printed: Lines of a case's name and its packets.
        dumps: Output of callgrind after each call of `run_until`: two for each case.

    Raises:
        RuntimeError: If there are not two for each, as when the extension has no such function.
    """
    cases = [line.split() for line in printed.splitlines()]
    totals = [int(found[1]) for found in map(_TOTAL.search, dumps) if found]
    if not cases or len(totals) != 2 * len(cases):
        raise RuntimeError(
            f"valgrind counted {len(totals)} calls of {COUNTED} in {len(cases)} cases, and there must be two in each; "
            "if the function has another name now, write it into COUNTED of benches/engine/instructions.py"
        )
    return {name: round(total / int(packets), 1) for (name, packets), total in zip(cases, totals[1::2], strict=True)}


def compiler_of(extension: bytes) -> str:
    """Return the version of the compiler, as it stands in what it built.

    Args:
        extension: All bytes of the file.
    """
    found = _COMPILER.search(extension)
    return found[1].decode() if found else "unknown"


def _commit() -> str:
    return _said("git", "-C", str(Path(__file__).parent), "describe", "--always", "--dirty")


def _said(*command: str) -> str:
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return ""


def last(history: Path) -> Record | None:
    """Return the latest record, or None where there is none.

    Args:
        history: A file of JSON lines, which need not be there.

    Raises:
        ValueError: If its last line is no record.
    """
    if not history.exists():
        return None
    lines = input_files.text(history, remedy="give a file of records such as --record writes").splitlines()
    if not lines:
        return None
    try:
        return Record(**decoded(lines[-1]))
    except (ValueError, TypeError) as error:
        raise ValueError(
            f"{history}:{len(lines)} must be a record such as --record writes, and is not: {error}; remove the line"
        ) from error


def append(history: Path, new: Record) -> None:
    """Add a record to a history.

    Args:
        history: The file; it is made if it is missing.
        new: New counts.
    """
    with history.open("a", encoding="utf-8") as file:
        file.write(new.line())


def grown(new: Record, before: Record, cases: Sequence[ShortCase] = SHORT_CASES) -> dict[str, float]:
    """Return the held cases that need too many instructions more than before, with how many times as many.

    Args:
        new: New counts.
        before: The record. Another compiler makes other instructions of the same source: nothing is held to it.
        cases: To look at.
    """
    if new.compiler != before.compiler:
        return {}
    ratios = {case.name: ratio(new, before, case.name) for case in cases if case.is_held}
    return {name: times for name, times in ratios.items() if times is not None and times > MOST_GROWTH}


def ratio(new: Record, before: Record, name: str) -> float | None:
    """Return how many times the instructions of the record a case needs, or None if one of the two has not got it.

    Args:
        new: New counts.
        before: The record.
        name: Name of the case.
    """
    counts = new.instructions_per_packet.get(name), before.instructions_per_packet.get(name)
    return counts[0] / counts[1] if counts[0] and counts[1] else None


def cannot_count() -> str:
    """Return why nothing can be counted here, with the remedy; an empty text if it can."""
    if shutil.which("valgrind") is None:
        return "it needs valgrind, which is not on the PATH; install it, such as with: apt-get install valgrind"
    if _core.build_info()["profile"] != "release":
        return "the extension is a debug build, whose instructions say nothing; build it with: make build"
    return ""


def main() -> None:
    """Count, print, and fail where a held case has grown."""
    reader = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    reader.add_argument("--history", type=Path, default=HISTORY, metavar="FILE", help="the records")
    reader.add_argument("--record", action="store_true", help="add what is counted to them")
    reader.add_argument("--json", action="store_true", help="print what is counted as JSON")
    given = reader.parse_args()
    if reason := cannot_count():
        _say(f"SKIPPED counting instructions: {reason}")
        return
    try:
        before = last(given.history)
    except ValueError as error:
        reader.error(str(error))
    new = record()
    if given.json:
        print(new.line(), end="")
    else:
        output().print(_table(new, before))
    if given.record:
        append(given.history, new)
        _say(f"recorded in {given.history}")
    else:
        _judge(new, before, given.history)


def _judge(new: Record, before: Record | None, history: Path) -> None:
    if before is None:
        _say(f"{history} has no record to compare with; --record writes one")
        return
    if new.compiler != before.compiler:
        _say(
            f"{history} was recorded with rustc {before.compiler}, and this build is of rustc {new.compiler}: "
            "nothing is held to it; --record renews it"
        )
    if too_many := grown(new, before):
        cases = ", ".join(f"({name}) {times:.3f} times" for name, times in too_many.items())
        raise SystemExit(
            f"error: {cases} the instructions a packet of {history} at {before.commit or before.version}, and must be "
            f"{MOST_GROWTH:g} times at most; make it cheaper, or say why not and renew the record: "
            "python benches/engine/instructions.py --record"
        )


def _table(new: Record, before: Record | None) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    table.add_column("", style="cyan", no_wrap=True)
    for heading in ("instructions\nper packet", "on record", "times"):
        table.add_column(heading, justify="right")
    for name, counted in new.instructions_per_packet.items():
        recorded = before.instructions_per_packet.get(name) if before else None
        times = ratio(new, before, name) if before else None
        table.add_row(
            name,
            f"{counted:,.0f}",
            f"{recorded:,.0f}" if recorded else "-",
            f"{times:.3f}" if times else "-",
        )
    return table


def _say(text: str) -> None:
    print(text, file=sys.stderr)


if __name__ == "__main__":
    main()
