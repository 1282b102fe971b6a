"""Labels of runs: the facts of each run and, for several runs, only those that differ."""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from ackclock.scenario.setting_values import value_text

if TYPE_CHECKING:
    from ackclock.results.run_results import Results

_NO_TIME: Final = {"0 ns": "0 s"}
"""The engine writes durations in the largest unit of whole numbers, and 0 in the smallest."""

_SIMULATOR: Final = "the simulator"
_MOST_FLOWS: Final = 6
_MOST_FACTS: Final = 4
_SAID_PLAINLY: Final = ("by", "flows", "profile", "rate", "queue", "scenario")
_LEFT_OUT: Final = ("name", "seed", "duration", "flow", "tcp", "topology", "trace")


def facts(results: "Results", *, cut: bool = True) -> dict[str, str]:
    """Return the facts of a run: scenario, origin, flows, profile, path, queue, duration, seed and the rest.

    Args:
        results: The run.
        cut: Whether long values are cut, as labels need it.
    """
    short = _short if cut else _whole
    summary, scenario = results.summary, results.scenario
    by = results.origin if results.is_of_kernel or results.is_recorded else _SIMULATOR
    found = {"scenario": summary["scenario"], "by": by, "flows": _flows(summary["flows"])}
    senders = [*summary["flows"], *summary.get("groups", [])]
    found["profile"] = ", ".join(dict.fromkeys(str(one["profile"]) for one in senders if "profile" in one))
    found |= _path(scenario.get("topology", {}), short)
    seed = "" if results.is_recorded else str(summary["seed"])
    found |= {"duration": f"{summary['duration_s']:g} s", "seed": seed}
    found |= {f"tcp.{key}": value_text(value) for key, value in _table(scenario.get("tcp")).items() if key != "profile"}
    found |= {key: value_text(value) for key, value in scenario.items() if key not in _LEFT_OUT}
    found |= _of_flows(scenario.get("flow", []))
    return {key: _NO_TIME.get(value, value) for key, value in found.items() if value}


def _table(value: Any) -> Mapping[str, Any]:  # noqa: ANN401
    return value if isinstance(value, Mapping) else {}


def _flows(flows: Sequence[Any]) -> str:
    """Return the controllers, each with its number of flows."""
    names = [controller_of(flow) for flow in flows]
    counts = {name: names.count(name) for name in dict.fromkeys(names)}
    words = [f"{count} {name}" if count > 1 else name for name, count in counts.items()]
    return " + ".join(words) if len(words) <= _MOST_FLOWS else f"{len(names)} flows"


def _path(topology: Any, short: Callable[[Any], str]) -> dict[str, str]:  # noqa: ANN401
    """Return the facts of the path: a dumbbell's bottleneck, or every plain value of another topology."""
    table = _table(topology)
    link = _table(table.get("bottleneck"))
    found = {key: short(link.get(key)) for key in ("rate", "delay", "queue")}
    if link and not found["queue"]:
        found["queue"] = "drop_tail"
    rest = {key: short(value) for key, value in link.items() if key not in found}
    network = {key: short(value) for key, value in table.items() if key not in ("bottleneck", "kind")}
    return found | rest | ({"network": str(table.get("kind", ""))} if not link else {}) | network


def _whole(value: Any) -> str:  # noqa: ANN401
    if isinstance(value, Mapping) and "trace" in value:
        return f"trace {value['trace']}"
    return value_text(value) if value is not None else ""


def _short(value: Any) -> str:  # noqa: ANN401
    text = _whole(value)
    if isinstance(value, Mapping) and "trace" in value:
        return text
    return text if len(text) <= 60 else f"{text[:57]}..."


def _of_flows(flows: Any) -> dict[str, str]:  # noqa: ANN401
    """Return the fields of the flows' tables, without plain names and kinds of controllers."""
    found: dict[str, str] = {}
    for flow in map(_table, flows if isinstance(flows, list) and len(flows) <= _MOST_FLOWS else []):
        name = flow.get("name", "flow")
        controller = flow.get("controller")
        if isinstance(controller, Mapping) and len(controller) > 1:
            found[f"{name}.controller"] = value_text(controller)
        found |= {
            f"{name}.{key}": value_text(value) for key, value in flow.items() if key not in ("name", "controller")
        }
    return found


def labels(results: "Sequence[Results]") -> list[str]:
    """Label runs that are shown together by their differences.

    Returns:
        A unique label for each run: the facts that differ, or a number where none do.
    """
    if len(results) == 1:
        return [results[0].name]
    every = _within([facts(one) for one in results], [_tables(one) for one in results])
    keys = list(dict.fromkeys(key for one in every for key in one))
    differing = [key for key in keys if len({one.get(key, "") for one in every}) > 1]
    wanted = _fewest(every, differing)
    # A recording has no scenario: what it lacks of one is not said, and of a single one that it is one is enough.
    is_single = "by" in wanted and sum(run.is_recorded for run in results) == 1
    shown = [
        [key for key in (["by"] if is_single else wanted) if key in one] if run.is_recorded else wanted
        for one, run in zip(every, results, strict=True)
    ]
    names = [
        ", ".join(_said(key, one.get(key, "")) for key in keys if key in one or not _is_controller(key))
        or results[0].name
        for one, keys in zip(every, shown, strict=True)
    ]
    return distinct(names)


def prefixes(results: "Sequence[Results]") -> list[str]:
    """Return the prefix of the names of flows and links for each run: its label, if there are several runs."""
    return [f"{name}: " if len(results) > 1 else "" for name in labels(results)]


def _tables(results: "Results") -> dict[str, list[Any]]:
    """Return the lists of tables of a scenario by fact: links and nodes, hosts, appliances."""
    scenario = results.scenario
    places = {**_table(scenario.get("topology")), **{key: scenario[key] for key in scenario if key not in _LEFT_OUT}}
    return {
        key: value
        for key, value in places.items()
        if isinstance(value, list) and value and all(isinstance(entry, Mapping) for entry in value)
    }


def _within(every: Sequence[dict[str, str]], tables: Sequence[Mapping[str, list[Any]]]) -> list[dict[str, str]]:
    """Expand lists into the fields of their tables, where all runs have tables of the same names."""
    for key in dict.fromkeys(key for one in tables for key in one):
        lists = [one.get(key) for one in tables]
        if len({tuple(_names(entries or ())) for entries in lists}) == 1:
            every = [
                {name: said for name, said in one.items() if name != key} | _fields(entries or ())
                for one, entries in zip(every, lists, strict=True)
            ]
    return list(every)


def _names(entries: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the names of links or nodes; entries without a name are numbered."""
    return [
        str(entry.get("name") or (f"{entry['from']}->{entry['to']}" if {"from", "to"} <= entry.keys() else number))
        for number, entry in enumerate(entries)
    ]


def _fields(entries: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    return {
        f"{name}.{key}": value_text(value)
        for name, entry in zip(_names(entries), entries, strict=True)
        for key, value in entry.items()
        if key not in ("name", "from", "to")
    }


def _is_controller(key: str) -> bool:
    """Return whether a fact is a parameter of a flow's controller, rather than its bare name."""
    return key.endswith(".controller")


def distinct(names: Sequence[str], form: str = "{} ({})") -> list[str]:
    """Make names unique by appending a number to those that occur more than once.

    Args:
        names: The names.
        form: Format of a name and its number.

    Examples:
        >>> distinct(["a", "b", "a"]), distinct(["a", "a", "a-1"], "{}-{}")
        (['a (1)', 'b', 'a (2)'], ['a-2', 'a-3', 'a-1'])
    """
    found = list(names)
    taken = set(names)
    for place, name in enumerate(names):
        if names.count(name) > 1:
            numbered = (form.format(name, number) for number in range(1, len(names) + len(taken) + 1))
            found[place] = next(text for text in numbered if text not in taken)
            taken.add(found[place])
    return found


def _fewest(every: Sequence[Mapping[str, str]], differing: Sequence[str]) -> list[str]:
    """Return the differing fields without redundant ones, such as a scenario's name where its parts differ, too.

    Above `_MOST_FACTS`, only fields that distinguish runs not yet told apart by the previous fields are kept.
    """
    keys = [key for key in differing if key != "scenario"] or list(differing)
    are_few = len(keys) <= _MOST_FACTS
    kept: list[str] = []
    for key in keys:
        before, after = (len({tuple(one.get(name, "") for name in of) for one in every}) for of in (kept, [*kept, key]))
        if after > before or (are_few and not (_is_controller(key) and "flows" in kept)):
            kept.append(key)
    return kept


def _said(key: str, value: str) -> str:
    if key in _SAID_PLAINLY:
        return value or f"no {key}"
    return f"{key} {value or 'as by default'}"


def common(results: "Sequence[Results]") -> str:
    """Return the facts that all runs share, as a sentence."""
    every = [facts(one) for one in results]
    first = every[0]
    wanted = ("scenario", "by", "flows", "profile", "rate", "delay", "queue", "duration", "seed")
    same = [key for key in wanted if key in first and all(one.get(key) == first[key] for one in every)]
    same = [key for key in same if first[key] != _SIMULATOR]  # which goes without saying
    return ", ".join(_said(key, first[key]) if key != "delay" else f"delay {first[key]}" for key in same)


def controller_of(flow: Mapping[str, Any]) -> str:
    """Return the name of a flow's controller; in a recording it may be unknown.

    Args:
        flow: Entry of `summary.json`.
    """
    return str(flow["controller"] or "unknown")
