"""Atomic output: files and folders appear whole or not at all, and never replace what ackclock did not write."""

import errno
import hashlib
import json
import os
import re
import shutil
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from ackclock.base import system
from ackclock.base.checked_files import digest
from ackclock.base.decoding import decoded
from ackclock.base.folder_exchange import exchange

MANIFEST = "manifest.json"

RESULTS, CLAIMS, VALIDATION = "run", "claims", "validate-linux"
"""Kinds of folders, as recorded in their manifests."""

_WRITTEN = "written"
"""Manifest key with the kind of the folder and its list of files."""

_ABANDONED_AFTER_S: Final = 60.0
"""Age at which an unlocked temporary folder counts as left behind by a killed process, seconds."""

TEX_MARK: Final = "% Drawn by ackclock.\n"
"""First line of code of pgfplots that ackclock wrote."""

_MARKS: Final = (
    b'<meta name="generator" content="ackclock">', b"<dc:title>ackclock</dc:title>", b"Software\0ackclock",
    TEX_MARK.encode(),
)  # fmt: skip
"""Marks at the beginning of pages and figures that ackclock wrote."""

_PDF_MARK: Final = b"/Creator (ackclock)"
"""Mark near the end of PDF figures that ackclock wrote."""

_MARKED_WITHIN: Final = 4096

placed: list[Path] = []
"""Files and folders that this process has completed."""


class OutputExistsError(ValueError):
    """Error: the output exists already, and may not be overwritten without permission."""


def check_file(path: Path, *, force: bool = False) -> None:
    """Check, before any work is done, whether a file may be written.

    Args:
        path: Destination. A page or figure that ackclock wrote is replaced without asking.
        force: Whether any existing file may be replaced.

    Raises:
        OutputExistsError: If the existing file must not be replaced.
    """
    if path.is_dir():
        raise OutputExistsError(f"{path} is a folder; give the name of a file")
    if path.exists() and not path.is_file():
        raise OutputExistsError(f"{path} is not a regular file; give the name of one")
    if not force and (path.is_symlink() or path.exists()) and not _is_marked(path):
        raise OutputExistsError(f"{path} exists already; choose another file, or replace it with --force")


def _is_marked(path: Path) -> bool:
    if not path.is_file():
        return False
    with path.open("rb") as file:
        beginning = file.read(_MARKED_WITHIN)
        if not beginning.startswith(b"%PDF-"):
            return any(mark in beginning for mark in _MARKS)
    return _PDF_MARK in path.read_bytes()


def write_file(path: Path, content: bytes) -> None:
    """Write a file atomically: readers see the old content or all of the new."""
    handle, temporary = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".partial", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
            system.allow_as_usual(file.fileno())
        with system.uninterrupted():
            Path(temporary).replace(path)
            placed.append(path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def write_files(folder: Path, contents: Mapping[str, bytes]) -> list[Path]:
    """Write files into a folder, all or none; a missing folder is created with all of them in it.

    Args:
        folder: Destination.
        contents: Content by path in the folder, with slashes; none of the files may exist.

    Raises:
        OSError: If they cannot be written; the folder is then unchanged.
    """
    place = _absolute(folder)
    with _sibling(place) as partial, _naming(folder):
        for name, content in contents.items():
            file = partial / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(content)
        _sync_files(partial)
        if not place.exists():
            partial.chmod(0o777 & ~system.umask())
            _place(partial, place)
        else:
            for name in contents:
                (place / name).parent.mkdir(parents=True, exist_ok=True)
                (partial / name).rename(place / name)
            placed.extend(place / name for name in contents)
    return [folder / name for name in contents]


def check_folder(path: Path, *, kind: str = RESULTS, force: bool = False, renews: bool = False) -> None:
    """Check, before any work is done, whether a result folder may be written.

    Args:
        path: Destination.
        kind: Kind of the new folder.
        force: Whether a folder that ackclock wrote may be replaced.
        renews: Whether a folder of the same kind may be replaced without asking.

    Raises:
        OutputExistsError: If the existing folder must not be replaced.
        OSError: If its parent folder is not writable.
    """
    place = _absolute(path)
    if place.parent.is_dir():
        _tidy(place)
    if place.is_symlink() or place.exists():
        _check_replaceable(path, kind=kind, force=force, renews=renews)
    with _sibling(place):
        pass


def _check_replaceable(path: Path, *, kind: str, force: bool, renews: bool) -> None:
    if path.is_symlink() or not path.is_dir():
        hint = "--force replaces only folders of results" if force else "choose another folder"
        raise OutputExistsError(f"{path} is not a folder; {hint}")
    is_empty, written = not any(path.iterdir()), _written(path)
    is_renewed = renews and (is_empty or (written is not None and written.by == kind))
    if not (force or is_renewed):
        if renews:
            raise OutputExistsError(f"{path} exists already and is not a folder of {kind}; choose another folder")
        raise OutputExistsError(f"{path} exists already; choose another folder, or replace it with --force")
    if path.samefile(Path.cwd()):
        raise OutputExistsError(f"{path} is the folder that you are in, which cannot be replaced; name another")
    if is_empty:
        return
    if written is None:
        raise OutputExistsError(
            f"{path} holds no {MANIFEST} of ackclock's, so it is not a folder of results; --force leaves it alone"
        )
    if foreign := _foreign(path, written):
        raise OutputExistsError(
            f"{path} contains files that ackclock did not write: {_some(foreign)}; move them, or choose another folder"
        )


@contextmanager
def new_folder(path: Path, *, kind: str = RESULTS, force: bool = False, renews: bool = False) -> Iterator[Path]:
    """Yield a temporary folder, which becomes `path` when the block succeeds and is removed when it fails.

    The manifest gets a list of the files, so that later runs know what they may replace. If a folder to be replaced
    has got files that ackclock did not write, it stays, and the new folder gets another name beside it.

    Args:
        path: Destination.
        kind: Kind of the new folder.
        force: Whether a folder that ackclock wrote is replaced, once the new one is complete.
        renews: Whether a folder of the same kind is replaced without asking.

    Yields:
        The folder to write into.

    Raises:
        OutputExistsError: If the existing folder must not be replaced.
        OSError: If it cannot be written.
    """
    check_folder(path, kind=kind, force=force, renews=renews)
    place = _absolute(path)
    with _sibling(place) as partial, _naming(path):
        yield partial
        _list_files(partial, kind)
        _sync_files(partial)
        partial.chmod(0o777 & ~system.umask())
        _put_in_place(partial, place, shown=path, may_replace=force or renews)


# ---- what a folder holds --------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Written:
    """Record in a manifest: kind and files of its folder."""

    by: str
    files: frozenset[str]


def _list_files(folder: Path, kind: str) -> None:
    file = folder / MANIFEST
    manifest: dict[str, Any] = json.loads(file.read_bytes()) if file.is_file() else {}
    files = sorted({*_files(folder), MANIFEST})
    sums = {name: sha256(folder / name) for name in files if name != MANIFEST and (folder / name).is_file()}
    written: dict[str, Any] = {"by": kind, "files": files, "sha256": sums}
    written["manifest_sha256"] = digest(manifest | {_WRITTEN: written})
    text = json.dumps(manifest | {_WRITTEN: written}, indent=2, ensure_ascii=False)
    file.write_text(text + "\n", encoding="utf-8")


def sha256(file: Path) -> str:
    """Return the SHA-256 of a file's bytes as hexadecimal digits."""
    with file.open("rb") as content:
        return hashlib.file_digest(content, "sha256").hexdigest()


def _files(folder: Path) -> list[str]:
    """Return the relative names of all files in a folder, and of its empty subfolders."""
    entries = [entry for entry in folder.rglob("*") if entry.is_symlink() or not entry.is_dir() or _is_empty(entry)]
    return sorted(entry.relative_to(folder).as_posix() for entry in entries)


def _is_empty(folder: Path) -> bool:
    return not any(folder.iterdir())


def _foreign(folder: Path, written: _Written) -> list[str]:
    return [name for name in _files(folder) if name not in written.files]


def _some(names: Sequence[str]) -> str:
    return ", ".join(names[:5]) + (f" and {len(names) - 5} more" if len(names) > 5 else "")


def _written(folder: Path) -> _Written | None:
    """Return the manifest's record of a folder; None if ackclock did not write it."""
    try:
        manifest = decoded((folder / MANIFEST).read_bytes()) if (folder / MANIFEST).is_file() else None
    except (OSError, ValueError):
        return None
    if not isinstance(manifest, dict):
        return None
    entry = manifest.get(_WRITTEN)
    if isinstance(entry, dict) and isinstance(entry.get("files"), list):
        return _Written(str(entry.get("by")), frozenset(map(str, entry["files"])))
    return _written_before(folder, manifest)


def _written_before(folder: Path, manifest: dict[str, Any]) -> _Written | None:
    """Return the record of a folder of an earlier version, whose manifest does not list its files."""
    tables = {f"{name}.parquet" for name in ("flows", "links", "episodes", "completions", "appliances")}
    if {"scenario", "scenario_hash", "versions"} <= manifest.keys():
        captures = manifest.get("captures")
        names = captures.values() if isinstance(captures, dict) else ()
        return _Written(RESULTS, frozenset({MANIFEST, "summary.json", *tables, *map(str, names)}))
    if manifest.keys() == {"simulations"}:
        figures = {name for name in _files(folder) if name.startswith("figures/") and name.endswith((".svg", ".png"))}
        for kind, content in ((CLAIMS, {"claims.json"}), (VALIDATION, {"validation.json", "table.md"})):
            if all((folder / name).is_file() for name in content):
                return _Written(kind, frozenset({MANIFEST, "index.html", "figures", *content, *figures}))
    return None


# ---- temporary folders ----------------------------------------------------------------------------------------------


@contextmanager
def _naming(path: Path) -> Iterator[None]:
    """Add the folder's name to write errors without one, such as that of a full disk."""
    try:
        yield
    except OSError as error:
        if error.filename is not None:
            raise
        number = error.errno or _number_of(error)
        raise OSError(number, os.strerror(number), str(path)) from error


def _number_of(error: OSError) -> int:
    """Return the number of a core's error, which is only in its text."""
    found = re.search(r"os error (\d+)", str(error))
    return int(found[1]) if found else errno.EIO


@contextmanager
def _sibling(path: Path) -> Iterator[Path]:
    """Yield a locked temporary folder beside `path`; it is removed at the end unless it was renamed."""
    parents = _make_parents(path.parent)
    partial: Path | None = None
    try:
        partial = Path(tempfile.mkdtemp(prefix=f".{path.name}.partial-", dir=path.parent))
        with system.held_folder(partial):
            yield partial
    finally:
        if partial is not None:
            shutil.rmtree(partial, ignore_errors=True)
        for parent in parents:
            if not any(parent.iterdir()):
                parent.rmdir()


@contextmanager
def locked(file: Path, otherwise: str) -> Iterator[None]:
    """Hold a lock on a file, created if missing, until the block ends or the process dies.

    Raises:
        OutputExistsError: If another process has the lock.
    """
    handle = os.open(file, os.O_RDWR | os.O_CREAT, 0o666)
    try:
        try:
            system.lock(handle)
        except BlockingIOError:
            raise OutputExistsError(otherwise) from None
        yield
    finally:
        os.close(handle)


def _is_abandoned(folder: Path, *, after_s: float = _ABANDONED_AFTER_S) -> bool:
    """Return whether the process that made a temporary folder is gone."""
    try:
        return not system.is_held(folder) and time.time() - folder.stat().st_mtime >= after_s
    except OSError:
        return False


def _tidy(path: Path) -> None:
    """Restore what a killed process had moved away, and remove what it left beside `path`."""
    beside = [entry for entry in path.parent.iterdir() if entry.is_dir() and not entry.is_symlink()]
    for old in (entry for entry in beside if entry.name.startswith(f".{path.name}.old-")):
        _tidy_old(old, path)
    for partial in (entry for entry in beside if entry.name.startswith(f".{path.name}.partial-")):
        if _is_abandoned(partial):
            shutil.rmtree(partial, ignore_errors=True)


def _tidy_old(old: Path, path: Path) -> None:
    inner = old / path.name  # where earlier versions moved it
    whole = inner if inner.is_dir() else old
    if not path.exists() and not _is_empty(old) and _is_abandoned(old, after_s=0.0):
        whole.rename(path)
        if whole is inner:
            old.rmdir()
        return
    written = _written(old)
    if (_is_empty(old) or (written and not _foreign(old, written))) and _is_abandoned(old):
        shutil.rmtree(old, ignore_errors=True)


def _absolute(path: Path) -> Path:
    """Return an absolute path, since `.` has no name. Links are not followed."""
    return Path(os.path.abspath(path))  # noqa: PTH100  resolve() would follow links


def _make_parents(folder: Path) -> list[Path]:
    """Create the missing parent folders of a result and return them, innermost first."""
    ancestors = (folder, *folder.parents)
    for ancestor in ancestors:
        if ancestor.exists() and not ancestor.is_dir():
            raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(ancestor))
    missing = [ancestor for ancestor in ancestors if not ancestor.exists()]
    folder.mkdir(parents=True, exist_ok=True)
    return missing


# ---- putting in place -----------------------------------------------------------------------------------------------


def _put_in_place(partial: Path, path: Path, *, shown: Path, may_replace: bool) -> None:
    written = _written(path) if may_replace and path.is_dir() else None
    if written and (foreign := _foreign(path, written)):
        other = free_name(path)
        _place(partial, other)
        raise OutputExistsError(
            f"{shown} now contains files of others ({_some(foreign)}), and was kept; the new folder is {other}"
        )
    if not may_replace or not path.exists():
        _place(partial, path)
    elif not _exchanged(partial, path):
        _replace(partial, path)
    system.sync(path.parent)


def _place(partial: Path, path: Path) -> None:
    with system.uninterrupted():
        try:
            partial.rename(path)
        except OSError as error:
            if error.errno not in (errno.ENOTEMPTY, errno.EEXIST, errno.ENOTDIR):
                raise
            what = f"{path} exists already: another process wrote it meanwhile; choose another folder"
            raise OutputExistsError(what) from error
        placed.append(path)


def _exchanged(partial: Path, path: Path) -> bool:
    """Exchange the new folder with the old one, and remove the old."""
    with system.uninterrupted():
        done = exchange(partial, path)
        if done:
            placed.append(path)
    return done


def _replace(partial: Path, path: Path) -> None:
    """Replace a folder by two renames, without exchange; after a kill between them a later run restores the old."""
    old = Path(tempfile.mkdtemp(prefix=f".{path.name}.old-", dir=path.parent))
    with system.held_folder(path):
        path.rename(old)
        try:
            _place(partial, path)
        except BaseException:
            if not path.exists():
                old.rename(path)
            raise
    shutil.rmtree(old, ignore_errors=True)


def free_name(path: Path) -> Path:
    """Return an unused name beside a path: its own name with a number."""
    number = 2
    while (other := path.with_name(f"{path.name}-{number}")).exists() or other.is_symlink():
        number += 1
    return other


def _sync_files(folder: Path) -> None:
    for entry in sorted(folder.rglob("*")):
        system.sync(entry)
    system.sync(folder)
