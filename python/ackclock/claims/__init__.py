"""Executable claims: statements of published sources, compared with simulations.

A folder of claims holds `claims.toml` (statements, cases and our choices), scenario files, `measure.py` (from results
to numbers), `pictures.py` (figures), `verdicts.toml` (recorded verdicts) and `recorded*.json` (measurements of costly
studies). `docs/how-to/own-claims.md` says how to write one. `load_folder`, `Laboratory` and `judge` evaluate it.

Examples:
    >>> folder = next(folder for folder in load_folders() if folder.path.name == "opnet-17")
    >>> findings = judge(select([folder], ["O2a"]), Laboratory(), folder.recorded)
    >>> findings[0].verdict, findings[0].claim.published
    ('agrees', 'at most about 10')
"""

from ackclock.claims.folder import Claim, Folder, load_folder, load_folders, select
from ackclock.claims.intervals import Interval
from ackclock.claims.ledger import Finding, Laboratory, judge
from ackclock.claims.measured import Measured, Runs
from ackclock.claims.origin import Made

__all__ = [
    "Claim",
    "Finding",
    "Folder",
    "Interval",
    "Laboratory",
    "Made",
    "Measured",
    "Runs",
    "judge",
    "load_folder",
    "load_folders",
    "select",
]
