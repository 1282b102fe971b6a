"""Summaries and manifests hold the fields that are declared and that the reference describes."""

import ast
import inspect
import itertools
import json
import re
import types
import typing
from collections.abc import Iterator
from pathlib import Path

import pytest

import ackclock
from ackclock.results import manifests, summaries
from ackclock.scenario.example_files import FOLDER as SCENARIOS

ROOT = Path(__file__).parents[2]
REFERENCE = (ROOT / "docs/reference/results.md").read_text()

_SCENARIOS = {
    "two-algorithms": (),
    "requests": (),
    "video": (),
    "web-search": ("duration=2 s",),
    "fq-codel-call": (),
    "cross-traffic": (),
    "split-satellite": (),
    "appliance": (),
    "own-controller": ("duration=2 s",),
    "own-parts": ("duration=2 s",),
    "random-networks": (),
    "media": ("duration=12 s", "flow.download.start=5 s"),
}
"""A scenario for each kind of traffic, with overrides that make it shorter."""

_UNITS = {"_s": "second", "_ms": "millisecond", "_bytes": "bytes", "_bps": "bits per second"}

Kind = type[typing.Any]


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> list[ackclock.Results]:
    """Results read back from a folder, where the manifest is whole."""
    folder = tmp_path_factory.mktemp("runs")
    loaded = []
    for name, overrides in _SCENARIOS.items():
        kept = ("topology.bottleneck.capture=true",) if name == "two-algorithms" else ()
        scenario = ackclock.Scenario.load(SCENARIOS / f"{name}.toml", [*overrides, *kept])
        loaded.append(ackclock.Results.load(ackclock.run(scenario).save(folder / name)))
    return loaded


def _declared(module: types.ModuleType) -> dict[str, Kind]:
    return {name: kind for name, kind in vars(module).items() if typing.is_typeddict(kind)}


_DECLARED = _declared(summaries) | _declared(manifests)
_KEYS = {(name, key) for name, kind in _DECLARED.items() for key in kind.__annotations__}


def _mistakes(value: object, kind: object, place: str, seen: set[tuple[str, str]]) -> Iterator[str]:
    """Yield the fields that a value has and its type does not declare, or lacks; remember the keys on the way."""
    if typing.is_typeddict(kind):
        yield from _mistakes_of_table(value, typing.cast(Kind, kind), place, seen)
    elif typing.get_origin(kind) in (types.UnionType, typing.Union):
        found = [list(_mistakes(value, one, place, seen)) for one in typing.get_args(kind)]
        yield from min(found, key=len)
    elif typing.get_origin(kind) is list:
        for index, one in enumerate(typing.cast(list[object], value)):
            yield from _mistakes(one, typing.get_args(kind)[0], f"{place}[{index}]", seen)
    elif typing.get_origin(kind) is dict:
        for key, one in typing.cast(dict[str, object], value).items():
            yield from _mistakes(one, typing.get_args(kind)[1], f"{place}.{key}", seen)
    elif kind is not typing.Any and type(value) is not kind:
        yield f"{place} is {value!r}, no {kind}"


def _mistakes_of_table(value: object, kind: Kind, place: str, seen: set[tuple[str, str]]) -> Iterator[str]:
    if not isinstance(value, dict):
        yield f"{place} is {value!r}, no {kind.__name__}"
        return
    if missing := kind.__required_keys__ - value.keys():
        yield f"{place} has no {missing}"
    for key, inner in typing.get_type_hints(kind).items():
        if key in value:
            seen.add((kind.__name__, key))
            yield from _mistakes(value[key], inner, f"{place}.{key}", seen)
    if unknown := value.keys() - kind.__annotations__.keys():
        yield f"{place} has {unknown}, which {kind.__name__} does not declare"


def test_every_key_is_declared_and_every_declared_key_is_there(runs: list[ackclock.Results]) -> None:
    seen: set[tuple[str, str]] = set()
    mistakes = [
        mistake
        for run in runs
        for value, kind in ((run.summary, summaries.RunSummary), (run.manifest, manifests.Manifest))
        for mistake in _mistakes(value, kind, run.name, seen)
    ]
    assert mistakes == []
    # What a kernel's run tells besides is held by test_kernel.py, where there is one; recordings have tables of
    # their own.
    others = ("KernelRun", "VirtualTime", "Lateness", "Pair")
    others += ("Source", "Recording", "RecordedFlow", "RecordedRun", "RecordedManifest")
    elsewhere = {key for key in _KEYS if key[0] in others} | {("Manifest", "kernel"), ("Manifest", "recording")}
    assert seen == _KEYS - elsewhere


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"seed": 1.0}, "seed is 1.0"),
        ({"flows": [{}]}, "flows[0] has no"),
        ({"more": 1}, "has {'more'}"),
        ({"jain_index": "1"}, "jain_index is '1'"),
    ],
)
def test_what_differs_is_found(results: ackclock.Results, wrong: dict[str, object], said: str) -> None:
    (mistake,) = _mistakes({**results.summary, **wrong}, summaries.RunSummary, "run", set())
    assert said in mistake


def test_what_a_run_returns_is_what_its_folder_holds(results: ackclock.Results) -> None:
    assert not list(_mistakes(results.manifest, manifests.Manifest, "run", set()))
    assert not list(_mistakes(results.engine, manifests.Engine, "run", set()))


def _texts(module: types.ModuleType) -> Iterator[tuple[str, str, str]]:
    """Name of each table, its keys, and what is said of them."""
    for table in ast.parse(inspect.getsource(module)).body:
        if isinstance(table, ast.ClassDef):
            for key, text in zip(table.body[1::2], table.body[2::2], strict=True):
                assert isinstance(key, ast.AnnAssign) and isinstance(key.target, ast.Name)
                assert isinstance(text, ast.Expr) and isinstance(text.value, ast.Constant)
                yield table.name, key.target.id, str(text.value.value)


@pytest.mark.parametrize("module", [summaries, manifests], ids=["summaries", "manifests"])
def test_every_key_is_described_with_its_unit(module: types.ModuleType) -> None:
    texts = list(_texts(module))
    assert {(table, key) for table, key, _ in texts} == {
        (name, key) for name, kind in _declared(module).items() for key in kind.__annotations__
    }
    for table, key, text in texts:
        unit = next((word for suffix, word in _UNITS.items() if key.endswith(suffix)), "")
        assert unit in text, (table, key)


_SECTIONS = {
    "**`summary.json`**:": "RunSummary",
    "| `flows[]` |": "FlowSummary LimitShares ExchangeSummary VideoSummary",
    "| `groups[]` |": "GroupSummary SizeBucket",
    "| `datagrams[]` |": "DatagramSummary",
    "| `appliances[]` |": "ApplianceSummary SplitSummary ShortFlowCounts",
    "| `forward`, `backward` |": "DirectionSummary BlockingSummary",
    "| `links[]` |": "LinkSummary",
    "**`manifest.json`**:": "Engine Partition Written ControllerSource",
}
"""Where the reference begins to describe what; it ends where the next begins."""


def _listed(heading: str) -> set[str]:
    """Names in a part of the reference: of `flows[].forward` and of `buckets[]` the last, without brackets."""
    parts = re.split(r"\n\n(?=\||\*\*)", REFERENCE)
    first = next(index for index, part in enumerate(parts) if part.startswith(heading))
    own = itertools.takewhile(lambda part: not part.startswith(tuple(_SECTIONS)), parts[first + 1 :])
    names = re.findall(r"`([a-z0-9_.\[\]]+?)(?:\[\])?`", "".join([parts[first], *own]))
    return {name.rpartition(".")[2] for name in names}


@pytest.mark.parametrize("heading", _SECTIONS)
def test_the_reference_lists_every_key(heading: str) -> None:
    declared = {key for table in _SECTIONS[heading].split() for key in _DECLARED[table].__annotations__}
    lists = set(re.findall(r"^\| `(\w+)\[\]`", REFERENCE, re.MULTILINE))  # described in tables of their own
    assert declared - lists <= _listed(heading)


def test_what_is_json_stays_json(runs: list[ackclock.Results]) -> None:
    assert all(json.loads(json.dumps(run.manifest)) == run.manifest for run in runs)
