"""Types and reader of the `manifest.json` of a training."""

from pathlib import Path
from typing import Any, Literal, NotRequired, TypedDict

from ackclock.base import storage
from ackclock.base.checked_files import document

REMEDY = "train anew in another folder, or take the folder from a backup"


class SourceEntry(TypedDict):
    """Source of a scenario."""

    text: str
    """Text of the file."""

    file: str
    """Path of the file."""

    overrides: list[str]
    """Changes, each `path=value`."""


class SettingEntry(TypedDict):
    """Scenario and agent of a training."""

    environment: str
    """Name of the environment."""

    scenario: dict[str, Any]
    """Scenario, as written by `Scenario.to_json`."""

    scenario_hash: str
    """Hash of the scenario."""

    source: SourceEntry
    """Source of the scenario."""

    flow: str
    """Flow that the agent controls."""

    agent: dict[str, Any]
    """Settings of the agent."""

    code: NotRequired[list[str]]
    """SHA-256 of each code file of the scenario; absent without any."""


class PlanEntry(TypedDict):
    """Plan of a training."""

    algorithm: Literal["dqn", "ppo"]
    """Name of the algorithm."""

    steps: int
    """Decisions in all environments together."""

    seed: int
    """Seed of networks, exploration and episodes."""

    envs: int
    """Number of parallel environments."""

    hyperparameters: dict[str, Any]
    """Hyperparameters that differ from the library's defaults."""


class TrainingManifest(TypedDict):
    """Manifest of a training: `manifest.json`."""

    setting: SettingEntry
    """Scenario and agent."""

    plan: PlanEntry
    """Plan of the training."""

    versions: dict[str, str]
    """Versions of all software involved."""

    engine: NotRequired[dict[str, float]]
    """Steps, and steps per second; absent until the training is done."""


def read(folder: Path) -> TrainingManifest:
    """Read the manifest of a training.

    Raises:
        ackclock.base.checked_files.DamagedError: If it is damaged.
        OSError: If it cannot be read.
    """
    file = folder / storage.MANIFEST
    return document(file.read_bytes(), file, TrainingManifest, REMEDY)
