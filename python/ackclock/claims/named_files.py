"""The contents of files that a scenario or a measure names by a text."""

from collections.abc import Iterable, Iterator
from functools import lru_cache
from pathlib import Path
from typing import Final

from ackclock import storage

_LONGEST: Final = 255
"""A longer text names no file."""


def contents(texts: Iterable[str], folder: Path) -> Iterator[str]:
    """Yield a hash of each file that a text names: a file by its name, a class of Python by its module.

    Args:
        texts: Any, as `policy.onnx` or `python:module:Class`.
        folder: Where names begin.
    """
    for text in sorted(texts):
        module, colon, _ = text.removeprefix("python:").partition(":")
        for name in (text, f"{module.replace('.', '/')}.py" if colon else ""):
            if "." in name and len(name) <= _LONGEST and (file := folder / name).is_file():
                found = file.stat()
                yield _hash(file, found.st_mtime_ns, found.st_size)


@lru_cache(maxsize=256)
def _hash(file: Path, _changed_ns: int, _size: int) -> str:
    return storage.sha256(file)
