"""`ackclock script`: packet scripts against the simulated endpoint or this machine's kernel."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from ackclock.base import input_files
from ackclock.claims import locations
from ackclock.cli import catalogs, failures
from ackclock.cli.answers import answer
from ackclock.cli.places import On, kernel_of
from ackclock.plotting.terminal import name, output
from ackclock.script.backend import Backend
from ackclock.script.options import STRICT, Options, definition
from ackclock.script.parse import parse
from ackclock.script.runner import Verdict, run
from ackclock.script.script_head import Head, head_of
from ackclock.script.syntax import ScriptError
from ackclock.script.verdict_text import render, summary

if TYPE_CHECKING:
    from ackclock.running.linux_kernels import Kernel

_DIFFERENTIAL = "differential.command"
"""The module of the studies that plays random cases."""


def script(
    files: Annotated[
        list[Path] | None,
        typer.Argument(metavar="FILE...", help="Packet scripts (.pkt), or folders of them.", show_default=False),
    ] = None,
    profile: Annotated[
        str | None,
        typer.Option(
            metavar="NAME", help="Use this stack profile, overriding the script's header.", show_default="linux-6.x"
        ),
    ] = None,
    overrides: Annotated[
        list[str] | None,
        typer.Option(
            "--set", metavar="PATH=VALUE", help="Override a TCP setting of the endpoint, e.g. tcp.sack=false."
        ),
    ] = None,
    definitions: Annotated[
        list[str] | None,
        typer.Option("--define", "-D", metavar="NAME=VALUE", help="Define a name used in the scripts."),
    ] = None,
    tolerance_usecs: Annotated[
        int | None,
        typer.Option(metavar="N", help="Allow events to deviate by this number of microseconds.", show_default="4000"),
    ] = None,
    strict: Annotated[
        bool, typer.Option("--strict", help="Allow no extra tolerance for long waits; compare echoed timestamps, too.")
    ] = False,
    kernel: Annotated[
        bool, typer.Option("--kernel", help="Run against this machine's kernel, in a network namespace (root).")
    ] = False,
    on: On = "simulator",
    trace: Annotated[bool, typer.Option("--trace", "-v", help="Show every packet and call.")] = False,
    differential: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            min=1,
            max=1_000_000_000,
            help="Instead of scripts, run N random cases against endpoint and kernel (root without --on).",
            show_default=False,
        ),
    ] = None,
    states: Annotated[
        bool,
        typer.Option("--states", help="With --differential, send single segments in every state instead of transfers."),
    ] = False,
    seed: Annotated[
        int, typer.Option(metavar="S", min=0, max=2**64 - 1, help="Set the seed of the first random case.")
    ] = 1,
    controller: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Use this controller in the random cases: bbr, or a module of Linux such as cubic, vegas or yeah.",
            show_default="cubic, reno",
        ),
    ] = None,
    into: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR", help="Write a packet script for each difference to this folder.", show_default=False
        ),
    ] = None,
) -> None:
    """Run packet scripts against the simulator or the kernel."""
    place = _place(on, kernel=kernel)
    if states and (differential is None or files or controller or into):
        raise failures.InputError("--states: give --differential N with it, and no files, --controller or --into")
    if differential is not None:
        if files:
            raise failures.InputError("--differential draws its cases itself; leave the files out")
        tool = locations.tool(_DIFFERENTIAL)
        play = tool.play_states if states else partial(tool.play_cases, into=into, controller=controller)
        play(differential, seed, on=place)
        return
    if not files:
        raise failures.InputError(
            "there is nothing to run; give a packet script (.pkt), a folder of them, or --differential N"
        )
    catalogs.check_profile(profile)
    options = _options(definitions or [], tolerance_usecs, strict)
    counts = {"passed": 0, "failed": 0, "wrong": 0}
    told: list[dict[str, Any]] = []
    answer(scripts=told, counts=counts)
    read = [_Read(file, text := _text(file), head_of(text)) for file in _scripts(files)]
    if place is not None:
        judge = _inside(place, read, options)
    else:
        judge = partial(_judged, kernel, profile, overrides or [], options)
    for one in read:
        if (kernel or place is not None) and not one.head.is_any_linux:
            skipped = f"skip  {one.file}: its header asks for another stack than an unmodified Linux"
            output().print(name(skipped), style="dim")
            told.append(_told(one.file, "skipped"))
            continue
        judged = judge(one)
        outcome = _outcome(judged, trace=trace)
        counts[outcome] += 1
        told.append(_told(one.file, outcome, judged))
    output().print(summary(**counts))
    if counts["wrong"] or counts["failed"]:
        raise typer.Exit(failures.WRONG_INPUT if counts["wrong"] else failures.FAILED)


def _place(on: str, *, kernel: bool) -> "Kernel | None":
    place = kernel_of(on)
    if kernel and place is not None:
        raise failures.InputError(f"--kernel: runs on this machine's kernel; leave it out with --on {on}")
    return place


class _Read(NamedTuple):
    """Script that was read."""

    file: Path
    text: str
    head: Head


def _outcome(judged: Verdict | ScriptError, *, trace: bool) -> str:
    """Print what became of a script, and return it as a word."""
    if isinstance(judged, ScriptError):
        _say_wrong(judged)
        return "wrong"
    output().print(render(judged, trace=trace), soft_wrap=True)
    return "passed" if judged.passed else "failed"


def _told(file: Path, outcome: str, judged: Verdict | ScriptError | None = None) -> dict[str, Any]:
    """Return the outcome of a script as JSON data, with the line and the message of what is wrong."""
    told = {"file": str(file), "outcome": outcome}
    if isinstance(judged, ScriptError):
        return told | {"line": judged.line, "message": judged.message, "remedy": judged.remedy}
    failure = judged.failure if judged else None
    return told | ({"line": failure.event.line, "message": failure.message} if failure else {})


def _options(definitions: list[str], tolerance_us: int | None, strict: bool) -> Options:
    try:
        chosen: dict[str, Any] = {"definitions": dict(map(definition, definitions))}
    except ValueError as error:
        raise failures.InputError(str(error)) from None
    if tolerance_us is not None:
        chosen["tolerance_us"] = tolerance_us
    return replace(STRICT if strict else Options(), chosen=chosen)


def _backend(kernel: bool, profile: str, overrides: list[str]) -> Callable[[], Backend]:
    if kernel:
        from ackclock.script.kernel_host import KernelError, KernelHost

        def make() -> Backend:
            try:
                return KernelHost()
            except KernelError as error:
                raise failures.InputError(str(error)) from error

        return make
    from ackclock.script.simulated_host import SimulatedHost

    return lambda: SimulatedHost(profile, overrides)


def _scripts(files: list[Path]) -> Iterator[Path]:
    for file in files:
        if file.is_dir():
            found = sorted(file.rglob("*.pkt"))
            if not found:
                raise failures.InputError(f"{file}: must contain packet scripts (*.pkt)")
            yield from found
        elif file.exists():
            yield file
        else:
            raise failures.InputError(f"{file}: file not found; give a packet script (.pkt), or a folder of them")


def _text(file: Path) -> str:
    return input_files.text(file, remedy="give a packet script (.pkt)")


def _judged(
    kernel: bool, profile: str | None, overrides: list[str], options: Options, one: _Read
) -> Verdict | ScriptError:
    make = _backend(kernel, profile or one.head.profile or "linux-6.x", [*one.head.overrides, *overrides])
    try:
        return run(parse(one.text, str(one.file)), make(), options)
    except ScriptError as error:
        return error


def _inside(kernel: "Kernel", read: list[_Read], options: Options) -> Callable[[_Read], Verdict | ScriptError]:
    """Run the scripts inside a kernel in virtual time, and return a function that tells the outcome of each."""
    from ackclock.script.whole_runs import Asked, judge_inside

    asked = [Asked(str(one.file), one.text, options) for one in read if one.head.is_any_linux]
    judged = judge_inside(kernel, asked) if asked else []
    found = {each.file: outcome for each, outcome in zip(asked, judged, strict=True)}
    return lambda one: found[str(one.file)]


def _say_wrong(error: ScriptError) -> None:
    console = failures.errors()
    console.print(f"{error.file}:{error.line}: ", style="bold", end="", markup=False)
    console.print("error: ", style="bold red", end="")
    console.print(error.message, markup=False)
    console.print(f"    remedy: {error.remedy}", style="green", markup=False)
