"""The table of commands, each loaded when somebody asks for it.

A call runs one command, and each needs modules of its own: a command line that loaded all would take twice as long to
begin. The list of `ackclock --help` loads them all, for the sentence that each says of itself.
"""

from collections.abc import Iterator, MutableMapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import typer
from typer.core import TyperGroup

from ackclock.cli import answers


@dataclass(frozen=True, slots=True)
class Command:
    """Where a command is.

    Attributes:
        module: Its file in `ackclock.cli`.
        function: In it.
        panel: Of the help that lists it.
        hidden: Whether the help leaves it out.
    """

    module: str
    function: str
    panel: str
    hidden: bool = False

    def load(self, name: str) -> Any:  # noqa: ANN401  the type is of a part of Typer that is not public
        """Import it."""
        alone = typer.Typer(add_completion=False, pretty_exceptions_enable=False, rich_markup_mode="rich")
        function = getattr(import_module(f"ackclock.cli.{self.module}"), self.function)
        alone.command(name, rich_help_panel=self.panel, hidden=self.hidden)(function)
        return answers.with_json(typer.main.get_command(alone), name)


_SIMULATE, _OWN, _LEARN, _MACHINE = "Simulate", "Write parts of your own", "Look things up", "This machine"

COMMANDS = {
    "run": Command("run", "run", _SIMULATE),
    "sweep": Command("sweep", "sweep", _SIMULATE),
    "study": Command("study", "study", _SIMULATE),
    "record": Command("record", "record", _SIMULATE),
    "import": Command("record", "import_", _SIMULATE),
    "fit": Command("fit", "fit", _SIMULATE),
    "report": Command("report", "report", _SIMULATE),
    "compare": Command("report", "compare", _SIMULATE),
    "plot": Command("plot", "plot", _SIMULATE),
    "studio": Command("studio", "studio", _SIMULATE),
    "claims": Command("claims", "claims", _SIMULATE),
    "validate-linux": Command("validate_linux", "validate_linux", _SIMULATE),
    "script": Command("script", "script", _SIMULATE),
    "arrivals": Command("arrivals", "arrivals", _SIMULATE),
    "train": Command("train_agent", "train", _SIMULATE),
    "evaluate": Command("evaluate", "evaluate", _SIMULATE),
    "export": Command("export", "export", _SIMULATE),
    "examples": Command("examples", "examples", _SIMULATE),
    "new": Command("new", "new", _OWN),
    "validate": Command("check", "validate", _LEARN),
    "schema": Command("check", "schema", _LEARN),
    "list": Command("catalogs", "list_catalogs", _LEARN),
    "bench": Command("bench", "bench", _MACHINE),
    "doctor": Command("doctor", "doctor", _MACHINE),
}
"""All of them, in the order in which the help lists them."""

_LISTED = ("controllers", "profiles", "queues", "buffer-policies", "links", "topologies", "traffic", "agents")
FORMER = {name: ("list", name) for name in _LISTED} | {"disciplines": ("list", "buffer-policies")}
"""Former names, with what each stands for; no help has them. After 0.2, one more release understands them."""


class _Loaded(MutableMapping[str, Any]):
    """The commands as Typer wants them, by name: a look at one imports it, once; the names alone import nothing."""

    def __init__(self) -> None:
        self._loaded: dict[str, Any] = {}

    def __getitem__(self, name: str) -> Any:  # noqa: ANN401  as of `Command.load`
        if name not in self._loaded:
            self._loaded[name] = COMMANDS[name].load(name)
        return self._loaded[name]

    def __setitem__(self, name: str, command: object) -> None:
        self._loaded[name] = command

    def __delitem__(self, name: str) -> None:
        raise TypeError(f"the command {name} cannot be taken away; commands are the lines of COMMANDS")

    def __iter__(self) -> Iterator[str]:
        return iter(COMMANDS)

    def __len__(self) -> int:
        return len(COMMANDS)


class Group(TyperGroup):
    """`ackclock` with its commands."""

    def __init__(self, **settings: Any) -> None:  # noqa: ANN401  handed on to Typer
        """Begin without any command loaded."""
        super().__init__(**settings)
        self.commands = _Loaded()

    def list_commands(self, ctx: typer.Context) -> list[str]:  # type: ignore[override]  # Typer's own class of contexts
        """Return the names of all commands in order."""
        return list(self.commands)

    def resolve_command(self, ctx: typer.Context, args: list[str]) -> Any:  # type: ignore[override]  # noqa: ANN401
        """Find the command that arguments begin with, by its name of today or one of before."""
        return super().resolve_command(ctx, [*FORMER.get(args[0], args[:1]), *args[1:]])
