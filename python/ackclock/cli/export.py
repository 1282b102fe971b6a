"""`ackclock export`: a trained agent as a policy of the engine."""

import re
from pathlib import Path
from typing import Annotated, Literal

import typer

from ackclock.base import extras, input_files, storage
from ackclock.base.toml_text import toml_text
from ackclock.cli.answers import answer
from ackclock.cli.failures import InputError

_MOST = 64 << 20
"""Size limit of a policy file in scenarios, octets."""

_LONGEST = 15
_NAME = re.compile(rf"[A-Za-z0-9_]{{1,{_LONGEST}}}")
"""Names of controllers in the kernel (`TCP_CA_NAME_MAX`)."""


def export(
    model: Annotated[
        Path,
        typer.Argument(metavar="DIR", help="Folder written by `ackclock train`, or an ONNX file.", show_default=False),
    ],
    output: Annotated[Path, typer.Option("-o", "--output", metavar="FILE", help="Write the policy to this file.")],
    to: Annotated[
        Literal["onnx", "bpf", "module"],
        typer.Option("--to", help="Select the format: ONNX; bpf, quantised for kernel and engine; or module, its C."),
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
        raise InputError(f"{model} is a file already; give a folder that `ackclock train` wrote, or --to bpf or module")
    if to == "module" and (output.suffix != ".c" or not _NAME.fullmatch(output.stem)):
        raise InputError(
            f"-o {output}: a module is a file NAME.c, and NAME is the controller's in the kernel: "
            f"letters, digits and _, {_LONGEST} at most"
        )
    content, own = _trained(model) if model.is_dir() else (_read(model), "cubic")
    lines: list[str] = []
    if to != "onnx":
        content, lines = _in_whole_numbers(content, model)
    if to == "module":
        return _write_module(content, output, lines, quiet=quiet)
    storage.write_file(output, content)
    answer(file=str(output), controller={"kind": "policy", "file": output.name, "controller": own}, accuracy=lines)
    if not quiet:
        print("\n".join([*lines, f"policy in {output}; in a scenario in the same folder:"]))
        print(f'controller = {{ kind = "policy", file = {toml_text(output.name)}, controller = {toml_text(own)} }}')
        if to == "bpf":
            print(f"in the kernel: ackclock-kernel load {output}")


def _write_module(whole: bytes, output: Path, lines: list[str], *, quiet: bool) -> None:
    """Write a quantised policy as a file for `ackclock linux build --module`."""
    from ackclock import _core

    name = output.stem
    storage.write_file(output, _core.policy_module(whole, name).encode())
    answer(file=str(output), controller=name, accuracy=lines)
    if not quiet:
        print("\n".join([*lines, f"module in {output}; into a kernel: ackclock linux build --module {output}"]))
        print(f"run it: ackclock run FILE --on linux --controller FLOW={name}")


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
