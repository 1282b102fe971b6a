"""`ackclock evaluate`: a trained agent on scenarios, beside controllers."""

import json
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table

from ackclock.cli import check
from ackclock.cli.answers import apart, put
from ackclock.cli.display import name, output
from ackclock.cli.failures import InputError
from ackclock.cli.train import require_learning

if TYPE_CHECKING:
    from ackclock.learn.evaluation import Row


@apart
def evaluate(
    model: Annotated[Path, typer.Argument(metavar="DIR", help="Folder of `ackclock train`.", show_default=False)],
    files: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="FILE...", help="Scenarios; by default the one that it was trained on.", show_default=False
        ),
    ] = None,
    beside: Annotated[
        str,
        typer.Option(metavar="NAMES", help="Controllers to compare with, or `random` actions; separated by commas."),
    ] = "random,cubic,bbr",
    seeds: Annotated[
        int, typer.Option(min=0, max=1_000_000, help="Number of seeds, from 1 on; 0 takes each file's own seed.")
    ] = 0,
    overrides: Annotated[
        list[str] | None, typer.Option("--set", metavar="PATH=VALUE", help="Override a value in every file.")
    ] = None,
    sample: Annotated[
        bool, typer.Option("--sample", help="Sample the model's actions, as in training, instead of taking the best.")
    ] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print the rows as JSON on stdout, and nothing else.")
    ] = False,
    trust: check.Trust = False,
) -> None:
    """Run a trained agent on scenarios and print goodput, delay and loss beside controllers.

    The agent takes the flow of the same name as in its training, or else the first. Load only models that you trust.
    """
    require_learning()
    from ackclock.learn.evaluation import Trained
    from ackclock.learn.evaluation import evaluate as run_all
    from ackclock.learn.setting import SettingError

    if overrides and not files:
        raise InputError("--set changes the files that are named; name at least one scenario")
    scenarios = [check.load_trusted(file, overrides or [], trusts=trust) for file in files or []]
    names = [name.strip() for name in beside.split(",") if name.strip()]
    try:
        trained = Trained.load(model, samples=sample)
        rows = list(run_all(trained, scenarios, list(range(1, seeds + 1)) or [None], names))
    except SettingError as error:
        raise InputError(str(error)) from error
    if as_json:
        put(json.dumps([asdict(row) for row in rows], indent=2) + "\n")
    else:
        output().print(_table(rows))
        if any(len(group) > 1 for group in _groups(rows).values()):
            output().print(_means(rows))
            output().print("Means over the seeds with 95 % confidence intervals (Student's t).", style="dim")


def _groups(rows: "list[Row]") -> "dict[tuple[str, str], list[Row]]":
    """The runs of each scenario and who had the flow there."""
    groups: dict[tuple[str, str], list[Row]] = {}
    for row in rows:
        groups.setdefault((row.scenario, row.who), []).append(row)
    return groups


_MEANS: "tuple[tuple[str, Callable[[Row], float | None]], ...]" = (
    ("goodput\nMbit/s", lambda row: row.goodput_bps / 1e6),
    ("RTT mean\nms", lambda row: row.rtt_ms_mean),
    ("RTT p95\nms", lambda row: row.rtt_ms_p95),
    ("lost\n%", lambda row: 100 * row.lost_fraction),
    ("mean\nreward", lambda row: row.reward),
)


def _means(rows: "list[Row]") -> Table:
    from ackclock.estimates import estimate

    table = Table(header_style="bold", box=None, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column("scenario", style="cyan")
    table.add_column("who")
    table.add_column("seeds", justify="right")
    for heading, _ in _MEANS:
        table.add_column(heading, justify="right")
    for (scenario, who), group in _groups(rows).items():
        cells = []
        for _, value in _MEANS:
            found = estimate(map(value, group))
            half = "" if found is None or found.half is None else f" ± {found.half:.2g}"
            cells.append("-" if found is None else f"{found.mean:.4g}{half}")
        table.add_row(name(scenario), name(who), str(len(group)), *cells)
    return table


def _table(rows: "list[Row]") -> Table:
    table = Table(header_style="bold", box=None, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column("scenario", style="cyan")
    table.add_column("who")
    for heading in (
        "seed",
        "goodput\nMbit/s",
        "RTT mean\nms",
        "RTT p95\nms",
        "lost\n%",
        "timeouts",
        "mean\nreward",
    ):
        table.add_column(heading, justify="right")
    for row in rows:
        rtts = ("-" if value is None else f"{value:.4g}" for value in (row.rtt_ms_mean, row.rtt_ms_p95))
        reward = "-" if row.reward is None else f"{row.reward:.4g}"
        rate, lost = f"{row.goodput_bps / 1e6:.4g}", f"{100 * row.lost_fraction:.3g}"
        table.add_row(name(row.scenario), name(row.who), str(row.seed), rate, *rtts, lost, str(row.timeouts), reward)
    return table
