"""Arguments that are result folders: folders of runs, or one folder of a sweep or study."""

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING

from ackclock.cli.failures import InputError
from ackclock.cli.progress import busy

if TYPE_CHECKING:
    from ackclock.experiments.studies.study_folder import Study
    from ackclock.experiments.sweep.sweep_results import Sweep
    from ackclock.results import Results


class Kind(StrEnum):
    """Kind of a result folder."""

    run = "run"
    sweep = "sweep"
    study = "study"


def kind_of(folders: list[Path]) -> Kind:
    """Return the kind of the folders.

    Raises:
        InputError: If one of several is not a run's folder, or a sweep or study is unfinished.
    """
    kinds = [_kind(folder) for folder in folders]
    for folder, kind in zip(folders, kinds, strict=True):
        if kind is not Kind.run and len(folders) > 1:
            raise InputError(f"{folder} is of a {kind}, which is shown by itself; give it alone")
    return kinds[0]


def _kind(folder: Path) -> Kind:
    from ackclock.experiments.studies.study_folder import STUDY

    if not folder.is_dir():
        raise InputError(f"{folder} is not a folder; give one that `ackclock run -o` wrote, or a sweep or study")
    if (folder / STUDY).is_file():
        return Kind.study
    if (folder / "sweep.json").is_file() and not (folder / "summary.json").exists():
        if not (folder / "sweep.parquet").is_file():
            raise InputError(
                f"{folder} is of a sweep or study that has not ended; give its command again, which goes on"
            )
        return Kind.sweep
    return Kind.run


def runs_of(folders: list[Path]) -> "list[Results]":
    """Load folders of runs.

    Raises:
        InputError: If one is not a folder of a run.
    """
    from ackclock.results import Results

    try:
        with busy(f"reading {', '.join(map(str, folders))}"):
            return [Results.load(folder) for folder in folders]
    except (FileNotFoundError, ValueError) as error:
        raise InputError(str(error)) from error


def study_of(folder: Path) -> "Study":
    """Load the folder of a study."""
    from ackclock.experiments.studies.study_folder import load_study

    with busy(f"reading {folder}"):
        return load_study(folder)


def sweep_of(folder: Path) -> "Sweep":
    """Load the folder of a sweep."""
    from ackclock.experiments.sweep.sweep_results import load_sweep

    with busy(f"reading {folder}"):
        return load_sweep(folder)
