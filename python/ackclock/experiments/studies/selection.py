"""Part of a study: the runs whose settings have given values, and runs spread over its paths."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

import numpy as np

from ackclock.base.printable import unknown
from ackclock.experiments.grid import Point
from ackclock.experiments.studies.arrangement import LINE_UP
from ackclock.experiments.studies.design import Trial
from ackclock.experiments.studies.measures import Measured
from ackclock.experiments.studies.plan import Plan
from ackclock.scenario.display_names import displayed
from ackclock.scenario.quantities import scale
from ackclock.scenario.setting_values import value_key, value_text

SEED: Final = "seed"
_RANK: Final = {"pair": 0, "group": 1, "itself": 2, "alone": 3}

Wanted = Mapping[str, Sequence[str]]
"""Values to keep, by axis, `line_up` or `seed`; of an axis that is not named, all."""


class Selection:
    """Part of a study's runs."""

    def __init__(self, plan: Plan, wanted: Wanted) -> None:
        """Find the values.

        Args:
            plan: The study.
            wanted: Values to keep.

        Raises:
            ValueError: If the study has no such axis or value, or the values of an axis are not a list of some.
        """
        axes: dict[str, Sequence[Any]] = {
            **plan.axes, LINE_UP: [line_up.name for line_up in plan.line_ups], SEED: plan.seeds,
        }  # fmt: skip
        for key, texts in wanted.items():
            if isinstance(texts, str) or not texts:
                raise ValueError(f'{key}: must be a list of values; write it like ["{texts or "100 ms"}"]')
        kept = {key: [_known(key, text, axes) for text in texts] for key, texts in wanted.items()}
        self._names = kept.pop(LINE_UP, axes[LINE_UP])
        self._seeds = kept.pop(SEED, plan.seeds)
        self._plan = plan
        self.cells = [
            place
            for place, cell in enumerate(plan.cells)
            if all(key in cell and cell[key] in values for key, values in kept.items())
        ]

    def has(self, trial: Trial) -> bool:
        """Return whether a run is in the selection."""
        return trial.cell in self.cells and trial.line_up.name in self._names and trial.seed in self._seeds

    def study(self, runs: Sequence[Measured]) -> tuple[Plan, list[Measured]]:
        """Return plan and runs of the study that has only these."""
        plan = replace(
            self._plan,
            cells=tuple(self._plan.cells[place] for place in self.cells),
            line_ups=tuple(line_up for line_up in self._plan.line_ups if line_up.name in self._names),
            seeds=tuple(self._seeds),
        )
        return plan, [
            replace(run, trial=replace(run.trial, cell=self.cells.index(run.trial.cell)))
            for run in runs
            if self.has(run.trial)
        ]


def _known(key: str, text: str, axes: Mapping[str, Sequence[Any]]) -> Any:  # noqa: ANN401  a value of TOML
    """Return the value of an axis that a text means, in whatever unit."""
    if key not in axes:
        raise ValueError(unknown("axis", key, axes))
    for value in axes[key]:
        if text in (value_text(value), displayed(value_text(value))):
            return value
    for value in axes[key]:
        numbers = scale(key, [value, text])
        if numbers and numbers[0][0] == numbers[0][1]:
            return value
    raise ValueError(unknown(f"value of {key}", text, map(value_text, axes[key])))


def chosen(plan: Plan, pairs: Sequence[tuple[Trial, Point]]) -> list[tuple[Trial, Point]]:
    """Return the runs to keep: of each mix the first seed, pairs first, on paths as different as possible."""
    place = {cell: number for number, cell in enumerate(_spread(plan, plan.keep))}
    first = [pair for pair in pairs if pair[0].seed == plan.seeds[0]]
    last = len(place)
    return sorted(first, key=lambda pair: (_RANK[pair[0].line_up.kind], place.get(pair[0].cell, last), pair[0].cell))[
        : plan.keep
    ]


def _spread(plan: Plan, most: int) -> list[int]:
    """Return cells, from the first on each the farthest from those before it: corners come first."""
    at = np.zeros((len(plan.cells), len(plan.axes)))
    for axis, (key, values) in enumerate(plan.axes.items()):
        known = {value_key(value): place / max(len(values) - 1, 1) for place, value in enumerate(values)}
        at[:, axis] = [known.get(value_key(cell.get(key)), 0.0) for cell in plan.cells]
    found = [0]
    distance = np.square(at - at[0]).sum(axis=1)
    while len(found) < min(most, len(plan.cells)):
        distance[found] = -1.0
        found.append(int(distance.argmax()))
        distance = np.minimum(distance, np.square(at - at[found[-1]]).sum(axis=1))
    return found
