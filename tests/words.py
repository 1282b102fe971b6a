"""The rules of words that a machine can check, in every Rust and Python file of the repository.

Paragraphs of doc comments and docstrings, and descriptions of arguments, begin with their subject; messages say what is
wrong; nouns name files.
Give beginnings of paths to look at these alone.
"""

import ast
import inspect
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

_SUBJECT = re.compile(r"(?:Of|That|With|As|What|Whose|When|Who|How)\b")
_ENTRY = re.compile(r" {4,}\*{0,2}\w[\w.]*(?: \([^)]*\))?: (.*)")
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
        if doc and _SUBJECT.match(doc[1] if not in_doc else _described(doc[1])):
            yield number, DOC
        if not line.lstrip().startswith("//") and any(map(_MESSAGE.search, _RUST_STRING.findall(line))):
            yield number, TEXT
        in_doc = doc is not None and bool(doc[1].strip())  # a paragraph begins after an empty line


def _described(line: str) -> str:
    """The description of an argument or attribute in a line of a docstring; empty for any other line."""
    entry = _ENTRY.fullmatch(line)
    return entry[1] if entry else ""


def _begins_wrong(docstring: str) -> Iterator[int]:
    """The lines of a docstring, from 0, at which a paragraph or what is said of an argument has no subject."""
    above = ""
    for number, line in enumerate(inspect.cleandoc(docstring).splitlines()):
        begins = not above or above in ("Returns:", "Yields:")
        if _SUBJECT.match(line.strip() if begins else _described(line)):
            yield number
        above = line.strip()


def python(text: str) -> Iterator[tuple[int, str]]:
    """The lines of a Python file that break a rule, and the rule."""
    nodes = list(ast.walk(ast.parse(text)))
    docs = [node.value for node in nodes if isinstance(node, ast.Expr)]
    for node in nodes:
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            if node in docs:
                yield from ((node.lineno + number, DOC) for number in _begins_wrong(node.value))
            elif _MESSAGE.search(node.value):
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
