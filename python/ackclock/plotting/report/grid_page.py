"""Page of a sweep or study: tables and figures, from the data in its folder."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ackclock.base import storage
from ackclock.base.printable import plain
from ackclock.plotting.figures import FORMS, encode
from ackclock.plotting.pages import picture, render
from ackclock.plotting.tables import html

if TYPE_CHECKING:
    from ackclock.experiments.figure_list import Drawn
    from ackclock.experiments.studies.study_folder import Study
    from ackclock.experiments.sweep.sweep_results import Sweep


def write(shown: "Study | Sweep", path: Path, static: Path | None = None, *, force: bool = False) -> None:
    """Write the page, and its figures as PDF, SVG and PNG.

    Args:
        shown: A study or a sweep.
        path: Path of the page.
        static: Folder for the figures; by default `<page>_figures` beside the page.
        force: Also replace files that ackclock did not write.

    Raises:
        ackclock.base.storage.OutputExistsError: If a file that ackclock did not write exists and `force` is not set.
        OSError: If a file cannot be written.
    """
    directory = static or path.with_name(f"{path.stem}_figures")
    drawings = list(shown.figures())
    for file in (path, *(directory / f"{drawn.name}.{form}" for drawn in drawings for form in FORMS)):
        storage.check_file(file, force=force)
    path.parent.mkdir(parents=True, exist_ok=True)
    directory.mkdir(parents=True, exist_ok=True)
    figures = [write_figure(drawn, f"{drawn.caption} {shown.about}.", directory) for drawn in drawings]
    page = page_of(shown, figures, directory.name if directory.parent == path.parent else "")
    storage.write_file(path, page.encode())


def write_figure(drawn: "Drawn", about: str, folder: Path, forms: Sequence[str] = FORMS) -> dict[str, str]:
    """Write a figure's files, and return its entry for the page.

    Args:
        drawn: The figure.
        about: Description of the runs.
        folder: Destination.
        forms: Formats of the files.
    """
    figure = drawn.draw()
    files = {form: encode(figure, form, about) for form in dict.fromkeys(("svg", *forms))}
    for form in forms:
        storage.write_file(folder / f"{drawn.name}.{form}", files[form])
    return picture(drawn.name, drawn.caption, files["svg"], "svg") | {"group": drawn.group}


def page_of(shown: "Study | Sweep", figures: Sequence[dict[str, str]], folder: str, beside: str = "") -> str:
    """Return the page.

    Args:
        shown: A study or a sweep.
        figures: Entries of its figures; those of the first group lead the page.
        folder: Folder of the figure files; empty if it is not beside the page.
        beside: Other contents of the folder, as a sentence.
    """
    differences = getattr(shown, "differences", None)
    groups: dict[str, list[dict[str, str]]] = {}
    for figure in figures:
        groups.setdefault(figure["group"], []).append(figure)
    return render(
        "study.html",
        title=plain(shown.title),
        about=plain(shown.about),
        means=html(shown.table),
        differences=html(differences) if differences is not None and differences.rows else "",
        groups=groups,
        folder=folder,
        beside=beside,
    )
