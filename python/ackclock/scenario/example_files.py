"""Examples of the package: scenarios, studies, and the files that they need."""

import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ackclock.base import storage
from ackclock.base.input_files import InputError
from ackclock.base.printable import unknown

FOLDER = Path(__file__).parents[1] / "scenarios"
"""Folder of the examples."""


class ExampleError(InputError):
    """Error: the example is unknown, or its destination is taken. The message lists the known examples."""


@dataclass(frozen=True, slots=True)
class Example:
    """Example scenario or study."""

    name: str
    path: Path

    def text(self) -> str:
        """Return the file's text."""
        return self.path.read_text(encoding="utf-8")

    def about(self) -> str:
        """Return the first sentence of the file's comment, or else the scenario's name."""
        comment = []
        for line in self.text().splitlines():
            if not line.startswith("#"):
                break
            comment.append(line.lstrip("# "))
        if not comment:
            return str(tomllib.loads(self.text()).get("name", self.name))
        return _sentence(" ".join(comment))

    def files(self) -> list[Path]:
        """Return the example's file and the files that it names, relative to the folder of examples."""
        named = [name for value in _strings(tomllib.loads(self.text())) if (name := _named(value)) is not None]
        return [self.path.relative_to(FOLDER), *dict.fromkeys(named)]


def examples() -> list[Example]:
    """Return all examples, sorted by name."""
    return [Example(path.stem, path) for path in sorted(FOLDER.glob("*.toml"))]


def studies() -> list[Example]:
    """Return all examples of studies, sorted by name."""
    return [Example(path.stem, path) for path in sorted((FOLDER / "studies").glob("*.toml"))]


def example(name: str) -> Example:
    """Return an example by name.

    Args:
        name: Name of the file, with or without `.toml`.

    Raises:
        ExampleError: If it is unknown.
    """
    wanted = name.removesuffix(".toml")
    known = {found.name: found for found in (*examples(), *studies())}
    if wanted not in known:
        raise ExampleError(f"{unknown('example', wanted, known, lists=False)}; `ackclock examples` lists them")
    return known[wanted]


def copy(wanted: Sequence[Example] | None, folder: Path) -> list[Path]:
    """Copy examples and the files that they name.

    Args:
        wanted: Examples to copy; if empty, every file of the package, including studies and packet scripts.
        folder: Destination, created if missing; its other files stay.

    Raises:
        ExampleError: If a file exists already; then none is written.
        OSError: If the folder cannot be written.
    """
    every = (file.relative_to(FOLDER) for file in sorted(FOLDER.rglob("*")) if file.is_file() and file.suffix != ".pyc")
    files = list(every if wanted is None else dict.fromkeys(file for found in wanted for file in found.files()))
    if folder.exists() and not folder.is_dir():
        raise ExampleError(f"{folder} is not a folder; name a folder to copy them into")
    taken = [str(folder / file) for file in files if (folder / file).exists()]
    if taken:
        raise ExampleError(f"{taken[0]} exists already; name another folder, or remove it")
    return storage.write_files(folder, {file.as_posix(): (FOLDER / file).read_bytes() for file in files})


def _sentence(text: str) -> str:
    """Return the first sentence of a text, up to a full stop, question mark or colon followed by a space."""
    ends = [at for mark in (". ", "? ") if (at := text.find(mark)) >= 0]
    return text[: min(ends) + 1] if ends else text


def _strings(value: Any) -> Iterator[str]:  # noqa: ANN401  what TOML holds
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for entry in value.values():
            yield from _strings(entry)
    elif isinstance(value, list):
        for entry in value:
            yield from _strings(entry)


def _named(value: str) -> Path | None:
    """Return the file of the folder that a value names, by its path or as `module:Class`."""
    module = value.partition(":")[0]
    for file in (value, f"{module}.py"):
        if file and (FOLDER / file).is_file() and "/.." not in f"/{file}":
            return Path(file)
    return None
