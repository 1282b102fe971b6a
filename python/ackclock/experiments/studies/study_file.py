"""Reader of studies: a TOML file, or an equivalent Python table. All mistakes are reported together, with places."""

import copy
import itertools
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path, PurePath
from typing import Any, Final

from ackclock.base import input_files
from ackclock.base.decoding import decoded, decoded_toml
from ackclock.experiments.grid import MOST_RUNS, Block, Settings, combinations, together
from ackclock.experiments.studies.line_ups import line_ups_of
from ackclock.experiments.studies.plan import PATH_DEFAULTS, PATH_KEYS, Entry, Origin, Plan
from ackclock.scenario.mistakes import Mistakes, read_toml
from ackclock.scenario.quantities import seconds
from ackclock.scenario.setting_values import each_once
from ackclock.scenario.toml_places import Key, spots

_KEYS: Final = (
    "name", "controllers", "line_ups", "path", "profile", "set", "paired", "seeds", "duration", "warm_up", "measure",
    "start_within", "scenario", "link", "keep",
)  # fmt: skip
_RANGE: Final = re.compile(r"\s*(\d+)\s*\.\.\s*(\d+)\s*")

_REMEDY: Final = "give a study's file (.toml)"

Document = Mapping[str, Any]


def read(source: "Path | str | Document") -> tuple[Plan, Mistakes]:
    """Read a study.

    Args:
        source: A file, or a table as parsed from TOML.

    Returns:
        The study, and its mistakes so far: `design.trials` reports them with those of the scenarios.

    Raises:
        ScenarioError: If it is not TOML.
        InputFileError: If the file cannot be read.
    """
    if isinstance(source, Mapping):
        return _plan(source, Mistakes("<study>", {}), Path(), "study")
    path = Path(source)
    text = input_files.text(path, remedy=_REMEDY)
    return _plan(read_toml(text, path), Mistakes(str(path), spots(text)), path.resolve().parent, path.stem)


def read_again(document: Document, name: str, folder: Path, stem: str, scenario: str | None) -> Plan:
    """Read the table of a finished study, without looking for the files that it names.

    Args:
        document: The table.
        name: Name in messages.
        folder: Folder to which its file names are relative.
        stem: Default name of the study.
        scenario: Name of its scenario, if it has one.

    Raises:
        ScenarioError: If it is wrong.
    """
    known = {key: document[key] for key in document if key != "scenario"}
    plan, mistakes = _plan(known, Mistakes(name, {}), folder, stem)
    mistakes.check()
    if scenario is None:
        return plan
    cells = tuple({key: value for key, value in cell.items() if key not in PATH_KEYS} for cell in plan.cells)
    starts = document.get("start_within")
    return replace(plan, scenario={"name": scenario}, cells=cells, start_within=starts)


def _plan(document: Document, mistakes: Mistakes, folder: Path, stem: str) -> tuple[Plan, Mistakes]:
    for key in document:
        if key not in _KEYS:
            mistakes.unknown((key,), _KEYS)
    controllers = _controllers(document, mistakes)
    cells, places = _cells(document, mistakes)
    seeds = _seeds(document.get("seeds", 5), mistakes)
    line_ups = line_ups_of(document.get("line_ups"), [entry.label for entry in controllers], mistakes)
    scenario = _scenario(document, folder, mistakes)
    own = (scenario or {}).get("duration")
    if "duration" not in document and isinstance(own, str):
        document = {**document, "duration": own}
    plan = Plan(
        name=_text(document, "name", mistakes) or stem,
        folder=str(_beside(document, folder)),
        controllers=controllers,
        line_ups=line_ups,
        cells=tuple(cells),
        seeds=seeds,
        duration=_text(document, "duration", mistakes) or "60 s",
        measure=_measure(document, mistakes),
        start_within=_start_within(document, mistakes),
        scenario=scenario,
        link=_text(document, "link", mistakes),
        keep=_keep(document, mistakes),
        places=places,
        origin=Origin(copy.deepcopy(dict(document)), str(folder.resolve()), stem),
    )
    if plan.size > MOST_RUNS:
        mistakes.add((), f"it has more than {MOST_RUNS:,} runs", "leave out values or seeds")
    mistakes.end_reading()
    return plan, mistakes


# ---- single values --------------------------------------------------------------------------------------------------


def _text(document: Document, key: str, mistakes: Mistakes) -> str | None:
    value = document.get(key)
    if value is not None and (not isinstance(value, str) or not value.strip()):
        mistakes.add((key,), "must be a string", f'write it like {key} = "..."', value)
        return None
    return value


def _start_within(document: Document, mistakes: Mistakes) -> str | None:
    """Return the interval of random starts; without it, many studies have no randomness, and intervals mean nothing."""
    if "start_within" not in document:
        return None if "scenario" in document else start_within(document.get("duration", "60 s"))
    value = _text(document, "start_within", mistakes)
    length_s = seconds(value)
    if value is not None and (length_s is None or length_s < 0.0):
        remedy = 'write it like start_within = "1 s"'
        mistakes.add(("start_within",), "must be a duration that is not negative", remedy, value)
        return None
    return value


def start_within(duration: object) -> str:
    """Return the default interval of random starts: a second, or a tenth of a run shorter than ten seconds.

    Examples:
        >>> start_within("60 s"), start_within("2 s"), start_within("no duration")
        ('1 s', '200 ms', '1 s')
    """
    length_s = seconds(duration) or 10.0
    return "1 s" if length_s >= 10.0 else f"{100 * length_s:g} ms"


def _measure(document: Document, mistakes: Mistakes) -> dict[str, Any] | None:
    given = document.get("measure")
    if "warm_up" in document:
        if given is not None:
            mistakes.add(
                ("measure",), "and warm_up must not be combined", "warm_up is the measure's from; give one of them"
            )
        warm_up = _text(document, "warm_up", mistakes)
        return {"from": warm_up} if warm_up else None
    if given is not None and not isinstance(given, Mapping):
        mistakes.add(("measure",), "must be a table", 'write it like { from = "10 s", to = "60 s" }', given)
        return None
    return dict(given) if given is not None else None


def _keep(document: Document, mistakes: Mistakes) -> int:
    value = document.get("keep", 4)
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= 1000:
        mistakes.add(
            ("keep",),
            "must be a whole number from 0 to 1000",
            "give the number of runs that are kept, such as keep = 4",
            value,
        )
        return 0
    return value


def _seeds(value: Any, mistakes: Mistakes) -> tuple[int, ...]:  # noqa: ANN401
    """Read seeds: a number of seeds, a range including both ends, or a list."""
    remedy = 'write a number, seeds = 5, a range, seeds = "1..20", or a list'
    match = _RANGE.fullmatch(value) if isinstance(value, str) else None
    if match:
        found: Sequence[Any] = range(int(match[1]), min(int(match[2]), int(match[1]) + MOST_RUNS) + 1)
    elif isinstance(value, int) and not isinstance(value, bool):
        found = range(1, min(value, MOST_RUNS + 1) + 1)  # one too many is enough to be refused
    else:
        found = value if isinstance(value, list) else []
    if not found or not all(
        isinstance(seed, int) and not isinstance(seed, bool) and 0 <= seed < 2**64 for seed in found
    ):
        mistakes.add(("seeds",), "must be at least one seed", remedy, value)
        return (1,)
    return tuple(dict.fromkeys(found))


def _scenario(document: Document, folder: Path, mistakes: Mistakes) -> dict[str, Any] | None:
    """Read the study's scenario, which replaces a path."""
    value = document.get("scenario")
    if value is None:
        return None
    if "path" in document:
        mistakes.add(
            ("path",), "and scenario must not be combined", "a scenario has its own network; remove one of them"
        )
    if not isinstance(value, str):
        mistakes.add(
            ("scenario",), "must be the name of a file", 'write it like "two.toml", relative to this file', value
        )
        return None
    try:
        text = input_files.text(folder / value, remedy="name a scenario file, relative to this file")
        found: dict[str, Any] = decoded(text) if text.lstrip().startswith("{") else decoded_toml(text)
    except ValueError as error:
        mistakes.add(("scenario",), f"cannot be read: {error}", "name a scenario file, relative to this file", value)
        return None
    if not isinstance(found.get("flow"), list) or not found["flow"]:
        mistakes.add(("scenario",), "has no [[flow]]", "flows of the study copy one of its flows; give it one", value)
        return None
    return {"name": Path(value).stem} | found


def _beside(document: Document, folder: Path) -> Path:
    """Return the folder in which files and classes are searched: the scenario's, if the study has one."""
    name = document.get("scenario")
    return (folder / name).resolve().parent if isinstance(name, str) else folder


# ---- controllers ----------------------------------------------------------------------------------------------------


def _controllers(document: Document, mistakes: Mistakes) -> tuple[Entry, ...]:
    given = document.get("controllers")
    if not isinstance(given, list) or not given:
        mistakes.add(("controllers",), "must be a list of at least one", 'write it like ["cubic", "bbr3"]', given)
        return ()
    entries: list[Entry] = []
    for place, value in enumerate(given):
        entry = _entry(value, ("controllers", place), mistakes)
        if entry and entry.label in {known.label for known in entries}:
            mistakes.add(entry.key, f'is a second "{entry.label}"', 'give it a unique label: label = "..."', value)
        elif entry:
            entries.append(entry)
    return tuple(entries)


def _entry(value: Any, key: Key, mistakes: Mistakes) -> Entry | None:  # noqa: ANN401
    """Read a controller: a name, its table, or the table of a flow that contains it."""
    flow: dict[str, Any]
    if isinstance(value, str):
        flow, label = {"controller": value}, value.rpartition(":")[2]
    elif isinstance(value, Mapping) and {"kind", "class", "controller"} & value.keys():
        rest = {name: entry for name, entry in value.items() if name != "label"}
        if "controller" not in rest and "kind" not in rest:
            rest["kind"] = "python"
        flow = rest if "controller" in rest else {"controller": rest}
        label = value.get("label", _name(flow["controller"]))
    else:
        mistakes.add(
            key, "must be a controller", 'write "cubic", or { kind = "cubic", beta = 0.8, label = "mine" }', value
        )
        return None
    if not isinstance(label, str) or not label.strip() or set(label) & set(",*"):
        mistakes.add((*key, "label"), "must be a string without a comma or *", 'write it like label = "mine"', label)
        return None
    for name in {"name", "count"} & flow.keys():
        mistakes.add(
            (*key, name), "is not a field of a study's controller", 'write label, and "cubic*4" in line_ups', flow[name]
        )
    return Entry(label, flow, key)


def _name(controller: Any) -> Any:  # noqa: ANN401
    if (
        isinstance(controller, Mapping)
        and controller.get("kind") == "policy"
        and isinstance(controller.get("file"), str)
    ):
        return PurePath(controller["file"]).name
    found = controller.get("class", controller.get("kind")) if isinstance(controller, Mapping) else controller
    return found.rpartition(":")[2] if isinstance(found, str) else found


# ---- axes -----------------------------------------------------------------------------------------------------------


def _cells(document: Document, mistakes: Mistakes) -> tuple[Sequence[Settings], dict[str, Key]]:
    places: dict[str, Key] = {}
    blocks: list[Block] = []
    single: dict[str, list[Any]] = {}
    path = document.get("path", {})
    if "scenario" not in document:
        if isinstance(path, list):
            blocks.append(_named_paths(path, places, mistakes))
        elif isinstance(path, Mapping):
            single |= _path_axes(path, ("path",), places, mistakes, known=PATH_KEYS)
        else:
            mistakes.add(("path",), "must be a table, or tables", 'write [path] and below it rtt = "40 ms"', path)
    if "profile" in document:
        single["profile"] = _values(document["profile"], ("profile",), mistakes)
        places["profile"] = ("profile",)
    single |= _set_axes(document.get("set", {}), places, mistakes)
    blocks += _paired(document.get("paired", []), single, mistakes)
    blocks += [[{key: value} for value in each_once(values)] for key, values in single.items()]
    size = math.prod(map(len, blocks))
    if mistakes.are_none and size > MOST_RUNS:
        mistakes.add((), f"it has {size:,} combinations of values", f"leave some out: at most {MOST_RUNS:,}")
        return [], places
    return list(combinations(blocks, ("path", *PATH_KEYS, "profile"))), places


def _values(value: Any, key: Key, mistakes: Mistakes) -> list[Any]:  # noqa: ANN401
    """Read the values of a setting: a list is an axis, anything else one value. Paired axes may repeat values."""
    values = value if isinstance(value, list) else [value]
    if not values:
        mistakes.add(key, "has no values", "write one, or a list of several", value)
        return [None]
    return values


def _path_axes(
    table: Mapping[str, Any], key: Key, places: dict[str, Key], mistakes: Mistakes, known: Sequence[str]
) -> dict[str, list[Any]]:
    for name in table:
        if name not in known:
            mistakes.unknown((*key, name), known)
    axes: dict[str, list[Any]] = {}
    for name in PATH_KEYS:
        if name in table:
            places[name] = (*key, name)
            axes[name] = _values(table[name], (*key, name), mistakes)
            _check_path_values(name, axes[name], (*key, name), mistakes)
        elif name in PATH_DEFAULTS and not _has_its_own(name, table):
            axes[name] = [PATH_DEFAULTS[name]]
    if "trace" in table and "rate" in table:
        mistakes.add(
            (*key, "rate"),
            "and trace must not be combined",
            "a trace is the rate; remove one of them",
            table["rate"],
        )
    return axes


def _has_its_own(name: str, table: Mapping[str, Any]) -> bool:
    """Return whether the path defines it otherwise: a trace the rate, a managed queue its limit."""
    if name == "rate":
        return "trace" in table
    return name == "buffer" and table.get("queue", "drop_tail") != "drop_tail"


def _check_path_values(name: str, values: Sequence[Any], key: Key, mistakes: Mistakes) -> None:
    forms = {"rate": "100 Mbit/s", "rtt": "40 ms", "buffer": "1 bdp", "trace": "cell.down"}
    for value in values:
        if name in forms and not isinstance(value, str):
            mistakes.add(key, "must be a string, or a list of strings", f'write it like "{forms[name]}"', value)
        elif name == "queue" and not isinstance(value, (str, Mapping)):
            mistakes.add(key, "must be a discipline", 'write it like "fq_codel"; see ackclock list queues', value)
        elif name == "loss" and (isinstance(value, bool) or not isinstance(value, (int, float, str, Mapping))):
            mistakes.add(key, "must be a probability", 'write it like 0.01, "1 %", or a table of loss', value)


def _named_paths(tables: Sequence[Any], places: dict[str, Key], mistakes: Mistakes) -> Block:
    """Read the named paths, each expanded into the combinations of its own lists."""
    block: Block = []
    names: list[str] = []
    for number, table in enumerate(tables):
        key: Key = ("path", number)
        if not isinstance(table, Mapping):
            mistakes.add(key, "must be a table", 'write [[path]] and below it rtt = "40 ms"', table)
            continue
        name = table.get("name")
        if not isinstance(name, str) or not name.strip() or name in names:
            mistakes.add((*key, "name"), "must be a unique name", 'write it like name = "satellite"', name)
            name = f"path {number + 1}"  # for the other mistakes of this path
        names.append(name)
        axes = _path_axes(table, key, places, mistakes, known=("name", *PATH_KEYS))
        for values in itertools.product(*map(each_once, axes.values())):
            block.append({"path": name} | dict(zip(axes, values, strict=True)))
    return block


def _set_axes(table: Any, places: dict[str, Key], mistakes: Mistakes) -> dict[str, list[Any]]:  # noqa: ANN401
    if not isinstance(table, Mapping):
        mistakes.add(("set",), "must be a table", 'write [set] and below it "tcp.mss" = [536, 1448]', table)
        return {}
    axes: dict[str, list[Any]] = {}
    for name, value in table.items():
        key: Key = ("set", name)
        if isinstance(value, Mapping):
            mistakes.add(key, "is a table", f'put the place in quotes, as in "{name}.mss" = 536', value)
        elif name in ("seed", "duration", "measure", "name", "flow"):
            mistakes.add(key, "is set by the study", "seeds, duration, warm_up and controllers are at its top", value)
        else:
            axes[name] = _values(value, key, mistakes)
            places[name] = key
    return axes


def _paired(given: Any, single: dict[str, list[Any]], mistakes: Mistakes) -> list[Block]:  # noqa: ANN401
    """Separate the paired axes from the crossed ones; a single group may be written without the outer list."""
    if isinstance(given, list) and given and all(isinstance(name, str) for name in given):
        given = [given]
    if not isinstance(given, list) or not all(isinstance(group, list) for group in given):
        mistakes.add(("paired",), "must be a list of axes, or of such lists", 'write it like ["rate", "buffer"]', given)
        return []
    blocks: list[Block] = []
    for place, group in enumerate(given):
        key: Key = ("paired", place)
        known = [name for name in single if name in group]
        if len(known) < max(len(group), 2):
            remedy = f"name two or more of: {', '.join(single)}"
            mistakes.add(key, "must name two or more axes, each once", remedy, group)
            continue
        try:
            blocks.append(each_once(together({name: single[name] for name in group})))
        except ValueError as error:
            mistakes.add(key, f"must name axes with as many values each: {error}", "give them as many values", group)
            continue
        for name in group:
            del single[name]
    return blocks
