"""Runs the lessons as notebooks, and makes pages of what came of it: `make -f docs/Makefile lessons`.

    python docs/site/lessons.py [NAME...]

A lesson is Markdown in docs/lessons whose blocks of Python are cells (Jupytext's form); a cell with the tag "solution"
is left out of the notebook that learners get. All cells are run in order, in a kernel of their own: a learner's cell,
in which the answer is missing, must not be judged right, and its solution must be.
"""

import argparse
import base64
import copy
import hashlib
import os
import re
import sys
import time
import tomllib
from pathlib import Path
from typing import Any

import colab
import jupytext
import nbclient
import nbformat
import portraits
from stage import DOCS, ROOT, Stage
from traitlets.config import Config

from ackclock import lessons

LONGEST_S = 60
"""A lesson may run for so long."""

PATHS: dict[str, dict[str, Any]] = {
    "sawtooth": {"bottleneck": "20 Mbit/s", "rtt": "60 ms", "queue": "1 bdp", "flows": "reno", "duration": "60 s"},
    "rtt-fairness": {
        "bottleneck": "20 Mbit/s",
        "rtt": "10 ms",
        "flows": [
            {"name": "near", "controller": "reno", "rtt": "25 ms"},
            {"name": "far", "controller": "reno", "rtt": "100 ms"},
        ],
        "duration": "60 s",
    },
    "bufferbloat": {
        "bottleneck": "10 Mbit/s",
        "rtt": "40 ms",
        "queue": "10 bdp",
        "flows": "cubic*2",
        "duration": "60 s",
    },
    "cubic-and-bbr": {
        "bottleneck": "20 Mbit/s",
        "rtt": "40 ms",
        "queue": "4 bdp",
        "flows": "cubic,bbr",
        "duration": "60 s",
    },
    "vegas": {"bottleneck": "10 Mbit/s", "rtt": "40 ms", "queue": "2 bdp", "flows": "vegas,reno", "duration": "60 s"},
}
"""The path of each lesson that opens in the studio; the last lesson trains, which the studio cannot."""

KEPT = ROOT / "target" / "site" / "lessons"
_SHOWING = ("notebook", "sparks", "plots", "panels")
"""Modules that decide what a cell shows."""

_SOLUTION = "solution"
_RIGHT, _WRONG = "Right.", ("Not yet.", "No answer yet.")


def source(name: str) -> Path:
    """Return the file of a lesson.

    Args:
        name: One of `ackclock.lessons.NAMES`.
    """
    return DOCS / "lessons" / f"{name.replace('_', '-')}.md"


def ran(name: str) -> Any:
    """Run a lesson, unless it and the engine are as they were when it last ran, and return the notebook.

    Args:
        name: One of `ackclock.lessons.NAMES`.
    """
    text = source(name).read_text(encoding="utf-8")
    package = ROOT / "python" / "ackclock"
    own = [*sorted((package / "lessons").glob("*.py")), *(package / f"{module}.py" for module in _SHOWING)]
    parts = [text, portraits.engine(), *(file.read_text(encoding="utf-8") for file in own)]
    key = hashlib.sha256("\n".join(parts).encode()).hexdigest()
    file, known = KEPT / f"{name}.ipynb", KEPT / f"{name}.key"
    if file.exists() and known.exists() and known.read_text() == key:
        return nbformat.read(file, as_version=4)
    notebook = _run(jupytext.reads(text, fmt="md"), name)
    KEPT.mkdir(parents=True, exist_ok=True)
    nbformat.write(notebook, file)
    known.write_text(key)
    return notebook


def _run(notebook: Any, name: str) -> Any:
    """Run every cell; the kernel finds the package where this process does."""
    os.environ["PYTHONPATH"] = os.pathsep.join([str(ROOT / "python"), os.environ.get("PYTHONPATH", "")])
    begun = time.monotonic()
    settings = Config({"KernelManager": {"transport": "ipc"}})  # nobody else on the machine hears it
    where = {"metadata": {"path": str(ROOT)}}
    client = nbclient.NotebookClient(notebook, timeout=LONGEST_S, resources=where, config=settings)
    client.execute()
    wrong = _misjudged(notebook)
    if wrong:
        raise SystemExit(f"{source(name).name}: {'; '.join(wrong)}")
    print(f"{name}: {len(notebook.cells)} cells in {time.monotonic() - begun:.0f} s", flush=True)
    return notebook


def _misjudged(notebook: Any) -> list[str]:
    found = []
    for cell in notebook.cells:
        said = "".join(out.get("data", {}).get("text/plain", "") for out in cell.get("outputs", []))
        call = re.search(r"lesson\.check\((\d+)", cell.source)
        if cell.cell_type != "code" or call is None:
            continue
        if is_solution(cell) and not said.startswith(_RIGHT):
            found.append(f"the solution of exercise {call[1]} is judged: {said}")
        if not is_solution(cell) and not said.startswith(_WRONG):
            found.append(f"exercise {call[1]} without an answer is judged: {said}")
    return found


def is_solution(cell: Any) -> bool:
    """Say whether a cell is a solution.

    Args:
        cell: Cell of a notebook.
    """
    return _SOLUTION in cell.get("metadata", {}).get("tags", [])


def for_learners(notebook: Any) -> Any:
    """Return a notebook without solutions and outputs, which begins with how to get the package.

    Args:
        notebook: A lesson's.
    """
    made = copy.deepcopy(notebook)
    made.cells = [cell for cell in made.cells if not is_solution(cell)]
    for cell in made.cells:
        if cell.cell_type == "code":
            cell.outputs, cell.execution_count = [], None
    made.cells.insert(1, nbformat.v4.new_code_cell(colab.INSTALL.rstrip()))
    made.metadata = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
    return made


def add(stage: Stage) -> None:
    """Put pages of all lessons into the site, with the notebooks to load.

    Args:
        stage: Where to.
    """
    folder = stage.folder / "lessons"
    for name in lessons.NAMES:
        notebook, stem = ran(name), source(name).stem
        (folder / f"{stem}.ipynb").write_text(nbformat.writes(for_learners(notebook)), encoding="utf-8")
        (folder / f"{stem}-solved.ipynb").write_text(nbformat.writes(notebook), encoding="utf-8")
        stage.write(f"lessons/{stem}.md", _page(notebook, stem, folder))


def _page(notebook: Any, stem: str, folder: Path) -> str:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    elsewhere = colab.address(stem, project)
    in_colab = "" if elsewhere is None else f", or [in Colab]({elsewhere})"
    load = (
        f"*As a notebook: [to work in]({stem}.ipynb), or [with solutions and outputs]({stem}-solved.ipynb){in_colab}. "
        f"Everything below was run by the engine that this site was built with.*"
    )
    parts = []
    for number, cell in enumerate(notebook.cells):
        if cell.cell_type != "code":
            parts.append(cell.source)
            continue
        shown = f"```python\n{cell.source}\n```\n\n" + "\n\n".join(_outputs(cell, f"{stem}-{number}", folder))
        parts.append('??? success "Solution"\n\n' + _indented(shown) if is_solution(cell) else shown)
    head, _, rest = "\n\n".join(parts).partition("\n\n")
    return f"{head}\n\n{load}\n\n{rest}\n"


def _outputs(cell: Any, stem: str, folder: Path) -> list[str]:
    shown = []
    for place, out in enumerate(cell.outputs):
        if out.output_type == "stream":
            shown.append(f"```text\n{out.text.rstrip()}\n```")
            continue
        data = out.get("data", {})
        if "image/png" in data:
            file = f"{stem}-{place}.png"
            (folder / file).write_bytes(base64.b64decode(data["image/png"]))
            width = out.get("metadata", {}).get("image/png", {}).get("width")
            size = f'{{ width="{width}" }}' if width else ""
            shown.append(f"![Figure drawn by the cell above]({file}){size}")
        elif "text/html" in data:
            html = "\n".join(line for line in data["text/html"].splitlines() if line.strip())
            shown.append(f'<div class="output">{html}</div>')
        elif "text/plain" in data:
            shown.append(f"```text\n{data['text/plain']}\n```")
    return shown


def _indented(text: str) -> str:
    return "\n".join(f"    {line}" if line else "" for line in text.splitlines())


def main() -> int:
    """Run the lessons that are named, or all."""
    parser = argparse.ArgumentParser(description="Run the lessons, with their solutions.")
    parser.add_argument("names", nargs="*", default=lessons.NAMES, metavar="NAME", help=", ".join(lessons.NAMES))
    for name in parser.parse_args().names:
        ran(name)
    print(f"notebooks with outputs are in {KEPT.relative_to(ROOT)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
