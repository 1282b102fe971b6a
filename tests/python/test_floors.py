"""The rooms of the package and their floors: a module imports from lower floors and from its own room alone."""

import ast
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import ackclock

PACKAGE = Path(ackclock.__file__).resolve().parent

FLOORS = {
    "cli": 7,
    "claims": 6,
    "lessons": 6,
    "script": 6,
    "gym": 5,
    "experiments": 5,
    "recording": 5,
    "plotting": 4,
    "stats": 3,
    "running": 3,
    "results": 2,
    "scenario": 1,
    "base": 0,
    "_core": -1,
}
"""Each room with its floor. Rooms of one floor know nothing of each other."""

OF_SCENARIO = ("controllers", "parts")
"""Modules at the top that belong to the room of scenarios: what somebody writes for one imports them by these names."""

ROOF = ("__init__", "__main__", "face")
"""Modules above all rooms, which may import any."""

DATA = ("scenarios", "folders")
"""Folders whose files of Python are examples or claims, and no part of the package."""


def _modules() -> dict[str, Path]:
    """Every module by its dotted name below the package; a package is called as its folder."""
    files = [file for file in sorted(PACKAGE.rglob("*.py")) if not {*DATA} & {*file.relative_to(PACKAGE).parts}]
    names = {".".join(file.relative_to(PACKAGE).with_suffix("").parts): file for file in files}
    return {name.removesuffix(".__init__"): file for name, file in names.items()} | {"_core": PACKAGE / "_core.pyi"}


MODULES = _modules()


def _room(name: str) -> str:
    first = name.partition(".")[0]
    return "scenario" if first in OF_SCENARIO else first


def _imported(node: ast.AST) -> Iterator[str]:
    """Yield the modules of the package that an import asks for; the package's own name for what only it has."""
    if isinstance(node, ast.Import):
        names = [alias.name for alias in node.names]
    elif isinstance(node, ast.ImportFrom) and not node.level:
        names = [f"{node.module}.{alias.name}" for alias in node.names]
    else:
        return
    for name in names:
        package, _, inside = name.partition(".")
        if package == "ackclock":
            parts = inside.split(".") if inside else []
            yield next(
                (found for n in range(len(parts), 0, -1) if (found := ".".join(parts[:n])) in MODULES), "__init__"
            )


def _without_types(tree: ast.AST) -> Iterator[ast.AST]:
    """Yield the nodes of a module but those below `if TYPE_CHECKING`, which nothing runs."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.If) and ast.unparse(node.test).endswith("TYPE_CHECKING"):
            yield from (inner for other in node.orelse for inner in (other, *_without_types(other)))
        else:
            yield node
            yield from _without_types(node)


def _arrows() -> Iterator[tuple[str, str]]:
    for name, file in MODULES.items():
        if name not in ROOF and file.suffix == ".py":
            for node in _without_types(ast.parse(file.read_text(encoding="utf-8"))):
                yield from ((name, other) for other in _imported(node))


def test_every_module_is_in_a_room() -> None:
    assert {_room(name) for name in MODULES} - {*ROOF} == {*FLOORS}


def test_arrows_between_rooms_go_down() -> None:
    wrong = [
        f"{name} -> {other}"
        for name, other in _arrows()
        if _room(name) != _room(other) and (other in ROOF or FLOORS[_room(other)] >= FLOORS[_room(name)])
    ]
    assert not wrong


def test_importing_the_package_opens_the_lowest_rooms_alone() -> None:
    script = "import sys, ackclock; print(*(name for name in sys.modules if name.startswith('ackclock.')))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=60)
    opened = {_room(name.removeprefix("ackclock.")) for name in done.stdout.split()}
    assert opened == {"_core", "base", "scenario", "results", "running", "face"}


def test_no_two_files_have_one_name() -> None:
    counts = Counter(file.name for name, file in MODULES.items())
    assert {name for name, count in counts.items() if count > 1} == {"__init__.py"}
