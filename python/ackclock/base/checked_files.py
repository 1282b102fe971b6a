"""Readers of files that ackclock wrote; each file is verified before its content is used.

They check the SHA-256 recorded in the folder, if any; that the file lies inside its folder; and that it has the form
declared by `summaries`, `manifests` or a table of columns.
"""

import hashlib
import json
import math
import types
import zipfile
import zlib
from collections.abc import Callable, Hashable, Mapping, Sequence
from functools import cache
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar, Union, cast, get_args, get_origin, get_type_hints, is_typeddict

from ackclock.base.decoding import decoded
from ackclock.base.input_files import MOST, InputFileError, octets

if TYPE_CHECKING:
    import polars as pl

Read = TypeVar("Read")

ADDED_LATER = frozenset(
    {"profile", "aborted", "marks", "losses", "duplicates", "reordered", "partition", "wall_s", "cpu_s", "blocking"}
)
"""Keys that the first versions did not write; readers accept files without them."""

WHOLE_BELOW = 2**64
"""Upper limit of whole numbers, exclusive."""


class DamagedError(InputFileError):
    """Error: a file is not as ackclock wrote it. The message gives its name, the damage and a remedy."""

    def __init__(self, file: Path, what: str, remedy: str) -> None:
        """Compose the message."""
        super().__init__(f"{file} is damaged: {what}; {remedy}")
        self.file: Path = file


def inside(folder: Path, name: object, remedy: str) -> Path:
    """Return a file that is named within a folder; the name is not trusted.

    Args:
        folder: The folder.
        name: Name of a file directly in it.
        remedy: Instruction for a wrong name.

    Raises:
        DamagedError: If the name or a link leads out of the folder.
    """
    if not isinstance(name, str) or name in ("", ".", "..") or set(name) & set("/\\\0"):
        raise DamagedError(folder, f"it names {name!r}, which is not a file of the folder", remedy)
    path = folder / name
    if path.is_symlink() and not path.resolve().is_relative_to(folder.resolve()):
        raise DamagedError(path, "it is a link to something outside the folder", remedy)
    return path


def content(file: Path, sha256: str | None, remedy: str) -> bytes:
    """Return the bytes of a file.

    Args:
        file: The file.
        sha256: Expected SHA-256 in hexadecimal digits; None if unknown.
        remedy: Instruction for a file that differs.

    Raises:
        DamagedError: If the checksum differs.
        InputFileError: If it cannot be read.
    """
    found = octets(file, remedy=remedy)
    if sha256 is not None and hashlib.sha256(found).hexdigest() != sha256:
        what = "its SHA-256 differs: it was changed, truncated or taken from another run"
        raise DamagedError(file, what, remedy)
    return found


def archive(file: Path, remedy: str) -> bytes:
    """Return the bytes of a ZIP file, such as those of PyTorch, after checking the checksum of each member.

    Raises:
        DamagedError: If it is not a ZIP file, is truncated, or has a damaged member.
        InputFileError: If it cannot be read.
    """
    found = octets(file, remedy=remedy)
    # zipfile raises a RuntimeError for a part that is encrypted, and for one whose compression it does not know.
    try:
        with zipfile.ZipFile(BytesIO(found)) as parts:
            if (size := sum(part.file_size for part in parts.infolist())) > MOST:
                raise DamagedError(file, f"its parts have {size} octets in total, more than {MOST}", remedy)
            broken = parts.testzip()
            begins = min((part.header_offset for part in parts.infolist()), default=0)
    except DamagedError:
        raise
    except (zipfile.BadZipFile, zlib.error, EOFError, ValueError, RuntimeError) as error:
        raise DamagedError(file, f"it cannot be unpacked ({error})", remedy) from error
    if broken is not None:
        raise DamagedError(file, f"the checksum of its {broken} is wrong", remedy)
    if begins > 0:  # what ends here is one that was within it
        raise DamagedError(file, "its end is missing", remedy)
    return found


def digest(value: Mapping[str, Any]) -> str:
    """Return the SHA-256 of JSON data, independent of whitespace and key order.

    Examples:
        >>> digest({"b": 1, "a": 2}) == digest({"a": 2, "b": 1})
        True
    """
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), default=str)
    return hashlib.sha256(text.encode()).hexdigest()


# ---- JSON -----------------------------------------------------------------------------------------------------------


def document(text: bytes, file: Path, form: type[Read], remedy: str) -> Read:
    """Parse JSON of a declared form.

    Args:
        text: The JSON.
        file: Source of the text, for messages.
        form: A `TypedDict`; unknown keys are accepted, as a later version may have written them.
        remedy: Instruction for a damaged file.

    Raises:
        DamagedError: If it is not JSON, or has another form.
    """
    try:
        value = decoded(text)
    except ValueError as error:
        raise DamagedError(file, f"it is not JSON ({error})", remedy) from error
    if wrong := mismatch(form, value):
        raise DamagedError(file, wrong, remedy)
    read: Read = value
    return read


def mismatch(form: Any, value: Any) -> str | None:  # noqa: ANN401  whatever annotations and JSON can say
    """Return where and how a value differs from a form; None if it does not.

    Examples:
        >>> mismatch(dict[str, list[int]], {"a": [1, "b"]})
        'a[1] must be a whole number, and is "b"'
    """
    try:
        checker(cast(Hashable, form))(value)
    except _Mismatch as error:
        return str(error)
    return None


class _Mismatch(Exception):
    """Mismatch of a value with its declared form. Each enclosing container prepends its part to `place`."""

    def __init__(self, what: str) -> None:
        super().__init__(what)
        self.place: list[str] = []

    def __str__(self) -> str:
        place = "".join(reversed(self.place)).removeprefix(".")
        return f"{place or 'the whole'} {self.args[0]}"


_Check = Callable[[Any], None]


@cache
def checker(form: Any) -> _Check:  # noqa: ANN401  whatever annotations can say
    """Return a function that compares values with a form and raises on a mismatch.

    Args:
        form: A type as in `summaries`: a `TypedDict`, `list`, `dict`, a number, a text, or a union of these.
    """
    if is_typeddict(form):
        return _checker_of_keys(form)
    origin, inner = get_origin(form), get_args(form)
    if origin in (Union, types.UnionType):
        return _checker_of_union([one for one in inner if one is not type(None)])
    if origin is list:
        return _checker_of_list(checker(inner[0]))
    if origin is dict:
        return _checker_of_dict(checker(inner[1]))
    if form is Any:
        return lambda _value: None
    if origin is Literal:
        return _checker_of_words(inner)
    return _checker_of_plain(form)


def _checker_of_keys(form: Any) -> _Check:  # noqa: ANN401
    checks = {name: checker(hint) for name, hint in get_type_hints(form).items()}
    required = frozenset(checks) & form.__required_keys__ - ADDED_LATER

    def check(value: Any) -> None:  # noqa: ANN401
        if not isinstance(value, dict):
            raise _Mismatch(f"must be an object, and is {_said(value)}")
        if missing := required - value.keys():
            raise _Mismatch(f"has no {min(missing)!r}")
        for name, inner in value.items():
            if name in checks:
                try:
                    checks[name](inner)
                except _Mismatch as mismatch:
                    mismatch.place.append(f".{name}")
                    raise

    return check


def _checker_of_union(kinds: list[Any]) -> _Check:
    checks = [checker(kind) for kind in kinds]

    def check(value: Any) -> None:  # noqa: ANN401
        if value is None:
            return
        for one in checks[:-1]:
            try:
                return one(value)
            except _Mismatch:
                continue
        checks[-1](value)

    return check


def _checker_of_list(inner: _Check) -> _Check:
    def check(value: Any) -> None:  # noqa: ANN401
        if not isinstance(value, list):
            raise _Mismatch(f"must be a list, and is {_said(value)}")
        for index, entry in enumerate(value):
            try:
                inner(entry)
            except _Mismatch as mismatch:
                mismatch.place.append(f"[{index}]")
                raise

    return check


def _checker_of_dict(inner: _Check) -> _Check:
    def check(value: Any) -> None:  # noqa: ANN401
        if not isinstance(value, dict):
            raise _Mismatch(f"must be an object, and is {_said(value)}")
        for name, entry in value.items():
            try:
                inner(entry)
            except _Mismatch as mismatch:
                mismatch.place.append(f".{name}")
                raise

    return check


def _checker_of_words(words: Sequence[str]) -> _Check:
    def check(value: Any) -> None:  # noqa: ANN401
        if value not in words:
            raise _Mismatch(f"must be one of {', '.join(words)}, and is {_said(value)}")

    return check


def _checker_of_plain(form: type) -> _Check:
    name = {float: "a number", int: "a whole number", str: "a string", bool: "true or false"}[form]
    kinds = (float, int) if form is float else (form,)

    def check(value: Any) -> None:  # noqa: ANN401
        kind = type(value)
        is_wrong = (kind is int and abs(value) >= WHOLE_BELOW) or (kind is float and not math.isfinite(value))
        if kind not in kinds or is_wrong:
            raise _Mismatch(f"must be {name}, and is {_said(value)}")

    return check


def _said(value: Any) -> str:  # noqa: ANN401
    """Return an abbreviated value for a message."""
    is_long = isinstance(value, int) and abs(value) >= WHOLE_BELOW
    text = "a number of many digits" if is_long else json.dumps(value, default=str)
    return text if len(text) <= 40 else f"{text[:37]}..."


# ---- tables ---------------------------------------------------------------------------------------------------------

Kind = Literal["text", "number", "time"]

COLUMNS: Mapping[str, Mapping[str, Kind]] = {
    "flows": {"time_s": "time", "flow": "text"},
    "links": {"time_s": "time", "link": "text"},
    "episodes": {"flow": "text", "cause": "text", "time_s": "time"},
    "completions": {
        "flow": "text",
        "start_s": "time",
        "size_bytes": "number",
        "fct_s": "number",
        "slowdown": "number",
    },
    "appliances": {"time_s": "time", "flow": "text", "appliance": "text", "direction": "text"},
    "media": {"time_s": "time", "flow": "text"},
    "events": {},
}
"""Columns that every table of results has, whatever was recorded."""

_SERIES = ("flows", "links", "appliances", "media")
"""Tables whose other columns are numeric."""


def table(content: bytes, file: Path, name: str, remedy: str) -> "pl.DataFrame":
    """Read a table of results.

    Args:
        content: Content of a Parquet file.
        file: Source of the content, for messages.
        name: Name of the table, as in `COLUMNS`.
        remedy: Instruction for a damaged file.

    Raises:
        DamagedError: If it is not a Parquet file, or another table.
    """
    read = frame(content, file, remedy)
    for column, kind in COLUMNS[name].items():
        if column not in read.columns:
            raise DamagedError(file, f"it is not a table of {name}: it has no column {column}", remedy)
        _check_column(read.schema[column], kind, column, file, remedy)
        if kind == "time":
            _check_times(read[column], file, remedy)
    if name in _SERIES:
        for column in set(read.columns) - set(COLUMNS[name]):
            _check_column(read.schema[column], "number", column, file, remedy)
    return read


def frame(content: bytes, file: Path, remedy: str) -> "pl.DataFrame":
    """Read a Parquet file with any columns.

    Raises:
        DamagedError: If it is not a Parquet file.
    """
    import polars as pl

    try:
        return pl.read_parquet(BytesIO(content))
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError, ValueError, MemoryError) as error:
        first = str(error).partition("\n")[0]
        raise DamagedError(file, f"it is not a readable Parquet file ({first})", remedy) from error


def _check_column(found: "pl.DataType", kind: Kind, column: str, file: Path, remedy: str) -> None:
    import polars as pl

    is_right = found == pl.String if kind == "text" else found.is_numeric() or found in (pl.Boolean, pl.Null)
    if not is_right:
        raise DamagedError(file, f"its column {column} has the type {found}, and must be {kind}", remedy)


def _check_times(found: "pl.Series", file: Path, remedy: str) -> None:
    import polars as pl

    wrong = (~found.cast(pl.Float64).is_finite()).fill_null(value=True).arg_true()
    if wrong.len():
        what = f"its column {found.name} must have a time in each row, and has {found[wrong[0]]} in row {wrong[0] + 1}"
        raise DamagedError(file, what, remedy)
