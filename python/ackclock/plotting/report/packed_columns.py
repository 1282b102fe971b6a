"""Compact columns of numbers in a page: integer levels, differences, bytes grouped by significance, deflated.

A value has 65,535 levels between the minimum and the maximum of its column, much finer than a pixel. Integers of a
smaller range, and times, are exact. The page decodes them in `pages/report/columns.js`.
"""

import base64
import zlib
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from ackclock.stats.metrics import Floats

_NONE: Final = 65_535
"""Level that stands for a missing value."""

_FINEST_S: Final = 1e-7
_LONGEST: Final = float(2**32 - 2)


class Columns:
    """Columns of a page, each stored once however many plots use it."""

    def __init__(self) -> None:
        """Begin without columns."""
        self._entries: list[dict[str, Any]] = []
        self._places: dict[tuple[Any, ...], int] = {}

    @property
    def entries(self) -> list[dict[str, Any]]:
        """Entries of the columns in the page."""
        return self._entries

    @property
    def size(self) -> int:
        """Size in the page, octets."""
        return sum(len(entry["z"]) for entry in self._entries)

    def values(self, values: Floats) -> int:
        """Store values, with NaN for missing ones, and return their index.

        Args:
            values: Column of any length.
        """
        known = values[np.isfinite(values)]
        low, high = (float(known.min()), float(known.max())) if known.size else (0.0, 0.0)
        is_whole = bool(known.size) and high - low < _NONE and bool((known == np.round(known)).all())
        step = 1.0 if is_whole else (high - low) / (_NONE - 1) or 1.0
        levels = np.full(values.size, _NONE, dtype=np.uint16)
        levels[np.isfinite(values)] = np.round((known - low) / step).astype(np.uint16)
        return self._keep(levels, low, step)

    def times(self, time_s: Floats) -> int:
        """Store times to 0.1 us, or a little coarser in runs beyond seven minutes, and return their index.

        Args:
            time_s: None below zero.
        """
        step = _FINEST_S
        while time_s.size and float(time_s.max()) / step > _LONGEST:
            step *= 10
        return self._keep(np.round(time_s / step).astype(np.uint32), 0.0, step)

    def counts(self, counts: NDArray[Any]) -> int:
        """Store non-negative integers, exact below 2**32 and otherwise as fine as possible, and return their index.

        Args:
            counts: Integers, such as positions in a stream.
        """
        step = 1
        while counts.size and int(counts.max()) // step > _LONGEST:
            step *= 2
        return self._keep((counts // step).astype(np.uint32), 0.0, float(step))

    def _keep(self, levels: NDArray[Any], low: float, step: float) -> int:
        content = packed(levels)
        key = (content, levels.dtype.itemsize, low, step)
        if key not in self._places:
            self._places[key] = len(self._entries)
            text = base64.b64encode(content).decode("ascii")
            width = levels.dtype.itemsize
            self._entries.append({"n": int(levels.size), "w": width, "low": low, "step": step, "z": text})
        return self._places[key]


def packed(levels: NDArray[Any]) -> bytes:
    r"""Encode levels: differences modulo the range, all lowest octets first, deflated without a header.

    Args:
        levels: Array of an unsigned type.

    Examples:
        >>> zlib.decompress(packed(np.array([258, 260, 259], dtype=np.uint16)), -15)
        b'\x02\x02\xff\x01\x00\xff'
    """
    kind = levels.dtype.newbyteorder("<")
    differences = np.diff(levels, prepend=levels.dtype.type(0)).astype(kind)
    planes = differences.view(np.uint8).reshape(-1, levels.dtype.itemsize).T
    deflate = zlib.compressobj(9, zlib.DEFLATED, -15)
    return deflate.compress(planes.tobytes()) + deflate.flush()
