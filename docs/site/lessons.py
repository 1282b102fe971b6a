"""Runs the lessons as notebooks, and makes pages of what came of it: `make -f docs/Makefile lessons`.

    python docs/site/lessons.py [NAME...]

`ackclock.lessons.notebooks` makes the notebooks; `notebook_runs` runs them, and judges exercises and solutions.
"""

import argparse
import base64
import hashlib
import json
import os
import sys
import tomllib
from pathlib import Path
from typing import Any

import colab
import nbformat
import notebook_runs
import portraits
from stage import LESSONS, ROOT, Stage

from ackclock import lessons
from ackclock.lessons import notebooks

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
_SHOWING = ("lessons", "plotting")
"""Rooms that decide what a cell shows."""


def ran(name: str) -> Any:
    """Run a lesson, unless it and the engine are as they were when it last ran, and return the notebook.

    Args:
        name: One of `ackclock.lessons.NAMES`.
    """
    text = json.dumps(notebooks.notebook(name, "solved"))
    own = (file for room in _SHOWING for file in sorted((ROOT / "python" / "ackclock" / room).rglob("*.py")))
    parts = [text, portraits.engine(), *(file.read_text(encoding="utf-8") for file in own)]
    key = hashlib.sha256("\n".join(parts).encode()).hexdigest()
    file, known = KEPT / f"{name}.ipynb", KEPT / f"{name}.key"
    if file.exists() and known.exists() and known.read_text() == key:
        return nbformat.read(file, as_version=4)
    notebook = nbformat.reads(text, as_version=4)
    # The kernel finds the package where this process does.
    os.environ["PYTHONPATH"] = os.pathsep.join([str(ROOT / "python"), os.environ.get("PYTHONPATH", "")])
    notebook_runs.run(notebook, ROOT, name)
    KEPT.mkdir(parents=True, exist_ok=True)
    nbformat.write(notebook, file)
    known.write_text(key)
    return notebook


def add(stage: Stage) -> None:
    """Put pages of all lessons into the site, with the notebooks to load.

    Args:
        stage: Where to.
    """
    folder = stage.folder / "lessons"
    for name in lessons.NAMES:
        notebook, stem = ran(name), notebooks.page(name).stem
        (folder / f"{stem}.ipynb").write_text(json.dumps(notebooks.notebook(name), indent=1), encoding="utf-8")
        (folder / f"{stem}-solved.ipynb").write_text(nbformat.writes(notebook), encoding="utf-8")
        stage.write(f"lessons/{stem}.md", _page(stage, name, notebook))


def _page(stage: Stage, name: str, notebook: Any) -> str:
    source, folder = LESSONS / notebooks.page(name).name, stage.folder / "lessons"
    stem = source.stem
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    elsewhere = colab.address(stem, project)
    in_colab = "" if elsewhere is None else f", or [in Colab]({elsewhere})"
    load = (
        f"*As a notebook: [to work in]({stem}.ipynb), or [with solutions and outputs]({stem}-solved.ipynb){in_colab}. "
        f"Everything below was run by the engine that this site was built with.*"
    )
    texts = (stage.rewritten(cell.source, source) for cell in notebooks.cells(name) if cell.kind == "markdown")
    parts = []
    for number, cell in enumerate(notebook.cells):
        if cell.cell_type != "code":
            parts.append(next(texts))
            continue
        if notebook_runs.is_tagged(cell, "install"):
            continue
        shown = f"```python\n{cell.source}\n```\n\n" + "\n\n".join(_outputs(cell, f"{stem}-{number}", folder))
        parts.append(
            '??? success "Solution"\n\n' + _indented(shown) if notebook_runs.is_tagged(cell, "solution") else shown
        )
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
