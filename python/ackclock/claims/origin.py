"""By what a measurement was made: version, sources of the engine, commit, day. A record keeps it, a page shows it."""

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
    """By what something was measured; a text is empty where that is not known.

    Attributes:
        date: The day, as in 2026-11-25.
        commit: As `git describe` names it.
        version: Of ackclock.
        engine: What stands for the sources that decide results: another text after any change of what they say but
            for comments, tests and versions.
        results: What the results of the reference runs are called (`ackclock.claims.reference`): another text once
            one of them changes.
    """

    date: str = ""
    commit: str = ""
    version: str = ""
    engine: str = ""
    results: str = ""

    @classmethod
    def of(cls, table: Mapping[str, Any]) -> Self:
        """Read what `as_dict` gave, or a part of it."""
        return cls(**{each.name: str(table[each.name]) for each in fields(cls) if table.get(each.name)})

    def as_dict(self) -> dict[str, str]:
        """Return it as it stands in `claims.json`."""
        return asdict(self)

    @property
    def is_of_this_engine(self) -> bool:
        """Whether it was made from the sources of the engine that is installed."""
        return bool(self.engine) and self.engine == engine()

    @property
    def has_these_results(self) -> bool:
        """Whether the engine that is installed gives the results that the reference runs had then."""
        return self.is_of_this_engine or (bool(self.results) and self.results == reference.results())

    def __str__(self) -> str:
        """Say it in a few words."""
        engine_said = f"engine {self.engine[:12]}" if self.engine else "engine not noted"
        return ", ".join(part for part in (self.date, self.commit and f"commit {self.commit}", engine_said) if part)


def engine() -> str:
    """Return what stands for the sources of the installed engine: 64 hexadecimal digits."""
    return build_info()["engine"]


@cache
def now() -> Made:
    """Return by what would be measured now."""
    return Made(datetime.now(UTC).date().isoformat(), _commit(), build_info()["version"], engine(), reference.results())


def _commit() -> str:
    """Return the commit of a checkout that this package runs from; an installed one knows of none."""
    folder = Path(__file__).parent
    if not (folder.parents[2] / ".git").exists():
        return ""
    command = ("git", "-C", str(folder), "describe", "--always", "--dirty", "--abbrev=12")
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True, timeout=10).stdout.strip()
    except (OSError, subprocess.SubprocessError):
        return ""
