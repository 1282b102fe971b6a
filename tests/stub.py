"""The stub of the compiled core has the docstrings of the crate: this compares them, and writes them with `--write`.

An editor reads `python/ackclock/_core.pyi`, `help()` the module that Rust made; the text is written in `crates/python`.
"""

import ast
import inspect
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import WrapperDescriptorType

from ackclock import _core

STUB = Path(__file__).parents[1] / "python" / "ackclock" / "_core.pyi"

Documented = ast.ClassDef | ast.FunctionDef


def documented(tree: ast.Module) -> Iterator[tuple[str, Documented]]:
    """Name every class, method, property and function of a stub; what assigns a property has no text of its own."""
    for outer in tree.body:
        if isinstance(outer, ast.ClassDef):
            yield outer.name, outer
            yield from (
                (f"{outer.name}.{inner.name}", inner)
                for inner in outer.body
                if isinstance(inner, ast.FunctionDef) and not any(map(_is_setter, inner.decorator_list))
            )
        elif isinstance(outer, ast.FunctionDef):
            yield outer.name, outer


def _is_setter(decorator: ast.expr) -> bool:
    return isinstance(decorator, ast.Attribute) and decorator.attr == "setter"


def compiled(name: str) -> str | None:
    """Return the docstring of the compiled module; None where Python lets it have none of its own."""
    found: object = _core
    for part in name.split("."):
        found = getattr(found, part)
    if isinstance(found, WrapperDescriptorType) or name.endswith(".__new__"):
        return None  # a slot, such as `__len__`; what a constructor takes is said of its class
    return inspect.getdoc(found) or ""


def differing(tree: ast.Module) -> dict[str, Documented]:
    """Return what the stub describes otherwise than the compiled module, by name."""
    pairs = ((name, node, compiled(name)) for name, node in documented(tree))
    return {name: node for name, node, text in pairs if text is not None and text != (ast.get_docstring(node) or "")}


def written(source: str) -> str:
    """Return the stub with the docstrings of the compiled module."""
    lines = source.splitlines(keepends=True)
    changes = differing(ast.parse(source))
    for name, node in sorted(changes.items(), key=lambda change: -change[1].lineno):
        first = node.body[0]
        text = _quoted(compiled(name) or "", " " * (node.col_offset + 4))
        if ast.get_docstring(node) is not None:
            lines[first.lineno - 1 : first.end_lineno] = [text]
        elif isinstance(first, ast.Expr):  # an ellipsis, on the line of the signature
            kept = lines[first.lineno - 1].removesuffix("...\n").rstrip()
            lines[first.lineno - 1 : first.end_lineno] = [f"{kept}\n", text]
        else:
            lines.insert(min([first.lineno, *(d.lineno for d in getattr(first, "decorator_list", []))]) - 1, text)
    return "".join(lines)


def _quoted(text: str, indent: str) -> str:
    first, *others = text.splitlines()
    if not others:
        return f'{indent}"""{first}"""\n'
    body = "".join(f"{indent}{line}\n" if line else "\n" for line in others)
    return f'{indent}"""{first}\n{body}{indent}"""\n'


def main() -> int:
    """Compare, or write; say what differs."""
    source = STUB.read_text()
    if "--write" in sys.argv[1:]:
        STUB.write_text(written(source))
        subprocess.run([sys.executable, "-m", "ruff", "format", "--quiet", str(STUB)], check=True)
        return 0
    wrong = differing(ast.parse(source))
    for name in wrong:
        print(f"_core.pyi: {name} is described otherwise than in crates/python; run tests/stub.py --write")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
