"""Templates of user-written parts: folders by language and kind; claims and studies have no language.

File names end in `.in`, so that tools ignore them. `NAME` in a file name and `@NAME@` in a text become the part's
name, `@CLASS@` that of its class, `@ID@` the prefix of its claims' ids, and `@PLUGIN@` the location of the crate for
writing plug-ins.
"""

import json
import keyword
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

from ackclock import _core
from ackclock.base import storage
from ackclock.base.input_files import InputError
from ackclock.base.version import __version__

_ROOT = Path(__file__).parent
_NAME = re.compile(r"[a-z][a-z0-9_]*")
_BUILT_IN: dict[str, Callable[[], str]] = {
    "controller": _core.controllers,
    "queue": _core.queues,
    "claims": lambda: "[]",
    "study": lambda: "[]",
}
_WITHOUT_LANGUAGE: Final = ("claims", "study")


_RUST_WORDS: Final = (
    "abstract", "as", "async", "await", "become", "box", "break", "const", "continue", "crate", "do", "dyn", "else",
    "enum", "extern", "false", "final", "fn", "for", "gen", "if", "impl", "in", "let", "loop", "macro", "match",
    "mod", "move", "mut", "override", "priv", "pub", "ref", "return", "self", "static", "struct", "super", "test",
    "trait", "true", "try", "type", "typeof", "unsafe", "unsized", "use", "virtual", "where", "while", "yield",
)  # fmt: skip
"""Keywords of the Rust Reference, strict and reserved, and `test`, which Cargo refuses as a package name."""


class TemplateError(InputError):
    """Error: a folder cannot be written. The message says why and what to do."""


def write(kind: str, name: str, target: Path, *, lang: str) -> list[Path]:
    """Write a folder from its template.

    Args:
        kind: "controller", "queue", "claims" or "study".
        name: Name of the part.
        target: Destination.
        lang: "python" or "rust", for controllers and queues.

    Returns:
        The files, in order.

    Raises:
        TemplateError: If the name is not valid, the template is unknown, or the folder exists.
    """
    _check_name(name, kind, lang)
    template = _ROOT / kind if kind in _WITHOUT_LANGUAGE else _ROOT / lang / kind
    if not template.is_dir():
        raise TemplateError(f"--lang {lang}: must be python for a {kind}; leave it out")
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise TemplateError(f"{target} exists already; name another folder")
    words = {"@NAME@": name, "@CLASS@": class_name(name), "@ID@": class_name(name), "@PLUGIN@": _plugin_crate()}
    made = {place: text.encode() for place, text in _texts(template, name, words)}
    return storage.write_files(target, made)


def class_name(name: str) -> str:
    """Return the class name for a part's name.

    Args:
        name: Name in scenarios.

    Examples:
        >>> class_name("slow_start_2")
        'SlowStart2'
    """
    return "".join(word.capitalize() for word in name.split("_"))


def _plugin_crate() -> str:
    """Return the crate in the sources beside this package, or else the published one of this version."""
    sources = _ROOT.parents[3] / "crates" / "plugin"
    if (sources / "Cargo.toml").is_file():
        return f'{{ path = "{sources.as_posix()}" }}'
    return f'"{__version__}"'


def _check_name(name: str, kind: str, lang: str) -> None:
    words = _RUST_WORDS if lang == "rust" else keyword.kwlist
    if name in words:
        raise TemplateError(f"{name!r} is a keyword of {lang.capitalize()}; choose another name, such as my_{name}")
    if not _NAME.fullmatch(name):
        raise TemplateError(
            f"{name!r} is not a name; use lower-case letters, digits and underscores, such as my_{kind}"
        )
    if any(name == part["name"] for part in json.loads(_BUILT_IN[kind]())):
        raise TemplateError(f"{name!r} is a built-in {kind}; choose another name, such as my_{name}")
    if lang == "python" and kind not in _WITHOUT_LANGUAGE and name in sys.stdlib_module_names:
        raise TemplateError(
            f"{name!r} is a module of Python's standard library; choose another name, such as my_{name}"
        )


def _texts(template: Path, name: str, words: dict[str, str]) -> Iterator[tuple[str, str]]:
    """Yield the path and the text of each file."""
    for source in sorted(template.rglob("*.in")):
        place = str(source.relative_to(template)).removesuffix(".in").replace("NAME", name)
        text = source.read_text(encoding="utf-8")
        for mark, word in words.items():
            text = text.replace(mark, word)
        yield place, text
