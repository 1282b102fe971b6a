"""Files that appear whole or not at all."""

import errno
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

MANIFEST = "manifest.json"


class OutputExistsError(ValueError):
    """The place for the results is taken: wrong input, since nothing may be overwritten unasked."""


def write_file(path: Path, content: bytes) -> None:
    """Replace or create a file; whoever looks sees the old content or all of the new.

    Args:
        path: The file.
        content: All of it.
    """
    handle, temporary = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".partial", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
            os.fchmod(file.fileno(), 0o666 & ~_umask())
        Path(temporary).replace(path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def check_folder(path: Path, *, force: bool = False) -> None:
    """Find out, before any work is done, whether a result folder could be written.

    Args:
        path: The folder to be.
        force: Whether a result folder that exists may be replaced.

    Raises:
        OutputExistsError: If something is there that must not be replaced.
        OSError: If nothing can be written beside it.
    """
    if path.is_symlink() or path.exists():
        if not force:
            raise OutputExistsError(f"{path} exists already; choose another folder, or replace it with --force")
        if not path.is_dir() or path.is_symlink():
            raise OutputExistsError(f"{path} is not a folder; --force replaces only folders of results")
        if any(path.iterdir()) and not (path / MANIFEST).is_file():
            raise OutputExistsError(
                f"{path} holds no {MANIFEST}, so it is no folder of results; --force leaves it alone"
            )
    with _sibling(path):
        pass


@contextmanager
def new_folder(path: Path, *, force: bool = False) -> Iterator[Path]:
    """Give a temporary folder that becomes `path` when the block ends well, and vanishes when it does not.

    Args:
        path: The folder to be.
        force: Whether a result folder that exists is replaced, once the new one is complete.

    Yields:
        The folder to write into.

    Raises:
        OutputExistsError: If something is there that must not be replaced.
        OSError: If it cannot be written.
    """
    check_folder(path, force=force)
    with _sibling(path) as partial, _naming(path):
        yield partial
        _sync_files(partial)
        partial.chmod(0o777 & ~_umask())
        _put_in_place(partial, path, force=force)


@contextmanager
def _naming(path: Path) -> Iterator[None]:
    """Give a failure to write that names no file the name of the folder: a full disk says only that it is full."""
    try:
        yield
    except OSError as error:
        if error.errno is not None and error.filename is None:
            raise OSError(error.errno, error.strerror, str(path)) from error
        raise


@contextmanager
def _sibling(path: Path) -> Iterator[Path]:
    """A temporary folder beside `path`, removed at the end if it still has its name."""
    parents = _make_parents(path.parent)
    partial: Path | None = None
    try:
        partial = Path(tempfile.mkdtemp(prefix=f".{path.name}.partial-", dir=path.parent))
        yield partial
    finally:
        if partial is not None:
            shutil.rmtree(partial, ignore_errors=True)
        for parent in parents:
            if not any(parent.iterdir()):
                parent.rmdir()


def _make_parents(folder: Path) -> list[Path]:
    """Make the missing folders above a result and return them, innermost first."""
    ancestors = (folder, *folder.parents)
    for ancestor in ancestors:
        if ancestor.exists() and not ancestor.is_dir():
            raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(ancestor))
    missing = [ancestor for ancestor in ancestors if not ancestor.exists()]
    folder.mkdir(parents=True, exist_ok=True)
    return missing


def _put_in_place(partial: Path, path: Path, *, force: bool) -> None:
    replaced: Path | None = None
    if force and path.exists():
        replaced = Path(tempfile.mkdtemp(prefix=f".{path.name}.old-", dir=path.parent)) / path.name
        path.rename(replaced)
    try:
        partial.rename(path)
    except OSError:
        if replaced is not None:
            replaced.rename(path)
        raise
    finally:
        if replaced is not None:
            shutil.rmtree(replaced.parent, ignore_errors=True)
    _sync(path.parent)


def _sync_files(folder: Path) -> None:
    for file in sorted(folder.iterdir()):
        _sync(file)
    _sync(folder)


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
