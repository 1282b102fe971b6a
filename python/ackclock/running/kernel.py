"""Running a scenario on this machine's kernel: the program `ackclock-kernel` does it, and leaves the same results."""

import json
import os
import platform
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from ackclock._core import Scenario
from ackclock.base.version import __version__
from ackclock.results import Results, no_tables
from ackclock.results.manifests import KernelRun, Manifest
from ackclock.results.result_files import json_bytes
from ackclock.results.summaries import RunSummary

if TYPE_CHECKING:
    import polars as pl

PROGRAM: Final = "ackclock-kernel"


class KernelError(RuntimeError):
    """The run failed on the kernel, or the program that does it is not there; the message says what to do."""


class RefusedError(ValueError):
    """The scenario asks for what the kernel cannot do: wrong input; the message has each place with its reason."""


def program() -> Path:
    """Return the program that runs scenarios on the kernel.

    It is looked for where the variable `ACKCLOCK_KERNEL` says, beside the package, among what was built in the
    repository, then on the `PATH`.

    Raises:
        KernelError: If it is nowhere.
    """
    package = Path(__file__).resolve().parents[1]
    target = Path(os.environ.get("CARGO_TARGET_DIR") or package.parents[1] / "target")
    named = os.environ.get("ACKCLOCK_KERNEL")
    places = [Path(named)] if named else [package / PROGRAM, target / "release" / PROGRAM, target / "debug" / PROGRAM]
    for place in places:
        if place.is_file() and os.access(place, os.X_OK):
            return place
    found = None if named else shutil.which(PROGRAM)
    if found is None:
        where = named or f"beside the package, in {target}, or on the PATH"
        raise KernelError(f"there is no program {PROGRAM} ({where}); build it in the repository: make kernel")
    return Path(found)


def missing() -> str:
    """Return what this machine lacks for a run on its kernel; an empty text if nothing."""
    try:
        program()
    except KernelError:
        return f"{PROGRAM} is not built (make kernel)"
    if os.geteuid() != 0:
        return "it needs root"
    return "" if Path("/dev/net/tun").exists() else "it needs /dev/net/tun"


def run(
    scenario: Scenario, *, file: Path | None = None, overrides: Sequence[str] = (), seed: int | None = None
) -> Results:
    """Run a scenario on the kernel of this machine, in real time.

    Args:
        scenario: What to run.
        file: The file that it was read from, next to which other files that it names are; without one it names none.
        overrides: `path=value` texts with which it was read from that file.
        seed: In place of the scenario's own, if it was drawn anew with one.

    Returns:
        The results, in the form of the simulator's. They are of one run on one machine: another differs a little.

    Raises:
        RefusedError: If the scenario asks for what the kernel cannot do.
        KernelError: If the run failed, or the program is not there.
        KeyboardInterrupt: If it was interrupted.
    """
    command = [str(program()), "run", "--tied", "--stream"]
    if file is None:
        command += ["-"]
    else:
        command += [str(file), *(part for text in overrides for part in ("--set", text))]
        command += [] if seed is None else ["--seed", str(seed)]
    return _results(scenario, _call(command, scenario.to_json() if file is None else ""))


@dataclass(frozen=True, slots=True)
class Recorded:
    """How a command ended whose connections were recorded.

    Attributes:
        code: Its exit code, 128 and the number of a signal that ended it; 0 of what was no command.
        is_interrupted: Whether the recording was interrupted.
    """

    code: int
    is_interrupted: bool


def record(
    trace: Path,
    command: Sequence[str] = (),
    *,
    port: int | None = None,
    seconds: float | None = None,
    controller: str | None = None,
) -> Recorded:
    """Record the TCP state of connections as lines of JSON: of a command, or of a port for some time.

    An interruption (SIGINT, SIGTERM) ends the command, and the trace is whole all the same.

    Args:
        trace: The file to write.
        command: The command with its arguments; its input and output are those of this process.
        port: In place of a command.
        seconds: Of a port; until an interruption otherwise.
        controller: For the command's connections.

    Raises:
        KernelError: If the program that records is not there, or could not.
        RefusedError: If the kernel has no such controller, or the command cannot be started.
    """
    arguments = [str(program())]
    if port is None:
        arguments += ["record", "-o", str(trace), *(["--controller", controller] if controller else []), "--", *command]
    else:
        arguments += ["watch", str(port), "-o", str(trace), *(["--seconds", str(seconds)] if seconds else [])]
    with tempfile.TemporaryFile() as told:
        code, is_interrupted = _wait(subprocess.Popen(arguments, stderr=told if port is not None else None))
        told.seek(0)
        message = told.read().decode(errors="replace").strip()
    is_whole = trace.is_file() and trace.stat().st_size > 0
    if not is_whole:
        # What went wrong has been said on standard error.
        raise (RefusedError if code == 2 else KernelError)(
            message.removeprefix("error: ") or f"{PROGRAM} recorded nothing"
        )
    return Recorded(0 if is_interrupted else code, is_interrupted)


def _wait(child: subprocess.Popen[bytes]) -> tuple[int, bool]:
    """Wait to its end; signals that ask for ours ask for its."""
    asked: list[int] = []

    def ask(number: int, _frame: object) -> None:
        asked.append(number)
        child.send_signal(number)

    before = {number: signal.signal(number, ask) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        while True:
            try:
                return child.wait(), bool(asked)
            except InterruptedError:
                continue
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _call(command: list[str], text: str) -> bytes:
    """What the program writes; nothing of it is ever on a disk, where it could be left behind."""
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as child:
        try:
            written, told = child.communicate(text.encode())
        except BaseException:
            child.send_signal(signal.SIGTERM)
            child.wait()
            raise
    message = told.decode(errors="replace").strip()
    match child.returncode:
        case 0:
            return written
        case 2:
            raise RefusedError(message)
        case 130:
            raise KeyboardInterrupt
        case code:
            raise KernelError(message.removeprefix("error: ") or f"{PROGRAM} ended with {code} and said nothing")


def _results(scenario: Scenario, written: bytes) -> Results:
    head, _, rest = written.partition(b"\n")
    told = json.loads(head)
    tables = no_tables()
    for name, length in told["tables"].items():
        tables[name] = _table(rest[:length])
        rest = rest[length:]
    ran: KernelRun = told["kernel"]
    ran["load"] = os.getloadavg()[0]
    left = _Left(told["summary"], {})
    for name, length in told["captures"]:
        left.files[name] = rest[:length]
        rest = rest[length:]
    return Results(lambda: left.summary, _origin(scenario, ran), tables.__getitem__, _source=left)


@dataclass(frozen=True, slots=True)
class _Left:
    """The files of a run beside its tables, as `ackclock.results.result_files` has it; the kernel has no events."""

    summary: RunSummary
    files: dict[str, bytes]

    @property
    def event_sources(self) -> list[str]:
        return []

    @property
    def captures(self) -> list[str]:
        return list(self.files)

    def write_pcapng(self, name: str, path: str) -> None:
        Path(path).write_bytes(self.files[name])

    def write_summary(self, path: str) -> None:
        Path(path).write_bytes(json_bytes(self.summary))

    def write_qlog(self, _paths: dict[str, str]) -> list[str]:
        return []

    def write_perfetto(self, path: str) -> None:
        raise ValueError(f"there are no events for {path}: the kernel tells of none")


def _table(octets: bytes) -> "pl.DataFrame":
    import polars as pl

    table = pl.read_ipc(octets)
    return table.with_columns(pl.col(pl.Categorical).cast(pl.String))


def _origin(scenario: Scenario, kernel: KernelRun) -> Manifest:
    import polars as pl

    cpu_s, delivered = kernel["cpu_s"], kernel["packets_delivered"]
    origin: Manifest = {
        "scenario": json.loads(scenario.to_json()),
        "scenario_hash": scenario.hash,
        "seed": scenario.seed,
        "versions": {"ackclock": __version__, "python": platform.python_version(), "polars": pl.__version__},
        "engine": {
            "events": 0,
            "packets_delivered": delivered,
            "wall_s": kernel["wall_s"],
            "cpu_s": cpu_s,
            "packets_per_cpu_s": delivered / cpu_s if cpu_s > 0 else None,
            "partition": {"parts": 1, "lookahead_s": None, "largest_share": 1.0, "ties": [], "threads": 1},
        },
        "kernel": kernel,
    }
    if drawn := scenario.drawn:
        origin["drawn"] = drawn
    return origin
