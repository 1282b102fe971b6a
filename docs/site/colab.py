"""The address at which Colab opens a notebook of the site.

Colab loads notebooks from public repositories on GitHub alone, and from whichever branch an address names. Those of the
site are on the branch that has its pages.
"""

import re
from collections.abc import Mapping
from typing import Any, Final

PAGES: Final = "gh-pages"
"""The branch of the repository that has what `make site` makes."""

_REPOSITORY: Final = re.compile(r"https://github\.com/([\w.-]+/[\w.-]+?)(?:\.git)?/?")


def address(stem: str, project: Mapping[str, Any]) -> str | None:
    """Return where Colab opens a lesson; None while the project has no address on GitHub.

    Args:
        stem: Stem of the lesson's file names.
        project: `[project]` of pyproject.toml.
    """
    for url in project.get("urls", {}).values():
        if found := _REPOSITORY.fullmatch(url):
            return f"https://colab.research.google.com/github/{found[1]}/blob/{PAGES}/lessons/{stem}.ipynb"
    return None
