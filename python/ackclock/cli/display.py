"""What goes to standard output, and numbers as a person reads them."""

import sys

from rich.console import Console

_PIPED_WIDTH = 240


def output() -> Console:
    """Return a console on standard output: as wide as the terminal; piped, as wide as the tables need."""
    return Console(highlight=False, width=None if sys.stdout.isatty() else _PIPED_WIDTH)


def si(value: float) -> str:
    """Write a number with three digits and an SI prefix.

    Args:
        value: Any number.

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
