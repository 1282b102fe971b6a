"""Curves of a paper, read from a CSV file, to be drawn beside those of a study."""

import csv
import math
from collections import defaultdict
from io import StringIO
from pathlib import Path

from ackclock.base import input_files
from ackclock.base.input_files import InputError
from ackclock.plotting.figures.curves import Curve

_REMEDY = "write columns x and y and, if wanted, label, half and panel: label,x,y"


def published_curves(path: Path) -> dict[str, list[Curve]]:
    """Read curves.

    Args:
        path: CSV file with the columns `x` and `y` in the units of the figure's axes; `label` by default the file's
            name, `half` half the height of an error bar, `panel` the title of a panel.

    Returns:
        The curves by panel; those of "" belong to every panel.

    Raises:
        InputError: If it is not such a file.
    """
    rows = csv.DictReader(StringIO(input_files.text(path, remedy=_REMEDY)))
    if not {"x", "y"} <= set(rows.fieldnames or ()):
        raise InputError(f"{path}: has the columns {', '.join(rows.fieldnames or ['none'])}; {_REMEDY}")
    lines: dict[tuple[str, str], list[tuple[float, float, float]]] = defaultdict(list)
    for row in rows:
        place = (row.get("panel") or "", row.get("label") or path.stem)
        lines[place].append(_point(row, f"{path}, line {rows.line_num}"))
    if not lines:
        raise InputError(f"{path}: has no points; {_REMEDY}")
    found: dict[str, list[Curve]] = defaultdict(list)
    for (panel, label), points in lines.items():
        x, y, half = zip(*sorted(points), strict=True)
        found[panel].append(Curve(label, x, y, None if all(one != one for one in half) else half))
    return found


def _point(row: dict[str, str], place: str) -> tuple[float, float, float]:
    """Return x, y and half the height of the error bar, which is NaN without one."""
    try:
        x, y, half = float(row["x"]), float(row["y"]), float(row.get("half") or 0.0)
    except (TypeError, ValueError):
        raise InputError(f"{place}: x, y and half must be numbers; {_REMEDY}") from None
    if not all(map(math.isfinite, (x, y, half))):
        raise InputError(f"{place}: x, y and half must be finite; leave out points without a value")
    if half < 0:
        raise InputError(f"{place}: half must not be negative; write half the height of the error bar")
    return x, y, half if row.get("half") else math.nan
