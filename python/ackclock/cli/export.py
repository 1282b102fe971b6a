"""`ackclock export`: a trained agent as a policy of the engine."""

import json
from pathlib import Path
from typing import Annotated

import typer

from ackclock import storage
from ackclock.cli.answers import answer
from ackclock.cli.failures import InputError
from ackclock.cli.train import require_learning


def export(
    model: Annotated[Path, typer.Argument(metavar="DIR", help="Folder of `ackclock train`.", show_default=False)],
    output: Annotated[Path, typer.Option("-o", "--output", metavar="FILE", help="The ONNX file.")],
    force: Annotated[bool, typer.Option("--force", help="Replace a file that exists.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing but errors.")] = False,
) -> None:
    r"""Write a trained agent as an ONNX file, which runs in the engine without Python.

    In a scenario: controller = { kind = "policy", file = "FILE" }. It takes the action that the model holds best. Needs
    ackclock\[learn]; running the file does not. Export only models that you trust: reading one unpickles it.
    """
    require_learning()
    from ackclock.learn.evaluation import Trained
    from ackclock.learn.export import policy_file
    from ackclock.learn.setting import SettingError

    storage.check_file(output, force=force)
    try:
        trained = Trained.load(model)
        content = policy_file(trained.model, trained.setting)
    except SettingError as error:
        raise InputError(str(error)) from error
    storage.write_file(output, content)
    written = {"kind": "policy", "file": output.name, "controller": trained.setting.own_controller}
    answer(file=str(output), controller=written)
    if not quiet:
        own = _toml(trained.setting.own_controller)
        print(f"policy in {output}; in a scenario beside it:")
        print(f'controller = {{ kind = "policy", file = {_toml(output.name)}, controller = {own} }}')


def _toml(value: object) -> str:
    """Return a value of a scenario as TOML."""
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{name} = {_toml(inner)}" for name, inner in value.items()) + " }"
    return json.dumps(value, ensure_ascii=False)
