"""Text of a script's outcome for a terminal."""

from collections.abc import Iterator

from rich.console import Group, RenderableType
from rich.text import Text

from ackclock.script.matching import fields_of
from ackclock.script.packets import Packet
from ackclock.script.runner import Failure, Step, Verdict
from ackclock.script.syntax import TcpPacket

_LAST = 10
"""Number of steps shown before a failure."""

_STYLES = {"<": "cyan", ">": "magenta", "call": "default", "code": "green", "command": "dim"}


def render(verdict: Verdict, *, trace: bool = False) -> RenderableType:
    """Return the text of an outcome.

    Args:
        verdict: Outcome of a script.
        trace: Show all steps, not just those before a failure.
    """
    parts: list[RenderableType] = [_headline(verdict)]
    if trace or verdict.failure:
        parts += _trace(verdict.steps if trace else verdict.steps[-_LAST:], len(verdict.steps))
    if verdict.failure:
        parts += [*_failure(verdict.failure), ""]
    return Group(*parts)


def _headline(verdict: Verdict) -> Text:
    file = verdict.script.file
    if verdict.failure is None:
        return Text.assemble(("pass", "bold green"), f"  {file}")
    place = f"{file}:{verdict.failure.event.line}: "
    return Text.assemble(("FAIL", "bold red"), "  ", (place, "bold"), verdict.failure.message)


def _trace(steps: tuple[Step, ...], count: int) -> Iterator[RenderableType]:
    if len(steps) < count:
        yield Text(f"      ... {count - len(steps)} steps before", "dim")
    for step in steps:
        sign = step.kind if step.kind in "<>" else "·"
        yield Text.assemble((f"  {step.at_us / 1e6:10.6f} ", "dim"), (f"{sign} {step.text}", _STYLES[step.kind]))


def _failure(failure: Failure) -> Iterator[RenderableType]:
    yield Text(f"  the script says: {failure.event.text}", "bold")
    if failure.expected is not None:
        yield from _packets(failure.expected, failure.actual, {one.field for one in failure.differences})
    if failure.values:
        said = ", ".join(f"{name} = {value}" for name, value in failure.values.items())
        yield Text.assemble("  with ", (said, "yellow"))


def _packets(expected: TcpPacket, actual: Packet | None, differing: set[str]) -> Iterator[RenderableType]:
    """Yield two packets one above the other, column by column, with a mark below each differing field."""
    wanted, got = dict(fields_of(expected)), dict(fields_of(actual)) if actual is not None else {}
    names = [name for name in _ORDER if name in wanted or name in got]
    widths = {name: max(len(wanted.get(name, "")), len(got.get(name, ""))) for name in names}

    def line(label: str, pieces: dict[str, str], style: str) -> Text:
        text = Text.assemble((f"  {label:<9}", "dim"))
        for name in names:
            gap = "" if name == "seq" else " "
            text.append(pieces.get(name, "").ljust(widths[name]) + gap, style if name in differing else "default")
        text.rstrip()
        return text

    yield line("expected", wanted, "bold green")
    yield line("actual", got, "bold red") if got else Text("  actual   nothing", "bold red")
    if differing and got:
        marks = {
            name: "^" * max(len(wanted.get(name, "")), len(got.get(name, ""))) for name in names if name in differing
        }
        yield line("", marks, "bold red")


_ORDER = ("ecn", "flags", "seq", "payload", "ack", "win", "urg", "options")


def summary(passed: int, failed: int, wrong: int) -> Text:
    """Return the last line: the number of scripts by outcome."""
    text = Text(f"{passed} passed", "green" if not failed and not wrong else "default")
    if failed:
        text.append(f", {failed} failed", "bold red")
    if wrong:
        text.append(f", {wrong} cannot be run", "bold red")
    return text
