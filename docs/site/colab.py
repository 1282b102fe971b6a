"""Notebooks of the site on Colab: a cell that installs the package, and the address at which Colab opens a notebook.

Colab loads notebooks from public repositories on GitHub alone, and from whichever branch an address names. Those of the
site are on the branch that has its pages.
"""

import re
from collections.abc import Mapping
from typing import Any, Final

INSTALL: Final = """\
# Brings ackclock where it is not installed yet, as on Colab.
import importlib.util

if importlib.util.find_spec("ackclock") is None:
    %pip install --quiet "ackclock[report]"
"""

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
