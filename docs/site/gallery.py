"""The gallery: figures with the code that draws them, and pictures of the documents with the commands that draw them.

    python docs/site/gallery.py          # write docs/gallery/README.md

A script of docs/gallery ends with `figures`, a table of figures by their names. The site runs it again only if it, the
engine or the package's figures have changed.
"""

import ast
import fnmatch
import hashlib
import os
import runpy
import sys
import tomllib
from pathlib import Path
from typing import Any

from stage import DOCS, ROOT, Stage

FOLDER = DOCS / "gallery"
_RECORDED = FOLDER / "recorded.toml"
_DRAWING = (
    "plotting/figures/*.py",
    "plotting/plots.py",
    "plotting/result_panels.py",
    "plotting/notebook_figures.py",
    "plotting/completion_times.py",
    "experiments/figure_list.py",
    "experiments/studies/arrangement.py",
    "experiments/studies/study_figures.py",
)
"""Sources of the package that decide how a figure looks."""


def scripts() -> list[Path]:
    """Return the scripts, those of runs before those of plain numbers."""
    return sorted(FOLDER.glob("*.py"), key=lambda file: (file.stem != "a_flow", file.stem))


def told(script: Path) -> tuple[str, str, str]:
    """Return title, text and code of a script.

    Args:
        script: One of docs/gallery.
    """
    source = script.read_text(encoding="utf-8")
    tree = ast.parse(source)
    title, _, text = (ast.get_docstring(tree) or script.stem).partition("\n")
    code = "\n".join(source.splitlines()[tree.body[0].end_lineno :]).strip()
    return title.rstrip("."), text.strip(), code


def entries() -> dict[str, dict[str, str]]:
    """Return command and page of the pictures of docs/images, by name or pattern."""
    found: dict[str, dict[str, str]] = tomllib.loads(_RECORDED.read_text(encoding="utf-8"))["pictures"]
    return found


def recorded() -> list[tuple[str, str, str]]:
    """Return the pictures of docs/images, each with the command that draws it and the page in which it stands."""
    known, found = entries(), []
    for picture in sorted(file.name for file in (DOCS / "images").iterdir()):
        pattern = next((p for p in known if fnmatch.fnmatch(picture, p)), None)
        if pattern is None:
            raise SystemExit(f"docs/images/{picture} is not in {_RECORDED.relative_to(ROOT)}; say there what draws it")
        found.append((picture, known[pattern]["command"], known[pattern]["page"]))
    return found


def page() -> str:
    """Return docs/gallery/README.md: the list, for who reads it in the repository."""
    lines = [
        "# Gallery",
        "Every figure that ackclock draws, with the code that draws it. The site shows each with its code.",
        "## Drawn by a few lines",
    ]
    lines.append(
        "\n".join(f"- [{told(file)[0]}]({file.name}): {' '.join(told(file)[1].split())}" for file in scripts())
    )
    lines += ["## Pictures of these pages", "| picture | drawn by | stands in |\n|---|---|---|"]
    rows = [f"| `{name}` | `{entry['command']}` | [page]({entry['page']}) |" for name, entry in entries().items()]
    lines[-1] += "\n" + "\n".join(rows)
    return "\n\n".join(lines) + "\n"


def add(stage: Stage, kept: Path) -> None:
    """Write a page for each script, and an index of all figures.

    Args:
        stage: Where to.
        kept: Folder of pictures that need not be drawn again.
    """
    cards = []
    for script in scripts():
        files = _drawn(script, kept)
        title, text, code = told(script)
        folder = stage.folder / "gallery"
        folder.mkdir(parents=True, exist_ok=True)
        for file in files:
            (folder / file.name).write_bytes(file.read_bytes())
        shown = "\n\n".join(f"## {_name(file)}\n\n![{title}: {_name(file)}]({file.name})" for file in files)
        stage.write(f"gallery/{script.stem}.md", f"# {title}\n\n{text}\n\n```python\n{code}\n```\n\n{shown}\n")
        for file in files:
            link = f"[![{_name(file)}]({file.name})]({script.stem}.md)"
            cards.append(
                f'<figure markdown="span">{link}<figcaption>{_name(file)}: {title.lower()}</figcaption></figure>'
            )
    head = "# Gallery\n\nEvery figure that ackclock draws. Choose one for the code that draws it."
    rows = [
        f'<figure markdown="span">[![{name}](../images/{name})]({_place(place)})'
        f"<figcaption>{name.removesuffix('.png')}: `{command}`</figcaption></figure>"
        for name, command, place in recorded()
    ]
    grid = '<div class="cards" markdown>\n\n{}\n\n</div>'
    body = [head, grid.format("\n\n".join(cards)), "## Pictures of these pages", grid.format("\n\n".join(rows))]
    stage.write("gallery/README.md", "\n\n".join(body) + "\n")


def _place(page: str) -> str:
    return "../project/readme.md" if page == "../../README.md" else page


def _name(file: Path) -> str:
    return file.stem.partition("--")[2]


def _drawn(script: Path, kept: Path) -> list[Path]:
    """Run a script and save its figures as PNG, unless nothing has changed."""
    import portraits

    package = ROOT / "python" / "ackclock"
    sources = [script, *(file for pattern in _DRAWING for file in sorted(package.glob(pattern)))]
    key = hashlib.sha256(b"".join(file.read_bytes() for file in sources) + portraits.engine().encode()).hexdigest()
    known = kept / f"{script.stem}.key"
    if not (known.exists() and known.read_text() == key):
        kept.mkdir(parents=True, exist_ok=True)
        os.chdir(package)  # where the folder `scenarios` lies
        for old in kept.glob(f"{script.stem}--*.png"):
            old.unlink()
        for name, figure in runpy.run_path(str(script))["figures"].items():
            _save(figure, kept / f"{script.stem}--{name}.png")
        known.write_text(key)
    return sorted(kept.glob(f"{script.stem}--*.png"))


def _save(figure: Any, file: Path) -> None:
    if hasattr(figure, "_repr_png_"):
        file.write_bytes(figure._repr_png_()[0])
        return
    import matplotlib.image

    matplotlib.image.imsave(file, figure)


if __name__ == "__main__":
    (FOLDER / "README.md").write_text(page(), encoding="utf-8")
    sys.exit(0)
