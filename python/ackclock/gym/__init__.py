"""Environments for Gymnasium and PettingZoo: agents on flows of any scenario.

    import ackclock.gym
    import gymnasium

    env = gymnasium.make("ackclock/SingleFlow-v0")

`ackclock list agents` lists observations, decision times, actions and rewards.
"""

from ackclock.base import extras

extras.require("gym")

from ackclock.gym.agent import AgentSettings, Settings
from ackclock.gym.environments import Bench, Deployable, DqnCubic, DqnNewReno, SharedLink, SingleFlow, Trace
from ackclock.gym.flow import FlowEnv, State
from ackclock.gym.own import Own, OwnAction
from ackclock.gym.parallel import ParallelFlows
from ackclock.gym.registry import IDS, register_environments
from ackclock.gym.values import Values
from ackclock.gym.vector import VectorFlowEnv

__all__ = [
    "IDS",
    "AgentSettings",
    "Bench",
    "Deployable",
    "DqnCubic",
    "DqnNewReno",
    "FlowEnv",
    "Own",
    "OwnAction",
    "ParallelFlows",
    "Settings",
    "SharedLink",
    "SingleFlow",
    "State",
    "Trace",
    "Values",
    "VectorFlowEnv",
    "register_environments",
]

register_environments()
