"""`python -m studies.learned.evolve`: learn a policy over a folder of training scenarios."""

import argparse
from pathlib import Path
from typing import Any

import numpy as np

from ackclock.base import input_files
from ackclock.base.bounds import whole
from ackclock.base.decoding import decoded
from ackclock.base.storage import OutputExistsError, check_file

from ..outcome import FAMILIES
from .network import PARAMETERS
from .paths import families
from .search import Plan, Vector
from .training import FILES, MOST_PROCESSES, Course, learn
from .worth import Worth


def main() -> None:
    """Read the command line and learn."""
    parser = argparse.ArgumentParser(prog="python -m studies.learned.evolve", description=__doc__)
    parser.add_argument("folder", type=Path, help="training scenarios, such as studies/learned/train")
    parser.add_argument("-o", "--output", type=Path, required=True, help="gets the policy, its parameters, the curve")
    parser.add_argument("--families", default=",".join(FAMILIES), help="which of the scenarios, with commas between")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--generations", type=int, default=Plan().generations)
    parser.add_argument("--candidates", type=int, default=Plan().candidates, help="in a generation")
    parser.add_argument("--paths", type=int, default=2, help="paths of each family in a generation")
    parser.add_argument("--deviation", type=float, default=Plan().deviation)
    parser.add_argument("--tie", type=float, default=Plan().tie, help="worth that is chance")
    parser.add_argument("--delay-weight", type=float, default=Worth().delay_weight)
    parser.add_argument("--loss-weight", type=float, default=Worth().loss_weight)
    parser.add_argument("--processes", type=int, default=1, help="that run candidates at once")
    parser.add_argument("--begin", type=Path, help="parameters.json to start from")
    parser.add_argument("--force", action="store_true", help="replace what an earlier run has written there")
    given = parser.parse_args()
    try:
        for name in FILES:
            check_file(given.output / name, force=given.force)
        plan = Plan(given.candidates, given.deviation, given.generations, given.tie)
        worth = Worth(given.delay_weight, given.loss_weight)
        chosen = families(given.folder, given.families.split(","))
        course = Course(plan, worth, given.paths, given.seed)
        whole("processes", given.processes, 1, MOST_PROCESSES)
    except (OutputExistsError, ValueError) as error:
        parser.error(str(error))
    begin = None if given.begin is None else _parameters(given.begin)
    learn(chosen, course, given.output, begin=begin, processes=given.processes, on_choice=_say)


def _parameters(file: Path) -> Vector:
    remedy = "give the parameters.json of an earlier run"
    try:
        parameters = np.array(decoded(input_files.text(file, remedy=remedy)), dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise SystemExit(f"{file}: {error}; {remedy}") from error
    if parameters.shape != (PARAMETERS,) or not np.isfinite(parameters).all():
        raise SystemExit(f"{file}: must hold {PARAMETERS} finite numbers in a list; {remedy}")
    return parameters


def _say(row: dict[str, Any]) -> None:
    parts = [
        f"{name} {entry['goodput']:.3f}/{entry['delay']:.3f}/{entry['loss']:.4f}"
        for name, entry in row.items()
        if isinstance(entry, dict)
    ]
    head = f"generation {row['generation']}, {row['seconds']:.0f} s: worth {row['worth']:.4f}"
    print(f"{head}; goodput/delay/loss: {'; '.join(parts)}", flush=True)


if __name__ == "__main__":
    main()
