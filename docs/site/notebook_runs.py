"""Runs notebooks of lessons, and judges what their cells say.

    python docs/site/notebook_runs.py NOTEBOOK...

All cells are run in order, in a kernel of this Python. A learner's cell, in which the answer is missing, must not be
judged right, and its solution must be.
"""

import re
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import nbclient
import nbformat
from traitlets.config import Config

LONGEST_S = 60
"""Most seconds of a cell, so that no lesson makes a learner wait."""

LONGEST_INSTALL_S = 600
"""Most seconds of the cell that installs the package, and of the kernel's start."""

_RIGHT, _WRONG = "Right.", ("Not yet.", "No answer yet.")


def run(notebook: Any, folder: Path, name: str) -> None:
    """Run every cell of a notebook, which gets the outputs.

    Args:
        notebook: Notebook, as nbformat reads it.
        folder: Working directory of its kernel.
        name: Name that messages use.
    """
    begun = time.monotonic()
    where = {"metadata": {"path": str(folder)}}
    with tempfile.TemporaryDirectory() as sockets:
        ipc = {"transport": "ipc", "ip": f"{sockets}/kernel"}
        settings = Config({"KernelManager": {} if sys.platform == "win32" else ipc})
        times = {"timeout_func": longest_s, "startup_timeout": LONGEST_INSTALL_S}
        nbclient.NotebookClient(notebook, resources=where, config=settings, **times).execute()
    wrong = list(_misjudged(notebook))
    if wrong:
        raise SystemExit(f"{name}: {'; '.join(wrong)}")
    print(f"{name}: {len(notebook.cells)} cells in {time.monotonic() - begun:.0f} s", flush=True)


def _misjudged(notebook: Any) -> Iterator[str]:
    for cell in notebook.cells:
        said = "".join(out.get("data", {}).get("text/plain", "") for out in cell.get("outputs", []))
        call = re.search(r"lesson\.check\((\d+)", cell.source)
        if cell.cell_type != "code" or call is None:
            continue
        if is_tagged(cell, "solution") and not said.startswith(_RIGHT):
            yield f"the solution of exercise {call[1]} is judged: {said}"
        if not is_tagged(cell, "solution") and not said.startswith(_WRONG):
            yield f"exercise {call[1]} without an answer is judged: {said}"


def longest_s(cell: Any) -> int:
    """Return the most seconds that a cell may take.

    Args:
        cell: Cell of a notebook.
    """
    return LONGEST_INSTALL_S if is_tagged(cell, "install") else LONGEST_S


def is_tagged(cell: Any, tag: str) -> bool:
    """Say whether a cell has a tag.

    Args:
        cell: Cell of a notebook.
        tag: "solution" or "install".
    """
    return tag in cell.get("metadata", {}).get("tags", [])


def main() -> None:
    """Run the notebooks that are named, each in its own folder."""
    for file in map(Path, sys.argv[1:]):
        run(nbformat.read(file, as_version=4), file.resolve().parent, file.name)


if __name__ == "__main__":
    main()
