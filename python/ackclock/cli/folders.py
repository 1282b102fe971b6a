"""Arguments that are result folders: folders of runs, or one folder of a sweep or study."""

from pathlib import Path
from typing import TYPE_CHECKING, Literal

from ackclock.cli.failures import InputError
from ackclock.cli.progress import busy

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ackclock.experiments.studies.study_folder import Study
    from ackclock.experiments.sweep.sweep_results import Sweep
    from ackclock.results import Results


Kind = Literal["run", "sweep", "study"]
"""Kind of a result folder."""


def kind_of(folders: list[Path]) -> Kind:
    """Return the kind of the folders.

    Raises:
        InputError: If one of several is not a run's folder, or a sweep or study is unfinished.
    """
    kinds = [_kind(folder) for folder in folders]
    for folder, kind in zip(folders, kinds, strict=True):
        if kind != "run" and len(folders) > 1:
            raise InputError(f"{folder} is a {kind}, which is shown by itself; give only this folder")
    return kinds[0]


def _kind(folder: Path) -> Kind:
    from ackclock.experiments.studies.study_folder import STUDY

    if not folder.is_dir():
        raise InputError(f"{folder} is not a folder; give one that `ackclock run -o` wrote, or a sweep or study")
    if (folder / STUDY).is_file():
        return "study"
    if (folder / "sweep.json").is_file() and not (folder / "summary.json").exists():
        if not (folder / "sweep.parquet").is_file():
            raise InputError(f"{folder} is an unfinished sweep or study; run its command again to resume it")
        return "sweep"
    return "run"


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


def experiment_of(kind: Kind, folder: Path) -> "Study | Sweep":
    """Read the folder of a sweep or a study."""
    from ackclock.experiments.studies.study_folder import load_study
    from ackclock.experiments.sweep.sweep_results import load_sweep

    with busy(f"reading {folder}"):
        return load_study(folder) if kind == "study" else load_sweep(folder)


def by_axis(option: str, texts: "Sequence[str]") -> dict[str, list[str]]:
    """Return the values that an option such as `--only` names, by axis."""
    found: dict[str, list[str]] = {}
    for text in texts:
        axis, value = pair(option, text, "rtt=100 ms")
        found.setdefault(axis, []).append(value)
    return found


def pair(option: str, text: str, example: str) -> tuple[str, str]:
    """Return the two sides of `NAME=VALUE`.

    Raises:
        InputError: If it is not of that form.
    """
    name, equals, value = text.partition("=")
    if not equals or not name.strip():
        raise InputError(f'{option}: "{text}" has no "="; write it like {option} "{example}"')
    return name.strip(), value.strip()
