"""`ackclock export`: a trained agent as a policy of the engine."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from ackclock.base import extras, input_files, storage
from ackclock.base.toml_text import toml_text
from ackclock.cli.answers import answer
from ackclock.cli.failures import InputError

_MOST = 64 << 20
"""Size limit of a policy file in scenarios, octets."""


def export(
    model: Annotated[
        Path,
        typer.Argument(metavar="DIR", help="Folder written by `ackclock train`, or an ONNX file.", show_default=False),
    ],
    output: Annotated[Path, typer.Option("-o", "--output", metavar="FILE", help="Write the policy to this file.")],
    to: Annotated[
        Literal["onnx", "bpf"],
        typer.Option("--to", help="Select the format: ONNX, or bpf, quantised for kernel and engine."),
    ] = "onnx",
    force: Annotated[bool, typer.Option("--force", help="Replace an existing file.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print only errors.")] = False,
) -> None:
    r"""Export a trained agent as a policy for engine or kernel.

    In a scenario: controller = { kind = "policy", file = "FILE" }.

    The policy takes the best action of the model. Export needs ackclock\[learn];
    running the policy does not. Export only trusted models: reading unpickles.
    """
    storage.check_file(output, force=force)
    if not model.exists():
        raise InputError(f"{model}: not found; give a folder that `ackclock train` wrote, or an ONNX file")
    if not model.is_dir() and to == "onnx":
        raise InputError(f"{model} is a file already; give a folder that `ackclock train` wrote, or --to bpf")
    content, own = _trained(model) if model.is_dir() else (_read(model), "cubic")
    lines: list[str] = []
    if to == "bpf":
        content, lines = _in_whole_numbers(content, model)
    storage.write_file(output, content)
    answer(file=str(output), controller={"kind": "policy", "file": output.name, "controller": own}, accuracy=lines)
    if not quiet:
        print("\n".join([*lines, f"policy in {output}; in a scenario in the same folder:"]))
        print(f'controller = {{ kind = "policy", file = {toml_text(output.name)}, controller = {toml_text(own)} }}')
        if to == "bpf":
            print(f"in the kernel: ackclock-kernel load {output}")


def _read(file: Path) -> bytes:
    return input_files.octets(file, remedy="give a folder that `ackclock train` wrote, or an ONNX file", most=_MOST)


def _trained(model: Path) -> tuple[bytes, object]:
    """Return a trained model as ONNX, and the flow's controller during training."""
    extras.require("learn", loads=True)
    from ackclock.gym.learn.evaluation import Trained
    from ackclock.gym.learn.policy_export import policy_file

    trained = Trained.load(model)
    return policy_file(trained.model, trained.setting), trained.setting.own_controller


_DECISIONS = 20_000


def _in_whole_numbers(content: bytes, model: Path) -> tuple[bytes, list[str]]:
    """Return a quantised policy, and notes on its loss of precision."""
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
