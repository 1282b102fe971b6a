"""`ackclock run --seeds N`: a study of one mix of flows, in memory or in a folder."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ackclock._core import ScenarioError
from ackclock.base.printable import amount
from ackclock.cli.answers import is_asked
from ackclock.cli.failures import InputError
from ackclock.cli.option_places import STUDY, at_options
from ackclock.cli.progress import points_progress
from ackclock.cli.table_output import print_table, put_tables
from ackclock.experiments.grid import parse_axes
from ackclock.scenario.dumbbells import flow_tables, is_limit

if TYPE_CHECKING:
    from ackclock.running.linux_kernels import Kernel


def run(
    defaults: Mapping[str, str],
    given: Mapping[str, str],
    seeds: int,
    overrides: Sequence[str],
    output: Path | None,
    *,
    on: "Kernel | None" = None,
    quiet: bool,
) -> None:
    """Run the study, and print means with intervals and differences.

    Raises:
        InputError: If the options are wrong.
        ScenarioError: If a value is wrong.
    """
    from ackclock.experiments.studies.study_folder import study

    document = study_of(defaults, given, seeds, overrides)
    try:
        with points_progress("runs", quiet=quiet) as begin:
            done = study(document, output, on=on, on_begin=begin)
    except ScenarioError as error:
        raise at_options(error, STUDY, (*given, *(["set"] if overrides else []))) from None
    if is_asked():
        put_tables(done.tables)
    elif not quiet:
        for table in done.tables:
            print_table(table)
        if output is not None:
            print(f"{amount(len(done.runs), 'run')} in {output}")


def study_of(
    defaults: Mapping[str, str], given: Mapping[str, str], seeds: int, overrides: Sequence[str]
) -> dict[str, Any]:
    """Return the study that the options of `ackclock run` define."""
    chosen = {**defaults, **given}
    try:
        members = [str(table["controller"]) for table in flow_tables(chosen["flows"])]
    except ValueError as error:
        raise InputError(f"--flows: {error}") from error
    labels = {member: member.rpartition(":")[2] for member in members}
    path = {"rtt": chosen["rtt"]} | {key: given[key] for key in ("buffer", "loss", "trace") if key in given}
    if "trace" not in given:
        path["rate"] = chosen["bottleneck"]
    axes = parse_axes(overrides)
    for axis in axes:
        if option := {"seed": "--seeds", "duration": "--duration"}.get(axis.path):
            raise InputError(f"--set {axis.path}: with --seeds give {option}")
    queue = given.get("queue")
    path |= {} if queue is None else {"buffer": queue} if is_limit(queue) else {"queue": queue}
    return {
        "name": f"{chosen['flows']}, {seeds} seeds",
        "controllers": list(dict.fromkeys(members)),
        "line_ups": [", ".join(labels[member] for member in members)],
        "path": path,
        "seeds": seeds,
        "duration": chosen["duration"],
        "keep": 0,
        "set": {axis.path: list(axis.values) for axis in axes},
        **({"profile": given["profile"]} if "profile" in given else {}),
    }
