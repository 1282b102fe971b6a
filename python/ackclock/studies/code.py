"""What of a study is code of somebody's, which a run would run: found in its tables, without importing any.

Anything that might be is named: a `class`, a `use`, a controller whose name has a colon ("python:module:Class"). Saying
too much costs a question, saying too little runs what nobody has read.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from ackclock.studies.plan import Plan


def code_of(plan: Plan) -> list[str]:
    """Return what a study names of code, each once.

    Args:
        plan: Of the study.
    """
    found: list[str] = []
    for entry in plan.controllers:
        found += _in_tables(entry.flow)
    for cell in plan.cells:
        for key, value in cell.items():
            found += _in_tables({key.rpartition(".")[2].partition("[")[0]: value})
    found += _in_tables(plan.scenario or {})
    return list(dict.fromkeys(found))


def _in_tables(value: Any) -> Iterator[str]:  # noqa: ANN401
    if isinstance(value, Mapping):
        for key, inner in value.items():
            if key in ("class", "use"):
                yield from map(str, inner if isinstance(inner, list) else [inner])
            elif key == "controller" and isinstance(inner, str) and ":" in inner:
                yield inner
            else:
                yield from _in_tables(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _in_tables(inner)
