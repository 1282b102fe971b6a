"""What a study is: controllers in line-ups, over paths, for seeds."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from ackclock.experiments.grid import Settings, all_values
from ackclock.scenario.dumbbells import rate_text
from ackclock.scenario.setting_values import value_text
from ackclock.scenario.toml_places import Key

PATH_KEYS: Final = ("rate", "rtt", "buffer", "queue", "loss", "trace")
"""What a study says of a path, beside its name."""

PATH_DEFAULTS: Final[Mapping[str, Any]] = {"rate": "100 Mbit/s", "rtt": "40 ms", "buffer": "1 bdp"}


@dataclass(frozen=True, slots=True)
class Entry:
    """A controller that is compared.

    Attributes:
        label: As figures and tables call it.
        flow: The table of a flow with it: `controller`, and whatever else a scenario's `[[flow]]` may say.
        key: Where it stands in the file.
    """

    label: str
    flow: Mapping[str, Any]
    key: Key


@dataclass(frozen=True, slots=True)
class LineUp:
    """Who is on a path together.

    Attributes:
        name: Unique in the study.
        kind: One flow alone; two of a kind; one each of two kinds; or a group that was spelled out.
        members: The label of each flow.
    """

    name: str
    kind: Literal["alone", "itself", "pair", "group"]
    members: tuple[str, ...]

    @property
    def labels(self) -> tuple[str, ...]:
        """Each label once."""
        return tuple(dict.fromkeys(self.members))


@dataclass(frozen=True, slots=True)
class Origin:
    """What a study was read from, as it was then: its file may be another before the study ends.

    Attributes:
        document: Its table.
        folder: Beside which its files are.
        stem: Its name, if it says none.
    """

    document: Mapping[str, Any]
    folder: str
    stem: str


@dataclass(frozen=True, slots=True)
class Plan:
    """A study that was read.

    Attributes:
        name: Of it.
        folder: Beside which files and classes are looked for.
        controllers: What is compared.
        line_ups: Who is on a path together.
        cells: Every combination of the other axes.
        seeds: Repetitions.
        duration: Of each run.
        measure: The window of averages; None is each flow's lifetime.
        start_within: Flows start at random within so long, drawn by the seed; None leaves it to the flows' tables.
        scenario: In place of a path: a scenario's tables, whose flows are forms for those of line-ups.
        link: Whose use and queue are measured; None finds the bottleneck.
        keep: How many runs are kept whole, with their series.
        places: Where each setting's value stands in the file.
        origin: What it was read from.
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
        """The number of runs."""
        return len(self.cells) * len(self.line_ups) * len(self.seeds)

    @property
    def axes(self) -> dict[str, list[Any]]:
        """The settings that tell cells apart, with their values in order: some of named paths lack one of others."""
        values = all_values(self.cells)
        lacking = {key for key in values if any(key not in cell for cell in self.cells)}
        return {key: found for key, found in values.items() if len(found) > 1 or key in lacking}

    @property
    def constants(self) -> dict[str, Any]:
        """The settings that are the same in each cell."""
        axes = self.axes
        return {key: found[0] for key, found in all_values(self.cells).items() if key not in axes}

    def entry(self, label: str) -> Entry:
        """Return a controller."""
        return next(entry for entry in self.controllers if entry.label == label)


def title(settings: Settings, keys: Sequence[str]) -> str:
    """Name a cell by some of its settings.

    Examples:
        >>> title({"rate": "10 Mbit/s", "rtt": "20 ms", "loss": 0.01}, ["rtt", "loss"])
        '20 ms, loss 0.01'
    """
    return ", ".join(said(key, settings[key]) for key in keys if key in settings)


def said(key: str, value: Any) -> str:  # noqa: ANN401
    """Write a setting so that it needs no explanation."""
    text = rate_text(value) if key == "rate" and isinstance(value, str) else value_text(value)
    if key in ("rate", "rtt", "path", "profile") or (key == "queue" and isinstance(value, str)):
        return text
    return f"{key} {text}"
