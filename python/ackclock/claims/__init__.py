"""Published statements made executable: what a source says beside what the simulator measures.

A folder of claims holds `claims.toml` (the statements, the cases and our choices), scenario files, `measure.py` (from
results to numbers), `pictures.py` (figures) and `verdicts.toml` (the verdicts on record).
"""

from ackclock.claims.folder import Folder, load_folders
from ackclock.claims.ledger import Finding, judge
from ackclock.claims.measured import Measured, Runs

__all__ = ["Finding", "Folder", "Measured", "Runs", "judge", "load_folders"]
