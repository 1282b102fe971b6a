"""Results that are kept on disk, so that a long run of claims can be ended and taken up again."""

import os
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from ackclock._core import Scenario
from ackclock.base import storage
from ackclock.claims.origin import engine
from ackclock.results import Results
from ackclock.running import kernel, run
from ackclock.scenario.module_closure import identity

_LOCK = ".lock"


class DamagedWarning(UserWarning):
    """Results that were kept are damaged, and simulated again."""


@contextmanager
def held(kept: Path | None) -> Iterator[None]:
    """Hold a folder of kept results, so that no second process works in it.

    Args:
        kept: The folder, made if there is none; without one nothing is held.

    Raises:
        ackclock.base.storage.OutputExistsError: If another process holds it.
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
        kept: Folder of results by what stands for the engine's sources and for the scenario with the code that it
            brings, so that one that was changed simulates again; nothing is kept without one. Results that are damaged,
            or of another scenario, are simulated again, with a warning.
    """
    return _kept_or(run, scenario, kept, engine()[:16])


def run_or_load_on_kernel(scenario: Scenario, kept: Path | None = None) -> Results:
    """Run a scenario on the kernel of this machine, or load what an earlier run on a kernel of this release has kept.

    The simulated endpoint has no part in such a run, so that a changed engine does not repeat it.

    A run that was too late to be believed is repeated, once. If the last was late as well it is what is returned; its
    manifest says so, and it is not kept, so that it is tried again the next time.
    """
    return _kept_or(_run_in_time, scenario, kept, f"kernel-{os.uname().release}", _was_in_time)


TRIES = 2
"""How often a run on the kernel is tried that is late."""


def _run_in_time(scenario: Scenario) -> Results:
    for _ in range(TRIES - 1):
        results = kernel.run(scenario)
        if _was_in_time(results):
            return results
    return kernel.run(scenario)


def _was_in_time(results: Results) -> bool:
    return bool(results.manifest["kernel"]["valid"])


def _kept_or(
    run: Callable[[Scenario], Results],
    scenario: Scenario,
    kept: Path | None,
    by: str,
    is_worth_keeping: Callable[[Results], bool] = lambda _: True,
) -> Results:
    if kept is None:
        return run(scenario)
    folder = kept / f"{by}-{identity(scenario)}"
    if folder.exists() or folder.is_symlink():
        try:
            if is_worth_keeping(results := _loaded(folder, scenario)):
                return results
        except (ValueError, OSError) as error:
            warnings.warn(f"{error}: it is simulated again", DamagedWarning, stacklevel=2)
    results = run(scenario)
    if is_worth_keeping(results):
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
