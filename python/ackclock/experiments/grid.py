"""Grid of an experiment: its axes, the combinations of their values, and its points."""

import hashlib
import itertools
import json
import math
import re
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, Final

from ackclock._core import Scenario, ScenarioError, build_info
from ackclock.base.decoding import decoded_toml
from ackclock.base.input_files import InputError
from ackclock.base.toml_text import toml_text
from ackclock.base.version import __version__
from ackclock.scenario.diagnostics import joined, remedy
from ackclock.scenario.module_closure import own_code
from ackclock.scenario.setting_values import each_once, value_key

if TYPE_CHECKING:
    from ackclock.running.linux_kernels import Kernel

MOST_RUNS: Final = 1_000_000
"""Largest number of runs of a study or points of a sweep; more are considered a mistake."""

Settings = Mapping[str, Any]
"""Values of axes by their names."""

Block = list[dict[str, Any]]
"""Settings that vary together; a combination takes one entry of each block."""

_RANGE = re.compile(r"\s*(-?\d+)\s*\.\.\s*(-?\d+)\s*")
_MOST_VALUES = 1_000_000
_COLUMNS = frozenset({"flow", "link", "group"})
"""Lists of a scenario whose names are columns of the result tables."""


class GridError(InputError):
    """Error: an axis is wrong. The message says which one, and what to write."""


@dataclass(frozen=True, slots=True)
class Axis:
    """Parameter with its values.

    Attributes:
        path: Path of the value in the scenario, such as `topology.bottleneck.rate`.
        values: Values in order, without repetition unless paired with another axis.
    """

    path: str
    values: tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Point:
    """One run of the grid.

    Attributes:
        parameters: Value of each axis.
        scenario_json: Effective scenario, checked.
        scenario_hash: Hash of the effective scenario, seed included.
        folder: Folder that is searched first for Python classes.
        own: SHA-256 of the file of each Python class that controls a flow, and of its imports from the scenario's
            folder; empty without any.
        on: Kernel that it runs on, in virtual time; None for the simulator.
    """

    parameters: dict[str, Any]
    scenario_json: str
    scenario_hash: str
    folder: str = "."
    own: tuple[str, ...] = ()
    on: "Kernel | None" = None

    @property
    def said(self) -> str:
        """Parameters with their values, for messages."""
        return ", ".join(f"{path} = {value}" for path, value in self.parameters.items())

    @property
    def key(self) -> str:
        """Name of the point's result: the same scenario, engine, classes and kernel give the same result."""
        place = () if self.on is None else (json.dumps(self.on.identity),)
        identity = " ".join((__version__, _engine(), self.scenario_hash, *self.own, *place))
        return hashlib.sha256(identity.encode()).hexdigest()[:32]


@cache
def _engine() -> str:
    """Return an identity of the engine's sources, as two checkouts of one version may differ."""
    return build_info()["engine"]


def parse_axis(text: str, paired: Sequence[Sequence[str]] = ()) -> Axis:
    """Parse an axis.

    Args:
        text: `path=value`: a range of integers `1..20` (both ends included), a TOML array of values, or one value.
        paired: Paths of paired axes, whose values may repeat.

    Raises:
        GridError: If it is none of these.

    Examples:
        >>> parse_axis("seed=1..3").values
        (1, 2, 3)
        >>> parse_axis('tcp.mss=[536, 1448]').values
        (536, 1448)
        >>> parse_axis("duration=5 s").values
        ('5 s',)
    """
    path, sign, value = text.partition("=")
    if not sign or not path.strip():
        raise GridError(f"--set {text!r} is not path=values; write it like 'seed=1..20' or 'tcp.mss=[536, 1448]'")
    values = _values(path.strip(), value)
    if not values:
        raise GridError(f"--set {path.strip()} has no values; write it like {path.strip()}=[1, 2]")
    if any(path.strip() in pair for pair in paired):
        return Axis(path.strip(), tuple(values))
    return Axis(path.strip(), tuple(each_once(values)))


def parse_axes(texts: Sequence[str], paired: Sequence[Sequence[str]] = ()) -> list[Axis]:
    """Parse several axes.

    Raises:
        GridError: If some are wrong; the message lists each.
    """
    axes: list[Axis] = []
    wrong: list[str] = []
    for text in texts:
        try:
            axes.append(parse_axis(text, paired))
        except GridError as error:
            wrong.append(str(error))
    if wrong:
        raise GridError("\n".join(wrong))
    return axes


def parse_pair(text: str) -> tuple[str, ...]:
    """Parse the paths of paired axes.

    Raises:
        GridError: If there are fewer than two.

    Examples:
        >>> parse_pair("topology.bottleneck.rate, topology.bottleneck.delay")
        ('topology.bottleneck.rate', 'topology.bottleneck.delay')
    """
    paths = tuple(path.strip() for path in text.split(",") if path.strip())
    if len(paths) < 2:
        raise GridError(f"--paired {text!r} names fewer than two axes; write it like 'flow.a.rtt,flow.b.rtt'")
    return paths


def _values(path: str, text: str) -> Sequence[Any]:
    bounds = _RANGE.fullmatch(text)
    if bounds:
        first, last = int(bounds[1]), int(bounds[2])
        if not 0 <= last - first < _MOST_VALUES:
            raise GridError(
                f"--set {path}={text}: must be a range; write the lower end first, and at most a million values"
            )
        return range(first, last + 1)
    value = _toml(path, text)
    return value if isinstance(value, list) else [value]


def _toml(path: str, text: str) -> Any:  # noqa: ANN401  whatever TOML can say
    try:
        return decoded_toml(f"value = {text}")["value"]
    except ValueError as error:
        if text.strip()[:1] in ("[", "{", '"', "'"):
            raise GridError(f"--set {path}={text} is not a TOML value: {error}") from error
        return text.strip()


def grid_of(
    axes: Sequence[Axis],
    make: Callable[[list[str]], Scenario],
    paired: Sequence[Sequence[str]] = (),
    on: "Kernel | None" = None,
) -> list[Point]:
    """Make and check every point before any is run.

    Args:
        axes: All axes; without any, the grid has one point.
        make: Function that makes the scenario with overrides.
        paired: Groups of paths that are paired, first value with first; all others are crossed.
        on: Kernel that all points run on, in virtual time; None for the simulator.

    Raises:
        GridError: If a path occurs twice, paired axes are missing or of different lengths, or one axis overrides
            another.
        ScenarioError: If any point is an invalid scenario; all wrong values are reported.
    """
    paths = [axis.path for axis in axes]
    taken = next((path for path in paths if path in _COLUMNS), None)
    if taken:
        raise GridError(f"--set {taken}: cannot sweep a whole list; sweep a field within it")
    repeated = sorted({path for path in paths if paths.count(path) > 1})
    if repeated:
        raise GridError(f"--set {repeated[0]} is given twice; put all its values into one array")
    blocks = _blocks(axes, paired)
    if (size := math.prod(map(len, blocks))) > MOST_RUNS:
        raise GridError(f"--set: the grid must have at most {MOST_RUNS:,} points, not {size:,}; leave out values")
    try:
        points = [_point(parameters, make, on) for parameters in combinations(blocks, paths)]
    except ScenarioError:
        error = joined(_wrong(combinations(blocks, paths), make))
        for diagnostic in error.diagnostics:
            diagnostic["remedy"] = remedy(diagnostic, paths)
        raise error from None
    if len({point.scenario_hash for point in points}) < len(points):
        _check_overridden(axes, points, make)
    return points


def _check_overridden(axes: Sequence[Axis], points: Sequence[Point], make: Callable[[list[str]], Scenario]) -> None:
    """Refuse an axis that another overrides: both set the same place, by two names or one within the other."""
    for axis in axes:
        if len(axis.values) > 1 and changes_nothing(axis.path, points, lambda point: point.scenario_hash):
            with suppress(ScenarioError):  # it needs other axes, and is heard where it has them
                if len({make([f"{axis.path}={toml_text(value)}"]).hash for value in axis.values}) > 1:
                    raise GridError(f"--set {axis.path} is overridden by another axis; give one of them")


def changes_nothing(path: str, points: Sequence[Point], of: Callable[[Point], Hashable]) -> bool:
    """Return whether points that differ only in one parameter agree in some property; False without such points."""
    by_others: dict[str, list[Point]] = {}
    for point in points:
        others = {name: value for name, value in point.parameters.items() if name != path}
        by_others.setdefault(value_key(others), []).append(point)
    groups = [group for group in by_others.values() if len(group) > 1]
    return bool(groups) and all(len(set(map(of, group))) == 1 for group in groups)


def combinations(blocks: Iterable[Block], order: Sequence[str] = ()) -> Iterator[dict[str, Any]]:
    """Yield the Cartesian product of blocks, the last one varying fastest.

    Args:
        blocks: Blocks of any lengths; without any there is one combination.
        order: Names that come first in each combination, in this order.
    """
    rank = {name: place for place, name in enumerate(order)}
    for chosen in itertools.product(*blocks):
        settings = [item for step in chosen for item in step.items()]
        yield dict(sorted(settings, key=lambda item: rank.get(item[0], len(rank))))


def together(axes: Mapping[str, Sequence[Any]]) -> Block:
    """Return paired axes as a block, first value with first.

    Raises:
        ValueError: If their numbers of values differ; the message states each.
    """
    if len({len(values) for values in axes.values()}) > 1:
        raise ValueError(", ".join(f"{name} has {len(values)}" for name, values in axes.items()))
    return [dict(zip(axes, step, strict=True)) for step in zip(*axes.values(), strict=True)]


def all_values(cells: Iterable[Settings]) -> dict[str, list[Any]]:
    """Return the values of each setting, in order of appearance."""
    values: dict[str, list[Any]] = {}
    for cell in cells:
        for key, value in cell.items():
            values.setdefault(key, []).append(value)
    return {key: each_once(found) for key, found in values.items()}


def goes_with(cells: Iterable[Settings], key: str, other: str) -> bool:
    """Return whether one setting determines the other: they are paired, or belong to named paths."""
    seen: dict[str, str] = {}
    pairs = ((value_key(cell.get(other)), value_key(cell.get(key))) for cell in cells)
    return all(seen.setdefault(one, another) == another for one, another in pairs)


def _wrong(combinations: Iterable[dict[str, Any]], make: Callable[[list[str]], Scenario]) -> Iterator[ScenarioError]:
    """Yield the errors of points, trying as few points as cover each value of each axis."""
    tried: set[tuple[str, str]] = set()
    for parameters in combinations:
        values = {(path, value_key(value)) for path, value in parameters.items()}
        if tried and values <= tried:
            continue
        tried |= values
        try:
            _point(parameters, make)
        except ScenarioError as error:
            yield error


def _blocks(axes: Sequence[Axis], paired: Sequence[Sequence[str]]) -> list[Block]:
    """Return the blocks of axes, paired ones at the place of their first."""
    by_path = {axis.path: axis for axis in axes}
    named = [path for pair in paired for path in pair]
    for path in named:
        if path not in by_path:
            raise GridError(f"--paired {path}: must name an axis; add --set {path}=[...]")
        if named.count(path) > 1:
            raise GridError(f"--paired names {path} twice; an axis goes with one group")
    groups: dict[str, dict[str, Sequence[Any]]] = {}
    for axis in axes:
        pair = next((pair for pair in paired if axis.path in pair), (axis.path,))
        groups.setdefault(pair[0], {})[axis.path] = axis.values
    try:
        return [together(group) for group in groups.values()]
    except ValueError as error:
        raise GridError(f"axes that are --paired need as many values as each other; {error}") from error


def _point(parameters: dict[str, Any], make: Callable[[list[str]], Scenario], on: "Kernel | None" = None) -> Point:
    scenario = make([f"{path}={toml_text(value)}" for path, value in parameters.items()])
    return point_of({**parameters, "seed": scenario.seed}, scenario, on)


def point_of(parameters: dict[str, Any], scenario: Scenario, on: "Kernel | None" = None) -> Point:
    """Return a scenario as a point of a grid."""
    return Point(parameters, scenario.to_json(), scenario.hash, str(scenario.folder), own_code(scenario), on)
