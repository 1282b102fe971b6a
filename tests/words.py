"""The rules of words that a machine can check, in every Rust and Python file of the repository.

Doc comments and docstrings begin with their subject, messages say what is wrong, and nouns name files. A bound is the
number of places of a folder that still break a rule: it may only fall. Give beginnings of paths to list the places.
"""

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BOUNDS = {"tests": 24}

_SUBJECT = re.compile(r"(?:Of|That|With|As|What|Whose|When|Who|How)\b")
_RUST_DOC = re.compile(r"\s*//[/!](?!/)\s?(.*)")
_RUST_STRING = re.compile(r'"((?:[^"\\]|\\.)*)"')
_MESSAGE = re.compile(r"\b(?:is|are|was) no (?!longer|more)", re.IGNORECASE)
_PARTICIPLE = re.compile("declared|drawn|ending|heard|held|imported|kept|made|seen|shown|tabled|taken|told|unimported")
DOC = "a doc comment begins with its subject; name the thing, or say what it does"
TEXT = 'a message says what is wrong; write "must be", "is not" or "unknown ..." in place of "is no"'


def rust(text: str) -> Iterator[tuple[int, str]]:
    """The lines of a Rust file that break a rule, and the rule."""
    in_doc = False
    for number, line in enumerate(text.splitlines(), 1):
        doc = _RUST_DOC.match(line)
        if doc and not in_doc and _SUBJECT.match(doc[1]):
            yield number, DOC
        if not line.lstrip().startswith("//") and any(map(_MESSAGE.search, _RUST_STRING.findall(line))):
            yield number, TEXT
        in_doc = doc is not None


def python(text: str) -> Iterator[tuple[int, str]]:
    """The lines of a Python file that break a rule, and the rule."""
    nodes = list(ast.walk(ast.parse(text)))
    docs = [node.value for node in nodes if isinstance(node, ast.Expr)]
    for node in nodes:
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            if node in docs and _SUBJECT.match(node.value.strip()):
                yield node.lineno, DOC
            elif node not in docs and _MESSAGE.search(node.value):
                yield node.lineno, TEXT


def broken(name: str) -> Iterator[str]:
    """The places of a file that break a rule, as `PLACE: rule`."""
    path = ROOT / name
    if _PARTICIPLE.fullmatch(path.stem):
        yield f"{name}: a participle does not name a file; take a noun"
    found = (rust if path.suffix == ".rs" else python)(path.read_text())
    yield from (f"{name}:{line}: {rule}" for line, rule in found)


def main(beginnings: list[str]) -> int:
    """Lists the places whose paths begin so, or else those of the folders that exceed their bounds."""
    files = subprocess.check_output(["git", "ls-files", "*.rs", "*.py"], cwd=ROOT, text=True).splitlines()
    places = [place for name in files if (ROOT / name).is_file() for place in broken(name)]
    if beginnings:
        print(*(place for place in places if place.startswith(tuple(beginnings))), sep="\n")
        return 0
    folders: dict[str, list[str]] = {}
    for place in places:
        folders.setdefault("/".join(place.split("/")[: 2 if place.startswith("crates/") else 1]), []).append(place)
    over = {folder: found for folder, found in folders.items() if len(found) > BOUNDS.get(folder, 0)}
    for folder, found in over.items():
        print(*found, f"{folder}: {len(found)} places, and its bound is {BOUNDS.get(folder, 0)}", sep="\n")
    return 1 if over else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
