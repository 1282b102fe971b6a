"""Result of a search: a table, and a scenario file for each case."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from ackclock.base.toml_text import scenario_toml
from ackclock.experiments.attack.case_network import document, words
from ackclock.experiments.attack.goal_scores import FAIR_SHARE
from ackclock.experiments.attack.laboratory import Laboratory
from ackclock.experiments.attack.search import Weakness
from ackclock.experiments.judge.suite import label_of
from ackclock.plotting.tables import Column, Table, number
from ackclock.stats.estimates import mean_of

TABLE: Final = "cases.csv"


def file_of(place: int) -> str:
    """Return the name of the scenario file of a case, by its place from 1 on."""
    return f"case-{place}.toml"


def table(laboratory: Laboratory, found: Sequence[Weakness]) -> Table:
    """Return the table of cases, the worst first."""
    goal = laboratory.goal
    columns = [
        Column("place", "", is_text=True),
        Column("case", "case", is_text=True),
        Column("score", "score"),
        Column("own", label_of(laboratory.controller)),
    ]
    columns += [Column("reference", label_of(laboratory.against))] if goal.has_reference else []
    columns.append(Column("others", "other seeds", is_text=True))
    rows = [
        {
            "place": str(place),
            "case": words(one.scored.case) + (f"; {one.scored.note}" if one.scored.note else ""),
            "score": one.scored.score,
            "own": one.scored.own,
            "reference": one.scored.reference,
            "others": spread(one),
        }
        for place, one in enumerate(found, 1)
    ]
    return Table("", f"{goal.title}{f', {goal.unit}' if goal.unit else ''}.", columns, rows, ())


def spread(one: Weakness) -> str:
    """Return the scores of the other seeds in words."""
    scores = [other.score for other in one.others]
    return f"{mean_of(scores):.2g} ({min(scores):.2g} to {max(scores):.2g})" if scores else "not run"


def files(laboratory: Laboratory, found: Sequence[Weakness], command: str) -> Mapping[str, str]:
    """Return the texts of the scenario files by their names.

    Args:
        laboratory: Laboratory of the search.
        found: Cases, the worst first.
        command: Command that found them.
    """
    return {
        file_of(place): scenario_toml(scenario_tree(laboratory, one), _comments(laboratory, one, command))
        for place, one in enumerate(found, 1)
    }


def scenario_tree(laboratory: Laboratory, one: Weakness) -> dict[str, Any]:
    """Return the scenario of a case as tables."""
    scored = one.scored
    name = f"attack on {label_of(laboratory.controller)}: {laboratory.goal_name}"
    return document(scored.case, laboratory.bounds, laboratory.controller, scored.seed, name)


def _comments(laboratory: Laboratory, one: Weakness, command: str) -> list[str]:
    scored, goal = one.scored, laboratory.goal
    against = "the fair share" if laboratory.against == FAIR_SHARE else label_of(laboratory.against)
    beside = "" if scored.reference is None else f", {against} {number(scored.reference)}"
    return [
        f"{words(scored.case)}.",
        f"{goal.title}: {number(scored.own)}{beside} {goal.unit}. Score {number(scored.score)}; "
        f"with other seeds {spread(one)}.",
        f"Found by: {command}",
    ]
