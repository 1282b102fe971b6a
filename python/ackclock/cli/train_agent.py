"""`ackclock train`: an agent learns on an environment or a scenario."""

import signal
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from ackclock.base import extras
from ackclock.base.decoding import decoded_toml
from ackclock.base.printable import amount
from ackclock.cli import check
from ackclock.cli.answers import answer
from ackclock.cli.failures import InputError, errors
from ackclock.cli.progress import training_progress

if TYPE_CHECKING:
    from stable_baselines3.common.logger import KVWriter

    from ackclock.gym.learn.setting import Setting


def train(
    target: Annotated[
        str,
        typer.Argument(
            metavar="ENV|FILE",
            help="Environment, such as ackclock/SingleFlow-v0, or a scenario file.",
            show_default=False,
        ),
    ],
    output: Annotated[Path, typer.Option("-o", "--output", metavar="DIR", help="Write the training to this folder.")],
    algorithm: Annotated[
        Literal["dqn", "ppo"], typer.Option(help="Select the algorithm; dqn needs an agent with discrete actions.")
    ] = "ppo",
    steps: Annotated[
        int, typer.Option(min=1, max=2**53, help="Train for this number of decisions, rounded up to whole rollouts.")
    ] = 100_000,
    seed: Annotated[
        int, typer.Option(min=0, max=2**64 - 1, help="Set the seed of initialisation, exploration and episodes.")
    ] = 1,
    envs: Annotated[
        int | None,
        typer.Option(
            min=1, max=4096, help="Set the number of parallel environments (default: ppo 8, dqn 4).", show_default=False
        ),
    ] = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Resume the training in DIR from its last checkpoint.")
    ] = False,
    overrides: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="PATH=VALUE", help="Override a value of the scenario. Repeatable."),
    ] = None,
    agent: Annotated[
        list[str] | None,
        typer.Option(
            "--agent", metavar="KEY=VALUE", help="Override a setting of the agent, e.g. decide='20 ms' or flow=NAME."
        ),
    ] = None,
    runs_in: Annotated[
        Literal["engine", "kernel"],
        typer.Option("--for", help="Select where the policy is to run; kernel refuses an agent that cannot run there."),
    ] = "engine",
    hyper: Annotated[
        list[str] | None,
        typer.Option("--hyper", metavar="KEY=VALUE", help="Set a hyperparameter, e.g. learning_rate=1e-4. Repeatable."),
    ] = None,
    checkpoint_every: Annotated[
        int, typer.Option(min=1, max=2**53, help="Write a checkpoint after this number of decisions.")
    ] = 10_000,
    wandb: Annotated[
        str | None,
        typer.Option(metavar="PROJECT", help="Log to this project at Weights & Biases, too.", show_default=False),
    ] = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print only errors.")] = False,
    trust: check.Trust = False,
) -> None:
    r"""Train an agent with Stable-Baselines3.

    DIR gets model.zip, manifest.json, curve.parquet, curve.png, a TensorBoard log
    and checkpoint.pt. A resumed training gives the same result as one that was
    not interrupted. Needs ackclock\[learn].
    """
    extras.require("learn", *(["wandb"] if wandb else []), loads=True)
    from ackclock.gym.learn.algorithms import ALGORITHMS, Plan
    from ackclock.gym.learn.training import train as learn

    kind = ALGORITHMS[algorithm]
    settings = pairs("--agent", agent or []) | ({"target": "kernel"} if runs_in == "kernel" else {})
    setting = _setting(target, overrides or [], settings, discrete=kind.needs_choices, trusts=trust)
    plan = Plan(algorithm, steps, seed, envs, pairs("--hyper", hyper or []))
    with (
        _stopping(at_once=not kind.replays) as is_stopping,
        training_progress(algorithm, steps) as bar,
    ):
        trained = learn(
            setting,
            plan,
            output,
            resume=resume,
            checkpoint_every=checkpoint_every,
            on_progress=None if quiet else bar,
            is_stopping=is_stopping,
            log=_wandb_log(wandb, output) if wandb else None,
        )
    answer(folder=str(output), steps=trained.steps, episodes=len(trained.episodes), steps_per_s=trained.steps_per_s)
    if not quiet:
        done = f"{amount(trained.steps, 'decision')}, {amount(len(trained.episodes), 'episode')}"
        print(f"{done}, {trained.steps_per_s:,.0f} decisions/s")
        print(f"model, curve and manifest in {output}; next: ackclock evaluate {output}")


def _wandb_log(project: str, folder: Path) -> "Callable[[Mapping[str, Any]], KVWriter]":
    from ackclock.gym.learn.wandb_log import WandbLog

    return partial(WandbLog, project, folder)


def pairs(option: str, texts: Sequence[str]) -> dict[str, Any]:
    """Parse `key=value` arguments. Values are TOML; anything else is taken as text.

    Raises:
        InputError: If there is no `=`.
    """
    read = {}
    for text in texts:
        name, sign, value = text.partition("=")
        if not sign or not name.strip():
            raise InputError(f"{option} {text}: give a name and a value, as in {option} {text or 'name'}=1")
        read[name.strip()] = _value(value.strip())
    return read


def _value(text: str) -> object:
    try:
        return decoded_toml(f"value = {text}")["value"]
    except ValueError:
        return text


def _setting(target: str, overrides: list[str], agent: dict[str, Any], *, discrete: bool, trusts: bool) -> "Setting":
    from ackclock.gym.learn import setting

    if setting.is_environment(target):
        return setting.registered(target, overrides, agent)
    check.load_trusted(Path(target), overrides, trusts=trusts)  # says of a file that cannot be read why
    return setting.of_scenario(Path(target), overrides, agent, discrete=discrete)


@contextmanager
def _stopping(*, at_once: bool) -> Iterator[Callable[[], bool]]:
    """Handle Ctrl-C and SIGTERM.

    If `at_once` returns true, the state at the beginning of the rollout was saved, and a signal stops immediately.
    Otherwise the first signal waits for the end of the rollout, where a checkpoint can be written.
    """
    asked = False

    def ask(_number: int, _frame: FrameType | None) -> None:
        nonlocal asked
        if asked or at_once:
            raise KeyboardInterrupt
        asked = True
        errors().print("stopping at the end of this rollout; press Ctrl-C again to stop now, at the last checkpoint")

    previous = {number: signal.signal(number, ask) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield lambda: asked
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)
