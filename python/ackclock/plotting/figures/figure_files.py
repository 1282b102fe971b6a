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

_PNG_DPI = 300


def encode(
    figure: "Figure", form: str, about: str = "", style: Mapping[Any, Any] = PAPER, dpi: int = _PNG_DPI
) -> bytes:
    """Return a figure as the bytes of a file.

    Args:
        figure: Any.
        form: Of `FORMS`.
        about: What was run, which the file says of itself where its form has a place for it.
        style: Of the theme; fonts are those of PDF files and text of SVG files whatever it is.
        dpi: Pixels an inch of a PNG file.

    Raises:
        ValueError: If the form is another.
    """
    import matplotlib as mpl

    if form not in FORMS:
        raise ValueError(unknown("form of figures", form, FORMS))
    content = BytesIO()
    with mpl.rc_context(dict(style)):
        figure.draw_without_rendering()
        figure.set_layout_engine("none")  # where things are is settled once, the same for each form
        figure.savefig(content, format=form, dpi=dpi, metadata=_metadata(form, about))
    return content.getvalue()


def _metadata(form: str, about: str) -> dict[str, Any]:
    """No date, so that the same figure gives the same bytes."""
    if form == "pdf":
        return {"CreationDate": None, "Creator": "ackclock", "Producer": None} | ({"Subject": about} if about else {})
    if form == "svg":
        return {"Date": None, "Creator": "ackclock"} | ({"Description": about} if about else {})
    return {"Software": "ackclock"} | ({"Description": about} if about else {})


def save(figure: "Figure", path: Path, about: str = "", forms: Iterable[str] | None = None) -> list[Path]:
    """Write a figure; a file is there whole or not at all.

    Args:
        figure: Any.
        path: The file, whose suffix is its form; or, with `forms`, its place without a suffix.
        about: As of `encode`.
        forms: Of `FORMS`, to write several.

    Raises:
        ValueError: If a form is none of `FORMS`.
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
