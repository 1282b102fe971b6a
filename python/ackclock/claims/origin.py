"""Origin of a measurement: version, engine sources, commit and date; stored in records and shown on pages."""

import subprocess
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any, Self

from ackclock._core import build_info
from ackclock.claims import reference


@dataclass(frozen=True, slots=True)
class Made:
    """Origin of a measurement; unknown texts are empty.

    Attributes:
        date: Date, such as 2026-11-25.
        commit: Name of the commit by `git describe`.
        version: Version of ackclock.
        engine: Hash of the sources that determine results; comments, tests and versions do not count.
        results: Name of the results of the reference runs (`ackclock.claims.reference`); it changes if one of them
            does.
    """

    date: str = ""
    commit: str = ""
    version: str = ""
    engine: str = ""
    results: str = ""

    @classmethod
    def of(cls, table: Mapping[str, Any]) -> Self:
        """Read the output of `as_dict`, or a part of it."""
        return cls(**{each.name: str(table[each.name]) for each in fields(cls) if table.get(each.name)})

    def as_dict(self) -> dict[str, str]:
        """Return the entry of `claims.json`."""
        return asdict(self)

    @property
    def is_of_this_engine(self) -> bool:
        """Whether it was made from the engine sources of this installation."""
        return bool(self.engine) and self.engine == engine()

    @property
    def has_these_results(self) -> bool:
        """Whether the installed engine gives the same results of the reference runs."""
        return self.is_of_this_engine or (bool(self.results) and self.results == reference.results())

    def __str__(self) -> str:
        """Describe it in a few words."""
        engine_said = f"engine {self.engine[:12]}" if self.engine else "engine not noted"
        return ", ".join(part for part in (self.date, self.commit and f"commit {self.commit}", engine_said) if part)


def engine() -> str:
    """Return the hash of the installed engine's sources, 64 hexadecimal digits."""
    return build_info()["engine"]


@cache
def now() -> Made:
    """Return the origin of measurements made now."""
    return Made(datetime.now(UTC).date().isoformat(), _commit(), build_info()["version"], engine(), reference.results())


def _commit() -> str:
    """Return the commit of the checkout that this package runs from; empty for an installed package."""
    folder = Path(__file__).parent
    if not (folder.parents[2] / ".git").exists():
        return ""
    command = ("git", "-C", str(folder), "describe", "--always", "--dirty", "--abbrev=12")
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True, timeout=10).stdout.strip()
    except (OSError, subprocess.SubprocessError):
        return ""
