"""`ackclock script`: run packet scripts against the endpoint."""

from pathlib import Path
from typing import Annotated

import typer

from ackclock._core import ScenarioError
from ackclock.cli.display import output
from ackclock.cli.failures import InputError
from ackclock.script import ScriptError, Verdict, run_script
from ackclock.script.report import render


def script(
    files: Annotated[list[Path], typer.Argument(metavar="FILE...", help="Packet scripts, or folders of them.")],
    profile: Annotated[str, typer.Option(help="The stack profile to begin from.")] = "linux-6.x",
    settings: Annotated[
        list[str] | None, typer.Option("--set", metavar="PATH=VALUE", help="Set an option, as tcp.sack=false.")
    ] = None,
    trace: Annotated[bool, typer.Option("--trace", "-t", help="Print what happened in each script.")] = False,
) -> None:
    """Run packet scripts, in packetdrill's language, against the simulated TCP endpoint.

    A script may hold Python between %{ and }%: run only scripts that you trust.
    """
    overrides = _overrides(settings or [])
    console = output()
    verdicts: list[Verdict] = []
    unread = 0
    for path in _scripts(files):
        try:
            verdict = run_script(path, profile=profile, overrides=overrides)
        except (ScriptError, ScenarioError, UnicodeDecodeError, OSError) as error:
            unread += 1
            console.print("[bold red]bad [/] ", end="")
            console.print(str(error), markup=False, highlight=False, soft_wrap=True)
            continue
        verdicts.append(verdict)
        console.print(render(verdict, full_trace=trace))
    failed = sum(not verdict.passed for verdict in verdicts)
    if len(verdicts) + unread > 1:
        console.print(f"{len(verdicts) - failed} passed, {failed} failed, {unread} could not be run")
    if unread or failed:
        raise typer.Exit(2 if unread else 1)


def _scripts(files: list[Path]) -> list[Path]:
    scripts: list[Path] = []
    for path in files:
        found = sorted(path.rglob("*.pkt")) if path.is_dir() else [path]
        if not found:
            raise InputError(f"{path} holds no packet script; give a file, or a folder with *.pkt files")
        scripts.extend(found)
    return scripts


def _overrides(settings: list[str]) -> dict[str, str]:
    pairs = [setting.split("=", 1) for setting in settings]
    wrong = [pair[0] for pair in pairs if len(pair) == 1]
    if wrong:
        raise InputError(f"--set {wrong[0]} has no value; write --set {wrong[0]}=VALUE")
    return {key: value for key, value in pairs}
