"""The stub of the compiled core, which an editor shows: every item is described, with its unit, as in the crate."""

import ast
import builtins
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import ackclock.diagnostics
import numpy as np
import pytest
import stub

import ackclock
from ackclock import _core
from ackclock.gym import AgentSettings

ROOT = Path(__file__).parents[2]
_TREE = ast.parse(stub.STUB.read_text())
_ITEMS = dict(stub.documented(_TREE))
_UNITS = {
    "ns": "nanosecond",
    "s": "second",
    "ms": "millisecond",
    "bytes": "byte",
    "octets": "byte",
    "bps": "bits per second",
}
_TAKEN = re.compile(r"^    (\w+): (.+(?:\n        .+)*)", re.MULTILINE)


def _doc(name: str) -> str:
    """The docstring of an item; what constructs an object is described by its class."""
    return ast.get_docstring(_ITEMS[name.removesuffix(".__new__")]) or ""


def _section(text: str, heading: str) -> dict[str, str]:
    """Return the entries below a heading of a docstring in Google's form, by name."""
    body = text.partition(f"\n{heading}:\n")[2].partition("\n\n")[0]
    return dict(_TAKEN.findall(body))


def _arguments(node: stub.Documented) -> Iterator[str]:
    if isinstance(node, ast.FunctionDef):
        named = (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)
        yield from (one.arg for one in named if one.arg not in ("self", "cls"))


def _lacks_unit(name: str, text: str) -> bool:
    _, _, suffix = name.rpartition("_")
    return suffix in _UNITS and _UNITS[suffix] not in text


def test_every_public_item_is_described() -> None:
    assert len(_ITEMS) > 160  # a class, method, property or function each
    assert {name for name in _ITEMS if not _doc(name)} == set()
    assert {name.partition(".")[0] for name in _ITEMS} == set(_core.__all__) & set(dir(_core))


def test_the_text_is_that_of_the_compiled_module() -> None:
    assert not stub.differing(_TREE), "run tests/stub.py --write"


@pytest.mark.parametrize("name", _ITEMS)
def test_a_unit_in_a_name_is_in_the_text(name: str) -> None:
    is_value = not any(_arguments(_ITEMS[name]))
    assert not (is_value and _lacks_unit(name, _doc(name)))


@pytest.mark.parametrize("name", _ITEMS)
def test_every_argument_is_described_with_its_unit(name: str) -> None:
    said = _section(_doc(name), "Args")
    assert set(_arguments(_ITEMS[name])) <= said.keys()
    if name.removesuffix(".__new__") == name and not isinstance(_ITEMS[name], ast.ClassDef):
        assert list(said) == list(_arguments(_ITEMS[name]))
    assert not [argument for argument, text in said.items() if _lacks_unit(argument, text)]


def test_what_is_raised_are_exceptions() -> None:
    raised = {error for name in _ITEMS for error in _section(_doc(name), "Raises")}
    assert raised
    for error in raised - {"ScenarioError"}:
        assert issubclass(getattr(builtins, error), Exception)


def _scenario() -> ackclock.Scenario:
    return ackclock.dumbbell(flows="cubic", duration="1 s")


def _over() -> _core.Simulation:
    simulation = _core.Simulation(_scenario())
    simulation.finish()
    return simulation


def _endpoint(local: str = "192.0.2.1:1") -> _core.Endpoint:
    return _core.Endpoint("{}", local, "192.0.2.2:2")


def _state() -> _core.ControllerState:
    return _core.ControllerState(_core.Start(mss_bytes=1000, initial_window_bytes=1000))


def _agent(flow: str = "cubic", **settings: object) -> _core.Environment:
    environment = _core.Environment(_scenario(), [(flow, AgentSettings(**settings).to_json())])  # type: ignore[arg-type]
    environment.reset(1)
    return environment


def _many(dtype: type = np.float32, *, numbers: int = 3, count: int = 1, agents: int = 1) -> None:
    json = AgentSettings().to_json()
    flows = ackclock.dumbbell(flows="cubic,reno", duration="1 s")
    one = _core.Environment(flows, [("cubic", json), ("reno", json)][:agents])
    _core.VectorEnvironment(one, count, 1, False).reset([1], np.zeros(numbers, dtype))


_RAISED: list[tuple[str, type[Exception], Callable[[], object]]] = [
    ("Start", ValueError, lambda: _core.Start(mss_bytes=-1, initial_window_bytes=1)),
    ("ControllerState.cwnd_bytes", TypeError, lambda: setattr(_state(), "cwnd_bytes", 1.5)),
    ("ControllerState.cwnd_bytes", ValueError, lambda: setattr(_state(), "cwnd_bytes", 2**40 + 1)),
    ("ControllerState.ssthresh_bytes", ValueError, lambda: setattr(_state(), "ssthresh_bytes", 0)),
    ("ControllerState.pacing_rate_bps", ValueError, lambda: setattr(_state(), "pacing_rate_bps", 10**15 + 1)),
    ("ControllerState.deadline_ns", ValueError, lambda: setattr(_state(), "deadline_ns", 2**63)),
    ("ControllerState.limits_itself", TypeError, lambda: setattr(_state(), "limits_itself", 1)),
    ("Endpoint", ValueError, lambda: _endpoint("192.0.2.1")),
    ("Endpoint", ackclock.ScenarioError, lambda: _core.Endpoint('{"tcp": 1}', "192.0.2.1:1", "192.0.2.2:2")),
    ("Endpoint.set_option", ValueError, lambda: _endpoint().set_option(0, "none", 1)),
    ("Endpoint.set_congestion", ackclock.ScenarioError, lambda: _endpoint().set_congestion(0, '{"controller": "no"}')),
    ("Endpoint.on_packet", ValueError, lambda: _endpoint().on_packet(0, b"")),
    ("Scenario.load", OSError, lambda: ackclock.Scenario.load("none.toml")),
    ("Scenario.parse", ackclock.ScenarioError, lambda: ackclock.Scenario.parse("seed = true")),
    ("Scenario.from_json", ackclock.ScenarioError, lambda: ackclock.Scenario.from_json("{")),
    ("Simulation", ValueError, lambda: _core.Simulation(_scenario(), 0)),
    ("Simulation.policy", KeyError, lambda: _core.Simulation(_scenario()).policy("none")),
    ("Simulation.policy", ValueError, lambda: _core.Simulation(_scenario()).policy("cubic")),
    ("Simulation.run_until", ValueError, lambda: _core.Simulation(_scenario()).run_until(-1.0)),
    ("Simulation.run_until", RuntimeError, lambda: _over().run_until(1.0)),
    ("Simulation.partition_json", RuntimeError, lambda: _over().partition_json()),
    ("Simulation.finish", RuntimeError, lambda: _over().finish()),
    ("Outcome.table", KeyError, lambda: _core.Simulation(_scenario()).finish().table("none")),  # type: ignore[arg-type]
    ("Outcome.write_pcapng", KeyError, lambda: _core.Simulation(_scenario()).finish().write_pcapng("none", "none")),
    ("Environment", ValueError, lambda: _agent("none")),
    ("Environment.step", ValueError, lambda: _agent().step(7.0)),
    ("Environment.step_all", ValueError, lambda: _agent().step_all([0.0, 0.0])),
    ("Environment.read", KeyError, lambda: _agent().read(0, "none")),
    ("VectorEnvironment", ValueError, lambda: _many(count=0)),
    ("VectorEnvironment", ValueError, lambda: _many(agents=2)),
    ("VectorEnvironment.reset", ValueError, lambda: _many(numbers=4)),
    ("VectorEnvironment.reset", TypeError, lambda: _many(np.float64)),
    ("mean_window", ValueError, lambda: _core.mean_window(_scenario(), 0.0, 1, 1)),
    ("exercise_agent", ValueError, lambda: _core.exercise_agent(_scenario(), 1)),
    ("policy_file", ValueError, lambda: _core.policy_file("{}", "relu", [])),
]


@pytest.mark.parametrize(("name", "error", "mistake"), _RAISED)
def test_a_mistake_raises_what_the_text_says(name: str, error: type[Exception], mistake: Callable[[], object]) -> None:
    assert error.__name__ in _section(_doc(name), "Raises")
    with pytest.raises(error):
        mistake()


def test_a_mistake_of_a_scenario_has_the_entries_that_are_declared() -> None:
    declared = ackclock.diagnostics.Diagnostic.__annotations__
    with pytest.raises(ackclock.ScenarioError) as caught:
        ackclock.Scenario.parse("sed = 1")
    for entry in caught.value.diagnostics:
        assert entry.keys() == declared.keys()
        assert all(isinstance(value, declared[name]) for name, value in entry.items())
