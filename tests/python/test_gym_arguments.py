"""An editor shows every setting of an environment, with the default that it has."""

import dataclasses
import inspect
import json
from collections.abc import Callable
from typing import Any, get_args

import gymnasium
import pytest
from gymnasium.vector import AutoresetMode

from ackclock import _core
from ackclock.gym import (
    AgentSettings,
    FlowEnv,
    ParallelFlows,
    Settings,
    SharedLink,
    SingleFlow,
    Trace,
    VectorFlowEnv,
    names,
)
from gym_scenarios import ONE, scenario

_SETTINGS = {field.name: field.default for field in dataclasses.fields(AgentSettings)}
_REGISTERED = (SingleFlow, SharedLink, Trace)


def _names(callable_: Callable[..., Any]) -> set[str]:
    """The keywords of a call: its own, and those of the `TypedDict` that it unpacks."""
    found: set[str] = set()
    for name, one in inspect.signature(callable_).parameters.items():
        is_unpacked = one.kind is inspect.Parameter.VAR_KEYWORD
        found |= get_args(one.annotation)[0].__annotations__.keys() if is_unpacked else {name}
    return found


@pytest.mark.parametrize("environment", [FlowEnv, VectorFlowEnv, ParallelFlows])
def test_settings_are_arguments_with_the_defaults_of_the_settings(environment: type) -> None:
    assert _names(environment) >= _SETTINGS.keys() == Settings.__annotations__.keys()
    settings = environment(scenario(ONE)).settings
    assert all(one == AgentSettings() for one in (settings.values() if isinstance(settings, dict) else [settings]))


@pytest.mark.parametrize("environment", [FlowEnv, VectorFlowEnv, ParallelFlows, SingleFlow, Trace])
def test_every_argument_is_described(environment: type) -> None:
    text = inspect.getdoc(environment.__init__) or ""
    assert not [name for name in inspect.signature(environment).parameters if f"\n    {name}: " not in text]


def test_every_setting_is_described() -> None:
    text = inspect.getdoc(AgentSettings) or ""
    assert not [name for name in _SETTINGS if f"\n    {name}: " not in text]


@pytest.mark.parametrize("environment", _REGISTERED)
def test_registered_environments_take_what_the_general_ones_do(environment: type[SingleFlow]) -> None:
    own = {"trace"} if environment is Trace else set()
    assert _names(environment) == _names(FlowEnv) | own
    assert _names(environment.vector) == _names(VectorFlowEnv) | own


def test_a_setting_of_ones_own_takes_the_place_of_the_environments() -> None:
    env = SingleFlow(history=3, on_loss="stack")
    assert env.settings == AgentSettings(
        observations=("latency_gradient", "latency_ratio", "send_ratio", "loss_fraction", "delivery_ratio"),
        history=3,
        scaled=True,
        decide="round",
        action="aurora",
        reward="power",
        on_loss="stack",
    )
    many = Trace.vector(num_envs=2, scaled=False, autoreset=AutoresetMode.SAME_STEP, threads=1)
    assert (many.num_envs, many.settings.scaled, many.settings.decide) == (2, False, "20 ms")


def test_gymnasium_hands_arguments_on() -> None:
    made = gymnasium.make("ackclock/Trace-v0", history=2).unwrapped
    assert isinstance(made, Trace)
    assert made.settings.history == 2
    many = gymnasium.make_vec("ackclock/SingleFlow-v0", num_envs=2, history=2)
    assert isinstance(many, VectorFlowEnv)
    assert (many.num_envs, many.settings.history) == (2, 2)


def test_an_unknown_argument_is_refused() -> None:
    with pytest.raises(TypeError, match="histroy"):
        FlowEnv(scenario(ONE), histroy=3)  # type: ignore[call-arg]


def test_names_are_those_of_the_catalogue() -> None:
    catalogue = json.loads(_core.agents())
    listed = {kind: tuple(row["name"] for row in rows) for kind, rows in catalogue.items()}
    assert get_args(names.ObservationName) == listed["observations"]
    assert get_args(names.ActionName) == listed["actions"]
    assert get_args(names.RewardName) == listed["rewards"]
    assert (*get_args(names.DecisionName), "20 ms") == listed["decisions"]  # the last stands for every time
