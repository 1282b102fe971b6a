"""Builds the site into target/site/html: `make site`.

    python docs/site/build.py [--without-rust]

The documents are staged with links that lead somewhere; lessons, gallery and catalogue are run and drawn by the engine;
the reference of Python is read from the sources, that of the crates is Cargo's. Then Zensical makes pages of it, and
every link of them is followed.
"""

import argparse
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

import api  # noqa: E402 - beside this file, as those that follow
import catalogue  # noqa: E402
import gallery  # noqa: E402
import lessons  # noqa: E402
import links  # noqa: E402
from stage import PROJECT, ROOT, Stage, in_groups, in_order, title  # noqa: E402

from ackclock import dumbbell  # noqa: E402
from ackclock.cli.studio_server import link  # noqa: E402

TARGET = ROOT / "target" / "site"
HTML = TARGET / "html"
STUDIO = ROOT / "studio" / "dist"
RUST = ROOT / "target" / "doc"

Nav = list[dict[str, Any]]


def main() -> int:
    """Build the site, and say where it is."""
    options = _options()
    begun = time.monotonic()
    staged = TARGET / "stage"
    shutil.rmtree(staged, ignore_errors=True)
    stage = Stage(staged / "docs")
    stage.add_documents()
    has_studio = _add_studio(stage)
    catalogue.add(stage, TARGET / "pictures")
    lessons.add(stage)
    gallery.add(stage, TARGET / "pictures" / "gallery")
    if has_studio:
        _link_lessons(stage)
    api.add(stage, with_rust=not options.without_rust)
    shutil.copy(HERE / "site.css", stage.folder / "site.css")
    _said("pages are staged", begun)
    _copy_sources(staged)
    _write_settings(staged, navigation(stage.folder))
    _zensical(staged)
    if not options.without_rust:
        _copy_rust()
    if has_studio:
        shutil.copytree(STUDIO, HTML / "studio")
    wrong = links.mistakes(HTML, left_out=("rust", "studio"))
    print("\n".join(wrong))
    _said(f"{sum(1 for _ in HTML.rglob('*.html'))} pages are in {HTML.relative_to(ROOT)}", begun)
    return 1 if wrong else 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Build the site into target/site/html.")
    parser.add_argument("--without-rust", action="store_true", help="leave the reference of the crates out")
    return parser.parse_args()


def navigation(folder: Path) -> Nav:
    """Return the sections of the site with their pages.

    Args:
        folder: Folder of the staged pages.
    """

    def named(pages: Iterable[str]) -> Nav:
        return [{title((folder / page).read_text(encoding="utf-8")): page} for page in pages]

    def pages(section: str, first: str | None = None) -> Nav:
        found = named(page for page in in_order(folder, section) if page != first)
        return [*([{"Overview": first}] if first else []), *found]

    def grouped(section: str) -> Nav:
        groups = in_groups(folder, section)
        return [*({group: named(found)} for group, found in groups.items() if group), *named(groups.get("", []))]

    project: Nav = [{title((folder / page).read_text()): page} for page in PROJECT.values()]
    return [
        {"Home": "README.md"},
        {"Tutorial": pages("tutorial")},
        {"Lessons": pages("lessons", "lessons/README.md")},
        {"How-to": grouped("how-to")},
        {"Reference": pages("reference")},
        {"Controllers": pages("controllers", "controllers/index.md")},
        {"Queues": pages("queues", "queues/index.md")},
        {"API": pages("api", "api/index.md")},
        {"Gallery": pages("gallery", "gallery/README.md")},
        {"Explanation": [*grouped("explanation"), {"Project": project}]},
    ]


def _copy_sources(staged: Path) -> None:
    """Put the package's sources beside the pages, without the compiled core: the stub says more than that does."""
    left_out = shutil.ignore_patterns("*.so", "__pycache__", "folders", "scenarios", "*.html", "*.css")
    shutil.copytree(ROOT / "python" / "ackclock", staged / "python" / "ackclock", ignore=left_out)


def _write_settings(staged: Path, nav: Nav) -> None:
    settings = (HERE / "zensical.toml").read_text(encoding="utf-8")
    head, rest = re.split(r"(?=\n\[project\.theme\]\n)", settings, maxsplit=1)
    (staged / "zensical.toml").write_text(f"{head}nav = {_toml(nav)}\n{rest}", encoding="utf-8")


def _toml(value: Any) -> str:
    """A value of lists, tables and texts as TOML on one line."""
    if isinstance(value, list):
        return "[" + ", ".join(map(_toml, value)) + "]"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_toml(key)} = {_toml(inner)}" for key, inner in value.items()) + "}"
    escaped = str(value).replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def _zensical(staged: Path) -> None:
    command = [Path(sys.executable).with_name("zensical"), "build", "--clean", "--strict"]
    done = subprocess.run(command, cwd=staged, check=False)
    if done.returncode:
        raise SystemExit(f"Zensical could not build the pages in {staged / 'docs'}; what it says of them is above")
    shutil.rmtree(HTML, ignore_errors=True)
    (staged / "html").rename(HTML)


def _add_studio(stage: Stage) -> bool:
    """Lead to the studio from its page and from the first one, if it has been built."""
    if not (STUDIO / "index.html").exists():
        print("the studio is not on the site, as studio/dist is missing; make studio builds it")
        return False
    picture = "![The studio: a path with two flows, their windows, queue and packets](images/studio.png)"
    shown = f'<a href="studio/index.html" markdown>{picture}</a>\n\n'
    for page, place, more in (("README.md", "studio/", shown), ("how-to/studio.md", "../studio/", "")):
        file = stage.folder / page
        head, _, rest = file.read_text(encoding="utf-8").partition("\n\n")
        link = f'<a class="md-button md-button--primary" href="{place}index.html">Open the studio in this browser</a>'
        file.write_text(f"{head}\n\n{link}\n\n{more}{rest}", encoding="utf-8")
    return True


def _link_lessons(stage: Stage) -> None:
    """Open the path of each lesson in the studio."""
    for stem, path in lessons.PATHS.items():
        file = stage.folder / "lessons" / f"{stem}.md"
        head, _, rest = file.read_text(encoding="utf-8").partition("\n\n")
        text = dumbbell(**path).to_json()
        address = link("../studio/index.html", {"text": text, "files": {}})
        button = f'<a class="md-button" href="{address}">Open its path in the studio</a>'
        file.write_text(f"{head}\n\n{button}\n\n{rest}", encoding="utf-8")


def _copy_rust() -> None:
    """Put Cargo's reference beside the pages, without the sources, which are half of it."""
    if not RUST.is_dir():
        raise SystemExit(f"the reference of the crates is not in {RUST}; make docs writes it, or give --without-rust")
    shutil.copytree(RUST, HTML / "rust", ignore=shutil.ignore_patterns("src", ".lock"), dirs_exist_ok=True)


def _said(what: str, begun: float) -> None:
    print(f"{what} ({time.monotonic() - begun:.0f} s)", flush=True)


if __name__ == "__main__":
    sys.exit(main())
