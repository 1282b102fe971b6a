"""Log of a training at Weights & Biases: what TensorBoard shows, too."""

import secrets
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import wandb
from stable_baselines3.common.logger import KVWriter

from ackclock.base import storage

RUN: Final = "wandb-run.txt"
"""File in a training's folder with the ID of its run."""


class WandbLog(KVWriter):
    """Writer of Stable-Baselines3's logger. A resumed training continues its run."""

    def __init__(self, project: str, folder: Path, config: Mapping[str, Any]) -> None:
        """Begin a run, or continue that of the folder, which is then one of a resumed training.

        Args:
            project: Name of the project.
            folder: Folder of the training, which names the run and keeps its ID.
            config: Values that are shown with the run.
        """
        folder.mkdir(parents=True, exist_ok=True)
        self._run = wandb.init(
            project=project, name=folder.name, id=_id(folder), resume="allow", dir=str(folder), config=dict(config)
        )

    def write(self, key_values: dict[str, Any], key_excluded: dict[str, tuple[str, ...]], step: int = 0) -> None:
        """Log the numbers of a step."""
        self._run.log({key: value for key, value in key_values.items() if isinstance(value, int | float)}, step=step)

    def close(self) -> None:
        """End the run."""
        self._run.finish()


def _id(folder: Path) -> str:
    """Return the ID of the folder's run, drawn where it has none: a training at the same path elsewhere has another."""
    file = folder / RUN
    if not file.is_file():
        storage.write_file(file, secrets.token_hex(8).encode())
    return file.read_text(encoding="ascii")
