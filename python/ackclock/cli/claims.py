"""`ackclock claims`: what a source says beside what the simulator measures."""

import json
import sys
import warnings
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table
from rich.text import Text

from ackclock import storage
from ackclock.cli.display import name, output
from ackclock.cli.failures import InputError, errors
from ackclock.cli.progress import simulations_progress
from ackclock.shown import plain

_STYLES = {"agrees": "green", "differs": "bold yellow", "open": "dim"}


def claims(
    ids: Annotated[
        list[str] | None,
        typer.Argument(metavar="[ID...]", help="Claims such as O2a, or a prefix or folder of several. All by default."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print claims.json, and nothing else, on stdout.")] = False,
    full: Annotated[
        bool,
        typer.Option(
            "--full", help="Run every combination of the settings that a source leaves open, and the costly studies."
        ),
    ] = False,
    seeds: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Use at most N seeds for claims that rest on several.")
    ] = None,
    kept: Annotated[
        Path | None,
        typer.Option("--keep", metavar="DIR", help="Cache results in this folder, and reuse what is there."),
    ] = None,
    own: Annotated[
        list[Path] | None,
        typer.Option("--folder", metavar="DIR", help="A folder of claims of your own, instead of those that are here."),
    ] = None,
    folder: Annotated[
        Path,
        typer.Option(
            "-o",
            "--output",
            metavar="DIR",
            help="Folder of page, figures and claims.json; those of an earlier run are replaced.",
        ),
    ] = Path("out/claims"),
) -> None:
    """Simulate the setups of published statements, and compare what they claim with what comes out."""
    from ackclock.claims import ledger, load_folders, page
    from ackclock.claims.folder import load_folder, select
    from ackclock.claims.kept import held

    folders = [load_folder(_checked(path)) for path in own] if own else load_folders()
    try:
        chosen = select(folders, ids or ())
    except LookupError as error:
        raise InputError(str(error.args[0])) from error
    storage.check_folder(folder, kind=storage.CLAIMS, renews=True)
    recorded = {claim: verdict for source in folders for claim, verdict in source.recorded.items()}
    warnings.showwarning = _say_warning  # type: ignore[assignment]  # it takes the rest together
    with held(kept), simulations_progress("claims") as on_done:
        laboratory = ledger.Laboratory(full=full, seeds=seeds, kept=kept, on_done=on_done)
        findings = ledger.judge(chosen, laboratory, recorded)
    page.write(folder, folders, findings, laboratory, full=full)
    if as_json:
        sys.stdout.write(json.dumps(page.as_json(findings, full=full), indent=2, ensure_ascii=False) + "\n")
    else:
        _print(findings, folder)


def _say_warning(message: Warning | str, *_where: object) -> None:
    errors().print(name(f"warning: {message}"), style="yellow")


def _checked(path: Path) -> Path:
    if not (path / "claims.toml").is_file():
        raise InputError(f"{path} has no claims.toml; `ackclock new claims NAME` writes a folder that has one")
    return path.resolve()


def _print(findings: list[Any], folder: Path) -> None:
    from ackclock.claims.page import number

    table = Table(header_style="bold", box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for heading in ("claim", "quantity", "paper", "measured", "unit", "verdict", "choices that agree"):
        table.add_column(heading, justify="right" if heading == "measured" else "left", overflow="fold")
    for finding in findings:
        claim, verdict = finding.claim, f"[{_STYLES[finding.verdict]}]{finding.verdict}[/]"
        values = map(name, (claim.quantity, claim.published, number(finding.measured.value), claim.unit))
        grid = f"{finding.agreeing} of {finding.tried}"
        table.add_row(Text(plain(claim.id), "cyan"), *values, verdict, grid)
    console = output()
    console.print(table)
    _print_notes(findings)
    print(f"page, figures and claims.json in {folder}; open {folder / 'index.html'}")


def _print_notes(findings: list[Any]) -> None:
    console = output()
    console.print()
    for finding in findings:
        if finding.agreeing < finding.tried:
            where = "differs" if finding.verdict == "differs" else "depends on choices that the source leaves open"
            reason = finding.claim.reason or "no reason found yet"
            console.print(name(f"{finding.claim.id} {where}: {reason}"), soft_wrap=True)
        if finding.recorded not in (None, finding.verdict):
            console.print(name(f"{finding.claim.id}: the verdict on record is {finding.recorded}"), style="bold red")
    console.print()
