"""The settings of an agent, and the spaces that follow."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, TypedDict

import numpy as np
from gymnasium import spaces

from ackclock.base.printable import unknown
from ackclock.gym.names import ActionName, DecisionName, ObservationName, RewardName, Side
from ackclock.gym.own import Own, OwnObservations, listed
from ackclock.gym.values import Reward


@dataclass(frozen=True, slots=True)
class AgentSettings:
    """The observations, decisions, actions and rewards of an agent; `ackclock list agents` lists the names.

    Attributes:
        observations: Names of observations, in the order in which they are to come; or tables `{"kind": name, ...}`
            with parameters of those of your own.
        history: Observations of so many decisions, the latest last.
        scaled: Bring observations into [-1, 1].
        decide: When it is asked: `"ack"`, `{"acks": n}`, `"window"`, `"round"`, `{"rounds": x}`, `"cubic_pace"`, or a
            time such as `"20 ms"`.
        action: Name of an action, or a table `{"kind": name, ...}` with its parameters.
        reward: Likewise of a reward.
        slow_start: Who opens the window at the start and after a timeout.
        on_loss: Who answers losses and marks: the stack, by the flow's own controller, or the agent alone.
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

    def to_json(self) -> str:
        """Return the settings as the core reads them.

        Raises:
            ValueError: If one is nothing that JSON could hold, such as NaN or an array.
        """
        named = {one.name: getattr(self, one.name) for one in fields(self)}
        named["observations"] = listed(self.observations)
        return f"{{{', '.join(f'{json.dumps(name)}: {_json(name, value)}' for name, value in named.items())}}}"

    def changed(self, changes: Mapping[str, Any]) -> "AgentSettings":
        """Return the settings with some of them changed.

        Raises:
            TypeError: If there is no such setting.
        """
        return replace(self, **changes)


class Settings(TypedDict, total=False):
    """The settings that every environment takes by keyword: those of `AgentSettings`, with its defaults.

    Beside names they may hold functions, except in `VectorFlowEnv`: `Own` observations, and a function of `Values` for
    the reward, which is called once for each step.
    """

    observations: Sequence[ObservationName | str | Mapping[str, Any] | Own]
    history: int
    scaled: bool
    decide: DecisionName | str | Mapping[str, float]
    action: ActionName | str | Mapping[str, Any]
    reward: RewardName | str | Mapping[str, Any] | Reward
    slow_start: Side
    on_loss: Side


def checked(given: Settings) -> AgentSettings:
    """Return the settings with the defaults of those that are not given.

    Raises:
        TypeError: If a setting is unknown.
    """
    known = [field.name for field in fields(AgentSettings)]
    if wrong := next((name for name in given if name not in known), None):
        raise TypeError(unknown("setting", wrong, known))
    return AgentSettings(**given)  # type: ignore[arg-type]


def split(given: Settings) -> tuple[AgentSettings, OwnObservations, Reward | None]:
    """Return the settings that the core reads, and beside them the functions: observations and the reward.

    Raises:
        TypeError: If a setting is unknown.
        ValueError: If the observations are wrong.
    """
    reward = given.get("reward")
    paid = reward if callable(reward) else None
    settings = checked(given if paid is None else {**given, "reward": "none"})
    own = OwnObservations(settings.observations, history=settings.history, scaled=settings.scaled)
    return replace(settings, observations=own.named), own, paid


def _json(name: str, value: object) -> str:
    try:
        text = json.dumps(value, allow_nan=False)
        json.loads(text, parse_int=_in_64_bits)
        return text
    except (TypeError, ValueError) as error:
        said = (
            f"agent.{name} = {value!r} cannot be read ({error}); write texts, finite numbers, lists and tables of them"
        )
        raise ValueError(said) from error


def _in_64_bits(digits: str) -> int:
    if abs(number := int(digits)) >> 64:
        raise ValueError(f"{digits[:20]}... has more than 64 bits")
    return number


def number_of(action: Any, space: "spaces.Space[Any]") -> float:
    """Return an action as the core takes it.

    Args:
        action: The number of a choice, or an array of shape (1,).
        space: Which of them it has to be.

    Raises:
        ValueError: If it is neither, or no number.
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
"""Kinds of NumPy's types of real numbers."""


def spaces_of(described: str) -> "tuple[spaces.Box[np.float32], spaces.Space[Any]]":
    """Return the spaces of observations and actions that the core describes."""
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
