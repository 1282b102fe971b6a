"""Settings of an agent, and its spaces."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, NamedTuple, TypedDict

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from ackclock import _core
from ackclock.base.printable import unknown
from ackclock.gym.names import ActionName, DecisionName, ObservationName, RewardName, Side, Target
from ackclock.gym.own import Own, OwnAction, OwnObservations, listed
from ackclock.gym.values import Reward


@dataclass(frozen=True, slots=True)
class AgentSettings:
    """Observations, decisions, actions and rewards of an agent; `ackclock list agents` lists the names.

    Attributes:
        observations: Names of observations, in order; or tables `{"kind": name, ...}` with the parameters of
            user-written ones.
        history: Number of decisions whose observations are shown, the latest last.
        scaled: Scale observations to [-1, 1].
        decide: Time of decisions: `"ack"`, `{"acks": n}`, `"window"`, `"round"`, `{"rounds": x}`, `"cubic_pace"`, or a
            time such as `"20 ms"`.
        action: Name of an action, or a table `{"kind": name, ...}` with its parameters.
        reward: Name of a reward, or a table with its parameters.
        slow_start: Side that opens the window at the start and after a timeout.
        on_loss: Side that responds to losses and marks: the stack, by the flow's own controller, or the agent alone.
        target: Place in which the policy is to run. With `"kernel"` settings are refused that no kernel could run.
    """

    observations: Sequence[ObservationName | str | Mapping[str, Any]] = (
        "threshold_segments",
        "cwnd_segments",
        "rtt_ms",
    )
    history: int = 1
    scaled: bool = False
    decide: DecisionName | str | Mapping[str, float] = "window"
    action: ActionName | str | Mapping[str, Any] = "deltas"
    reward: RewardName | str | Mapping[str, Any] = "dqn"
    slow_start: Side = "stack"
    on_loss: Side = "stack"
    target: Target = "engine"

    def to_json(self) -> str:
        """Return the settings as JSON for the core.

        Raises:
            ValueError: If a value has no JSON form, such as NaN or an array.
        """
        named = {one.name: getattr(self, one.name) for one in fields(self)}
        named["observations"] = listed(self.observations)
        if self.target == "engine":  # the default, which no policy written earlier has
            del named["target"]
        return f"{{{', '.join(f'{json.dumps(name)}: {_json(name, value)}' for name, value in named.items())}}}"

    def policy_file(
        self,
        activation: str,
        layers: Sequence[tuple[NDArray[np.float32], NDArray[np.float32]]],
        scenario: _core.Scenario | None = None,
    ) -> bytes:
        """Return a trained network as an ONNX file, for `controller = { kind = "policy", file = ... }`.

        Args:
            activation: Activation between two layers, `"relu"` or `"tanh"`.
            layers: Weights of each layer with a row per output, and its biases. The last layer's outputs are a value
                for each choice, or the action.
            scenario: Scenario whose own observations the settings name.

        Raises:
            ValueError: If a setting is wrong, or the layers do not fit together.
        """
        return _core.policy_file(self.to_json(), activation, list(layers), scenario)

    def changed(self, changes: Mapping[str, Any]) -> "AgentSettings":
        """Return a copy with some settings changed.

        Raises:
            TypeError: If a setting is unknown.
        """
        return replace(self, **changes)


class Settings(TypedDict, total=False):
    """Keyword settings of every environment: those of `AgentSettings`, with its defaults.

    Except in `VectorFlowEnv`, they may contain functions: `Own` observations, an `OwnAction`, and as reward a function
    of `Values`, called once per step.
    """

    observations: Sequence[ObservationName | str | Mapping[str, Any] | Own]
    history: int
    scaled: bool
    decide: DecisionName | str | Mapping[str, float]
    action: ActionName | str | Mapping[str, Any] | OwnAction
    reward: RewardName | str | Mapping[str, Any] | Reward
    slow_start: Side
    on_loss: Side
    target: Target


def checked(given: Settings) -> AgentSettings:
    """Return the settings, with defaults for those not given.

    Raises:
        TypeError: If a setting is unknown.
    """
    known = [field.name for field in fields(AgentSettings)]
    if wrong := next((name for name in given if name not in known), None):
        raise TypeError(unknown("setting", wrong, known))
    return AgentSettings(**given)  # type: ignore[arg-type]


class Split(NamedTuple):
    """Settings of the core, and the functions of an agent."""

    settings: AgentSettings
    observations: OwnObservations
    reward: Reward | None
    action: OwnAction | None


def split(given: Settings) -> Split:
    """Split settings into those of the core and the functions.

    Raises:
        TypeError: If a setting is unknown.
        ValueError: If the observations are wrong.
    """
    reward, action = given.get("reward"), given.get("action")
    named = dict(given)
    if callable(reward):
        named["reward"] = "none"
    if isinstance(action, OwnAction):
        named["action"] = "paced_window"  # sets a window and a rate, too
        if given.get("target") == "kernel":
            raise ValueError('agent.target = "kernel", and the action is a function; name deltas or orca')
    settings = checked(named)  # type: ignore[arg-type]
    own = OwnObservations(settings.observations, history=settings.history, scaled=settings.scaled)
    return Split(
        replace(settings, observations=own.named),
        own,
        reward if callable(reward) else None,
        action if isinstance(action, OwnAction) else None,
    )


def _json(name: str, value: object) -> str:
    try:
        text = json.dumps(value, allow_nan=False)
        json.loads(text, parse_int=_in_64_bits)
        return text
    except (TypeError, ValueError) as error:
        said = (
            f"agent.{name} = {value!r} cannot be read ({error}); write strings, finite numbers, lists or tables of them"
        )
        raise ValueError(said) from error


def _in_64_bits(digits: str) -> int:
    if abs(number := int(digits)) >> 64:
        raise ValueError(f"{digits[:20]}... has more than 64 bits")
    return number


def number_of(action: Any, space: "spaces.Space[Any]") -> float:
    """Return an action as a number for the core.

    Args:
        action: Index of a choice, or an array of shape (1,).
        space: Action space.

    Raises:
        ValueError: If it is not a member of the space.
    """
    try:
        array = np.asarray(action)
    except ValueError:  # lists of several lengths
        array = np.array(None)
    if array.shape != (space.shape or ()) or array.dtype.kind not in NUMBERS:
        wanted = "the number of a choice" if isinstance(space, spaces.Discrete) else "an array of shape (1,)"
        raise ValueError(f"an action must be {wanted}, not {action!r}")
    return float(array.item())


NUMBERS = "biuf"
"""NumPy's kinds of real-number types."""


def spaces_of(described: str) -> "tuple[spaces.Box[np.float32], spaces.Space[Any]]":
    """Return the observation and action spaces that the core describes."""
    tables = json.loads(described)
    shape = tuple(tables["observation"]["shape"])
    sides = {"low": -np.inf, "high": np.inf}
    ends = ([end if value is None else value for value in tables["observation"][side]] for side, end in sides.items())
    low, high = (np.broadcast_to(np.array(side, np.float32), shape) for side in ends)
    observation = spaces.Box(low, high, dtype=np.float32)
    action = tables["action"]
    if "choices" in action:
        return observation, spaces.Discrete(action["choices"])
    return observation, spaces.Box(action["low"], action["high"], (1,), np.float32)
