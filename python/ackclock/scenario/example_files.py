"""The examples that come with the package: scenario files, and the files that they name."""

import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ackclock.base import storage
from ackclock.base.input_files import InputError
from ackclock.base.printable import unknown

FOLDER = Path(__file__).parents[1] / "scenarios"
"""Where they lie."""


class ExampleError(InputError):
    """There is no such example, or no place for it; the message says what there is."""


@dataclass(frozen=True, slots=True)
class Example:
    """A scenario to begin from."""

    name: str
    path: Path

    def text(self) -> str:
        """Return the file's text."""
        return self.path.read_text(encoding="utf-8")

    def about(self) -> str:
        """Return the first sentence of the file, or the scenario's name where it begins with none."""
        comment = []
        for line in self.text().splitlines():
            if not line.startswith("#"):
                break
            comment.append(line.lstrip("# "))
        if not comment:
            return str(tomllib.loads(self.text()).get("name", self.name))
        return _sentence(" ".join(comment))

    def files(self) -> list[Path]:
        """Return its file and those that it names, as paths below the folder of examples."""
        named = [name for value in _strings(tomllib.loads(self.text())) if (name := _named(value)) is not None]
        return [self.path.relative_to(FOLDER), *dict.fromkeys(named)]


def examples() -> list[Example]:
    """Return every example, in the order of their names."""
    return [Example(path.stem, path) for path in sorted(FOLDER.glob("*.toml"))]


def example(name: str) -> Example:
    """Return the example of that name.

    Args:
        name: Of the file, with `.toml` or without.

    Raises:
        ExampleError: If there is none.
    """
    wanted = name.removesuffix(".toml")
    known = {found.name: found for found in examples()}
    if wanted not in known:
        raise ExampleError(f"{unknown('example', wanted, known, lists=False)}; `ackclock examples` lists them")
    return known[wanted]


def copy(wanted: Sequence[Example] | None, folder: Path) -> list[Path]:
    """Copy examples, with the files that they name.

    Args:
        wanted: The examples; without any, every file that comes with the package: studies and packet scripts too.
        folder: Made if it is missing; what is there already stays.

    Raises:
        ExampleError: If a file is there already; then none is written.
        OSError: If the folder cannot be written.
    """
    every = (file.relative_to(FOLDER) for file in sorted(FOLDER.rglob("*")) if file.is_file() and file.suffix != ".pyc")
    files = list(every if wanted is None else dict.fromkeys(file for found in wanted for file in found.files()))
    if folder.exists() and not folder.is_dir():
        raise ExampleError(f"{folder} is not a folder; name a folder to copy them into")
    taken = [str(folder / file) for file in files if (folder / file).exists()]
    if taken:
        raise ExampleError(f"{taken[0]} is there already; name another folder, or remove it")
    return storage.write_files(folder, {file.as_posix(): (FOLDER / file).read_bytes() for file in files})


def _sentence(text: str) -> str:
    """The first of a text: up to a full stop, a question mark or a colon that a space follows."""
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
    """The file of the folder that a value names: by its path, or as `module:Class`."""
    module = value.partition(":")[0]
    for file in (value, f"{module}.py"):
        if file and (FOLDER / file).is_file() and "/.." not in f"/{file}":
            return Path(file)
    return None
