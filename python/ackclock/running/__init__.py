"""Running a scenario, in the engine or on this machine's kernel."""

from ackclock.running.engine import (
    EngineFigures,
    Progress,
    Stop,
    StoppedError,
    first_ended,
    mapped,
    results_of,
    run,
    simulate,
    watched,
)

__all__ = [
    "EngineFigures",
    "Progress",
    "Stop",
    "StoppedError",
    "first_ended",
    "mapped",
    "results_of",
    "run",
    "simulate",
    "watched",
]
