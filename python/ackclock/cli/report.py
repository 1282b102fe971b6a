"""`ackclock report` and `ackclock compare`: reading result folders; nothing is simulated."""

from pathlib import Path
from typing import Annotated

import typer

from ackclock import storage
from ackclock.cli.failures import InputError
from ackclock.cli.progress import busy
from ackclock.results import Results

_Folders = Annotated[
    list[Path], typer.Argument(metavar="DIR...", help="Folders that `run -o` wrote.", show_default=False)
]


def report(
    folders: _Folders,
    output: Annotated[Path, typer.Option("-o", "--output", metavar="FILE.html", help="The page to write.")] = Path(
        "report.html"
    ),
    static: Annotated[
        Path | None,
        typer.Option(
            "--static", metavar="DIR", help="Folder for the figures as SVG and PNG; by default beside the page."
        ),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Also overwrite files that ackclock did not write.")] = False,
) -> None:
    """Make one self-contained HTML page of result folders, with interactive plots.

    A page and figures of an earlier report are replaced.
    """
    if output.is_dir():
        raise InputError(f"{output} is a folder; give the name of the page, such as {output / 'report.html'}")
    storage.check_file(output, force=force)
    results = _load(folders)
    from ackclock.report import write_report

    with busy(f"drawing {output}"):
        write_report(results, output, static, force=force)
    print(output)


def compare(folders: _Folders) -> None:
    """Print the results of several folders side by side."""
    if len(folders) < 2:
        raise InputError("compare needs at least two result folders")
    from ackclock.report import compare as print_comparison

    print_comparison(_load(folders))


def _load(folders: list[Path]) -> list[Results]:
    try:
        with busy(f"reading {', '.join(map(str, folders))}"):
            return [Results.load(folder) for folder in folders]
    except (FileNotFoundError, ValueError) as error:
        raise InputError(str(error)) from error
