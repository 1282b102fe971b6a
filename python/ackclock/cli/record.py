"""`ackclock record` and `ackclock import`: recordings of real connections as result folders."""

import itertools
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ackclock.base import storage
from ackclock.cli.answers import answer
from ackclock.cli.failures import InputError, WorkError
from ackclock.cli.progress import busy

if TYPE_CHECKING:
    from ackclock.results import Results

_Output = Annotated[Path, typer.Option("-o", "--output", metavar="DIR", help="Write the results to this folder.")]
_Force = Annotated[bool, typer.Option("--force", help="Replace results that ackclock wrote.")]
_Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print only errors.")]


def record(
    command: Annotated[
        list[str] | None,
        typer.Argument(metavar="-- COMMAND", help="Command to run, with its arguments.", show_default=False),
    ] = None,
    output: _Output = Path("recording"),
    port: Annotated[
        int | None,
        typer.Option("--port", min=1, max=65535, metavar="PORT", help="Record all connections of this port instead."),
    ] = None,
    seconds: Annotated[
        float | None,
        typer.Option("--seconds", min=0.1, help="Stop recording --port after this time (default: at Ctrl-C)."),
    ] = None,
    controller: Annotated[
        str | None,
        typer.Option("--controller", metavar="NAME", help="Use this controller for the command's connections."),
    ] = None,
    quiet: _Quiet = False,
    force: _Force = False,
) -> None:
    """Record the kernel's TCP state of live connections (root).

    ackclock record -o out -- iperf3 -c 192.0.2.1
    """
    from ackclock.running import kernel

    if bool(command) == (port is not None):
        raise InputError("name either a command after --, or a port with --port")
    if port is None and seconds is not None:
        raise InputError("--seconds is for --port; a command is recorded until it ends")
    if port is not None and controller is not None:
        raise InputError("--controller is for a command's connections; those of a port have their own")
    storage.check_folder(output, force=force)
    with tempfile.TemporaryDirectory(prefix="ackclock-record-") as folder:
        trace = Path(folder) / "trace.jsonl"
        ended = kernel.record(trace, command or [], port=port, seconds=seconds, controller=controller)
        results = _read([trace], output.name or "recording", by="ackclock record")
        entry = results.recording
        assert entry is not None
        entry["sources"] = []  # the trace goes with this block
        if command:
            entry["command"], entry["exit_code"] = list(command), ended.code
        results.save(output, force=force)
    _say(results, output, quiet=quiet)
    if ended.is_interrupted:
        raise KeyboardInterrupt
    if ended.code != 0:
        raise WorkError(f"the command ended with {ended.code}; the recording until then is in {output}")


def import_(
    files: Annotated[
        list[Path],
        typer.Argument(
            metavar="FILE...",
            help="One description of a path; or captures, ss logs, iperf3 reports or traces of ackclock-kernel.",
            show_default=False,
        ),
    ],
    output: Annotated[
        Path,
        typer.Option(
            "-o",
            "--output",
            metavar="DIR|FILE.toml",
            help="Write results to this folder, or the scenario of a path to this file.",
        ),
    ] = Path("recording"),
    name: Annotated[str | None, typer.Option("--name", help="Name the recording (default: the file's name).")] = None,
    quiet: _Quiet = False,
    force: _Force = False,
) -> None:
    """Import the description of a path as a scenario, or recordings as results.

    Paths: with -o FILE.toml, commands of tc or mahimahi, mininet programs, tables of times and rates.

    Recordings: with -o DIR, pcap, pcapng, and the output of ss -tin and iperf3 --json.
    Values that a recording lacks are null.
    """
    if output.suffix == ".toml":
        return _write_scenario(files, output, name, quiet=quiet, force=force)
    storage.check_folder(output, force=force)
    with busy(f"reading {', '.join(map(str, files))}"):
        results = _read(files, name, by="ackclock import")
    results.save(output, force=force)
    _say(results, output, quiet=quiet)


def _write_scenario(files: list[Path], place: Path, name: str | None, *, quiet: bool, force: bool) -> None:
    from ackclock._core import Scenario
    from ackclock.recording import path_files

    if len(files) > 1:
        raise InputError(f"{files[1]}: a scenario is made of one file; give one")
    storage.check_file(place, force=force)
    text = path_files.scenario_of(files[0], place, name=name)
    try:
        scenario = Scenario.parse(text, str(place))
    except ValueError as error:
        raise InputError(f"{files[0]}: must describe a possible path; mend its values ({error})") from error
    place.parent.mkdir(parents=True, exist_ok=True)
    storage.write_file(place, text.encode())
    answer(scenario=scenario.name, file=str(place))
    if not quiet:
        print(place)
        for note in itertools.takewhile(lambda line: line.startswith("# "), text.splitlines()[1:]):
            print(note.removeprefix("# "))


def _read(files: list[Path], name: str | None, *, by: str) -> "Results":
    from ackclock.recording import RecordingError, read

    try:
        return read(files, name=name, by=by)
    except RecordingError as error:
        raise InputError(str(error)) from error
    except (FileNotFoundError, IsADirectoryError, PermissionError) as error:
        raise InputError(str(error)) from error


def _say(results: "Results", output: Path, *, quiet: bool) -> None:
    answer(folder=str(output), summary=results.summary, recording=results.recording)
    if quiet:
        return
    from ackclock.cli import tables

    tables.print_results(results)
    print(f"results in {output}")
