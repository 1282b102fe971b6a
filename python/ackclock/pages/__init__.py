"""Pages of HTML: one form of head, style and colours for all, light and dark, wide and narrow.

Text is escaped unless it is said to be HTML already (`| safe`).
"""

from typing import Any

from ackclock import extras


def render(template: str, **values: Any) -> str:  # noqa: ANN401  whatever a template takes
    """Return a page.

    Args:
        template: A file of this folder.
        values: What it names.
    """
    extras.require("report")
    from jinja2 import Environment, PackageLoader, StrictUndefined

    loader = PackageLoader("ackclock", "pages")
    environment = Environment(
        loader=loader, autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    page: str = environment.get_template(template).render(**values)
    return page
