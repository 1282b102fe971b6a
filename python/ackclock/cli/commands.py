"""Table of commands, each imported on first use.

A call runs one command, and each command has imports of its own; loading all of them would double the start-up time.
Only `ackclock --help` loads them all, for their summaries.
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
    """Location of a command.

    Attributes:
        module: Module in `ackclock.cli`.
        function: Function in the module, or application with commands of its own.
        panel: Panel of the help that lists it.
        hidden: Whether the help leaves it out.
    """

    module: str
    function: str
    panel: str
    hidden: bool = False

    def load(self, name: str) -> Any:  # noqa: ANN401  the type is of a part of Typer that is not public
        """Import the command."""
        alone = typer.Typer(add_completion=False, pretty_exceptions_enable=False, rich_markup_mode="rich")
        function = getattr(import_module(f"ackclock.cli.{self.module}"), self.function)
        if isinstance(function, typer.Typer):
            alone.add_typer(function, name=name, rich_help_panel=self.panel, hidden=self.hidden)
            return answers.with_json(typer.main.get_group(alone).commands[name], name)
        alone.command(name, rich_help_panel=self.panel, hidden=self.hidden)(function)
        return answers.with_json(typer.main.get_command(alone), name)


_SIMULATE, _OWN, _LEARN, _MACHINE = "Simulate", "Write custom parts", "Look things up", "This machine"

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
    "cite": Command("cite", "cite", _SIMULATE),
    "studio": Command("studio", "studio", _SIMULATE),
    "judge": Command("judge", "judge", _SIMULATE),
    "attack": Command("attack", "attack", _SIMULATE),
    "claims": Command("claims", "claims", _SIMULATE),
    "validate-linux": Command("validate_linux", "validate_linux", _SIMULATE),
    "script": Command("script", "script", _SIMULATE),
    "arrivals": Command("arrivals", "arrivals", _SIMULATE),
    "train": Command("train_agent", "train", _SIMULATE),
    "evaluate": Command("evaluate", "evaluate", _SIMULATE),
    "export": Command("export", "export", _SIMULATE),
    "examples": Command("examples", "examples", _SIMULATE),
    "lessons": Command("lessons", "lessons", _SIMULATE),
    "traces": Command("traces", "traces", _SIMULATE),
    "new": Command("new", "new", _OWN),
    "validate": Command("check", "validate", _LEARN),
    "schema": Command("check", "schema", _LEARN),
    "list": Command("catalogs", "list_catalogs", _LEARN),
    "linux": Command("linux", "linux", _MACHINE),
    "bench": Command("bench", "bench", _MACHINE),
    "doctor": Command("doctor", "doctor", _MACHINE),
}
"""All commands, in the order of the help."""

_LISTED = ("controllers", "profiles", "queues", "buffer-policies", "links", "topologies", "traffic", "agents")
FORMER = {name: ("list", name) for name in _LISTED} | {"disciplines": ("list", "buffer-policies")}
"""Former names with their replacements, absent from all help; removed one release after 0.2."""


class _Loaded(MutableMapping[str, Any]):
    """Mapping of names to Typer commands that imports a command on access; iterating over names imports nothing."""

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
    """The `ackclock` command group."""

    def __init__(self, **settings: Any) -> None:  # noqa: ANN401  handed on to Typer
        """Begin without any command loaded."""
        super().__init__(**settings)
        self.commands = _Loaded()

    def list_commands(self, ctx: typer.Context) -> list[str]:  # type: ignore[override]  # Typer's own class of contexts
        """Return the names of all commands in order."""
        return list(self.commands)

    def resolve_command(self, ctx: typer.Context, args: list[str]) -> Any:  # type: ignore[override]  # noqa: ANN401
        """Find the command that the arguments name, by its current or former name."""
        return super().resolve_command(ctx, [*FORMER.get(args[0], args[:1]), *args[1:]])
