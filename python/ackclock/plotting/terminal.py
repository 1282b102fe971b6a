"""Terminal output, and numbers for people."""

import os
import sys
from collections.abc import Iterable, Iterator

from rich.console import Console, ConsoleOptions, ConsoleRenderable, RenderHook
from rich.segment import Segment
from rich.text import Text

from ackclock.base.printable import plain, plain_lines

_PIPED_WIDTH = 240


class _Shown:
    """Renderable whose text cannot control the terminal; only our own styles do."""

    def __init__(self, inner: ConsoleRenderable) -> None:
        self._inner = inner

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Segment]:
        return _shown(console.render(self._inner, options))


def _shown(segments: Iterable[Segment]) -> Iterator[Segment]:
    for text, style, control in segments:
        yield Segment(text if control else plain_lines(text), style, control)


class _Filter(RenderHook):
    """Hook that wraps everything a console prints in `_Shown`."""

    def process_renderables(self, renderables: list[ConsoleRenderable]) -> list[ConsoleRenderable]:
        return [_Shown(renderable) for renderable in renderables]


def has_width() -> bool:
    """Return whether standard output has a width: a terminal's, or that of the environment variable COLUMNS."""
    return sys.stdout.isatty() or os.environ.get("COLUMNS", "").isdigit()


def output() -> Console:
    """Return a console on standard output: as wide as it is, or piped, as wide as the tables."""
    return filtered(Console(highlight=False, emoji=False, width=None if has_width() else _PIPED_WIDTH))


def filtered(console: Console) -> Console:
    """Return a console that escapes control characters."""
    console.push_render_hook(_Filter())
    return console


def name(text: object) -> Text:
    """Return a name chosen by others for a cell, without markup and control characters."""
    return Text(plain(text))


def si(value: float) -> str:
    """Format a number with three digits and an SI prefix.

    Examples:
        >>> si(5_123_000)
        '5.12 M'
        >>> si(12)
        '12'
    """
    magnitude = abs(value)
    for factor, prefix in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if magnitude >= factor * 0.9995:
            return f"{value / factor:.3g} {prefix}"
    return f"{value:.3g}"
