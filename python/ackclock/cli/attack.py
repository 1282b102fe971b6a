"""`ackclock attack`: a search for the scenarios in which a congestion controller does worst."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from ackclock.base import extras, storage
from ackclock.base.printable import amount, unknown
from ackclock.cli import check
from ackclock.cli.answers import is_asked, put
from ackclock.cli.failures import InputError, errors
from ackclock.cli.judge import trusted
from ackclock.cli.progress import points_progress
from ackclock.cli.sweep import Jobs
from ackclock.plotting.terminal import name, output

if TYPE_CHECKING:
    from ackclock.experiments.attack.attack_search import Weakness
    from ackclock.experiments.attack.laboratory import Laboratory

_KIND: Final = "attack"
"""Kind of the folder."""


def attack(
    controller: Annotated[
        str,
        typer.Argument(
            metavar="CONTROLLER",
            help="Controller as in a scenario: a name, python:MODULE:CLASS, or a TOML table.",
            show_default=False,
        ),
    ],
    goal: Annotated[
        str,
        typer.Option(
            "--goal", metavar="GOAL", help="Search for low goodput, or loss, delay, fairness, harm, stall, invariant."
        ),
    ] = "goodput",
    against: Annotated[
        str,
        typer.Option(
            "--against",
            metavar="REFERENCE",
            help="Compare with this controller on the same path, or with fair-share (goodput only).",
        ),
    ] = "cubic",
    budget: Annotated[int, typer.Option("--budget", metavar="N", help="Simulate at most N runs.")] = 2000,
    seed: Annotated[int, typer.Option("--seed", min=1, max=2**32, help="Set the seed of search and runs.")] = 1,
    bounds_file: Annotated[
        Path | None,
        typer.Option(
            "--bounds", metavar="FILE", help="Take ranges of this TOML file in place of the default ones.",
            show_default=False,
        ),
    ] = None,
    only: Annotated[
        str | None,
        typer.Option(
            "--only", metavar="INGREDIENTS", help="Use these ingredients beside the path, separated by commas.",
            show_default=False,
        ),
    ] = None,
    folder: Annotated[
        Path | None,
        typer.Option(
            "-o", "--output", metavar="DIR", help="Write a scenario file for each case to this folder.",
            show_default=False,
        ),
    ] = None,
    jobs: Jobs = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print only errors.")] = False,
    trust: check.Trust = False,
) -> None:  # fmt: skip
    """Search for the scenarios in which a congestion controller does worst.

    The worst cases of different kinds are made as simple as their score allows, and confirmed with five other
    seeds. The same budget and seed give the same result.
    """
    from ackclock.experiments.attack import attack_bounds as limits
    from ackclock.experiments.attack import attack_search as searching
    from ackclock.experiments.attack.goal_scores import FAIR_SHARE, GOALS
    from ackclock.experiments.attack.laboratory import Laboratory
    from ackclock.experiments.judge import suite
    from ackclock.experiments.judge.judging import check as check_controller

    extras.require("attack")
    if goal not in GOALS:
        raise InputError(f"--goal: {unknown('goal', goal, GOALS)}")
    if budget < searching.LEAST_BUDGET:
        raise InputError(f"--budget {budget}: must be at least {searching.LEAST_BUDGET} runs")
    if against == FAIR_SHARE and goal != "goodput":
        raise InputError(f"--against {FAIR_SHARE} is for --goal goodput; name a controller for --goal {goal}")
    bounds = limits.read(bounds_file).with_flows(GOALS[goal].flows)
    if only is not None:
        wanted = [word.strip() for word in only.split(",") if word.strip()]
        bounds = bounds.only([*wanted, *filter(None, [GOALS[goal].needs])])
    searching.check(bounds)
    if folder is not None:
        storage.check_folder(folder, kind=_KIND, renews=True)
    given = {text: suite.controller_of(text) for text in (controller, against) if text != FAIR_SHARE}
    for text, one in given.items():
        trusted(one, text, trusts=trust)
        check_controller(suite.load(), one, str(Path.cwd()))
    laboratory = Laboratory(
        given[controller], goal, bounds, given.get(against, against), seed, budget, str(Path.cwd()), jobs
    )
    options = [*(["--bounds", str(bounds_file)] if bounds_file else []), *(["--only", only] if only else [])]
    try:
        with points_progress("runs", quiet=quiet) as begin:
            laboratory.advance = begin(budget, 0)
            found = searching.search(laboratory)
    except BaseException:
        _keep_best(laboratory, folder, options)
        raise
    _report(laboratory, found, folder, options, quiet=quiet)


def _keep_best(laboratory: "Laboratory", folder: Path | None, options: Sequence[str]) -> None:
    """Write the worst cases so far, neither made small nor confirmed."""
    from ackclock.experiments.attack.attack_search import Weakness, worst

    found = [Weakness(one, (), holds=False) for one in worst(laboratory, 5)]
    if found and folder is not None:
        _write(laboratory, found, folder, options)
        text = (
            f"{folder} has the worst of {amount(laboratory.runs, 'run')}, not confirmed; the same command begins anew"
        )
        errors().print(name(text))


def _report(
    laboratory: "Laboratory", every: "Sequence[Weakness]", folder: Path | None, options: Sequence[str], *, quiet: bool
) -> None:
    from ackclock.experiments.attack.attack_files import scenario_tree, spread
    from ackclock.experiments.attack.attack_search import SEEDS
    from ackclock.experiments.attack.case_network import words

    found, dropped = [one for one in every if one.holds], [one for one in every if not one.holds]
    if folder is not None:
        _write(laboratory, found, folder, options)
    if is_asked():
        listed = [
            {
                "score": one.scored.score, "own": one.scored.own, "reference": one.scored.reference,
                "case": words(one.scored.case), "other_seeds": [other.score for other in one.others],
                "scenario": scenario_tree(laboratory, one),
            }
            for one in found
        ]  # fmt: skip
        put(json.dumps({"runs": laboratory.runs, "dropped": len(dropped), "cases": listed}, indent=1) + "\n")
        return
    if quiet:
        return
    _print(laboratory, found, folder)
    for one in dropped:
        few = f"not confirmed, as only {len(one.others)} of {SEEDS} other seeds have a score"
        why = "as it does not hold with other seeds" if one.is_compared else few
        text = f"dropped, {why}: {words(one.scored.case)}: score {one.scored.score:.2g}, other seeds {spread(one)}"
        output().print(name(text), style="dim", soft_wrap=True)


def _print(laboratory: "Laboratory", found: "Sequence[Weakness]", folder: Path | None) -> None:
    from ackclock.cli.table_output import print_table
    from ackclock.experiments.attack.attack_files import table

    if not found:
        none = f"no case with a score above {laboratory.goal.least:g} is confirmed"
        print(f"{amount(laboratory.runs, 'run')}: {none}; try a larger --budget")
        return
    print_table(table(laboratory, found), whole=True)
    where = f"; {folder} has a scenario file for each" if folder else "; -o DIR writes a scenario file for each"
    print(f"{amount(len(found), 'case')} after {amount(laboratory.runs, 'run')}{where}")


def _write(laboratory: "Laboratory", found: "Sequence[Weakness]", folder: Path, options: Sequence[str]) -> None:
    from ackclock.experiments.attack.attack_files import TABLE, files, table
    from ackclock.plotting.tables import as_csv

    with storage.new_folder(folder, kind=_KIND, renews=True) as partial:
        for file, text in {TABLE: as_csv(table(laboratory, found)), **files(laboratory, found, options)}.items():
            (partial / file).write_text(text, encoding="utf-8")
