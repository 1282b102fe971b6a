"""From a study to its runs: a scenario for each cell, line-up and seed, all of them checked before anything runs."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

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

LEAST_INTERVAL_S: Final = 0.05
MOST_INTERVAL_S: Final = 0.5
_SAMPLES: Final = 200


@dataclass(frozen=True, slots=True)
class Trial:
    """A run of a study.

    Attributes:
        cell: Number of its cell in the plan.
        line_up: Who is on the path.
        seed: Of the run.
    """

    cell: int
    line_up: LineUp
    seed: int


def trials(plan: Plan, mistakes: Mistakes) -> list[tuple[Trial, Point]]:
    """Make and check every run.

    Returns:
        Each with its scenario, as a sweep runs it.

    Raises:
        ScenarioError: With every mistake, of reading and of the scenarios, at its place in the study's file.
    """
    if mistakes.was_wrong(("scenario",)) or (plan.scenario is None and any("rtt" not in cell for cell in plan.cells)):
        mistakes.check()  # there is no network to put anything on
    made = list(_trials(plan, mistakes))
    mistakes.check()
    return made


def _trials(plan: Plan, mistakes: Mistakes) -> Iterator[tuple[Trial, Point]]:
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
                yield Trial(number, line_up, seed), point_of(parameters, scenario)


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
    """Names of the links of a scenario of which something else is wrong; none if that is its network."""
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
    """When the last flow starts, if that is after the beginning of the measurement and before its end.

    All numbers of a run are over the time in which every flow is there: rates over different times make no shares.
    """
    effective = json.loads(scenario.to_json())
    window = effective.get("measure") or {}
    begin = seconds(window.get("from")) or 0.0
    end = min(seconds(window.get("to")) or scenario.duration_s, scenario.duration_s)
    starts = {seconds(flow.get("start")) or 0.0: flow.get("start") for flow in effective.get("flow", [])}
    last = max(starts, default=0.0)
    return starts[last] if begin < last < end else None


def interval_s(duration_s: float) -> float:
    """Return the time between samples of a run."""
    return min(MOST_INTERVAL_S, max(LEAST_INTERVAL_S, duration_s / _SAMPLES))


def _document(plan: Plan, cell: Settings, line_up: LineUp, seed: int) -> dict[str, Any]:
    """A scenario's tables, but for what `set` changes."""
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
    """A table for each flow: of a scenario's flows the form, then what the controller's entry says."""
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
    """The forms of a scenario's flows: of a group one for each of its connections, with its own start."""
    forms: list[dict[str, Any]] = []
    for table in scenario.get("flow", []):
        count = table.get("count", 1)
        form = {key: value for key, value in table.items() if key != "count"}
        starts = range(min(count, most) if isinstance(count, int) else 1)
        forms += [form | ({"start": _start_of(form["start"], place)} if "start" in form else {}) for place in starts]
    return forms


def _start_of(start: Any, place: int) -> Any:  # noqa: ANN401  whatever a scenario may hold
    """The start of a connection of a group; a text that does not add up stays, and `_check_groups` tells of it."""
    if not isinstance(start, Mapping) or "spacing" not in start:
        return start
    first, spacing = seconds(start.get("first", "0 s")), seconds(start["spacing"])
    return start if first is None or spacing is None else f"{first + place * spacing:.9f} s"


def _check_groups(plan: Plan, mistakes: Mistakes) -> bool:
    """Whether each flow of the scenario can be a form; a start that is drawn from the one before it cannot."""
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
    """The overrides of `set`: `flow[*]` is one for each flow, another list one for each of the scenario's entries."""
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
"""Fields of a scenario, and the setting that they come from; the first that fits counts."""


def _translate(error: ScenarioError, plan: Plan, line_up: LineUp, mistakes: Mistakes) -> None:
    """Tell a scenario's mistakes at the places of the study that they come from."""
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
