"""What was run, in a sentence that stands at every table, figure and page of a study."""

from collections.abc import Sequence

from ackclock.studies.measures import Measured
from ackclock.studies.plan import Plan, title, value_text
from ackclock.version import __version__


def about(plan: Plan, runs: Sequence[Measured]) -> str:
    """Return what was run.

    Args:
        plan: Of the study.
        runs: All.
    """
    constants = plan.constants
    where = title(constants, [key for key in constants if key != "profile"])
    profiles = list(dict.fromkeys(profile for run in runs for profile in run.profiles))
    parts = [
        where or ("" if plan.scenario is None else str(plan.scenario.get("name", "a scenario"))),
        "" if plan.scenario or "queue" in constants or "queue" in plan.axes else "DropTail",
        "; ".join(f"{key} {', '.join(map(value_text, values))}" for key, values in plan.axes.items()),
        f"profile {', '.join(profiles)}" if profiles and "profile" not in plan.axes else "",
        _time(plan),
        _seeds(plan.seeds),
        f"flows start at random within {plan.start_within}" if plan.start_within else "",
        f"ackclock {__version__}",
    ]
    return "; ".join(part for part in parts if part)


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
