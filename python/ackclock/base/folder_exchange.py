"""Atomic exchange of two folders, where system and file system support it."""

import ctypes
import errno
import os
import sys
from pathlib import Path

_AT_FDCWD = -100
_SWAP = 2
"""Linux's RENAME_EXCHANGE and the RENAME_SWAP of macOS."""

_UNSUPPORTED = {errno.EINVAL, errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP}


def exchange(one: Path, other: Path) -> bool:
    """Exchange two folders atomically: at every moment, even after a kill, both exist.

    Args:
        one: A folder.
        other: Another, on the same file system.

    Returns:
        False if this is not supported here; nothing has changed then.

    Raises:
        OSError: If the exchange failed.
    """
    if sys.platform == "win32":
        return False
    libc = ctypes.CDLL(None, use_errno=True)
    names = os.fsencode(one), os.fsencode(other)
    try:
        if sys.platform == "darwin":
            failed = libc.renamex_np(*names, ctypes.c_uint(_SWAP))
        else:
            failed = libc.renameat2(_AT_FDCWD, names[0], _AT_FDCWD, names[1], ctypes.c_uint(_SWAP))
    except AttributeError:
        return False
    if not failed:
        return True
    code = ctypes.get_errno()
    if code in _UNSUPPORTED:
        return False
    raise OSError(code, os.strerror(code), str(other))
