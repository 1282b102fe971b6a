"""Goals of a search: the figure of a run that each looks at, and the score, larger the worse the controller does.

Metrics are those of `ackclock judge`; docs/reference/attack.md has the scores.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from ackclock._core import Scenario
from ackclock.base.user_code import said
from ackclock.experiments.attack.attack_bounds import PATH, Bounds, Case
from ackclock.experiments.attack.case_network import OTHER, OWN
from ackclock.experiments.backends import Work, run_point
from ackclock.experiments.judge.criterion_metrics import METRICS, Metric, Run
from ackclock.results.summaries import RunSummary
from ackclock.running import simulate
from ackclock.running.engine import results_of
from ackclock.stats.run_window import count

if TYPE_CHECKING:
    from ackclock.running.linux_kernels import Kernel

FAIR_SHARE: Final = "fair-share"
"""Reference in place of a controller: an equal share of what datagrams and short flows leave of the link."""

_LEAST_SHARE: Final = 0.05
"""Share of the link that a reference gets at least where goodputs are compared."""

_LEAST_SEGMENTS: Final = 200
"""Number of segments of which a share is taken, at least."""

_STALL, _BROKEN = "stall_s", "broken"
"""Keys that the works here add to a summary."""

STALL_TRACE: Final[Mapping[str, Any]] = {"flows": ["goodput"], "links": "none", "interval": "20 ms"}


def _stall(run: Run) -> float | None:
    return float(run.summary[_STALL])  # type: ignore[literal-required]


def _sent_again(run: Run) -> float | None:
    """Return the share of segments that had been sent before; None of too few segments for a share."""
    sent = sum(count(flow, "sent_segments") or 0 for flow in run.flows)
    return METRICS["sent_again"](run) if sent >= _LEAST_SEGMENTS else None


def _broken(run: Run) -> float | None:
    return float(bool(run.summary[_BROKEN]))  # type: ignore[literal-required]


@dataclass(frozen=True, slots=True)
class Goal:
    """Goal of a search.

    Attributes:
        title: Figure in a table.
        unit: Unit of the figure.
        metric: Figure of a run.
        score: Score, of the controller's figure and the reference's; None if there is nothing to compare.
        least: Score below which there is no weakness.
        of: Beginning of the names of the measured flows.
        needs: Ingredient that each case has.
        flows: Least number of the controller's flows.
        has_reference: Whether it compares with a reference.
    """

    title: str
    unit: str
    metric: Metric
    score: Callable[[float, float], float | None]
    least: float = 0.05
    of: str = OWN
    needs: str | None = None
    flows: int = 1
    has_reference: bool = True


def _more(own: float, reference: float) -> float:
    return own - reference


GOALS: Final[Mapping[str, Goal]] = {
    "goodput": Goal(
        "goodput", "of the link", METRICS["used"], lambda own, ref: 1 - own / ref if ref >= _LEAST_SHARE else None
    ),
    "loss": Goal("sent again", "of segments", _sent_again, _more, least=0.01),
    "delay": Goal("queueing delay", "base RTTs", METRICS["queueing"], _more, least=0.1),
    "fairness": Goal("Jain's index", "", METRICS["jain"], lambda own, ref: ref - own, flows=2),
    "harm": Goal("harm to CUBIC", "of its goodput", METRICS["harm_goodput"], _more, of=OTHER, needs="cubic"),
    "stall": Goal("longest stall", "s", _stall, _more, least=0.2),
    "invariant": Goal("broken", "", _broken, _more, has_reference=False),
}
"""Goals by the names on the command line."""


def figure_of(
    goal: Goal, case: Case, bounds: Bounds, summary: RunSummary, alone: RunSummary | None = None
) -> float | None:
    """Return a goal's figure of a run; None if the run has none.

    Args:
        goal: The goal.
        case: Case of the run.
        bounds: Bounds of the search.
        summary: Summary of the run.
        alone: Summary of the same case without the controller's flows, for harm.
    """
    if goal.of == OTHER and alone is None:
        return None
    run = Run(summary, alone, goal.of, capacity_bps(case, bounds), float(case[PATH]["rtt"]), _MSS_BYTES)
    return goal.metric(run)


_MSS_BYTES: Final = 1448.0


def capacity_bps(case: Case, bounds: Bounds) -> float:
    """Return the mean capacity of the bottleneck while it is measured, bit/s; 0 if it is dead all the time.

    Examples:
        >>> path, steps = {"rate": 10e6}, {"share": 0.5, "period": 4.0, "part": 0.25}
        >>> capacity_bps({"path": path, "rate_steps": steps}, Bounds(5.0, 2.0, {}, {}))  # low from 3 s to 4 s
        8333333.333
    """
    rate = float(case[PATH]["rate"])
    steps = {key: float(value) for key, value in case.get("rate_steps", {}).items()}
    if not steps:
        return rate

    def low_until(time_s: float) -> float:
        whole, rest = divmod(time_s, steps["period"])
        low_s = steps["part"] * steps["period"]
        return whole * low_s + max(0.0, rest - (steps["period"] - low_s))

    low_s = low_until(bounds.duration_s) - low_until(bounds.measure_from_s)
    return round(rate * (1 - (1 - steps["share"]) * low_s / (bounds.duration_s - bounds.measure_from_s)), 3)


def fair_share(case: Case, bounds: Bounds, summary: RunSummary) -> float | None:
    """Return the equal share of the controller's flows in what others leave of the capacity; None without any.

    Datagrams and short flows take what they send; long flows on the same path share the rest.
    """
    capacity = capacity_bps(case, bounds)
    if not capacity:
        return None
    load = float(case.get("short_flows", {}).get("load", 0.0)) * float(case[PATH]["rate"])
    sent = sum(one["sent_bps"] for one in summary.get("datagrams", []))
    left = max(0.0, 1 - (sent + load) / capacity)
    own, others = int(case[PATH]["flows"]), int(case.get("cubic", {}).get("flows", 0))
    return left * own / (own + others)


# ---- works of the runs ----------------------------------------------------------------------------------------------


def with_stall(scenario_json: str, folder: str, _on: "Kernel | None" = None) -> str:
    """Run a scenario with `STALL_TRACE`, and add the longest time without goodput of one of the controller's flows."""
    scenario = Scenario.from_json(scenario_json, folder=folder)
    outcome, figures = simulate(scenario)
    results = results_of(scenario, outcome, figures)
    from_s, interval_s = results.summary["measure_s"][0], 0.02
    longest = 0
    for (name,), series in results.flows.group_by("flow", maintain_order=True):
        if str(name).startswith(OWN):
            count = 0
            for time_s, goodput in zip(series["time_s"], series["goodput_bps"], strict=True):
                count = 0 if goodput or time_s <= from_s else count + 1
                longest = max(longest, count)
    return json.dumps({**results.summary, _STALL: longest * interval_s})


def with_proof(scenario_json: str, folder: str, _on: "Kernel | None" = None) -> str:
    """Run a scenario twice, and add what is broken: a panic, code that fails, runs that differ, a law that fails.

    The whole run is measured: in a window, a flow may receive what was sent before it.
    """
    try:
        scenario = Scenario.from_json(scenario_json, ["measure.from=0 s"], folder)
        first, second = (simulate(scenario)[0].summary_json() for _ in range(2))
    except BaseException as error:
        if hasattr(error, "ackclock_part"):  # the mark of user-written code
            return json.dumps({_BROKEN: f"its code failed: {said(error)}"})
        if type(error).__name__ != "PanicException":
            raise
        return json.dumps({_BROKEN: f"the engine panicked: {error}"})
    summary = json.loads(first)
    broken = "" if first == second else "two runs of the same scenario differ"
    return json.dumps({**summary, _BROKEN: broken or law_broken(summary)})


def law_broken(summary: RunSummary) -> str:
    """Return a law that the summary of a run, measured from its beginning, breaks; empty if it keeps all."""
    for link in summary["links"]:
        if link["utilization"] > 1.001:
            return f"{link['name']} sent more than its rate allows: utilization {link['utilization']}"
    for flow in summary["flows"]:
        if flow["retransmitted_segments"] > flow["sent_segments"]:
            return f"{flow['name']} sent more segments again than in all"
        if flow["goodput_bps"] > flow["throughput_bps"]:
            return f"{flow['name']} received more than was sent: {flow['goodput_bps']} bit/s"
    return ""


def work_of(goal: str) -> "Work":
    """Return the work of a goal's runs."""
    return {"stall": with_stall, "invariant": with_proof}.get(goal, run_point)


def trace_of(goal: str) -> Any:  # noqa: ANN401  as in a scenario
    """Return the series that a goal's runs record."""
    return dict(STALL_TRACE) if goal == "stall" else False
