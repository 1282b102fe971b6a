"""List of the figures of a sweep or study: each with its caption, and drawn when asked for."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final

import numpy as np
from matplotlib.figure import Figure

from ackclock.experiments.grid import goes_with
from ackclock.plotting.figures import Axis, Cloud, Curve
from ackclock.plotting.figures.panel_grid import MOST_PANELS
from ackclock.scenario.quantities import is_wide, scale
from ackclock.scenario.setting_values import value_key
from ackclock.stats.estimates import Estimate

GOODPUT: Final = Axis("goodput (Mbit/s)")


def intervals(seeds: Sequence[int], what: str = "bars") -> str:
    """Return the end of a caption of means over seeds; empty for one seed, which has no intervals."""
    return f"; {what}: 95 % confidence intervals over seeds" if len(seeds) > 1 else ""


def ellipses(seeds: Sequence[int]) -> str:
    """Return the end of a caption of a scatter plot; empty for one seed, whose only point is its mean."""
    return ": dots: seeds; markers: their means; ellipses: one standard deviation" if len(seeds) > 1 else ""


@dataclass(frozen=True, slots=True)
class Drawn:
    """Figure to be drawn.

    Attributes:
        name: Name, also of its files.
        caption: Caption.
        draw: Function that draws it.
        group: Heading of a page under which it stands.
        over: Key of the setting on its horizontal axis; empty if that is another quantity.
    """

    name: str
    caption: str
    draw: Callable[[], Figure]
    group: str = "Figures"
    over: str = ""


def distinctly(figures: Iterable[Drawn]) -> Iterator[Drawn]:
    """Make the names of figures unique, since they become file names."""
    taken: set[str] = set()
    for figure in figures:
        names = (figure.name, *(f"{figure.name}-{number}" for number in range(2, 3 + len(taken))))
        name = next(name for name in names if name.casefold() not in taken)
        taken.add(name.casefold())
        yield replace(figure, name=name)


def pages(
    name: str,
    caption: str,
    panels: Mapping[str, Any],
    draw: Callable[[Any], Figure],
    *,
    group: str = "Figures",
    over: str = "",
    counted: bool = True,
) -> Iterator[Drawn]:
    """Split panels into legible figures; with `counted`, captions are numbered."""
    items = list(panels.items())
    parts = [dict(items[at : at + MOST_PANELS]) for at in range(0, len(items), MOST_PANELS)]
    for number, part in enumerate(parts, 1):
        of = f" ({number} of {len(parts)})" if counted and len(parts) > 1 else ""
        suffix = f"-{number}" if len(parts) > 1 else ""
        yield Drawn(f"{name}{suffix}", f"{caption}{of}.", partial(draw, part), group, over)


def numeric_axes(
    axes: Mapping[str, Sequence[Any]], rows: Sequence[Mapping[str, Any]], titles: Mapping[str, str] | None = None
) -> list[tuple[str, dict[str, float], str]]:
    """Return the numeric axes, without those determined by an earlier axis: path, places of the values, and label."""
    found: list[tuple[str, dict[str, float], str]] = []
    for axis, values in axes.items():
        known = scale((titles or {}).get(axis, axis), values)
        if known and not any(goes_with(rows, axis, earlier) for earlier, *_ in found):
            found.append((axis, dict(zip(map(value_key, values), known[0], strict=True)), known[1]))
    return found


def delay_axis(panels: Mapping[str, Sequence[Cloud]]) -> Axis:
    """Return the axis of queueing delay for scatter plots."""
    values = [value for panel in panels.values() for cloud in panel for value in cloud.x]
    return Axis("mean queueing delay (ms)", is_log=bool(values) and min(values) > 0.01 and is_wide(values))


def curve(name: str, points: Sequence[tuple[float, Estimate]]) -> Curve:
    """Return means over a quantity as a curve; points without a known interval have no error bar."""
    ordered = sorted(points, key=lambda point: point[0])
    means, halves = [found.mean for _, found in ordered], [found.half for _, found in ordered]
    known = [np.nan if half is None else half for half in halves] if any(half is not None for half in halves) else None
    return Curve(name, [at for at, _ in ordered], means, known)
