"""Results that are kept on disk, so that a long run of claims can be ended and taken up again."""

from pathlib import Path

from ackclock import storage
from ackclock._core import Scenario, build_info
from ackclock.results import Results
from ackclock.running import run


def run_or_load(scenario: Scenario, kept: Path | None = None) -> Results:
    """Simulate a scenario, or load what an earlier run has kept of the same one.

    Args:
        scenario: What to simulate.
        kept: Folder of results by version and hash of the scenario; nothing is kept without one. A simulator that was
            changed and has the same version is not noticed: then empty it.
    """
    if kept is None:
        return run(scenario)
    folder = kept / f"{build_info()['version']}-{scenario.hash}"
    if (folder / storage.MANIFEST).is_file():
        return Results.load(folder)
    results = run(scenario)
    kept.mkdir(parents=True, exist_ok=True)
    results.save(folder, force=folder.exists())
    return results
