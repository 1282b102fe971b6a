"""`ackclock bench`: speed of this build on this machine."""

import math
from typing import Annotated

import typer

from ackclock.claims import locations


def _finite(value: float) -> float:
    if not math.isfinite(value):
        raise typer.BadParameter(f"{value} is not a finite number of seconds")
    return value


def bench(
    groups: Annotated[
        list[str] | None,
        typer.Argument(metavar="CASE", help="Cases to run (default: all)."),
    ] = None,
    min_cpu_s: Annotated[
        float,
        typer.Option(
            "--min-cpu", metavar="SECONDS", min=0.0, callback=_finite, help="Spend at least this CPU time on each case."
        ),
    ] = 5.0,
) -> None:
    """Measure engine speed and peak memory on fixed scenarios."""
    locations.tool("speed.command").bench(groups, min_cpu_s)
