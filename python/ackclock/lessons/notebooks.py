"""Notebooks of the lessons: the cells of a page, behind one that installs what they need.

A page is Markdown in `pages`, whose blocks of Python are cells; a block with the tag "solution" is left out of the
notebook to work in (the form of Jupytext).

A notebook for nbgrader has the solutions between its marks, and a locked cell behind each that gives a point (nbgrader
0.9, metadata of schema version 3).
"""

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal

from ackclock.base import storage
from ackclock.base.extras import EXTRAS
from ackclock.base.input_files import InputError
from ackclock.base.version import __version__
from ackclock.lessons import NAMES

PAGES: Final = Path(__file__).parent / "pages"
"""Folder of the lessons' texts."""

Form = Literal["to work in", "solved", "nbgrader"]

_CODE = re.compile(r'^```python(?P<tags> tags=\["solution"\])?\n(?P<code>.*?)^```$', re.MULTILINE | re.DOTALL)
_CHECK = re.compile(r"^lesson\.check\((?P<number>\d+), .*\)$", re.MULTILINE)
_LINK = re.compile(r"\[(?P<text>[^\]]+)\]\((?P<target>(?!https?:)[^)]+)\)")
_ABOVE = "../../../../"
"""Path from `PAGES` to the top of the repository."""

_INSTALL: Final = """\
# Installs what this notebook needs, where it is missing.
import importlib.util
import subprocess
import sys

wheels = {wheels!r}  # a folder or share with wheels, for rooms without a network; None: PyPI
if any(importlib.util.find_spec(name) is None for name in {packages!r}):
    source = ["--no-index", "--find-links", wheels] if wheels else []
    command = [sys.executable, "-m", "pip", "install", "--quiet", *source, "ackclock[lessons]=={version}"]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(done.stderr)"""

_INSTALL_IN_BROWSER: Final = """\
# Installs what this notebook needs into this page.
%pip install -q ackclock[lessons]=={version}"""


@dataclass(frozen=True, slots=True)
class Cell:
    """Cell of a page.

    Attributes:
        source: Text or code.
        kind: One of "markdown", "code" and "solution", which is code, too.
    """

    source: str
    kind: str


def page(name: str) -> Path:
    """Return the file of a lesson's text.

    Args:
        name: One of `ackclock.lessons.NAMES`.
    """
    return PAGES / f"{name.replace('_', '-')}.md"


def title(name: str) -> str:
    """Return the heading of a lesson.

    Args:
        name: One of `ackclock.lessons.NAMES`.
    """
    return page(name).read_text(encoding="utf-8").partition("\n")[0].lstrip("# ")


def cells(name: str) -> Iterator[Cell]:
    """Yield the cells of a lesson, in order.

    Args:
        name: One of `ackclock.lessons.NAMES`.
    """
    text, end = page(name).read_text(encoding="utf-8"), 0
    for found in _CODE.finditer(text):
        yield from _markdown(text[end : found.start()])
        yield Cell(found["code"].rstrip(), "solution" if found["tags"] else "code")
        end = found.end()
    yield from _markdown(text[end:])


def _markdown(text: str) -> Iterator[Cell]:
    if text.strip():
        yield Cell(text.strip(), "markdown")


def notebook(
    name: str, form: Form = "to work in", *, find_links: str | None = None, lite: bool = False
) -> dict[str, Any]:
    """Return a lesson as a notebook, without outputs.

    Args:
        name: One of `ackclock.lessons.NAMES`.
        form: "to work in" leaves solutions out; "nbgrader" is the version that nbgrader makes assignments of.
        find_links: Folder with the wheels that the first cell installs from; None for PyPI.
        lite: The first cell installs into a page of JupyterLite.
    """
    packages = ["ackclock", *EXTRAS["report"][1], *EXTRAS["gym"][1]]
    code = _INSTALL_IN_BROWSER if lite else _INSTALL
    install = Cell(code.format(wheels=find_links, packages=packages, version=__version__), "install")
    head, *rest = cells(name)
    stem = page(name).stem
    if form == "nbgrader":
        made = [entry for cell in rest for entry in _graded(cell, stem)]
    else:
        made = [_entry(cell) for cell in rest if form == "solved" or cell.kind != "solution"]
    made = [_entry(head), _entry(install), *made]
    for place, entry in enumerate(made):
        entry["id"] = f"{stem}-{place}"
        if entry["cell_type"] == "markdown":
            entry["source"] = _LINK.sub(lambda link: _reachable(link, _suffix(form)), entry["source"])
    # JupyterLite's kernel has another name than that of Jupyter.
    kernel = {"name": "python" if lite else "python3", "display_name": "Python 3", "language": "python"}
    return {"cells": made, "metadata": {"kernelspec": kernel}, "nbformat": 4, "nbformat_minor": 5}


def _entry(cell: Cell, **metadata: object) -> dict[str, Any]:
    """Return a cell in the form of Jupyter (nbformat 4.5), without its identity."""
    if cell.kind == "markdown":
        return {"cell_type": "markdown", "metadata": metadata, "source": cell.source}
    tags = {} if cell.kind == "code" else {"tags": [cell.kind]}
    made = {"cell_type": "code", "metadata": tags | metadata, "source": cell.source}
    return made | {"execution_count": None, "outputs": []}


def _graded(cell: Cell, stem: str) -> Iterator[dict[str, Any]]:
    """Yield a cell for nbgrader: an answer and its test in place of a solution, nothing in place of its exercise."""
    check = None if cell.kind == "markdown" else _CHECK.search(cell.source)
    if check is None:
        yield _entry(cell)
    elif cell.kind == "solution":
        both = {"schema_version": 3, "task": False}
        identity = f"{stem}-{check['number']}"
        solution = f"### BEGIN SOLUTION\n{cell.source[: check.start()].rstrip()}\n### END SOLUTION\n{check[0]}"
        answer = both | {"grade_id": identity, "solution": True, "grade": False, "locked": False}
        yield _entry(Cell(solution, "code"), nbgrader=answer)
        test = f"verdict = {check[0]}\nassert verdict, verdict"
        graded = both | {"grade_id": f"{identity}-test", "solution": False, "grade": True, "locked": True, "points": 1}
        yield _entry(Cell(test, "code"), nbgrader=graded)


def _suffix(form: Form) -> str:
    return "-solved" if form == "solved" else ""


def _reachable(link: re.Match[str], suffix: str) -> str:
    """Return a link to a notebook of the same folder, or the name of a page that a notebook does not reach."""
    target = link["target"]
    if target.startswith(_ABOVE):
        return f"{link['text']}, `{target.removeprefix(_ABOVE)}`"
    return f"[{link['text']}]({target.removesuffix('.md')}{suffix}.ipynb)"


def write(
    names: Sequence[str],
    folder: Path,
    form: Form = "to work in",
    *,
    find_links: str | None = None,
    lite: bool = False,
) -> list[Path]:
    """Write notebooks into a folder, created if missing; its other files stay.

    Args:
        names: Names of `ackclock.lessons.NAMES`; if empty, all.
        folder: Destination.
        form: Form, as in `notebook`; the names of solved ones have the suffix `-solved`.
        find_links: Folder with the wheels that the first cells install from; None for PyPI.
        lite: The first cells install into a page of JupyterLite.

    Raises:
        InputError: If a file exists already; then none is written.
        OSError: If the folder cannot be written.
    """
    files = {f"{page(name).stem}{_suffix(form)}.ipynb": name for name in names or NAMES}
    taken = [str(folder / file) for file in files if (folder / file).exists()]
    if taken:
        raise InputError(f"{taken[0]} exists already; name another folder, or remove it")
    made = {file: notebook(name, form, find_links=find_links, lite=lite) for file, name in files.items()}
    return storage.write_files(folder, {file: json.dumps(one, indent=1).encode() for file, one in made.items()})
