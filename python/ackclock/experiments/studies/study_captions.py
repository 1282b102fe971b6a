"""Description of a study's runs, for its tables, figures and page."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ackclock.experiments.grid import Settings, goes_with
from ackclock.experiments.studies.measures import Measured
from ackclock.experiments.studies.plan import Plan, said
from ackclock.scenario.setting_values import value_text


def conditions(plan: Plan, runs: Sequence[Measured]) -> str:
    """Return a description of all runs, without where they ran."""
    return _conditions(plan, runs, "; ".join(axes_in_words(plan.axes, plan.cells)), _seeds(plan.seeds))


def about(plan: Plan, runs: Sequence[Measured], by: str) -> str:
    """Return a description of all runs, with what ran them."""
    return f"{conditions(plan, runs)}; {by}"


def about_each(plan: Plan, runs: Sequence[Measured], by: str) -> str:
    """Return a description of the settings that all runs share, for a figure that states the others."""
    return f"{_conditions(plan, runs, '', '')}; {by}"


def _conditions(plan: Plan, runs: Sequence[Measured], axes: str, seeds: str) -> str:
    constants = plan.constants
    trips = _round_trips(plan)
    told = [key for key in constants if key != "profile" and not (key == "rtt" and trips)]
    where = ", ".join(f"{'round trip ' if key == 'rtt' else ''}{said(key, constants[key])}" for key in told)
    profiles = list(dict.fromkeys(profile for run in runs for profile in run.profiles))
    parts = [
        where or ("" if plan.scenario is None else str(plan.scenario.get("name", "a scenario"))),
        "" if plan.scenario or "queue" in constants or "queue" in plan.axes else "DropTail",
        f"round trips {', '.join(trips)}" if trips else "",
        axes,
        f"profile {', '.join(profiles)}" if profiles and "profile" not in plan.axes else "",
        _time(plan),
        seeds,
        f"flows start at random within {plan.start_within}" if plan.start_within else "",
    ]
    return "; ".join(part for part in parts if part)


def _round_trips(plan: Plan) -> list[str]:
    """Return the flows' individual round-trip times, if each has one in place of the path's."""
    flows = [plan.entry(label).flow for line_up in plan.line_ups for label in line_up.members]
    return list(dict.fromkeys(str(flow["rtt"]) for flow in flows)) if all("rtt" in flow for flow in flows) else []


def axes_in_words(axes: Mapping[str, Sequence[Any]], cells: Sequence[Settings]) -> Iterator[str]:
    """Yield each axis with its values; paired axes together, as readers would take them for crossed.

    Args:
        axes: Values of each axis.
        cells: The combinations.
    """
    told: set[str] = set()
    for key, values in axes.items():
        if key in told:
            continue
        others = (other for other in axes if other not in told)
        group = [other for other in others if goes_with(cells, key, other) and goes_with(cells, other, key)]
        told |= set(group)
        if len(group) == 1:
            rest = ["none"] if any(key not in cell for cell in cells) else []
            yield f"{key} {', '.join([*map(value_text, values), *rest])}"
            continue
        tuples = [tuple(value_text(cell[name]) for name in group if name in cell) for cell in cells]
        together = (" with ".join(entry) for entry in dict.fromkeys(tuples) if entry)
        yield f"{' and '.join(group)} together: {', '.join(together)}"


def _time(plan: Plan) -> str:
    window = plan.measure or {}
    begin, end = window.get("from"), window.get("to")
    measured = ", ".join(part for part in (f"from {begin}" if begin else "", f"to {end}" if end else "") if part)
    return f"{plan.duration}" + (f", measured {measured}" if measured else "")


def _seeds(seeds: Sequence[int]) -> str:
    if len(seeds) == 1:
        return f"seed {seeds[0]}"
    if list(seeds) == list(range(seeds[0], seeds[-1] + 1)):
        return f"seeds {seeds[0]} to {seeds[-1]}"
    return f"seeds {', '.join(map(str, seeds))}"
