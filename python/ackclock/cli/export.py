"""`ackclock export`: a trained agent as a policy of the engine."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from ackclock.base import extras, input_files, storage
from ackclock.base.toml_text import toml_text
from ackclock.cli.answers import answer
from ackclock.cli.failures import InputError

_MOST = 64 << 20
"""Octets of the longest policy, as scenarios read it."""


def export(
    model: Annotated[
        Path, typer.Argument(metavar="DIR", help="Folder of `ackclock train`; or an ONNX file.", show_default=False)
    ],
    output: Annotated[Path, typer.Option("-o", "--output", metavar="FILE", help="The file to write.")],
    to: Annotated[
        Literal["onnx", "bpf"],
        typer.Option("--to", help="What to write: ONNX, or whole numbers for the kernel and the engine."),
    ] = "onnx",
    force: Annotated[bool, typer.Option("--force", help="Replace a file that exists.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing but errors.")] = False,
) -> None:
    r"""Write a trained agent as a policy, which runs in the engine without Python, or in the kernel.

    In a scenario: controller = { kind = "policy", file = "FILE" }. It takes the action that the model holds best. Needs
    ackclock\[learn]; running the file does not. Export only models that you trust: reading one unpickles it.
    """
    storage.check_file(output, force=force)
    if not model.exists():
        raise InputError(f"there is no {model}; give a folder that `ackclock train` wrote, or an ONNX file")
    if not model.is_dir() and to == "onnx":
        raise InputError(f"{model} is a file already; give a folder that `ackclock train` wrote, or --to bpf")
    content, own = _trained(model) if model.is_dir() else (_read(model), "cubic")
    lines: list[str] = []
    if to == "bpf":
        content, lines = _in_whole_numbers(content, model)
    storage.write_file(output, content)
    answer(file=str(output), controller={"kind": "policy", "file": output.name, "controller": own}, accuracy=lines)
    if not quiet:
        print("\n".join([*lines, f"policy in {output}; in a scenario beside it:"]))
        print(f'controller = {{ kind = "policy", file = {toml_text(output.name)}, controller = {toml_text(own)} }}')
        if to == "bpf":
            print(f"in the kernel: ackclock-kernel load {output}")


def _read(file: Path) -> bytes:
    return input_files.octets(file, remedy="give a folder that `ackclock train` wrote, or an ONNX file", most=_MOST)


def _trained(model: Path) -> tuple[bytes, object]:
    """Return a trained model as ONNX, and the flow's own controller as it was in training."""
    extras.require("learn", loads=True)
    from ackclock.gym.learn.evaluation import Trained
    from ackclock.gym.learn.policy_export import policy_file

    trained = Trained.load(model)
    return policy_file(trained.model, trained.setting), trained.setting.own_controller


_DECISIONS = 20_000


def _in_whole_numbers(content: bytes, model: Path) -> tuple[bytes, list[str]]:
    """Return a policy in whole numbers, and what it loses by them."""
    from ackclock import _core

    try:
        whole, flows, differ, mean, greatest = _core.quantised_policy(content, None, _DECISIONS)
    except ValueError as error:
        raise InputError(f"{model}: {error}") from error
    found = "decisions are those in floating point"
    if differ:
        found = f"{differ:,} decisions ({100 * differ / _DECISIONS:.2f} %) differ from those in floating point"
    elif greatest:
        found = f"actions differ from those in floating point by {mean:.2g} on average and {greatest:.2g} at most"
    asked = f"{flows:,} flows" if flows == _DECISIONS else f"{_DECISIONS:,} decisions of {flows:,} flows"
    return whole, [f"on {asked} drawn at random {found}"]
