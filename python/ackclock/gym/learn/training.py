"""Training, from a plan to a folder with the model."""

import json
import platform
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import stable_baselines3
import torch
from stable_baselines3.common.base_class import BaseAlgorithm
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.logger import KVWriter

from ackclock.base import storage
from ackclock.base.checked_files import archive
from ackclock.base.version import __version__
from ackclock.gym.learn import checkpoint, curve, manifest
from ackclock.gym.learn.algorithms import ALGORITHMS, Plan, build
from ackclock.gym.learn.lanes import FlowVecEnv
from ackclock.gym.learn.setting import Setting, SettingError

MODEL, CHECKPOINT = "model.zip", "checkpoint.pt"

Progress = Callable[[int, float | None], None]
"""Function called with the steps so far and the mean return of the latest episodes."""


@dataclass(frozen=True, slots=True)
class Trained:
    """Result of a training.

    Attributes:
        episodes: Learning curve, a row per episode: steps so far, lane, decisions, return.
        steps: Total number of steps.
        steps_per_s: Steps per second of this call.
    """

    episodes: checkpoint.Curve
    steps: int
    steps_per_s: float


def train(
    setting: Setting,
    plan: Plan,
    folder: Path,
    *,
    resume: bool = False,
    checkpoint_every: int = 10_000,
    on_progress: Progress | None = None,
    is_stopping: Callable[[], bool] = lambda: False,
    log: Callable[[Mapping[str, Any]], KVWriter] | None = None,
) -> Trained:
    """Train, and save model, checkpoint, curve and manifest in a folder.

    An interrupted and resumed training ends with the same parameters as an uninterrupted one, on the same machine with
    the same versions.

    Args:
        setting: Scenario and agent.
        plan: Plan of the training.
        folder: A new folder, or with `resume` that of a training with the same setting and plan.
        resume: Resume the training in the folder.
        checkpoint_every: Steps between checkpoints, which are written at the end of a rollout.
        on_progress: Called now and then.
        is_stopping: Called between rollouts: if it returns true, the checkpoint is written and `KeyboardInterrupt`
            raised.
        log: Function from setting, plan and versions to a writer for Stable-Baselines3's logger, beside TensorBoard.

    Raises:
        SettingError: If the plan does not suit the setting, or the folder does not suit the plan.
        ackclock.base.checked_files.DamagedError: If a file of the training to be resumed is damaged.
        OSError: If the folder cannot be written.
        KeyboardInterrupt: If it was stopped. Raised within a rollout, as by a signal, it leaves the checkpoint of
            the rollout's beginning; with an algorithm that replays, the last one.
    """
    entry = {"setting": setting.as_dict(), "plan": plan.as_dict(), "versions": _versions()}
    state = _open(folder, entry, resume=resume)
    lanes = FlowVecEnv(setting.lane, entry["plan"]["envs"], seed=plan.seed)
    threads = torch.get_num_threads()
    torch.set_num_threads(1)  # the networks are small, and sums over one thread are always the same
    try:
        model = build(plan, lanes, str(folder / "tensorboard"))
        episodes = checkpoint.restore(state, model, lanes) if state else []
        folder.mkdir(parents=True, exist_ok=True)
        _write_manifest(folder, entry)
        has_long_rollouts = not ALGORITHMS[plan.algorithm].replays
        keeper = _Keeper(folder, lanes, episodes, checkpoint_every, on_progress, is_stopping, has_long_rollouts)
        callbacks = [keeper] if log is None else [keeper, _Log(log(entry))]
        before, wall = int(model.num_timesteps), time.perf_counter()
        ahead = {"reset_num_timesteps": state is None, "tb_log_name": plan.algorithm, "log_interval": 1}
        try:
            model.learn(plan.steps - before, callback=callbacks, **ahead)
        except KeyboardInterrupt:
            keeper.keep_beginning()
            raise
        rate = (model.num_timesteps - before) / max(time.perf_counter() - wall, 1e-9)
        keeper.keep()
    finally:
        torch.set_num_threads(threads)
        lanes.close()
    _write_manifest(folder, entry | {"engine": {"steps": int(model.num_timesteps), "steps_per_s": rate}})
    if episodes:
        storage.write_file(folder / "curve.png", curve.picture(episodes, f"{setting.name}: {plan.algorithm}"))
    return Trained(episodes, int(model.num_timesteps), rate)


_Kept = Mapping[str, bytes]
"""Files by name; the checkpoint comes last, since a resumed training relies on it."""


class _Log(BaseCallback):
    """Callback that adds a writer to the logger."""

    def __init__(self, writer: KVWriter) -> None:
        super().__init__()
        self._writer = writer

    def _on_training_start(self) -> None:
        self.logger.output_formats.append(self._writer)

    def _on_step(self) -> bool:
        return True

    def _on_training_end(self) -> None:
        self.logger.dump(self.num_timesteps)
        self._writer.close()


class _Keeper(BaseCallback):
    """Callback that records episodes, and writes checkpoints between rollouts, where the state is consistent."""

    def __init__(
        self,
        folder: Path,
        environments: FlowVecEnv,
        episodes: checkpoint.Curve,
        every: int,
        on_progress: Progress | None,
        is_stopping: Callable[[], bool],
        has_long_rollouts: bool,
    ) -> None:
        super().__init__()
        self._folder, self._environments, self._episodes, self._every = folder, environments, episodes, every
        self._on_progress, self._is_stopping = on_progress, is_stopping
        self._kept_at = 0
        self._has_long_rollouts = has_long_rollouts
        self._beginning: _Kept = {}

    def _on_training_start(self) -> None:
        self._kept_at = self.model.num_timesteps

    def _on_rollout_start(self) -> None:
        steps = self.model.num_timesteps
        stopping = self._is_stopping()
        if steps > self._kept_at and (stopping or steps - self._kept_at >= self._every):
            self.keep()
        if self._has_long_rollouts and steps > 0:
            self._beginning = self._captured()
        if self._on_progress:
            latest = [paid for *_, paid in self._episodes[-20:]]
            self._on_progress(steps, sum(latest) / len(latest) if latest else None)
        if stopping:
            raise KeyboardInterrupt

    def _on_step(self) -> bool:
        for lane, info in enumerate(self.locals["infos"]):
            if "episode" in info:
                self._episodes.append((self.num_timesteps, lane, info["episode"]["l"], info["episode"]["r"]))
        return True

    def keep(self) -> None:
        """Write checkpoint, model and curve of the current state."""
        self._kept_at = self.model.num_timesteps
        self._write(self._captured())

    def keep_beginning(self) -> None:
        """Write the state before the interrupted rollout, if it was recorded."""
        self._write(self._beginning)

    def _captured(self) -> _Kept:
        return {
            MODEL: _zip(self.model),
            "curve.parquet": curve.table(self._episodes),
            CHECKPOINT: checkpoint.capture(self.model, self._environments, self._episodes),
        }

    def _write(self, files: _Kept) -> None:
        for name, content in files.items():
            storage.write_file(self._folder / name, content)


def _zip(model: BaseAlgorithm) -> bytes:
    buffer = BytesIO()
    model.save(buffer)
    return buffer.getvalue()


def _open(folder: Path, entry: dict[str, Any], *, resume: bool) -> bytes | None:
    """Return the checkpoint to resume from, if there is one."""
    if not resume:
        if folder.exists():
            raise SettingError(f"{folder} exists already; choose another folder, or resume it with --resume")
        return None
    if not (folder / storage.MANIFEST).is_file():
        raise SettingError(f"{folder} has no training to resume; leave out --resume")
    kept = manifest.read(folder)
    _compare(folder, _flat({"setting": kept["setting"], "plan": kept["plan"]}), _flat(entry))
    if not (folder / CHECKPOINT).is_file():
        return None
    return archive(folder / CHECKPOINT, manifest.REMEDY)


def _compare(folder: Path, kept: dict[str, Any], given: dict[str, Any]) -> None:
    """Check that a resumed training matches: only the number of steps and the scenario's path may change."""
    for name in [name for name in {**kept, **given} if name.startswith(("setting.", "plan."))]:
        if name not in ("plan.steps", "setting.source.file", "setting.environment") and kept.get(name) != given.get(
            name
        ):
            raise SettingError(
                f"{folder} was trained with {name} = {kept.get(name)}, not {given.get(name)}; "
                "use the same settings, or choose another folder"
            )
    if given["plan.steps"] < kept["plan.steps"]:
        raise SettingError(
            f"--steps {given['plan.steps']}: {folder} was planned for {kept['plan.steps']}; give that or more"
        )


def _flat(table: dict[str, Any], prefix: str = "") -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for name, value in table.items():
        if isinstance(value, dict):
            flat |= _flat(value, f"{prefix}{name}.")
        else:
            flat[f"{prefix}{name}"] = list(value) if isinstance(value, tuple) else value
    return flat


def _write_manifest(folder: Path, entry: dict[str, Any]) -> None:
    storage.write_file(folder / storage.MANIFEST, (json.dumps(entry, indent=2, ensure_ascii=False) + "\n").encode())


def _versions() -> dict[str, str]:
    return {
        "ackclock": __version__,
        "python": platform.python_version(),
        "gymnasium": gymnasium.__version__,
        "numpy": np.__version__,
        "stable-baselines3": stable_baselines3.__version__,
        "torch": torch.__version__,
    }
