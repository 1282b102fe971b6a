"""Plan of a study: mixes of controllers, over paths, for seeds."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from ackclock.experiments.grid import Settings, all_values
from ackclock.scenario.dumbbells import rate_text
from ackclock.scenario.setting_values import value_text
from ackclock.scenario.toml_places import Key

PATH_KEYS: Final = ("rate", "rtt", "buffer", "queue", "loss", "trace")
"""Keys of a path, beside its name."""

PATH_DEFAULTS: Final[Mapping[str, Any]] = {"rate": "100 Mbit/s", "rtt": "40 ms", "buffer": "1 bdp"}


@dataclass(frozen=True, slots=True)
class Entry:
    """Controller under comparison.

    Attributes:
        label: Label in figures and tables.
        flow: Table of a flow with it: `controller`, and any other key of a scenario's `[[flow]]`.
        key: Place in the file.
    """

    label: str
    flow: Mapping[str, Any]
    key: Key


@dataclass(frozen=True, slots=True)
class LineUp:
    """Mix of controllers on a path.

    Attributes:
        name: Name, unique in the study.
        kind: One flow alone; two of a kind; one each of two kinds; or an explicit group.
        members: Label of each flow.
    """

    name: str
    kind: Literal["alone", "itself", "pair", "group"]
    members: tuple[str, ...]

    @property
    def labels(self) -> tuple[str, ...]:
        """Distinct labels."""
        return tuple(dict.fromkeys(self.members))


@dataclass(frozen=True, slots=True)
class Origin:
    """Source of a study, as read; its file may change before the study ends.

    Attributes:
        document: Table of the study.
        folder: Folder to which its file names are relative.
        stem: Default name of the study.
    """

    document: Mapping[str, Any]
    folder: str
    stem: str


@dataclass(frozen=True, slots=True)
class Plan:
    """Study, as read from its file.

    Attributes:
        name: Name of the study.
        folder: Folder in which files and classes are searched.
        controllers: Controllers under comparison.
        line_ups: Mixes of controllers.
        cells: Every combination of the other axes.
        seeds: Seeds, one per repetition.
        duration: Simulated time of each run.
        measure: Measurement window; None measures each flow over its lifetime.
        start_within: Interval for random starts of flows, drawn by the seed; None leaves starts to the flows' tables.
        scenario: Tables of a scenario instead of a path, whose flows are templates for the mixes.
        link: Link whose utilization and queue are measured; None finds the bottleneck.
        keep: Number of runs that are kept with their series.
        places: Place of each setting's value in the file.
        origin: Source of the study.
    """

    name: str
    folder: str
    controllers: tuple[Entry, ...]
    line_ups: tuple[LineUp, ...]
    cells: tuple[Settings, ...]
    seeds: tuple[int, ...]
    duration: str
    measure: Mapping[str, Any] | None
    start_within: str | None
    scenario: Mapping[str, Any] | None = None
    link: str | None = None
    keep: int = 4
    places: Mapping[str, Key] = field(default_factory=dict)
    origin: Origin = field(default_factory=lambda: Origin({}, ".", "study"))

    @property
    def size(self) -> int:
        """Number of runs."""
        return len(self.cells) * len(self.line_ups) * len(self.seeds)

    @property
    def axes(self) -> dict[str, list[Any]]:
        """Settings that distinguish cells, with their values in order; named paths may lack settings of others."""
        values = all_values(self.cells)
        lacking = {key for key in values if any(key not in cell for cell in self.cells)}
        return {key: found for key, found in values.items() if len(found) > 1 or key in lacking}

    @property
    def constants(self) -> dict[str, Any]:
        """Settings that are the same in each cell."""
        axes = self.axes
        return {key: found[0] for key, found in all_values(self.cells).items() if key not in axes}

    def entry(self, label: str) -> Entry:
        """Return a controller by its label."""
        return next(entry for entry in self.controllers if entry.label == label)


def title(settings: Settings, keys: Sequence[str], name: Callable[[str], str] = str) -> str:
    """Name a cell by some of its settings.

    Args:
        settings: The settings.
        keys: Those to tell, if the cell has them.
        name: Function that returns the name to show for the text of a value.

    Examples:
        >>> title({"rate": "10 Mbit/s", "rtt": "20 ms", "loss": 0.01}, ["rtt", "loss"])
        '20 ms, loss 0.01'
    """
    return ", ".join(said(key, settings[key], name) for key in keys if key in settings)


def said(key: str, value: Any, name: Callable[[str], str] = str) -> str:  # noqa: ANN401
    """Describe a setting so that it needs no explanation."""
    text = rate_text(value) if key == "rate" and isinstance(value, str) else value_text(value)
    shown = name(text)
    if shown != text or key in ("rate", "rtt", "path", "profile") or (key == "queue" and isinstance(value, str)):
        return shown
    return f"{key} {text}"
