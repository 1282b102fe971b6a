"""Results that are kept on disk, so that a long run of claims can be ended and taken up again."""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ackclock import storage
from ackclock._core import Scenario
from ackclock.claims.origin import engine
from ackclock.results import Results
from ackclock.running import run

_LOCK = ".lock"


class DamagedWarning(UserWarning):
    """Results that were kept are damaged, and simulated again."""


@contextmanager
def held(kept: Path | None) -> Iterator[None]:
    """Hold a folder of kept results, so that no second process works in it.

    Args:
        kept: The folder, made if there is none; without one nothing is held.

    Raises:
        ackclock.storage.OutputExistsError: If another process holds it.
    """
    if kept is None:
        yield
        return
    kept.mkdir(parents=True, exist_ok=True)
    with storage.locked(
        kept / _LOCK, f"another `ackclock claims` keeps its results in {kept}; wait for it, or choose another"
    ):
        yield


def run_or_load(scenario: Scenario, kept: Path | None = None) -> Results:
    """Simulate a scenario, or load what an earlier run has kept of the same one.

    Args:
        scenario: What to simulate.
        kept: Folder of results by what stands for the engine's sources and hash of the scenario, so that an engine
            that was changed simulates again; nothing is kept without one. Results that are damaged, or of another
            scenario, are simulated again, with a warning.
    """
    if kept is None:
        return run(scenario)
    folder = kept / f"{engine()[:16]}-{scenario.hash}"
    if folder.exists() or folder.is_symlink():
        try:
            return _loaded(folder, scenario)
        except (ValueError, OSError) as error:
            warnings.warn(f"{error}: it is simulated again", DamagedWarning, stacklevel=2)
    results = run(scenario)
    kept.mkdir(parents=True, exist_ok=True)
    _replace(folder, results)
    return results


def _loaded(folder: Path, scenario: Scenario) -> Results:
    results = Results.load(folder)
    if results.manifest["scenario_hash"] != scenario.hash:
        raise ValueError(f"{folder} holds the results of another scenario")
    return results


def _replace(folder: Path, results: Results) -> None:
    """What is no folder of results any more, or holds other things, is not removed: it gets another name."""
    try:
        results.save(folder, force=True)
    except storage.OutputExistsError:
        folder.rename(storage.free_name(folder.with_name(f"{folder.name}.damaged")))
        results.save(folder)
