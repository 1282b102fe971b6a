"""Looks for links of the built site that lead nowhere, what is fetched from elsewhere, and Markdown left as it was."""

import re
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

_FETCHED = {"img": "src", "script": "src", "link": "href", "source": "src"}
_NOT_FETCHED = ("canonical", "next", "prev", "alternate")
_AS_IT_IS = ("pre", "code", "script", "style")
_MARKDOWN = re.compile(r"```|\]\([\w#./]|^\|.*\|\s*$|^\s*[-*] \w|^#{1,4} |\*\*\w", re.MULTILINE)
"""Fences, links, rows, items, headings and emphasis that the site's Markdown has not taken for such."""


class _Page(HTMLParser):
    """Names, links and text of one page."""

    def __init__(self) -> None:
        super().__init__()
        self.names: set[str] = set()
        self.links: list[str] = []
        self.fetched: list[str] = []
        self.text: list[str] = []
        self._depth = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._depth += tag in _AS_IT_IS
        found = dict(attrs)
        self.names.update(value for key in ("id", "name") if (value := found.get(key)))
        if tag == "a" and found.get("href"):
            self.links.append(str(found["href"]))
        if (key := _FETCHED.get(tag)) and found.get(key) and found.get("rel") not in _NOT_FETCHED:
            self.links.append(str(found[key]))
            self.fetched.append(str(found[key]))

    def handle_endtag(self, tag: str) -> None:
        self._depth -= tag in _AS_IT_IS

    def handle_data(self, data: str) -> None:
        if self._depth == 0:
            self.text.append(data)

    def markdown(self) -> list[str]:
        """Places at which Markdown is shown instead of what it stands for."""
        text = "".join(self.text)
        return [text[found.start() : found.start() + 40] for found in _MARKDOWN.finditer(text)]


def mistakes(site: Path, left_out: tuple[str, ...] = ()) -> list[str]:
    """Return a sentence for each link that leads nowhere, and for each piece of Markdown that stands on a page.

    Args:
        site: Folder of the built site.
        left_out: Folders in it whose pages are not looked at; links into them are.
    """
    pages = {file: _read(file) for file in site.rglob("*.html") if file.relative_to(site).parts[0] not in left_out}
    found = []
    for file, page in pages.items():
        here = file.relative_to(site)
        found += [f"{here} shows Markdown: {piece!r}" for piece in page.markdown()]
        found += [f"{here} fetches {link}" for link in page.fetched if urlsplit(link).netloc]
        found += [f"{here}: {wrong}" for link in page.links if (wrong := _wrong(link, file, site, pages))]
    return sorted(set(found))


def _read(file: Path) -> _Page:
    page = _Page()
    page.feed(file.read_text(encoding="utf-8"))
    return page


def _wrong(link: str, file: Path, site: Path, pages: dict[Path, _Page]) -> str | None:
    parts = urlsplit(link)
    if parts.scheme or parts.netloc:
        return None
    path = unquote(parts.path)
    target = file if not path else (site / path.lstrip("/") if path.startswith("/") else file.parent / path)
    target = target.resolve()
    if target.is_dir():
        target /= "index.html"
    if not target.is_file():
        return f"{link} is not a page of the site"
    name = unquote(parts.fragment)
    if name and target in pages and name not in pages[target].names and not name.startswith("__"):
        return f"{link} has no such place in its page"
    return None


if __name__ == "__main__":
    wrong = mistakes(Path(sys.argv[1]).resolve(), tuple(sys.argv[2:]))
    print("\n".join(wrong) or "every link of the site leads somewhere")
    sys.exit(bool(wrong))
