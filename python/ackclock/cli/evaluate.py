"""`ackclock evaluate`: a trained agent on scenarios, beside controllers."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from ackclock.base import extras
from ackclock.cli import check
from ackclock.cli.answers import is_asked, put
from ackclock.cli.failures import InputError
from ackclock.cli.places import On, kernel_of
from ackclock.cli.table_output import MOST_ROWS, print_table
from ackclock.plotting.tables import Column, Table

if TYPE_CHECKING:
    from ackclock.gym.learn.evaluation import Row
    from ackclock.stats.estimates import Estimate


def evaluate(
    model: Annotated[
        Path, typer.Argument(metavar="DIR", help="Folder written by `ackclock train`.", show_default=False)
    ],
    files: Annotated[
        list[Path] | None,
        typer.Argument(metavar="FILE...", help="Scenario files (default: that of the training).", show_default=False),
    ] = None,
    beside: Annotated[
        str,
        typer.Option(metavar="NAMES", help="Compare with these controllers, or with `random` actions."),
    ] = "random,cubic,bbr",
    seeds: Annotated[
        int, typer.Option(min=0, max=1_000_000, help="Run seeds 1 to N; 0 uses each file's own seed.")
    ] = 0,
    overrides: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="PATH=VALUE", help="Override a value in every file. Repeatable."),
    ] = None,
    sample: Annotated[
        bool, typer.Option("--sample", help="Sample actions, as in training, instead of taking the best one.")
    ] = False,
    on: On = "simulator",
    trust: check.Trust = False,
) -> None:
    """Compare a trained agent with other controllers.

    The table has goodput, delay and loss. The agent controls the flow that has
    its name from the training, or else the first. A second table pairs runs that
    met the same network. Load only trusted models.

    On a kernel in virtual time, agent and controllers control a connection of
    that kernel; the controllers are the kernel's.
    """
    extras.require("learn", loads=True)
    from ackclock.gym.learn.evaluation import Trained
    from ackclock.gym.learn.evaluation import evaluate as run_all

    if overrides and not files:
        raise InputError("--set changes the files that are named; name at least one scenario")
    kernel = kernel_of(on)
    scenarios = [check.load_trusted(file, overrides or [], trusts=trust) for file in files or []]
    names = [name.strip() for name in beside.split(",") if name.strip()]
    trained = Trained.load(model, samples=sample)
    rows = list(run_all(trained, scenarios, list(range(1, seeds + 1)) or [None], names, kernel))
    if is_asked():
        put(json.dumps([asdict(row) for row in rows], indent=2) + "\n")
    else:
        print_table(_table(rows))
        if len(rows) > MOST_ROWS:
            print("`--json` prints every row")
        if any(len(group) > 1 for group in _groups(rows).values()):
            print_table(_means(rows))
        if len({(row.scenario, row.seed) for row in rows}) > 1 and names:
            print_table(_differences(rows))
        if kernel is not None:
            print(f"on Linux {kernel.version} in virtual time")


def _groups(rows: "list[Row]") -> "dict[tuple[str, str], list[Row]]":
    """Return the runs of each scenario and controller of the flow."""
    groups: dict[tuple[str, str], list[Row]] = {}
    for row in rows:
        groups.setdefault((row.scenario, row.who), []).append(row)
    return groups


_WHO: Final = (Column("scenario", "scenario", is_text=True), Column("who", "who", is_text=True))
_FIGURES: Final = (
    Column("goodput_bps", "goodput", "Mbit/s", factor=1e-6),
    Column("rtt_ms_mean", "RTT mean", "ms"),
    Column("rtt_ms_p95", "RTT p95", "ms"),
    Column("lost_fraction", "lost", "%", factor=100.0),
    Column("reward", "mean reward"),
)


def _means(rows: "list[Row]") -> Table:
    from ackclock.stats.estimates import OVER_SEEDS, estimate

    means = [
        {"scenario": scenario, "who": who, "seeds": len(group)}
        | {column.key: estimate(getattr(row, column.key) for row in group) for column in _FIGURES}
        for (scenario, who), group in _groups(rows).items()
    ]
    return Table("", "", [*_WHO, Column("seeds", "seeds"), *_FIGURES], means, (OVER_SEEDS,))


def _differences(rows: "list[Row]") -> Table:
    """Return the model's figures less those of each other, in pairs that met the same network."""
    model, scenarios, groups = rows[0].who, list(dict.fromkeys(row.scenario for row in rows)), _groups(rows)
    shown = {name: [name] for name in scenarios} | ({"all": scenarios} if len(scenarios) > 1 else {})
    differences = []
    for title, chosen in shown.items():
        for who in dict.fromkeys(row.who for row in rows if row.who != model):
            ours, theirs = ([row for name in chosen for row in groups[name, one]] for one in (model, who))
            if len(ours) > 1:
                figures = {column.key: _difference(column.key, ours, theirs) for column in _FIGURES}
                differences.append({"scenario": title, "who": who, "networks": len(ours)} | figures)
    note = f"{model} less each other, in pairs that met the same network: means with 95 % intervals (Student's t)."
    return Table("", "", [*_WHO, Column("networks", "networks"), *_FIGURES], differences, (note,))


def _difference(key: str, ours: "list[Row]", theirs: "list[Row]") -> "Estimate | None":
    from ackclock.stats.estimates import paired

    found = paired([getattr(row, key) for row in ours], [getattr(row, key) for row in theirs])
    return None if found is None else found.estimate


def _table(rows: "list[Row]") -> Table:
    *figures, reward = _FIGURES
    columns = [*_WHO, Column("seed", "seed", is_text=True), *figures, Column("timeouts", "timeouts"), reward]
    return Table("", "", columns, [asdict(row) for row in rows])
