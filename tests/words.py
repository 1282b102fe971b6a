"""The rules of words that a machine can check, in every Rust and Python file of the repository.

Paragraphs of doc comments, and docstrings, begin with their subject, messages say what is wrong, and nouns name files.
Give beginnings of paths to look at these alone.
"""

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

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
        in_doc = doc is not None and bool(doc[1].strip())  # a paragraph begins after an empty line


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
    """Lists the places that break a rule, in all files or in those whose paths begin so."""
    files = subprocess.check_output(["git", "ls-files", "*.rs", "*.py"], cwd=ROOT, text=True).splitlines()
    wanted = [name for name in files if name.startswith(tuple(beginnings) or "") and (ROOT / name).is_file()]
    places = [place for name in wanted for place in broken(name)]
    print(*places, sep="\n", end="\n" if places else "")
    return 1 if places else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
