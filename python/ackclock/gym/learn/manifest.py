"""What the `manifest.json` of a training holds, and how it is read."""

from pathlib import Path
from typing import Any, Literal, NotRequired, TypedDict

from ackclock.base import storage
from ackclock.base.checked_files import document

REMEDY = "train anew in another folder, or take the folder from a backup"


class SourceEntry(TypedDict):
    """What the scenario was read from."""

    text: str
    """Of the file."""

    file: str
    """Its place."""

    overrides: list[str]
    """Changes, each `path=value`."""


class SettingEntry(TypedDict):
    """What was trained on."""

    environment: str
    """Its name."""

    scenario: dict[str, Any]
    """As `Scenario.to_json` writes it."""

    scenario_hash: str
    """Of it."""

    source: SourceEntry
    """What it was read from."""

    flow: str
    """Whose controller the agent is."""

    agent: dict[str, Any]
    """The agent's settings."""

    code: NotRequired[list[str]]
    """SHA-256 of each file of code that the scenario brings; only where it brings any."""


class PlanEntry(TypedDict):
    """What was to be done."""

    algorithm: Literal["dqn", "ppo"]
    """Its name."""

    steps: int
    """Decisions in all environments together."""

    seed: int
    """Of networks, exploration and episodes."""

    envs: int
    """Environments side by side."""

    hyperparameters: dict[str, Any]
    """All that were set, by us or by the user."""


class TrainingManifest(TypedDict):
    """`manifest.json` of a training."""

    setting: SettingEntry
    """What was trained on."""

    plan: PlanEntry
    """What was to be done."""

    versions: dict[str, str]
    """Of all that takes part."""

    engine: NotRequired[dict[str, float]]
    """Steps, and how many a second; only once it is done."""


def read(folder: Path) -> TrainingManifest:
    """Read the manifest of a training.

    Raises:
        ackclock.base.checked_files.DamagedError: If it is cut or changed.
        OSError: If it cannot be read.
    """
    file = folder / storage.MANIFEST
    return document(file.read_bytes(), file, TrainingManifest, REMEDY)
