"""Result of a search: a table, and a scenario file for each case."""

import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from ackclock import controllers
from ackclock.base.toml_text import scenario_toml
from ackclock.experiments.attack.attack_search import Weakness
from ackclock.experiments.attack.case_network import document, scenario, words
from ackclock.experiments.attack.goal_scores import FAIR_SHARE
from ackclock.experiments.attack.laboratory import Laboratory
from ackclock.experiments.judge.judging import made_by
from ackclock.experiments.judge.suite import label_of
from ackclock.plotting.tables import Column, Table, number
from ackclock.scenario.named_modules import FILES
from ackclock.scenario.setting_values import value_text

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
        Column("own", _title(laboratory.controller, "controller")),
    ]
    columns += [Column("reference", _title(laboratory.against, "reference"))] if goal.has_reference else []
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
    return Table("", f"{goal.title}{f', {goal.unit}' if goal.unit else ''}; a larger score is worse", columns, rows, ())


def _title(controller: Any, otherwise: str) -> str:  # noqa: ANN401  a name or a table
    label = value_text(controller)
    return label if len(label) <= len(otherwise) else otherwise


def spread(one: Weakness) -> str:
    """Return the scores of the other seeds in words."""
    scores = [other.score for other in one.others]
    return f"{min(scores):.2g} to {max(scores):.2g}" if scores else "not run"


def files(laboratory: Laboratory, found: Sequence[Weakness], options: Sequence[str] = ()) -> Mapping[str, str]:
    """Return the texts of the scenario files by their names.

    Args:
        laboratory: Laboratory of the search.
        found: Cases, the worst first.
        options: Further options of the command that found them.
    """
    return {
        file_of(place): scenario_toml(scenario_tree(laboratory, one), _comments(laboratory, one, options))
        for place, one in enumerate(found, 1)
    }


def scenario_tree(laboratory: Laboratory, one: Weakness) -> dict[str, Any]:
    """Return the scenario of a case as tables."""
    scored = one.scored
    name = f"attack on {value_text(laboratory.controller)}: {laboratory.goal_name}"
    controller = _located(laboratory.controller, Path(laboratory.folder))
    return document(scored.case, laboratory.bounds, controller, scored.seed, name)


def _located(controller: Any, folder: Path) -> Any:  # noqa: ANN401  a name or a table
    """Return a controller whose files, that of a policy and those of `use`, are found from any folder."""
    if not isinstance(controller, Mapping):
        return controller

    def placed(file: Any) -> Any:  # noqa: ANN401  a value of the table
        is_file = isinstance(file, str) and (folder / file).is_file()
        return str((folder / file).resolve()) if is_file else file

    found = dict(controller)
    if "file" in found:
        found["file"] = placed(found["file"])
    if "use" in found:
        found["use"] = [placed(entry) if entry.endswith(FILES) else entry for entry in found["use"]]
    return found


def _comments(laboratory: Laboratory, one: Weakness, options: Sequence[str]) -> list[str]:
    scored, goal = one.scored, laboratory.goal
    command = ["ackclock", "attack", label_of(laboratory.controller), "--goal", laboratory.goal_name]
    command += ["--against", label_of(laboratory.against)] if goal.has_reference else []
    command += ["--budget", str(laboratory.budget), "--seed", str(laboratory.seed), *options]
    against = "the fair share" if laboratory.against == FAIR_SHARE else value_text(laboratory.against)
    beside = "" if scored.reference is None else f", {against} {number(scored.reference)}"
    code = scenario(scored.case, laboratory.bounds, laboratory.controller, scored.seed, laboratory.folder)
    path = [f"Its code is found with PYTHONPATH={laboratory.folder}"] if controllers.sources(code) else []
    figures = f"{goal.title}: {number(scored.own)}{beside} {goal.unit}".rstrip()
    return [
        f"{words(scored.case)}.",
        f"{scored.note or figures}. Score {number(scored.score)}; with other seeds {spread(one)}.",
        f"Found by {made_by()}: {shlex.join(command)}",
        *path,
    ]
