"""Evaluation of a trained agent in a network, beside controllers."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
from stable_baselines3.common.base_class import BaseAlgorithm

from ackclock._core import Scenario
from ackclock.base import storage
from ackclock.base.checked_files import archive
from ackclock.gym.flow import FlowEnv
from ackclock.gym.learn import manifest
from ackclock.gym.learn.algorithms import ALGORITHMS
from ackclock.gym.learn.setting import Setting, SettingError
from ackclock.gym.learn.training import MODEL
from ackclock.results.run_labels import distinct
from ackclock.results.summaries import RunSummary
from ackclock.running import run
from ackclock.running.kernel import run as run_on_kernel
from ackclock.running.linux_kernels import Kernel
from ackclock.stats.run_window import count

RANDOM = "random"
"""Name of the agent with uniformly random actions, not a controller."""

Choose = Callable[[Any], Any]


@dataclass(frozen=True, slots=True)
class Row:
    """Run, as a row of the table.

    Attributes:
        scenario: Name of the scenario, numbered if several share it.
        who: The model, `random` or a controller.
        seed: Seed of the run.
        goodput_bps: Goodput of the flow.
        rtt_ms_mean: Mean RTT of the flow; None without samples.
        rtt_ms_p95: 95th percentile of the flow's RTT; None without samples.
        lost_fraction: Segments marked lost, divided by segments sent.
        timeouts: Timeouts of the flow.
        reward: Mean reward per decision; None for a controller.
        on: Version of the kernel in virtual time, such as `Linux 6.12.107`; None for the simulator.
    """

    scenario: str
    who: str
    seed: int
    goodput_bps: float
    rtt_ms_mean: float | None
    rtt_ms_p95: float | None
    lost_fraction: float
    timeouts: int
    reward: float | None
    on: str | None = None


@dataclass(frozen=True, slots=True)
class Trained:
    """Trained model, with the settings of its agent."""

    name: str
    model: BaseAlgorithm
    setting: Setting
    samples: bool = False

    @classmethod
    def load(cls, folder: Path, *, samples: bool = False) -> "Trained":
        """Load the model of a training. Like every model of Stable-Baselines3, it must come from a trusted source.

        Args:
            folder: Folder written by `ackclock train`.
            samples: Sample actions as in the training, instead of taking the best.

        Raises:
            SettingError: If it is not a folder of a training.
            ackclock.base.checked_files.DamagedError: If a file in it is damaged.
        """
        missing = [name for name in (storage.MANIFEST, MODEL) if not (folder / name).is_file()]
        if missing:
            raise SettingError(f"{folder} is not a folder of `ackclock train`: it has no {', '.join(missing)}")
        known = manifest.read(folder)
        kind = ALGORITHMS[known["plan"]["algorithm"]].kind
        model = kind.load(BytesIO(archive(folder / MODEL, manifest.REMEDY)), device="cpu")
        return cls(folder.name, model, Setting.from_dict(known["setting"]), samples)

    def seed(self, seed: int) -> None:
        """Seed the sampling of actions."""
        self.model.set_random_seed(seed % 2**32)

    def choose(self, observation: Any) -> Any:
        """Return the model's best action, or a sampled one.

        Args:
            observation: Observation of its environment.
        """
        return self.model.predict(observation, deterministic=not self.samples)[0]


def evaluate(
    trained: Trained,
    scenarios: Sequence[Scenario],
    seeds: Sequence[int | None],
    beside: Sequence[str],
    on: Kernel | None = None,
) -> Iterator[Row]:
    """Run the model, and others in its place, on scenarios.

    Args:
        trained: The model.
        scenarios: Scenarios to run; the model's own if empty.
        seeds: Seeds that replace the scenario's; None keeps it.
        beside: Controllers, or `random`.
        on: Kernel in virtual time; the simulator by default.

    Yields:
        A row for each run.

    Raises:
        ScenarioError: If a controller is unknown.
        RefusedError: If the kernel does not have a controller, or cannot run a scenario.
        KernelError: If the kernel has no `ackclock_agent`, or a run on it failed.
    """
    others = tuple(dict.fromkeys(beside))
    model = f"{trained.name} (model)" if trained.name in others else trained.name
    settings = [trained.setting.on(scenario) for scenario in scenarios or [trained.setting.scenario]]
    for title, setting in zip(distinct([setting.name for setting in settings]), settings, strict=True):
        for seed in [setting.scenario.seed if seed is None else seed for seed in seeds]:
            trained.seed(seed)
            yield replace(_of_agent(model, setting, seed, trained.choose, on), scenario=title)
            for name in others:
                if name == RANDOM:
                    row = _of_agent(RANDOM, setting, seed, None, on)
                else:
                    row = _of_controller(name, setting, seed, on)
                yield replace(row, scenario=title)


def _of_agent(who: str, setting: Setting, seed: int, choose: Choose | None, on: Kernel | None) -> Row:
    with closing(setting.single("simulation" if on is None else f"linux:{on.name}")) as environment:
        environment.action_space.seed(seed % 2**32)
        summary, reward = _episode(environment, seed, choose or (lambda _: environment.action_space.sample()))
    return _row(summary, setting, who, seed, reward, on)


def _episode(environment: FlowEnv, seed: int, choose: Choose) -> tuple[RunSummary, float]:
    observation, _ = environment.reset(seed=seed)
    rewards, is_over = [], False
    while not is_over:
        observation, reward, terminated, truncated, _ = environment.step(choose(observation))
        rewards.append(reward)
        is_over = terminated or truncated
    return environment.summary(), float(np.mean(rewards))


def _of_controller(name: str, setting: Setting, seed: int, on: Kernel | None) -> Row:
    scenario = setting.scenario.draw(seed)
    changed = Scenario.from_json(scenario.to_json(), [f"flow.{setting.flow}.controller={name}"], folder=scenario.folder)
    results = run(changed, seed=seed) if on is None else run_on_kernel(changed, on=on)
    return _row(results.summary, setting, name, seed, None, on)


def _row(summary: RunSummary, setting: Setting, who: str, seed: int, reward: float | None, on: Kernel | None) -> Row:
    flow = next(flow for flow in summary["flows"] if flow["name"] == setting.flow)
    rtt = flow["rtt_ms"] or {"mean": None, "p95": None}
    lost = (count(flow, "lost_segments") or 0) / max(count(flow, "sent_segments") or 0, 1)
    timeouts = count(flow, "timeouts") or 0
    where = None if on is None else f"Linux {on.version}"
    return Row(setting.name, who, seed, flow["goodput_bps"], rtt["mean"], rtt["p95"], lost, timeouts, reward, where)
