"""Puts together what the site is made of: the documents, with links that lead somewhere on the site.

The documents are written to be read in the repository as well. What they link to outside of `docs` becomes a page of
the site: Markdown as it is, and any other file as a page that shows it.
"""

import os
import re
import shutil
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

HERE = Path(__file__).parent
ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
LESSONS = ROOT / "python" / "ackclock" / "lessons" / "pages"
"""The texts of the lessons, pages beside those of `docs/lessons`."""

_LINK = re.compile(r"(\]\()(?!https?:|mailto:|#)([^)#\s]+)(#[^)\s]*)?(\))")
_FENCE = re.compile(r"^(```.*?^```$)", re.MULTILINE | re.DOTALL)
_MORE = re.compile(r"\A(```\w+)[ ,].*$", re.MULTILINE)
"""The words behind a block's language, which tests of these pages read and the site's Markdown does not understand."""

_LANGUAGES = {".py": "python", ".rs": "rust", ".toml": "toml", ".pkt": "text"}
PROJECT = {
    "README.md": "project/readme.md",
    "ARCHITECTURE.md": "project/architecture.md",
    "CONTRIBUTING.md": "project/contributing.md",
    "CHANGELOG.md": "project/changelog.md",
}
"""Pages of the repository's root, and where they are on the site."""
SHOWN = "files/"
"""The folder of the site with a page for each other file that a document links to."""


@dataclass
class Stage:
    """A folder of Markdown that Zensical makes a site of.

    Attributes:
        folder: Where pages are written.
        shown: Files of the repository that pages link to, and that need a page.
    """

    folder: Path
    shown: set[Path] = field(default_factory=set)

    def write(self, page: str, text: str) -> None:
        """Write a page.

        Args:
            page: Its path in the site, with `.md`.
            text: Markdown.
        """
        path = self.folder / page
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")

    def add_documents(self) -> None:
        """Copy `docs` and the pages of the root, and show the files that they link to."""
        left_out = shutil.ignore_patterns("*.md", "*.py", "Makefile", HERE.name)
        shutil.copytree(DOCS, self.folder, dirs_exist_ok=True, ignore=left_out)
        for file in (*sorted(DOCS.rglob("*.md")), *sorted(LESSONS.glob("*.md")), *(ROOT / name for name in PROJECT)):
            self.write(place(file), self.rewritten(file.read_text(encoding="utf-8"), file))
        written: set[Path] = set()
        while waiting := sorted(self.shown - written):  # a page that is shown may link to others
            for file in waiting:
                is_page = file.suffix == ".md"
                self.write(place(file), self.rewritten(file.read_text("utf-8"), file) if is_page else _page_of(file))
            written.update(waiting)

    def rewritten(self, text: str, file: Path) -> str:
        """Return Markdown whose links lead to pages of the site, and whose blocks name a language and no more.

        Args:
            text: Content as it stands in the repository.
            file: Where it stands.
        """
        parts = _FENCE.split(text)
        moved = self._moved(file)
        return "".join(_MORE.sub(r"\1", part) if part.startswith("```") else _LINK.sub(moved, part) for part in parts)

    def _moved(self, file: Path):  # noqa: ANN202 - of a match, a text
        here = Path(place(file)).parent

        def moved(match: re.Match[str]) -> str:
            target = (file.parent / match[2]).resolve()
            if not target.is_file():
                raise SystemExit(f"{file.relative_to(ROOT)} links to {match[2]}, which is not a file; mend the link")
            if place(target).startswith(SHOWN):
                self.shown.add(target)
            return f"{match[1]}{os.path.relpath(place(target), here)}{match[3] or ''}{match[4]}"

        return moved


def place(file: Path) -> str:
    """Return where a file of the repository is on the site.

    Args:
        file: Absolute path of the file.
    """
    if file.is_relative_to(DOCS) and file.suffix != ".py":
        return str(file.relative_to(DOCS))
    if file.is_relative_to(LESSONS):
        return f"lessons/{file.name}"
    inside = str(file.resolve().relative_to(ROOT))
    return PROJECT.get(inside, f"{SHOWN}{inside}.md")


def _page_of(file: Path) -> str:
    language = _LANGUAGES.get(file.suffix, "text")
    text = file.read_text(encoding="utf-8").rstrip()
    return f"# {file.name}\n\n`{file.relative_to(ROOT)}`\n\n```{language}\n{text}\n```\n"


def title(text: str) -> str:
    """Return the heading of a page.

    Args:
        text: Markdown.
    """
    found = re.search(r"^# (.+)$", text, re.MULTILINE)
    if found is None:
        raise SystemExit(f"a page has no heading: {text[:60]!r}; begin it with '# '")
    return found[1].replace("`", "")


def in_order(folder: Path, section: str) -> Iterator[str]:
    """Return the pages of a section in the order in which the home page, or else the section's first page, names them.

    Args:
        folder: Folder of the site's pages.
        section: A folder in it.
    """
    home = (folder / "README.md").read_text(encoding="utf-8")
    first = next((file for name in ("README.md", "index.md") if (file := folder / section / name).exists()), None)
    own = first.read_text(encoding="utf-8") if first else ""
    pages = sorted(str(page.relative_to(folder)) for page in (folder / section).glob("*.md"))

    def place(page: str) -> tuple[int, int, str]:
        in_home, in_own = home.find(f"]({page})"), own.find(f"]({Path(page).name})")
        return (0, in_own, page) if in_own >= 0 else (1, in_home, page) if in_home >= 0 else (2, 0, page)

    yield from sorted(pages, key=place)


def in_groups(folder: Path, section: str) -> dict[str, list[str]]:
    """Return the pages of a section by the third-level heading that the home page lists them under, or "".

    Args:
        folder: Folder of the site's pages.
        section: A folder in it.
    """
    home = (folder / "README.md").read_text(encoding="utf-8")
    groups: dict[str, list[str]] = {}
    listed = {page: home.rfind(f"]({page})") for page in in_order(folder, section)}
    for page, place in sorted(listed.items(), key=lambda item: item[1]):
        above = re.findall(r"^(##+) (.+)$", home[: max(place, 0)], re.MULTILINE)
        heading = above[-1][1] if above and above[-1][0] == "###" else ""
        groups.setdefault(heading, []).append(page)
    return groups
