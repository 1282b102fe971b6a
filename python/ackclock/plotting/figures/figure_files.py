"""Figures as files: PDF, SVG and PNG, the same bytes for the same figure."""

from collections.abc import Iterable, Mapping
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from ackclock.base import storage
from ackclock.base.printable import unknown
from ackclock.plotting.figures.theme import PAPER

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FORMS: Final = ("pdf", "svg", "png")
"""Formats in which a study has each figure."""

EVERY_FORM: Final = (*FORMS, "tex")
"""All formats; tex is code of pgfplots."""

_PNG_DPI = 300


def encode(
    figure: "Figure", form: str, about: str = "", style: Mapping[Any, Any] = PAPER, dpi: int = _PNG_DPI
) -> bytes:
    """Encode a figure as a file.

    Args:
        figure: The figure.
        form: Format, one of `EVERY_FORM`.
        about: Description of the runs, stored as metadata where the format allows it.
        style: Settings of the theme; fonts are always those for PDF files, and text stays text in SVG files.
        dpi: Resolution of a PNG file, pixels per inch.

    Raises:
        ValueError: If the format is unknown, or has no form for the figure.
    """
    import matplotlib as mpl

    if form not in EVERY_FORM:
        raise ValueError(unknown("form of figures", form, EVERY_FORM))
    if form == "tex":
        from ackclock.plotting.figures.pgfplots import pgfplots

        return (storage.TEX_MARK + pgfplots(figure, about)).encode()
    content = BytesIO()
    with mpl.rc_context(dict(style)):
        figure.draw_without_rendering()
        figure.set_layout_engine("none")  # where things are is settled once, the same for each form
        figure.savefig(content, format=form, dpi=dpi, metadata=_metadata(form, about))
    return content.getvalue()


def _metadata(form: str, about: str) -> dict[str, Any]:
    """Return metadata without a date, so that the same figure gives the same bytes."""
    if form == "pdf":
        return {"CreationDate": None, "Creator": "ackclock", "Producer": None} | ({"Subject": about} if about else {})
    if form == "svg":
        return {"Date": None, "Creator": "ackclock"} | ({"Description": about} if about else {})
    return {"Software": "ackclock"} | ({"Description": about} if about else {})


def save(figure: "Figure", path: Path, about: str = "", forms: Iterable[str] | None = None) -> list[Path]:
    """Write a figure to one or more files, each atomically.

    Args:
        figure: The figure.
        path: The file, whose suffix is its format; or, with `forms`, its path without a suffix.
        about: Description of the runs; see `encode`.
        forms: Formats of `EVERY_FORM`, to write several files.

    Raises:
        ValueError: If a format is unknown.
        OSError: If a file cannot be written.
    """
    if forms is None:
        wanted = {path: path.suffix.removeprefix(".").lower()}
    else:
        wanted = {path.with_name(f"{path.name}.{form}"): form for form in forms}
    path.parent.mkdir(parents=True, exist_ok=True)
    for file, form in wanted.items():
        storage.write_file(file, encode(figure, form, about))
    return list(wanted)
