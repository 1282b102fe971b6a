"""User code of a study, which its runs would execute; found in its tables, without importing any."""

import json
from collections.abc import Mapping
from typing import Any

from ackclock._core import code_of as code_in
from ackclock.base.input_files import InputFileError
from ackclock.experiments.studies.plan import Plan


def code_of(plan: Plan) -> list[str]:
    """Return the code that a study names, each entry once.

    Raises:
        InputFileError: If the study is nested too deeply.
    """
    settings: list[dict[str, Any]] = []
    for cell in plan.cells:
        settings += [one for key, value in cell.items() if (one := {key: value}) not in settings]
    tables = {"controllers": [entry.flow for entry in plan.controllers], "set": settings, "scenario": plan.scenario}
    try:
        found = code_in(json.dumps(_texts_of(tables)))
    except RecursionError:
        found = None
    if found is None:
        raise InputFileError(f"{plan.name}: is nested too deeply to be searched for code; nest its tables less")
    return found


def _texts_of(value: Any) -> Any:  # noqa: ANN401  whatever TOML can say
    """Return the same tables with their texts only."""
    if isinstance(value, Mapping):
        return {key: _texts_of(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_texts_of(inner) for inner in value]
    return value if isinstance(value, str) else None
