"""HTML pages with one common head, style and colour scheme, light and dark, wide and narrow.

Text is escaped unless marked as HTML (`| safe`).
"""

import base64
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.figure import Figure

from ackclock.base import extras

FOLDER = Path(__file__).parent


def render(template: str | Path, **values: Any) -> str:  # noqa: ANN401  whatever a template takes
    """Return a page.

    Args:
        template: The name of a template of this folder, or the path of another one, which may extend those.
        values: The values that the template shows.
    """
    extras.require("report")
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    file = FOLDER / template
    loader = FileSystemLoader([file.parent, FOLDER])
    environment = Environment(
        loader=loader, autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    page: str = environment.get_template(file.name).render(**values)
    return page


def picture(name: str, caption: str, content: bytes, form: str) -> dict[str, str]:
    """Return the data for `picture` in `parts.html`.

    Args:
        name: Name of the figure, also its anchor in the page.
        caption: Caption below it.
        content: Content of the file.
        form: `svg` or `png`.
    """
    kind = "svg+xml" if form == "svg" else form
    return {"name": name, "caption": caption, "form": kind, "content": base64.b64encode(content).decode("ascii")}


def written_picture(name: str, caption: str, figure: "Figure", folder: Path) -> dict[str, str]:
    """Write a page-wide figure as SVG and PNG, and return the data for the page."""
    from ackclock.plotting.figures import encode
    from ackclock.plotting.figures.theme import PAGE

    pixels = encode(figure, "png", style=PAGE, dpi=160)
    (folder / f"{name}.svg").write_bytes(encode(figure, "svg", style=PAGE))
    (folder / f"{name}.png").write_bytes(pixels)
    return picture(name, caption, pixels, "png")
