"""Design of a study: a scenario for each cell, mix and seed, all of them checked before any is run."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from ackclock._core import Scenario, ScenarioError
from ackclock.base.toml_text import toml_text
from ackclock.experiments.grid import Point, Settings, all_values, point_of
from ackclock.experiments.studies.plan import PATH_KEYS, LineUp, Plan, title
from ackclock.scenario import dumbbells
from ackclock.scenario.diagnostics import remedy
from ackclock.scenario.mistakes import Mistakes
from ackclock.scenario.overrides import entries
from ackclock.scenario.quantities import seconds
from ackclock.scenario.toml_places import Key

if TYPE_CHECKING:
    from ackclock.running.linux_kernels import Kernel

LEAST_INTERVAL_S: Final = 0.05
MOST_INTERVAL_S: Final = 0.5
_SAMPLES: Final = 200


@dataclass(frozen=True, slots=True)
class Trial:
    """Run of a study.

    Attributes:
        cell: Number of its cell in the plan.
        line_up: Mix of controllers on the path.
        seed: Seed of the run.
    """

    cell: int
    line_up: LineUp
    seed: int


def trials(plan: Plan, mistakes: Mistakes, on: "Kernel | None" = None) -> list[tuple[Trial, Point]]:
    """Make and check every run.

    Args:
        plan: Plan of the study.
        mistakes: Mistakes of its file so far.
        on: Kernel that all run on, in virtual time; None for the simulator.

    Returns:
        Each run with its scenario, as a point of a sweep.

    Raises:
        ScenarioError: If there are mistakes; it has all of them, at their places in the study's file.
    """
    if mistakes.was_wrong(("scenario",)) or (plan.scenario is None and any("rtt" not in cell for cell in plan.cells)):
        mistakes.check()  # there is no network to put anything on
    made = list(_trials(plan, mistakes, on))
    mistakes.check()
    return made


def _trials(plan: Plan, mistakes: Mistakes, on: "Kernel | None") -> Iterator[tuple[Trial, Point]]:
    axes = list(plan.axes)
    if not _check_groups(plan, mistakes):
        return
    for number, cell in enumerate(plan.cells):
        for line_up in plan.line_ups:
            for seed in plan.seeds:
                if mistakes.are_enough:
                    return
                scenario = _scenario(plan, cell, line_up, seed, mistakes)
                if scenario is None:
                    break  # another seed of it has the same mistakes
                parameters = {key: cell.get(key) for key in axes} | {"line_up": line_up.name, "seed": seed}
                yield Trial(number, line_up, seed), point_of(parameters, scenario, on)


def _scenario(plan: Plan, cell: Settings, line_up: LineUp, seed: int, mistakes: Mistakes) -> Scenario | None:
    try:
        document = _document(plan, cell, line_up, seed)
    except ValueError as error:
        key = plan.places.get("rtt", ("path",))
        if not mistakes.was_wrong(key):
            mistakes.add(key, f"is wrong: {error}", 'write it like rtt = "40 ms"', cell.get("rtt"))
        return None
    overrides = _overrides(plan, cell, line_up, document)
    try:
        scenario = Scenario.from_json(dumbbells.scenario_text(document), overrides, plan.folder)
        if (begin := _last_start(scenario)) is not None:
            overrides = [*overrides, f"measure.from={json.dumps(begin)}"]
            scenario = Scenario.from_json(dumbbells.scenario_text(document), overrides, plan.folder)
    except ScenarioError as error:
        _translate(error, plan, line_up, mistakes)
        _check_link(plan, _links(document, plan.folder), mistakes)
        return None
    _check_link(plan, scenario.link_names, mistakes)
    return scenario


def _links(document: Mapping[str, Any], folder: str) -> list[str]:
    """Return the names of the links of a scenario that has other mistakes; none if its network is wrong."""
    network = {key: document[key] for key in ("topology", "use") if key in document}
    flows = [{key: flow[key] for key in ("name", "from", "to") if key in flow} for flow in document["flow"]]
    try:
        return Scenario.from_json(
            dumbbells.scenario_text(network | {"duration": "1 s", "flow": flows}), (), folder
        ).link_names
    except ScenarioError:
        return []


def _check_link(plan: Plan, names: list[str], mistakes: Mistakes) -> None:
    if plan.link is not None and names and plan.link not in names:
        mistakes.add(("link",), "must be the name of a link", f"use one of {', '.join(names)}", plan.link)


def _last_start(scenario: Scenario) -> str | None:
    """Return the start of the last flow, if it is within the measurement window.

    All metrics of a run cover the time in which every flow is active, since shares need rates over the same time.
    """
    effective = json.loads(scenario.to_json())
    window = effective.get("measure") or {}
    begin = seconds(window.get("from")) or 0.0
    end = min(seconds(window.get("to")) or scenario.duration_s, scenario.duration_s)
    starts = {seconds(flow.get("start")) or 0.0: flow.get("start") for flow in effective.get("flow", [])}
    last = max(starts, default=0.0)
    return starts[last] if begin < last < end else None


def interval_s(duration_s: float) -> float:
    """Return the sampling interval of a run, seconds."""
    return min(MOST_INTERVAL_S, max(LEAST_INTERVAL_S, duration_s / _SAMPLES))


def _document(plan: Plan, cell: Settings, line_up: LineUp, seed: int) -> dict[str, Any]:
    """Return a scenario's tables, without the changes of `set`."""
    name = f"{line_up.name} over {title(cell, [key for key in cell if '.' not in key])}".removesuffix(" over ")
    document: dict[str, Any] = dict(plan.scenario or {}) | {"name": name, "seed": seed, "duration": plan.duration}
    if plan.scenario is None:
        path = {key: cell.get(key) for key in PATH_KEYS if key in cell}
        if "buffer" not in plan.places:
            path.pop("buffer", None)  # a scenario's own, which is the same, has room for two packets at least
        document["topology"] = dumbbells.topology(str(path.pop("rate", "")), str(path.pop("rtt")), **path)
    if plan.measure is not None:
        document["measure"] = dict(plan.measure)
    if "profile" in cell:
        tcp = document.get("tcp", {})
        document["tcp"] = (dict(tcp) if isinstance(tcp, Mapping) else {}) | {"profile": cell["profile"]}
    document["flow"] = _flows(plan, line_up)
    document["trace"] = {"flows": ["cwnd", "goodput", "rtt_sample"], "links": ["queue_bytes", "queue_delay"]}
    return document


def _flows(plan: Plan, line_up: LineUp) -> list[dict[str, Any]]:
    """Return a table for each flow: a template of the scenario's flows, if any, with the controller's entry."""
    forms = _forms(plan.scenario or {}, len(line_up.members)) or [{}]
    tables: list[dict[str, Any]] = []
    for place, label in enumerate(line_up.members):
        form = forms[min(place, len(forms) - 1)]
        table = {key: value for key, value in form.items() if key not in ("name", "controller")}
        if plan.start_within is not None:
            table["start"] = {"uniform": ["0 s", plan.start_within]}
        tables.append(table | dict(plan.entry(label).flow) | {"name": label})
    return dumbbells.flow_tables(tables)


def _forms(scenario: Mapping[str, Any], most: int) -> list[dict[str, Any]]:
    """Return the templates among a scenario's flows; a group yields one per connection, each with its own start."""
    forms: list[dict[str, Any]] = []
    for table in scenario.get("flow", []):
        count = table.get("count", 1)
        form = {key: value for key, value in table.items() if key != "count"}
        starts = range(min(count, most) if isinstance(count, int) else 1)
        forms += [form | ({"start": _start_of(form["start"], place)} if "start" in form else {}) for place in starts]
    return forms


def _start_of(start: Any, place: int) -> Any:  # noqa: ANN401  whatever a scenario may hold
    """Return the start of a connection of a group; an invalid text is kept, and `_check_groups` reports it."""
    if not isinstance(start, Mapping) or "spacing" not in start:
        return start
    first, spacing = seconds(start.get("first", "0 s")), seconds(start["spacing"])
    return start if first is None or spacing is None else f"{first + place * spacing:.9f} s"


def _check_groups(plan: Plan, mistakes: Mistakes) -> bool:
    """Return whether each flow of the scenario can be a template; a start drawn from the previous one cannot."""
    drawn = [
        str(table.get("name", "?"))
        for table in (plan.scenario or {}).get("flow", [])
        if isinstance(_start_of(table.get("start"), 0), Mapping) and "spacing" in table["start"]
    ]
    if drawn and plan.start_within is None:
        instead = f"give start_within; or compare with ackclock sweep FILE --set 'flow.{drawn[0]}.controller=[...]'"
        mistakes.add(("scenario",), f"has a group of connections, {drawn[0]}, that start at random", instead)
    return not drawn or plan.start_within is not None


def _overrides(plan: Plan, cell: Settings, line_up: LineUp, document: Mapping[str, Any]) -> list[str]:
    """Return the overrides of `set`, where `flow[*]` expands to all flows and other lists to the scenario's entries."""
    texts: list[str] = []
    for key, value in cell.items():
        if key in ("path", "profile", *PATH_KEYS):
            continue
        path, is_every, _ = key.partition("[*]")
        count = len(line_up.members) if path == "flow" else len(entries(document, path))
        places = [key.replace("[*]", f"[{number}]", 1) for number in range(count)] if is_every and count else [key]
        texts += [f"{place}={toml_text(value)}" for place in places]
    between_s = interval_s(seconds(document["duration"]) or 0.0)  # the scenario's check tells of what is no duration
    return [*texts, f'trace.interval="{between_s * 1e3:g} ms"']


# ---- mistakes -------------------------------------------------------------------------------------------------------

_FIELDS: Final = (
    ("topology.bottleneck.queue.limit", "buffer"),
    ("topology.bottleneck.queue", "queue"),
    ("topology.bottleneck.loss", "loss"),
    ("topology.bottleneck.rate.trace", "trace"),
    ("topology.bottleneck.rate", "rate"),
    ("topology.bottleneck.delay", "rtt"),
    ("topology.access.rate", "rate"),
    ("tcp.profile", "profile"),
)
"""Scenario fields and the study settings that determine them; the first match counts."""


def _translate(error: ScenarioError, plan: Plan, line_up: LineUp, mistakes: Mistakes) -> None:
    """Report a scenario's mistakes at the places of the study that they come from."""
    for diagnostic in error.diagnostics:
        if diagnostic["field"].startswith("topology.access"):
            continue  # made of the bottleneck's rate, which is told
        key = _place(diagnostic["field"], diagnostic["file"], plan, line_up)
        said = diagnostic["message"] if key else f"{diagnostic['field']} {diagnostic['message']}"
        if key is not None and mistakes.was_wrong(key):
            continue  # told when the study was read
        value = diagnostic["value"]
        shown = json.loads(value) if value and _is_json(value) else value
        mistakes.add(
            key or ("scenario",) if plan.scenario else key or (),
            said,
            remedy(diagnostic, all_values(plan.cells)),
            shown,
        )


def _place(field: str, file: str, plan: Plan, line_up: LineUp) -> Key | None:
    if file == "--set" or field in plan.places:
        found = next((key for name, key in plan.places.items() if "." in name and _is_within(field, name)), None)
        return found or ("set",)
    if field.startswith("flow["):
        number, _, rest = field.removeprefix("flow[").partition("]")
        if rest.startswith(".start") and plan.start_within is not None:
            return ("start_within",)
        entry = plan.entry(line_up.members[int(number)])
        return (*entry.key, *(part for part in rest.removeprefix(".controller").split(".") if part))
    for prefix, name in () if plan.scenario else _FIELDS:
        if field.startswith(prefix):
            return plan.places.get(name, ("path",))
    head = field.partition(".")[0]
    if head in ("duration", "seed", "measure"):
        given = "warm_up" if "warm_up" in plan.origin.document else "measure"
        return {"seed": ("seeds",), "duration": ("duration",)}.get(head, (given,))
    return None


def _is_within(field: str, name: str) -> bool:
    return (
        field.startswith(name) or name.partition(".")[0].partition("[")[0] == field.partition("[")[0].partition(".")[0]
    )


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except ValueError:
        return False
    return True
