"""Runs on this machine's kernel, by the program `ackclock-kernel`, with results of the same form."""

import json
import os
import platform
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from ackclock._core import KernelControllers, Scenario
from ackclock.base.version import __version__
from ackclock.results import Results, no_tables
from ackclock.results.manifests import KernelRun, Manifest
from ackclock.results.result_files import json_bytes
from ackclock.results.summaries import RunSummary

if TYPE_CHECKING:
    import polars as pl

    from ackclock.running.linux_kernels import Kernel

PROGRAM: Final = "ackclock-kernel"


class KernelError(RuntimeError):
    """Error: the run on the kernel failed, or its program is missing. The message says what to do."""


class RefusedError(ValueError):
    """Error: the kernel does not support the scenario. The message gives each place and the reason."""


def program() -> Path:
    """Return the path of `ackclock-kernel`.

    It is searched at `$ACKCLOCK_KERNEL`, beside the package, in the repository's build folders, and on the `PATH`.

    Raises:
        KernelError: If it is not found.
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
        where = named or f"next to the package, in {target}, or on the PATH"
        raise KernelError(f"{PROGRAM}: program not found ({where}); build it in the repository: make kernel")
    return Path(found)


def missing() -> str:
    """Return what this machine lacks for a run on its kernel; empty if nothing."""
    try:
        program()
    except KernelError:
        return f"{PROGRAM} is not built (make kernel)"
    if os.geteuid() != 0:
        return "it needs root"
    return "" if Path("/dev/net/tun").exists() else "it needs /dev/net/tun"


def run(
    scenario: Scenario,
    *,
    on: "Kernel | None" = None,
    file: Path | None = None,
    overrides: Sequence[str] = (),
    seed: int | None = None,
    controllers: Mapping[str, str] | None = None,
) -> Results:
    """Run a scenario on this machine's kernel in real time, or on a kernel of `ackclock linux build` in virtual time.

    Args:
        scenario: Scenario to run.
        on: Kernel in virtual time; this machine's by default.
        file: File that it was loaded from, to which other file names are relative; None if there are none.
        overrides: Overrides (`path=value`) with which it was loaded.
        seed: Replaces the scenario's seed, if one was given.
        controllers: Controllers of the kernel in place of the scenario's, by flow.

    Returns:
        The results, in the simulator's form. Repeated runs differ a little on this machine's kernel, and are equal in
        virtual time.

    Raises:
        RefusedError: If the kernel does not support the scenario.
        KernelError: If the run failed, or the program is missing.
        KeyboardInterrupt: If it was interrupted.
    """
    if file is None:
        arguments = ["-"]
    else:
        arguments = [str(file), *(part for text in overrides for part in ("--set", text))]
        arguments += [] if seed is None else ["--seed", str(seed)]
    arguments += [part for flow, name in (controllers or {}).items() for part in ("--controller", f"{flow}={name}")]
    text = scenario.to_json() if file is None else ""
    if on is None:
        return _results(scenario, _call([str(program()), "run", "--tied", "--stream", *arguments], text))
    from ackclock.running import user_mode

    arguments += ["--asks"] if on.asks else []
    decision = KernelControllers(scenario).answer if on.asks else None
    called = user_mode.call(on, ["run", "--stream", *arguments], text, seed=scenario.seed, decision=decision)
    results = _results(scenario, output(called.code, called.out, called.err), on)
    engine = results.manifest["engine"]
    engine["wall_s"], engine["cpu_s"] = called.wall_s, called.cpu_s
    engine["packets_per_cpu_s"] = engine["packets_delivered"] / called.cpu_s if called.cpu_s > 0 else None
    return results


@dataclass(frozen=True, slots=True)
class Recorded:
    """Exit status of a command whose connections were recorded.

    Attributes:
        code: Exit code, or 128 plus the number of the signal that ended it; 0 without a command.
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
    """Record the TCP state of the connections of a command or a port, as JSON lines.

    An interruption (SIGINT, SIGTERM) ends the command; the trace is complete up to then.

    Args:
        trace: File to write.
        command: Command with its arguments; it inherits standard input and output.
        port: Port to record instead of a command.
        seconds: Duration for a port; until an interruption by default.
        controller: Congestion control for the command's connections.

    Raises:
        KernelError: If the recording program is missing or failed.
        RefusedError: If the kernel lacks the controller, or the command cannot be started.
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
    """Wait for the end of the program, forwarding termination signals to it."""
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
    """Return the program's output; it never touches the disk, where it could be left behind."""
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as child:
        try:
            written, told = child.communicate(text.encode())
        except BaseException:
            child.send_signal(signal.SIGTERM)
            child.wait()
            raise
    return output(child.returncode, written, told.decode(errors="replace").strip())


def output(code: int, written: bytes, message: str) -> bytes:
    """Return the program's output, or raise the error that its exit code stands for."""
    match code:
        case 0:
            return written
        case 2:
            raise RefusedError(message)
        case 130:
            raise KeyboardInterrupt
        case _:
            raise KernelError(message.removeprefix("error: ") or f"{PROGRAM} ended with {code} and no message")


def _results(scenario: Scenario, written: bytes, on: "Kernel | None" = None) -> Results:
    head, _, rest = written.partition(b"\n")
    told = json.loads(head)
    tables = no_tables()
    for name, length in told["tables"].items():
        tables[name] = _table(rest[:length])
        rest = rest[length:]
    ran: KernelRun = told["kernel"]
    if on is None:
        ran["load"] = os.getloadavg()[0]
    else:
        ran["virtual_time"] = on.identity
    left = _Left(told["summary"], {})
    for name, length in told["captures"]:
        left.files[name] = rest[:length]
        rest = rest[length:]
    return Results(lambda: left.summary, _origin(scenario, ran), tables.__getitem__, _source=left)


@dataclass(frozen=True, slots=True)
class _Left:
    """Files of a run other than its tables, for `ackclock.results.result_files`; the kernel has no events."""

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
        raise ValueError(f"{path}: the kernel records no events; simulate the scenario for them")


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
