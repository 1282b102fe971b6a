"""Published statements made executable: what a source says beside what the simulator measures.

A folder of claims holds `claims.toml` (the statements, the cases and our choices), scenario files, `measure.py` (from
results to numbers), `pictures.py` (figures), `verdicts.toml` (the verdicts on record) and `recorded*.json`
(measurements of what is costly). `docs/how-to/own-claims.md` says how to write one; `load_folder`, `Laboratory` and
`judge` judge it.

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
