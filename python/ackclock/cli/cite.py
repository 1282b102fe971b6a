"""`ackclock cite`: a BibTeX entry, and a paragraph on how results were made."""

from pathlib import Path
from typing import Annotated

import typer

from ackclock.base.version import __version__
from ackclock.cli.answers import answer
from ackclock.cli.failures import InputError
from ackclock.cli.folders import experiment_of, kind_of, runs_of


def cite(
    folder: Annotated[
        Path | None, typer.Argument(metavar="[DIR]", help="Folder of a run or a study.", show_default=False)
    ] = None,
) -> None:
    """Print a BibTeX entry and, for a run or study, a paragraph on how it was made."""
    from ackclock.experiments import methods
    from ackclock.experiments.studies.study_folder import Study

    version, text = __version__, ""
    kind = None if folder is None else kind_of([folder])
    if folder is not None and kind == "run":
        run = runs_of([folder])[0]
        version, text = run.manifest["versions"]["ackclock"], methods.of_run(run)
    elif folder is not None and kind is not None:
        made = experiment_of(kind, folder)
        if not isinstance(made, Study):
            raise InputError(f"{folder} has a sweep; name the folder of a run or a study")
        version, text = made.version, methods.of_study(made)
    entry = methods.bibtex(version)
    answer(bibtex=entry, methods=text)
    print("\n\n".join(part for part in (entry, text) if part))
