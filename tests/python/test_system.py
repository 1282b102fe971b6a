"""Locks and memory of a process here; and what Windows would be asked, which has not run these."""

import importlib.util
import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest

from ackclock.base import system


def test_a_lock_keeps_another_process_out(tmp_path: Path) -> None:
    file = tmp_path / "lock"
    handle = os.open(file, os.O_RDWR | os.O_CREAT)
    try:
        system.lock(handle)
        program = f"import os; from ackclock.base import system; system.lock(os.open({str(file)!r}, os.O_RDWR))"
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
        assert "BlockingIOError" in done.stderr
    finally:
        os.close(handle)


def test_a_folder_is_held_while_it_is_held(tmp_path: Path) -> None:
    assert not system.is_held(tmp_path)
    with system.held_folder(tmp_path):
        assert system.is_held(tmp_path)
    assert not system.is_held(tmp_path)
    assert system.is_held(tmp_path / "gone"), "of what is not there nothing can be said"


def test_memory_grows_by_what_is_taken() -> None:
    """Memory is taken from the system itself: an allocator may give memory that the process has already.

    So a process of its own takes it, in which nothing else happens.
    """
    program = (
        "import mmap; from ackclock.base import system; before = system.resident_bytes()\n"
        "taken = mmap.mmap(-1, 50_000_000)\n"
        "for page in range(0, len(taken), mmap.PAGESIZE): taken[page] = 1\n"
        "print(system.resident_bytes() - before)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert 40e6 < int(done.stdout) < 80e6


@pytest.fixture
def on_windows(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The module as Windows would load it, with a lock that another process has."""

    def locking(_handle: int, _mode: int, _count: int) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(sys, "platform", "win32")
    monkeypatch.setitem(sys.modules, "msvcrt", SimpleNamespace(locking=locking, LK_NBLCK=2))  # type: ignore[arg-type]
    for name in ("fcntl", "resource"):
        monkeypatch.setitem(sys.modules, name, None)
    spec = importlib.util.spec_from_file_location("system_on_windows", system.__file__)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_windows_asks_for_nothing_that_it_has_not(on_windows: ModuleType, tmp_path: Path) -> None:
    with (tmp_path / "file").open("wb") as file, pytest.raises(BlockingIOError):
        on_windows.lock(file.fileno())
    with on_windows.held_folder(tmp_path), on_windows.uninterrupted():
        on_windows.sync(tmp_path)
        on_windows.sync(tmp_path / "file")
    assert not on_windows.is_held(tmp_path) and on_windows.is_held(tmp_path / "gone")
    assert on_windows.resident_bytes() == 0
