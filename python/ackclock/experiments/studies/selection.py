"""Part of a study: the runs whose settings have given values."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from ackclock.base.printable import unknown
from ackclock.experiments.studies.arrangement import LINE_UP
from ackclock.experiments.studies.measures import Measured
from ackclock.experiments.studies.plan import Plan
from ackclock.scenario.quantities import scale
from ackclock.scenario.setting_values import value_text


def selected(plan: Plan, runs: Sequence[Measured], wanted: Mapping[str, Sequence[str]]) -> tuple[Plan, list[Measured]]:
    """Return the study of some paths and line-ups.

    Args:
        plan: The study.
        runs: Its runs.
        wanted: Values to keep, by axis or `line_up`.

    Raises:
        ValueError: If the study has no such axis or value.
    """
    names = [line_up.name for line_up in plan.line_ups]
    axes: dict[str, Sequence[Any]] = {**plan.axes, LINE_UP: names}
    kept = {key: [_known(key, text, axes) for text in texts] for key, texts in wanted.items()}
    cells = [
        place
        for place, cell in enumerate(plan.cells)
        if all(key == LINE_UP or (key in cell and cell[key] in values) for key, values in kept.items())
    ]
    line_ups = tuple(line_up for line_up in plan.line_ups if line_up.name in kept.get(LINE_UP, names))
    fewer = replace(plan, cells=tuple(plan.cells[place] for place in cells), line_ups=line_ups)
    return fewer, [
        replace(run, trial=replace(run.trial, cell=cells.index(run.trial.cell)))
        for run in runs
        if run.trial.cell in cells and run.trial.line_up in line_ups
    ]


def _known(key: str, text: str, axes: Mapping[str, Sequence[Any]]) -> Any:  # noqa: ANN401  a value of TOML
    """Return the value of an axis that a text means, in whatever unit."""
    if key not in axes:
        raise ValueError(unknown("axis", key, axes))
    for value in axes[key]:
        if value_text(value) == text:
            return value
    for value in axes[key]:
        numbers = scale(key, [value, text])
        if numbers and numbers[0][0] == numbers[0][1]:
            return value
    raise ValueError(unknown(f"value of {key}", text, map(value_text, axes[key])))
