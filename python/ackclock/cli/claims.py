"""`ackclock claims`: published claims beside simulated results."""

import json
import warnings
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any

import typer

from ackclock.base import extras, input_files, storage
from ackclock.cli.answers import is_asked, put
from ackclock.cli.failures import InputError, errors
from ackclock.cli.new import new
from ackclock.cli.places import kernel_of
from ackclock.cli.progress import simulations_progress
from ackclock.cli.table_output import print_list
from ackclock.plotting.terminal import name, output

_FOLDER = Path("out/claims")


def claims(
    ids: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[ID...]",
            help="Claims by id, prefix or folder name; `all`; the path of your folder, such as ./mine; or "
            "`new DIR` to create one (default: list the folders).",
        ),
    ] = None,
    full: Annotated[
        bool,
        typer.Option("--full", help="Run every combination of unspecified settings, and the costly studies."),
    ] = False,
    seeds: Annotated[
        int | None,
        typer.Option(min=1, max=1_000_000, metavar="N", help="Use at most N seeds per claim (default: all listed)."),
    ] = None,
    settle: Annotated[
        bool,
        typer.Option(
            "--settle",
            help="Begin with three seeds and add more, up to all or N, until each interval is at "
            "most a third of its claim's tolerance.",
        ),
    ] = False,
    choices: Annotated[
        list[str] | None,
        typer.Option(
            "--choice",
            metavar="NAME=OPTION",
            help="Judge one reading: use only this option of a choice, or only seeds such as seed=4..6. Repeatable.",
        ),
    ] = None,
    kept: Annotated[
        Path | None,
        typer.Option("--keep", metavar="DIR", help="Cache results in this folder and reuse them."),
    ] = None,
    own: Annotated[
        list[Path] | None,
        typer.Option(
            "--folder", metavar="DIR", help="Add your own folder of claims, like a path argument. Repeatable."
        ),
    ] = None,
    on: Annotated[
        str,
        typer.Option(
            "--on",
            metavar="PLACE",
            help="Make runs on the kernel on this one, in real time; or on linux or linux:NAME, a kernel of ackclock "
            "linux build in virtual time.",
        ),
    ] = "kernel",
    folder: Annotated[
        Path,
        typer.Option(
            "-o",
            "--output",
            metavar="DIR",
            help="Write page, figures and claims.json to this folder, replacing earlier ones.",
        ),
    ] = _FOLDER,
) -> None:
    """Check published claims by simulation."""
    has_options = full or seeds is not None or settle or choices or kept or on != "kernel" or folder != _FOLDER
    if ids and ids[0] == "new":
        _begin(ids, bool(has_options or is_asked() or own))
        return
    if not ids and not own:
        if has_options:
            raise InputError("these options judge claims; name some, such as O2a, or `ackclock claims all`")
        _list()
        return
    extras.require("report")
    place = kernel_of(on, "kernel")
    from ackclock.claims import claims_page, ledger, load_folders, locations, reasons
    from ackclock.claims.folder import load_folder, select
    from ackclock.claims.readings import read_as
    from ackclock.claims.run_store import held

    paths = [*(own or ()), *(Path(word) for word in ids or () if _is_path(word))]
    own_folders = dict.fromkeys(_checked(path) for path in paths)
    folders = [load_folder(path) for path in own_folders] if paths else load_folders()
    _check_distinct(folders)
    names = [word for word in ids or () if not _is_path(word)]
    try:
        chosen = read_as(select(folders, [] if "all" in names else names), _chosen(choices or ()))
    except LookupError as error:
        said = str(error.args[0]), "" if paths else locations.remedy()
        raise InputError("; ".join(filter(None, said))) from error
    storage.check_folder(folder, kind=storage.CLAIMS, renews=True)
    recorded = {claim: verdict for source in folders for claim, verdict in source.recorded.items() if not choices}
    warnings.showwarning = _say_warning  # type: ignore[assignment]  # it takes the rest together
    with held(kept), simulations_progress("claims") as on_done:
        laboratory = ledger.Laboratory(full=full, seeds=seeds, settle=settle, kept=kept, on_done=on_done, on=place)
        findings = ledger.judge(chosen, laboratory, recorded)
        if full:
            every = (claim for source in folders for claim in source.claims)
            on_record = {claim.id: claim.on_record for claim in every if claim.on_record is not None}
            findings = reasons.renewed(findings, on_record)
    claims_page.write(folder, folders, findings, laboratory, full=full)
    if is_asked():
        put(json.dumps(claims_page.as_json(findings, full=full), indent=2, ensure_ascii=False) + "\n")
    else:
        _print(findings, folder)
        if "all" in names and (remedy := locations.remedy()):
            errors().print(name(remedy), style="yellow", soft_wrap=True)


def _begin(words: list[str], has_options: bool) -> None:
    """Write a folder of claims for `claims new DIR`."""
    if has_options:
        raise InputError("`ackclock claims new DIR` writes a folder and takes no option; leave them out")
    if len(words) != 2:
        raise InputError("`ackclock claims new DIR` begins one folder of claims; name it, such as ./mine")
    new("claims", Path(words[1]).resolve().name, None, Path(words[1]))


def _list() -> None:
    """Print the known folders of claims."""
    from ackclock.claims import file_checks, locations

    listed = {folder: input_files.toml(folder / file_checks.FILE, remedy="restore it") for folder in locations.found()}
    rows = [(folder.name, len(table["claim"]), table["title"]) for folder, table in listed.items()]
    if is_asked():
        keys = ("folder", "claims", "source")
        put(json.dumps([dict(zip(keys, row, strict=True)) for row in rows], indent=2, ensure_ascii=False) + "\n")
        return
    print_list(("folder", "claims", "source"), ((folder, str(count), title) for folder, count, title in rows))
    if remedy := locations.remedy():
        output().print(name(remedy), style="yellow", soft_wrap=True)
    print("judge one with `ackclock claims FOLDER`, or all with `ackclock claims all`")


def _say_warning(message: Warning | str, *_where: object) -> None:
    errors().print(name(f"warning: {message}"), style="yellow")


def _chosen(texts: Iterable[str]) -> dict[str, str]:
    """Return the selected option of each choice."""
    wrong = next((text for text in texts if "=" not in text), None)
    if wrong is not None:
        raise InputError(f'--choice {wrong} names no option; write it like --choice "queue=DropTail, 1 BDP"')
    return {choice.strip(): option.strip() for choice, _, option in (text.partition("=") for text in texts)}


def _is_path(word: str) -> bool:
    """Return whether a word is a path rather than an id: it has a slash, or is `.`."""
    return "/" in word or word in (".", "..")


def _checked(path: Path) -> Path:
    if not (path / "claims.toml").is_file():
        raise InputError(f"{path} has no claims.toml; `ackclock claims new {path}` writes a folder that has one")
    return path.resolve()


def _check_distinct(folders: list[Any]) -> None:
    """Refuse claims with the same id in two folders, since verdicts and links on the page use ids."""
    seen: dict[str, Path] = {}
    for folder in folders:
        for claim in folder.claims:
            if claim.id in seen:
                one, other = seen[claim.id], folder.path
                raise InputError(f"claim {claim.id} is in {one} and in {other}; judge each folder in a separate call")
            seen[claim.id] = folder.path


def _print(findings: list[Any], folder: Path) -> None:
    _print_counts(findings)
    _print_overview(findings)
    _print_notes(findings)
    print(f"page, figures and claims.json in {folder}; open {folder / 'index.html'}")


def _print_overview(findings: list[Any]) -> None:
    """Print a row for each claim, its verdict first: at 80 columns, too, all of it stands side by side."""
    from ackclock.claims.claims_page import overview

    rows = [
        {
            **{key: str(value) for key, value in row.items()},
            "measured": " ".join(part for part in (row["measured"], row["spread"], row["unit"]) if part),
            "choices\nagreeing": row["choices"] if finding.tried > 1 else "",
        }
        for finding, row in zip(findings, overview(findings).rows, strict=True)
    ]
    heads = ("claim", "verdict", "choices\nagreeing", "measured", "paper", "quantity", "from")
    shown = [head for head in heads if any(row[head] for row in rows)]
    print_list(shown, ([row[head] for head in shown] for row in rows))
    output().print()


def _print_notes(findings: list[Any]) -> None:
    from ackclock.claims.ledger import decisive
    from ackclock.claims.words import more, reason

    console = output()
    for finding in findings:
        if finding.agreeing < finding.tried:
            where = _WHERE.get(decisive(finding).verdict, "depends on choices that the source leaves open")
            why = reason(finding) or "no reason found yet"
            console.print(name(f"{finding.claim.id} {where}: {why}"), soft_wrap=True)
        if more(finding):
            console.print(name(f"{finding.claim.id}: {more(finding)}"), soft_wrap=True)
        if finding.recorded not in (None, decisive(finding).verdict):
            console.print(name(f"{finding.claim.id}: verdicts.toml has {finding.recorded}"), style="bold red")
    console.print()


_MOST_IDS = 8
"""Number of claims of one record that are named."""


def _listed(ids: list[str]) -> str:
    """Return ids in a row; of many, the first ones, the number of all, and what lists them."""
    if len(ids) <= _MOST_IDS:
        return ", ".join(ids)
    named = _MOST_IDS // 2
    return f"{len(ids)} claims ({', '.join(ids[:named])}, and {len(ids) - named} more; --json lists them)"


_WHERE = {"differs": "differs", "undecided": "is undecided"}
"""Words for verdicts that precede a reason."""


def _print_counts(findings: list[Any]) -> None:
    """Print the counts of verdicts, and what they rest on."""
    from ackclock.claims.words import chance, counts, record

    console = output()
    regions = dict.fromkeys(str(finding.region) for finding in findings if finding.region)
    for line in (*counts(findings), *regions, chance(findings)):
        if line:
            console.print(name(line), soft_wrap=True)
    records: dict[str, list[str]] = {}
    for finding in findings:
        records.setdefault(record(finding), []).append(finding.claim.id)
    for said, ids in records.items():
        if said:
            console.print(name(f"{_listed(ids)}: {said}"), style="yellow", soft_wrap=True)
    console.print()
