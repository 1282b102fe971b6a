"""Log of a training at Weights & Biases: what TensorBoard shows, too."""

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import wandb
from stable_baselines3.common.logger import KVWriter


class WandbLog(KVWriter):
    """Writer of Stable-Baselines3's logger. A resumed training continues its run."""

    def __init__(self, project: str, folder: Path, config: Mapping[str, Any]) -> None:
        """Begin a run, or continue that of the folder.

        Args:
            project: Name of the project.
            folder: Folder of the training, which names the run.
            config: Values that are shown with the run.
        """
        key = hashlib.sha256(str(folder.resolve()).encode()).hexdigest()[:16]
        folder.mkdir(parents=True, exist_ok=True)
        self._run = wandb.init(
            project=project, name=folder.name, id=key, resume="allow", dir=str(folder), config=dict(config)
        )

    def write(self, key_values: dict[str, Any], key_excluded: dict[str, tuple[str, ...]], step: int = 0) -> None:
        """Log the numbers of a step."""
        self._run.log({key: value for key, value in key_values.items() if isinstance(value, int | float)}, step=step)

    def close(self) -> None:
        """End the run."""
        self._run.finish()
