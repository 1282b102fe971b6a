"""What a script's run looks like to a person."""

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from ackclock.script.runner import Failure, TraceLine, Verdict

_STYLES = {"<": "cyan", ">": "green", "=": "dim", "~": "yellow"}
#: Lines of the trace before a failure that are shown with it.
_CONTEXT = 12


def render(verdict: Verdict, *, full_trace: bool = False) -> RenderableType:
    """One line for a script that passed; what went wrong, and what came before, for one that failed."""
    parts: list[RenderableType] = [_headline(verdict)]
    if verdict.failure is not None:
        parts.append(_comparison(verdict.failure))
    if full_trace:
        parts.append(_trace(verdict.trace))
    elif verdict.failure is not None:
        parts.append(_trace(verdict.trace[-_CONTEXT:]))
    return Group(*parts)


def _headline(verdict: Verdict) -> Text:
    if verdict.failure is None:
        return Text.assemble(("pass", "bold green"), f"  {verdict.path}")
    where = f"{verdict.path}:{verdict.failure.line}: "
    return Text.assemble(("FAIL", "bold red"), f"  {where}", (verdict.failure.what, "bold"))


def _comparison(failure: Failure) -> Table:
    table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column(style="dim", no_wrap=True, min_width=12, justify="right")
    table.add_column()
    actual = _marked(failure.expected, failure.actual)
    table.add_row("expected", Text(failure.expected))
    table.add_row("actual", actual)
    return table


def _marked(expected: str, actual: str) -> Text:
    """Words of `actual` that `expected` lacks stand out."""
    known = expected.split()
    text = Text()
    for word in actual.split():
        text.append(word, style="" if word in known else "bold red")
        text.append(" ")
    return text


def _trace(lines: list[TraceLine]) -> Table:
    table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 1, 0, 0))
    table.add_column(justify="right", style="dim", no_wrap=True, min_width=12)
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for line in lines:
        style = _STYLES.get(line.kind, "")
        table.add_row(f"{line.time:.6f}", Text(line.kind, style=style), Text(line.text, style=style))
    return table
