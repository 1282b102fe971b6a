"""Arrangement of a study's figures: which axis is colour, which is panel, which is line style, and their names."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final, Generic, TypeVar

from ackclock.base.printable import unknown
from ackclock.experiments.grid import Settings, goes_with
from ackclock.experiments.studies.plan import LineUp, Plan, said
from ackclock.plotting.figures.theme import DASHES, INK, MARKS, Look, look
from ackclock.results.run_labels import distinct
from ackclock.scenario.display_names import DISPLAY_NAMES, displayed
from ackclock.scenario.quantities import scale
from ackclock.scenario.setting_values import value_key

if TYPE_CHECKING:
    from ackclock.plotting.figures.curves import Curve

LINE_UP: Final = "line_up"
"""Name of the line-ups among the axes."""

MOST_COLOURS: Final = 8

Subjects = Sequence[tuple[str, LineUp]]
"""Line-ups of a figure, each with its name in the figure."""

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Arrangement:
    """Roles of axes, as asked for.

    Attributes:
        colour: Axes that colours tell apart; empty for the line-ups or, of one, the first axis that is not numeric.
        panel: Axes that have a panel for each value; None for all that are left.
        style: Axes that line styles tell apart.
        names: Names to show, by label of a controller or text of a value.
        beside: Curves from elsewhere, by title of a panel; those of "" are drawn in each.
    """

    colour: tuple[str, ...] = ()
    panel: tuple[str, ...] | None = None
    style: tuple[str, ...] = ()
    names: Mapping[str, str] = field(default_factory=dict)
    beside: "Mapping[str, Sequence[Curve]]" = field(default_factory=dict)

    def name(self, text: str) -> str:
        """Return the name of a label or a value."""
        return displayed(text, {**DISPLAY_NAMES, **self.names})


@dataclass(frozen=True, slots=True)
class Item(Generic[T]):
    """Value of a line-up on a path, with its label in the figure."""

    label: str
    cell: int
    value: T


@dataclass(frozen=True, slots=True)
class Arranged(Generic[T]):
    """Items of each panel, by its title, and the style of each label."""

    panels: Mapping[str, Sequence[Item[T]]]
    looks: Mapping[str, Look]


def arranged(
    plan: Plan, subjects: Subjects, asked: Arrangement, of: Callable[[int, LineUp], T | None], over: str = ""
) -> Arranged[T]:
    """Arrange the values of line-ups on paths in panels.

    Args:
        plan: The study.
        subjects: Line-ups of the figure.
        asked: Roles that the axes shall have.
        of: Function that returns the value of a line-up in a cell; None without one.
        over: Setting on the horizontal axis.

    Raises:
        ValueError: If the study has no such axis.
    """
    for axis in (*asked.colour, *(asked.panel or ()), *asked.style):
        if axis not in (known := [*plan.axes, LINE_UP]):
            raise ValueError(unknown("axis", axis, known))
    roles = _roles(plan, asked, over, several=len(subjects) > 1)
    panels: dict[tuple[str, ...], list[Item[T]]] = {}
    titles: dict[tuple[str, ...], str] = {}
    styles: dict[str, tuple[str, str]] = {}
    for cell, settings in enumerate(plan.cells):
        for name, line_up in subjects if not over or over in settings else ():
            value = of(cell, line_up)
            if value is None:
                continue
            spot = {**settings, LINE_UP: name}
            label = _text(spot, list(dict.fromkeys((*roles.colour, *roles.style))), asked) or name
            styles.setdefault(label, (_text(spot, roles.colour, asked), _text(spot, roles.style, asked)))
            place = tuple(value_key(spot.get(key)) for key in roles.panel or ())
            titles.setdefault(place, _text(spot, roles.panel or (), asked))
            panels.setdefault(place, []).append(Item(label, cell, value))
    named = dict(zip(distinct(list(titles.values())), panels.values(), strict=True))
    return Arranged(named, _looks(styles, _ranks(subjects, roles)))


def _roles(plan: Plan, asked: Arrangement, over: str, *, several: bool) -> Arrangement:
    """Return the roles of all axes."""

    def free(given: Sequence[str]) -> list[str]:
        """Return the axes that the given ones do not determine, without the horizontal one and those paired with it."""
        apart = [key for key in plan.axes if not any(goes_with(plan.cells, key, other) for other in given)]
        return [key for key in apart if key != over and not (over and key != "path" and _paired(plan, key, over))]

    every = [*([LINE_UP] if several else []), *free(())]
    colour = tuple(key for key in asked.colour if key != over) or _default_colour(plan, every)
    style = tuple(key for key in asked.style if key != over)
    given = (*colour, *style)
    rest = [*([LINE_UP] if several and LINE_UP not in given else []), *free(given)]
    if asked.panel is None:
        return replace(asked, colour=colour, style=style, panel=tuple(rest))
    panel = tuple(key for key in asked.panel if key != over)
    left = [key for key in rest if key not in panel and key in (LINE_UP, *free(panel))]
    return replace(asked, colour=(*colour, *left), style=style, panel=panel)


def _paired(plan: Plan, key: str, other: str) -> bool:
    return goes_with(plan.cells, key, other) and goes_with(plan.cells, other, key)


def _default_colour(plan: Plan, every: Sequence[str]) -> tuple[str, ...]:
    if LINE_UP in every:
        return (LINE_UP,)
    few = [key for key in every if len(plan.axes[key]) <= MOST_COLOURS]
    words = [key for key in few if scale(key, plan.axes[key]) is None]
    return tuple([*words, *few][:1])


def _text(settings: Settings, keys: Sequence[str], asked: Arrangement) -> str:
    """Return the text of some settings; those that a named path lacks are left out."""
    parts = (
        settings[key] if key == LINE_UP else said(key, settings[key], asked.name) for key in keys if key in settings
    )
    return ", ".join(parts)


def _ranks(subjects: Subjects, roles: Arrangement) -> list[str]:
    """Return the line-ups in their order, if colours tell them apart: theirs are the same in every figure."""
    return [name for name, _ in subjects] if roles.colour == (LINE_UP,) else []


def _looks(styles: Mapping[str, tuple[str, str]], ranks: Sequence[str]) -> dict[str, Look]:
    """Return the look of each label: a colour by its first text, a dash and a marker by its second if there is one."""
    colours = list(dict.fromkeys([*ranks, *(colour for colour, _ in styles.values())]))
    dashes = list(dict.fromkeys(style for _, style in styles.values()))
    known = {}
    for label, (colour, style) in styles.items():
        own, place = look(colours.index(colour)), dashes.index(style)
        apart = replace(own, dash=DASHES[place % len(DASHES)], mark=MARKS[place % len(MARKS)])
        known[label] = own if len(dashes) == 1 else apart
    return known


def with_curves_beside(
    curves: "Mapping[str, Sequence[Curve]]", known: Mapping[str, Look], asked: Arrangement
) -> "tuple[dict[str, list[Curve]], dict[str, Look]]":
    """Return panels and looks with the curves from elsewhere, which are black and dashed, and have their own labels."""
    every = list(dict.fromkeys(curve.label for panel in asked.beside.values() for curve in panel))
    labels = {label: f"{label} (published)" if label in known else label for label in every}
    theirs = {
        label: Look(INK, MARKS[-1 - place % len(MARKS)], DASHES[2]) for place, label in enumerate(labels.values())
    }
    beside = {
        title: [replace(curve, label=labels[curve.label], published=True) for curve in panel]
        for title, panel in asked.beside.items()
    }
    shown = {
        name: [*lines, *(curve for title in dict.fromkeys(("", name)) for curve in beside.get(title, ()))]
        for name, lines in curves.items()
    }
    return shown, {**known, **theirs}


def undrawable(curves: "Mapping[str, Sequence[Curve]]", asked: Arrangement, *, is_log: bool) -> str:
    """Return why the curves from elsewhere cannot be drawn in these panels; empty if they can."""
    for title, panel in asked.beside.items():
        if title and title not in curves:
            return unknown("panel", title, curves)
        for curve in panel:
            if is_log and min(curve.x) <= 0:
                return f"{curve.label}: x must be above 0 on a logarithmic axis, not {min(curve.x):g}"
    return ""
